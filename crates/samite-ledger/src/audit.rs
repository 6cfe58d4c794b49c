//! An audit log in the ledger's own commits: the ledger stores its leaves and its state, and knows nothing of what they say.

use samite_model::{Header, JournalId, Link, Result};

/// The longest draft of a leaf, in bytes: with what a finisher adds it stays within what a leaf may have.
pub const MAXIMUM_LEAF_DRAFT: usize = 48 << 10;

/// A log as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    /// Which log of the tenant: 1 is the first. A later one begins where an older copy of the ledger went on.
    pub log: u64,
    /// How many leaves it has.
    pub size: u64,
    /// What the finisher made of them, such as a frontier and a signed head.
    pub state: Vec<u8>,
}

/// An entry as it was just appended.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'entry> {
    /// Its journal.
    pub journal: JournalId,
    /// Its header, with its seq.
    pub header: &'entry Header,
    /// Its link.
    pub link: Link,
}

/// Looks up a leaf of a log by its index.
pub type LeafReader<'read> = &'read mut dyn FnMut(u64, u64) -> Result<Option<Vec<u8>>>;

/// Makes leaves, and the state of a log, inside the transaction that writes the entries they are about. No clock and no I/O.
pub trait Finisher: Send + Sync + 'static {
    /// Begins a group of commits that has leaves; `current` is the newest log.
    ///
    /// # Errors
    /// When the log cannot be gone on with. Then nothing of the group is committed.
    fn begin(&self, current: Option<LogState>, leaf: LeafReader<'_>) -> Result<Box<dyn Finishing>>;
}

/// A group under way.
pub trait Finishing {
    /// The log that the leaves go to: the newest, or the one after it.
    fn log(&self) -> u64;

    /// The next leaf, for an entry and the draft that came with it.
    ///
    /// # Errors
    /// `internal` when the draft is none.
    fn leaf(&mut self, draft: &[u8], entry: &Placed<'_>) -> Result<Vec<u8>>;

    /// The log with all leaves of the group.
    ///
    /// # Errors
    /// `internal` when it cannot be made.
    fn finish(self: Box<Self>) -> Result<LogState>;
}
