//! What people write on the command line about steps, as values: effects, probes, and what a step touches. Pure.

mod effect;
mod probe;
mod target;
mod words;

pub use effect::{parse_bytes, parse_effect, parse_seconds, parse_share};
pub use probe::parse_probe;
pub use target::parse_target;
pub use words::split_words;
