//! The contract for journals.

use crate::audit::LogState;
use crate::commit::{Commit, JournalKind, NewRow, Receipt};
use crate::erasure::{Erasure, Run, Tombstones};
use async_trait::async_trait;
use samite_model::{FamilyId, JournalId, KeyId, Link, Position, Pseudonym, Result};

/// One tenant's journals.
///
/// Every method may be called from any thread; several processes may have one ledger open. Memory holds no authority:
/// heads, epochs and registers are read inside the write transaction.
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// Commits all or nothing. When this returns, the commit is durable.
    ///
    /// # Errors
    /// As each [`Guard`](crate::Guard) says, before anything else; then `conflict` (`journal_exists`), `invalid`
    /// (`fork_point`) for a parent position that is not an own entry of the parent, `not_found` (`no_journal`) for an
    /// unknown journal, `conflict` (`journal_closed`) for an append to a deleted one, `denied` (`key_destroyed`) for
    /// an entry under a destroyed key, `conflict` (`blocks_dying`) for a block in a pack that is neither known and
    /// live nor in this commit, `fenced` (`epoch_passed`) when the lease to renew is in another epoch; `invalid`
    /// (`no_finisher`, `leaf_draft`) for a leaf where the ledger was opened without a finisher, or one too long; `unavailable`
    /// when the disk is full or the store is read-only, in which case nothing was written. After an `unavailable` with code
    /// `outcome_unknown` the caller cannot know whether the commit happened and must look (dedupe rows make a retry
    /// safe).
    async fn commit(&self, commit: Commit) -> Result<Receipt>;

    /// The state of a journal, if it exists.
    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>>;

    /// Journals that match, in the order in which they were made.
    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>>;

    /// Own entries of one journal (not those that it inherits), at most `read.limit`.
    ///
    /// # Errors
    /// `not_found` for an unknown journal; `corrupt` naming journal and seq when stored bytes cannot be read
    /// (`unreadable_entry`), an entry up to the head is not there (`missing_entry`), or one is not the one that was
    /// chained between those that are read with it (`changed_entry`). Entries before the damage are returned by a read
    /// that ends before it, those after it by one that begins there.
    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>>;

    /// Rows of one kind along a journal's ancestry up to a position, newest position first; those of one entry in the
    /// order in which it gave them.
    ///
    /// # Errors
    /// `not_found` (`no_journal`) for an unknown journal.
    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>>;

    /// All registers of one journal by kind and hash, with the version that a
    /// [`Guard::Registers`](crate::Guard::Registers) takes.
    ///
    /// # Errors
    /// `not_found` (`no_journal`) for an unknown journal.
    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)>;

    /// Takes, keeps or gives up the lease of a journal. A new epoch is durable when this returns; a later expiry in the
    /// same epoch need not be. A lease has expired when `expires` is not after `now`. A writer whose own lease expired
    /// was lost like any other, and gets a new epoch; one that gave its lease up comes back in the same.
    ///
    /// # Errors
    /// `not_found` (`no_journal`) for an unknown journal; `conflict` (`journal_closed`) when it was deleted and the
    /// lease is not to be given up.
    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome>;

    /// The lease of a journal as it stands, expired or not; none when nobody has held it, or it was given up. Only for
    /// looking: what it says may have passed.
    ///
    /// # Errors
    /// `not_found` (`no_journal`) for an unknown journal.
    async fn holder(&self, journal: JournalId) -> Result<Option<Lease>>;

    /// Waits until the journal's head is beyond `after` (in any process) or about `milliseconds` have passed, and
    /// returns the head.
    ///
    /// # Errors
    /// `not_found` (`no_journal`) for an unknown journal.
    async fn wait(&self, journal: JournalId, after: u64, milliseconds: u64) -> Result<u64>;

    /// Replaces all rows and registers of these journals by rebuilt ones, in one transaction. The version of their
    /// registers goes up.
    ///
    /// # Errors
    /// `conflict` (`head_moved`) when a journal's head is not the one that its generation reflects; `not_found`
    /// (`no_journal`) for an unknown journal. Then nothing was replaced.
    async fn replace_views(&self, generation: Vec<Generation>) -> Result<()>;

    /// Closes a journal and drops its own entries above `keep_to`, which must not be below its highest fork point.
    /// The rows and registers of dropped entries go with them; the journal's state remains, as `Deleted`, with the last
    /// entry that was kept as its head (or its fork point, when none was). May be repeated, to keep less. What is kept
    /// can be read and forked as before.
    ///
    /// # Errors
    /// `conflict` (`fork_depends`) when a live fork needs more: one that is open or keeps entries of its own;
    /// `not_found` (`no_journal`) for an unknown journal.
    async fn delete_journal(&self, journal: JournalId, keep_to: u64) -> Result<()>;

    /// A log of the audit: one by its number, or the newest; none when nothing was logged.
    async fn audit_log(&self, log: Option<u64>) -> Result<Option<LogState>>;

    /// Leaves of a log from an index on, at most so many, as they were stored. It ends early where one is missing.
    async fn leaves(&self, log: u64, from: u64, limit: usize) -> Result<Vec<Vec<u8>>>;

    /// Marks keys as destroyed: no commit under them succeeds from now on.
    async fn destroy_keys(&self, keys: Vec<KeyId>) -> Result<()>;

    /// Turns entries into tombstones, closes journals and marks keys as destroyed, all of it or nothing. Headers, links and
    /// commitments stay, so that what follows still verifies. Doing it again is no error. When this returns, it is durable;
    /// what was deleted may still stand in the storage's own log.
    ///
    /// # Errors
    /// `not_found` (`no_journal`) for an unknown journal, and then nothing was changed.
    async fn erase(&self, erasure: Erasure) -> Result<Tombstones>;

    /// All entries of an owner, tombstones too, in the order of their journals.
    async fn owned(&self, owner: Pseudonym) -> Result<Vec<Run>>;
}

/// Whether a journal takes entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalStatus {
    /// It does.
    Open,
    /// It was deleted; what forks need of it is kept.
    Deleted,
}

/// What is known of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalState {
    /// Its id.
    pub id: JournalId,
    /// Its family.
    pub family: FamilyId,
    /// What it is for.
    pub kind: JournalKind,
    /// Whose it is.
    pub owner: Pseudonym,
    /// Where it was forked.
    pub parent: Option<Position>,
    /// The last seq; the fork seq (or 0) while it has no entry of its own. Goes down only by deletion.
    pub head: u64,
    /// The link at the head; the genesis or fork link while it has no entry of its own.
    pub head_link: Link,
    /// The epoch of its lease; 0 before the first.
    pub epoch: u64,
    /// Counts changes of its registers.
    pub registers: u64,
    /// Whether it takes entries.
    pub status: JournalStatus,
}

/// Which journals to list.
#[derive(Clone, Debug, Default)]
pub struct JournalFilter {
    /// Only this family.
    pub family: Option<FamilyId>,
    /// Only this kind.
    pub kind: Option<JournalKind>,
    /// Only forks of this journal.
    pub parent: Option<JournalId>,
    /// Only ids that begin with these hexadecimal digits (of the journal or, when `true`, of the family).
    pub prefix: Option<(String, bool)>,
}

/// In which order to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Direction {
    /// Oldest first.
    #[default]
    Forward,
    /// Newest first.
    Backward,
}

/// Which entries to read.
#[derive(Clone, Debug)]
pub struct Read {
    /// The journal.
    pub journal: JournalId,
    /// The first seq.
    pub from: u64,
    /// The last seq, included.
    pub to: u64,
    /// Only these kinds; empty means all.
    pub kinds: Vec<samite_model::EntryKind>,
    /// At most so many.
    pub limit: usize,
    /// In which order.
    pub direction: Direction,
    /// Whether to fetch the sealed payloads.
    pub payloads: bool,
    /// Whether to return what is stored as it is, be it out of place, changed, after a gap or beyond the head: for
    /// verification, which needs to see it. Only what cannot be read is an error then.
    pub unchecked: bool,
}

impl Read {
    /// All of a range, oldest first, with payloads.
    pub fn range(journal: JournalId, from: u64, to: u64) -> Self {
        Self {
            journal,
            from,
            to,
            kinds: Vec::new(),
            limit: usize::MAX,
            direction: Direction::Forward,
            payloads: true,
            unchecked: false,
        }
    }
}

/// An entry as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// The seq that the storage knows it by; the header must say the same.
    pub seq: u64,
    /// The header's bytes.
    pub header: Vec<u8>,
    /// The link that the storage has for it.
    pub link: Link,
    /// The sealed payload; `None` when not asked for, or erased.
    pub payload: Option<Vec<u8>>,
}

/// Which rows to find.
#[derive(Clone, Debug)]
pub struct RowQuery {
    /// The journal and the last seq to consider.
    pub at: Position,
    /// The rows' kind.
    pub kind: u16,
    /// Any of these hashes; empty means all rows of the kind.
    pub hashes: Vec<[u8; 16]>,
    /// At most so many, newest first.
    pub limit: usize,
}

/// A row as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where its entry is.
    pub position: Position,
    /// The hash.
    pub hash: [u8; 16],
    /// The value.
    pub value: Vec<u8>,
}

/// A register as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// What it is for.
    pub kind: u16,
    /// The hash.
    pub hash: [u8; 16],
    /// The seq of the entry that set it.
    pub seq: u64,
    /// The value.
    pub value: Vec<u8>,
}

/// All rows and registers of one journal, rebuilt.
#[derive(Clone, Debug)]
pub struct Generation {
    /// The journal.
    pub journal: JournalId,
    /// The rows, each with its seq.
    pub rows: Vec<(u64, NewRow)>,
    /// The registers.
    pub registers: Vec<Register>,
    /// The head that they reflect; a moved head is `conflict`.
    pub head: u64,
}

/// What to do with a lease.
#[derive(Clone, Debug)]
pub struct LeaseRequest {
    /// The journal.
    pub journal: JournalId,
    /// The keyed hash of the writer's id.
    pub writer: Pseudonym,
    /// The caller's clock, in nanoseconds since 1970.
    pub now: i64,
    /// When the lease expires, on the same clock; not after `now` gives it up.
    pub expires: i64,
    /// The process that stands for the writer, for whoever must find out whether it lives: opaque to the ledger.
    pub process: Vec<u8>,
    /// Take over although it has not expired, because the holder of this epoch was seen to be gone.
    pub take_over: Option<u64>,
}

/// A lease as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The writer.
    pub writer: Pseudonym,
    /// The epoch it writes in.
    pub epoch: u64,
    /// When it expires, in nanoseconds since 1970.
    pub expires: i64,
    /// The process that stands for the writer.
    pub process: Vec<u8>,
}

/// What came of a lease request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// It is the caller's. The epoch is the one before when the writer is the last one that held it and its lease has
    /// not expired, or was given up; else it is a new one, and `previous` is the lease that ended with it, if there was
    /// one: not one that was given up. The first epoch is 1.
    Held {
        /// The epoch to write in.
        epoch: u64,
        /// The lease that ended with this: another writer's, or the caller's own that had expired.
        previous: Option<Lease>,
    },
    /// Another writer holds it.
    Busy(Lease),
    /// It was given up (or was not the caller's to give up).
    Released,
}
