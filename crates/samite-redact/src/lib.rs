//! Finds secrets and personal data in what agents write, and puts typed placeholders in their place.
//!
//! Pure: no clock, no I/O, no key of its own. A text is redacted where it stands: JSON in its string leaves, with what is
//! JSON, base64, hexadecimal, percent-encoded, coloured for a terminal or streamed in pieces within them. Nothing that
//! comes in makes it panic, and what it takes grows with the length of the text alone.
//!
//! ```
//! use samite_redact::{Policy, Redactor};
//! use std::sync::Arc;
//!
//! # fn main() -> samite_model::Result<()> {
//! let redactor = Redactor::new(&Policy::default(), &[], Arc::new(|_: &[u8]| [0x3f, 0x9a, 0x2c, 0x1b]))?;
//! let redacted = redactor.redact(br#"{"password": "hunter2!"}"#);
//! let text = br#"{"password": "[secret:credential:3f9a2c1b:8]"}"#;
//! assert_eq!(redacted.bytes.as_deref(), Some(&text[..]));
//! # Ok(())
//! # }
//! ```

mod alphabet;
mod finding;
mod pattern;
mod pii;
mod placeholder;
mod policy;
mod redactor;
mod registered;
mod screen;
mod secret;
mod shape;
mod stream;
mod unescaped;
mod view;

pub use placeholder::{Fingerprint, holds_placeholder, may_become};
pub use policy::{Class, EXPRESSION, Files, Mode, PATTERNS, Pattern, Policy, check_name};
pub use redactor::{Finding, Redacted, Redactor};
pub use registered::{LONGEST, MOST, Registered, SHORTEST, check as check_registered};
pub use screen::is_text;
pub use stream::{DOCUMENT, Located, Stream, UNIT, Units};
pub use unescaped::{Place, Unescaped};
