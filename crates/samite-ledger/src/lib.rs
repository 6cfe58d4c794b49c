//! Journals: append, read, fork, guards, leases and views, on SQLite or in memory.
//!
//! A ledger holds one tenant's journals. It knows nothing of sessions, sees sealed bytes only, and assumes no runtime:
//! its futures resolve from its own threads. [`Ledger`] is the contract for journals, [`BlockIndex`] the one for
//! blocks; a commit of the first may carry rows of the second, so that a tree and its blocks are one act.

mod audit;
mod block_index;
mod commit;
mod erasure;
mod ledger;
mod memory;
mod sqlite;
#[cfg(feature = "testing")]
pub mod testing;
pub mod verify;

pub use audit::{Finisher, Finishing, LeafReader, LogState, MAXIMUM_LEAF_DRAFT, Placed};
pub use block_index::{BlockIndex, BlockPlace, BlockRow, Collection, PackRow, PackState, Pin};
pub use commit::{
    Append, Commit, Guard, JournalKind, NewBlock, NewEntry, NewJournal, NewPack, NewRow, Receipt, RegisterChange,
};
pub use erasure::{Erasure, Run, Tombstones};
pub use ledger::{
    Direction, Generation, JournalFilter, JournalState, JournalStatus, Lease, LeaseOutcome, LeaseRequest, Ledger, Read,
    Register, Row, RowQuery, StoredEntry,
};
pub use memory::MemoryLedger;
pub use sqlite::{Damage, JournalSize, Lost, OpenOptions, SqliteLedger, Statistics, Threads};
