//! Snapshots and restores on real directories, packs and keys.

#![expect(clippy::disallowed_methods, reason = "tests do to files what users and agents do")]

mod cache;
mod collecting;
mod fidelity;
mod killing;
mod looking;
mod restoring;
mod screening;
mod support;
mod trees;
