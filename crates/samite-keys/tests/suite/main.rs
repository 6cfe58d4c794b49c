//! The keyring against real files, real masters and real deaths.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;
mod formats;
mod kills;
mod masters;
mod payloads;
mod processes;
mod ratio;
mod repair;
