//! Snapshots and restores on real directories, packs and keys.

mod cache;
mod fidelity;
mod restoring;
mod support;
mod trees;
