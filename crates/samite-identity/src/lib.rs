//! Who calls: a token that somebody else issued, verified and made into a [`Principal`](samite_model::Principal). Samite
//! verifies and records identity; it does not issue it.
//!
//! [`Verifier`] is made from a [`Config`], with the clock and the way to fetch keys passed in. What a token says is judged by
//! pure functions, and every refusal has a code of its own. Neither an error nor a log ever holds a token or what an
//! unverified one says.

mod actor;
mod claims;
mod config;
mod crypto;
mod development;
mod fetch;
mod json;
mod key_set;
mod keys;
mod token;
mod verifier;

pub use config::{Agents, Claims, Config, DevelopmentToken, Issuer, Users};
pub use fetch::{Fetch, KeySource, SystemFetch};
pub use key_set::{COOL_DOWN, FRESH, STALE};
pub use token::LONGEST_TOKEN;
pub use verifier::Verifier;

/// How far the clocks of an issuer and of samite may be apart, in seconds.
pub const LEEWAY: i64 = 60;
