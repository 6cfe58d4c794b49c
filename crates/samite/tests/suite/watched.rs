//! A ledger that counts what is read from it, and may be unable to give leases up.

use async_trait::async_trait;
use samite_ledger::{
    Commit, Erasure, Generation, JournalFilter, JournalState, Lease, LeaseOutcome, LeaseRequest, Ledger, LogState,
    Read, Receipt, Register, Row, RowQuery, Run, StoredEntry, Tombstones,
};
use samite_model::{EntryKind, Error, JournalId, KeyId, Pseudonym, Result};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub(crate) struct Watched {
    ledger: Arc<dyn Ledger>,
    keeps_leases: bool,
    read: AtomicUsize,
    kept: AtomicUsize,
    before: Mutex<Option<(EntryKind, Before)>>,
    before_leaves: Mutex<Option<(usize, Before)>>,
    registers: AtomicUsize,
}

/// What happens before a commit.
type Before = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Watched {
    /// One that does what it is asked.
    pub(crate) fn new(ledger: Arc<dyn Ledger>) -> Self {
        let none = || AtomicUsize::new(0);
        Self {
            ledger,
            keeps_leases: false,
            read: none(),
            kept: none(),
            before: Mutex::default(),
            before_leaves: Mutex::default(),
            registers: none(),
        }
    }

    /// One that cannot record that a lease was given up.
    pub(crate) fn keeping_leases(ledger: Arc<dyn Ledger>) -> Self {
        Self { keeps_leases: true, ..Self::new(ledger) }
    }

    /// Lets something happen right before the next commit of an entry of a kind.
    pub(crate) fn before(&self, kind: EntryKind, what: impl Future<Output = ()> + Send + 'static) {
        *self.before.lock().unwrap() = Some((kind, Box::pin(what)));
    }

    /// Lets something happen right before leaves of the audit log are read, for the so-manieth time from now.
    pub(crate) fn before_leaves(&self, nth: usize, what: impl Future<Output = ()> + Send + 'static) {
        *self.before_leaves.lock().unwrap() = Some((nth, Box::pin(what)));
    }

    /// Whether that is still to come.
    pub(crate) fn waits_for_leaves(&self) -> bool {
        self.before_leaves.lock().unwrap().is_some()
    }

    /// How often registers were read since this was last asked.
    pub(crate) fn registers_since(&self) -> usize {
        self.registers.swap(0, Ordering::SeqCst)
    }

    /// How much was read since this was last asked: calls, rows and entries.
    pub(crate) fn read_since(&self) -> usize {
        self.read.swap(0, Ordering::SeqCst)
    }

    /// How many leases could not be given up since this was last asked.
    pub(crate) fn kept_since(&self) -> usize {
        self.kept.swap(0, Ordering::SeqCst)
    }

    fn count<T>(&self, found: Result<Vec<T>>) -> Result<Vec<T>> {
        self.read.fetch_add(1 + found.as_ref().map_or(0, Vec::len), Ordering::SeqCst);
        found
    }
}

#[async_trait]
impl Ledger for Watched {
    async fn commit(&self, commit: Commit) -> Result<Receipt> {
        let has = |kind| commit.appends.iter().flat_map(|append| &append.entries).any(|entry| entry.kind == kind);
        let before = self.before.lock().unwrap().take_if(|(kind, _)| has(*kind));
        if let Some((_, what)) = before {
            what.await;
        }
        self.ledger.commit(commit).await
    }
    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>> {
        self.read.fetch_add(1, Ordering::SeqCst);
        self.ledger.journal(journal).await
    }
    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>> {
        self.count(self.ledger.journals(filter).await)
    }
    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>> {
        self.count(self.ledger.read(read).await)
    }
    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        self.count(self.ledger.rows(query).await)
    }
    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        self.read.fetch_add(1, Ordering::SeqCst);
        self.registers.fetch_add(1, Ordering::SeqCst);
        self.ledger.registers(journal).await
    }
    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome> {
        if self.keeps_leases && request.expires <= request.now {
            self.kept.fetch_add(1, Ordering::SeqCst);
            return Err(Error::unavailable("disk_full", "there is no room"));
        }
        self.ledger.lease(request).await
    }
    async fn holder(&self, journal: JournalId) -> Result<Option<Lease>> {
        self.ledger.holder(journal).await
    }
    async fn wait(&self, journal: JournalId, after: u64, milliseconds: u64) -> Result<u64> {
        self.ledger.wait(journal, after, milliseconds).await
    }
    async fn replace_views(&self, generation: Vec<Generation>) -> Result<()> {
        self.ledger.replace_views(generation).await
    }
    async fn delete_journal(&self, journal: JournalId, keep_to: u64) -> Result<()> {
        self.ledger.delete_journal(journal, keep_to).await
    }
    async fn audit_log(&self, log: Option<u64>) -> Result<Option<LogState>> {
        self.ledger.audit_log(log).await
    }
    async fn leaves(&self, log: u64, from: u64, limit: usize) -> Result<Vec<Vec<u8>>> {
        let before = self.before_leaves.lock().unwrap().take();
        match before {
            Some((1, what)) => what.await,
            Some((nth, what)) => *self.before_leaves.lock().unwrap() = Some((nth - 1, what)),
            None => {}
        }
        self.count(self.ledger.leaves(log, from, limit).await)
    }
    async fn destroy_keys(&self, keys: Vec<KeyId>) -> Result<()> {
        self.ledger.destroy_keys(keys).await
    }
    async fn erase(&self, erasure: Erasure) -> Result<Tombstones> {
        self.ledger.erase(erasure).await
    }
    async fn owned(&self, owner: Pseudonym) -> Result<Vec<Run>> {
        self.ledger.owned(owner).await
    }
}
