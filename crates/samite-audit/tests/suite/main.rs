//! Logs in folders: exports, what verifies them (ours and other people's), and everything that must not verify.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests damage files as disks and people do")]
#![expect(clippy::print_stderr, reason = "a test that skips itself says so")]

mod continuing;
mod exporting;
mod kills;
mod log;
mod others;
mod proofs;
mod pruned;
mod segments;
mod tampering;
mod witnesses;
