//! Tokens with real signatures, by real keys, from a real server.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails where it stands, lays out files, and asks the random source of ring"
)]

mod faults;
mod rotation;
mod served;
mod support;
