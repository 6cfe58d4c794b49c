//! What was published for the user, as pure decisions: how long it is kept, what type it is, which bytes a range means.

mod guess;
mod keep;
mod range;

pub use guess::{guess_mime, guess_type};
pub use keep::{Kept, Retention, kept};
pub use range::ByteRange;

/// The types that are known; any other is kept and served as a plain file.
pub const TYPES: [&str; 5] = ["image", "file", "table", "chart", "document"];
