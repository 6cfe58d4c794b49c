//! Turning entries into tombstones.

pub use samite_model::erasure::Run;

use samite_model::{JournalId, KeyId, Pseudonym};

/// What is to be erased, as one transaction.
///
/// An erased entry is a tombstone: its header, link and commitment stay, so that what follows still verifies; its payload,
/// with the salt that is sealed in it, its rows (but for those of kinds that are to stay), and the registers that it set are
/// gone.
#[derive(Clone, Debug, Default)]
pub struct Erasure {
    /// Entries that become tombstones; those of a run that are not there are left out.
    pub runs: Vec<Run>,
    /// Only entries of this owner.
    pub owner: Option<Pseudonym>,
    /// Journals that take no entries from now on. They stay as they are, as deleted ones; their leases go, and whoever held
    /// one is fenced.
    pub close: Vec<JournalId>,
    /// Keys under which nothing is appended from now on.
    pub keys: Vec<KeyId>,
    /// Rows of these kinds stay with the tombstones.
    pub keep: Vec<u16>,
}

/// What an erasure took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tombstones {
    /// Payloads.
    pub payloads: u64,
    /// Rows and registers.
    pub views: u64,
}
