//! Directories as Merkle trees of sealed blocks: snapshot, diff, restore.
//!
//! [`snapshot`] makes a tree of a directory and hands back what its caller must commit together with the entry that
//! names it; [`restore`] puts a tree back, path by path, and loses nothing that samite did not write; [`Tree`] reads.
//! [`collect`] takes away what no root reaches, beside writers that it never stops.
//!
//! All of it runs in the threads that call it, and in threads that it starts and joins.

mod assemble;
mod bundle;
mod cache;
mod collect;
mod content;
mod look;
mod merged;
mod output;
mod payload;
mod restore;
mod rules;
mod scan;
mod screen;
mod sealing;
mod secrets;
mod snapshot;
mod store;
mod system;
mod tree;

pub use bundle::{Bundler, FileSource, FileStamp, Found, Stored, check_patterns, content_as, find_files};
pub use cache::CacheState;
pub use collect::{
    Beginning, CollectOptions, Collected, OnDamage, Preview, Reach, Root, begin_collection, check_blocks, collect,
    count_reachable, preview, reachable,
};
pub use look::{Look, Unsaved, look};
pub use merged::{StoredTree, store_tree};
pub use output::INLINE_LIMIT;
pub use payload::{StoredPayload, read_payload, store_payload};
pub use restore::{
    PlannedRestore, RestoreOptions, RestoreReport, apply_restore, materialise, plan_restore, plan_restore_seen,
    remove_leftovers, restore,
};
pub use rules::{RULE_FILE, exclusion};
pub use scan::{ScanOptions, ScanReport, Scanned, Special};
pub use screen::{FoundChunk, FoundKind, Match, Screen, Screening};
pub use sealing::Sealing;
pub use snapshot::{CommitParts, Snapshot, SnapshotOptions, scan, snapshot};
pub use store::Store;
pub use tree::Tree;
