//! Turning entries into tombstones.

use samite_model::{JournalId, KeyId, Pseudonym};

/// Own entries of one journal, from one seq to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// The journal.
    pub journal: JournalId,
    /// The first seq.
    pub first: u64,
    /// The last seq.
    pub last: u64,
}

impl Run {
    /// How many entries it spans.
    pub const fn count(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

/// What is to be erased, as one transaction.
///
/// An erased entry is a tombstone: its header, link and commitment stay, so that what follows still verifies; its payload,
/// with the salt that is sealed in it, its rows, and the registers that it set are gone.
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
}

/// What an erasure took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tombstones {
    /// Payloads.
    pub payloads: u64,
    /// Rows and registers.
    pub views: u64,
}
