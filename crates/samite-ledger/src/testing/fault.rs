//! A ledger in memory whose storage fails as real ones do.

use super::Seeded;
use crate::{
    BlockIndex, BlockPlace, BlockRow, Collection, Commit, Erasure, Generation, JournalFilter, JournalState, Lease,
    LeaseOutcome, LeaseRequest, Ledger, LogState, MemoryLedger, PackRow, Pin, Read, Receipt, Register, Row, RowQuery,
    Run, StoredEntry, Tombstones,
};
use async_trait::async_trait;
use samite_host::Sleep;
use samite_model::{BlockId, Error, JournalId, KeyId, PinId, Pseudonym, Result};
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often which fault happens, in a thousand calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// A call fails as `unavailable` and did nothing.
    pub unavailable: u32,
    /// A write did nothing, and its caller is told that the outcome is unknown.
    pub lost_request: u32,
    /// A write is durable, and its caller is told that the outcome is unknown.
    pub lost_acknowledgement: u32,
    /// A commit's caller is told that the outcome is unknown, and it happens some time later, or never.
    pub late: u32,
    /// A call takes time before and after it happens, at most so many nanoseconds each.
    pub delay: u64,
}

impl Faults {
    /// Nothing fails.
    pub const NONE: Self = Self { unavailable: 0, lost_request: 0, lost_acknowledgement: 0, late: 0, delay: 0 };
    /// Every fault happens within a few dozen calls; a call takes up to two milliseconds.
    pub const MANY: Self =
        Self { unavailable: 30, lost_request: 20, lost_acknowledgement: 40, late: 20, delay: 1_000_000 };
}

/// How often which fault has happened.
#[derive(Debug, Default)]
pub struct Injected {
    /// Calls that failed as `unavailable`.
    pub unavailable: AtomicU64,
    /// Writes that did nothing, with an unknown outcome.
    pub lost_requests: AtomicU64,
    /// Writes that are durable, with an unknown outcome.
    pub lost_acknowledgements: AtomicU64,
    /// Commits that happened after their callers were told that the outcome is unknown.
    pub late: AtomicU64,
    /// Writes under way when their process crashed.
    pub interrupted: AtomicU64,
}

/// The storage of one ledger, which several processes open. A clone is the same storage.
#[derive(Clone)]
pub struct FaultyStore(Arc<Store>);

struct Store {
    memory: MemoryLedger,
    faults: Mutex<Faults>,
    random: Seeded,
    sleep: Arc<dyn Sleep>,
    late: Mutex<Vec<Commit>>,
    handles: Mutex<Vec<std::sync::Weak<AtomicBool>>>,
    injected: Injected,
}

impl std::fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyStore").field("injected", &self.0.injected).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FaultyStore {
    /// Empty storage. Its faults come from this generator alone, its delays pass by this sleep.
    pub fn new(random: Seeded, sleep: Arc<dyn Sleep>, faults: Faults) -> Self {
        Self(Arc::new(Store {
            memory: MemoryLedger::new(Arc::clone(&sleep)).with_finisher(Arc::new(super::PlainFinisher)),
            faults: Mutex::new(faults),
            random,
            sleep,
            late: Mutex::default(),
            handles: Mutex::default(),
            injected: Injected::default(),
        }))
    }

    /// What a new process opens.
    pub fn open(&self) -> FaultyLedger {
        let crashed = Arc::new(AtomicBool::new(false));
        let mut handles = lock(&self.0.handles);
        handles.retain(|handle| handle.strong_count() > 0);
        handles.push(Arc::downgrade(&crashed));
        FaultyLedger { store: self.clone(), crashed }
    }

    /// What is durable, without faults: for whoever checks.
    pub fn truth(&self) -> &MemoryLedger {
        &self.0.memory
    }

    /// Changes how often faults happen from now on.
    pub fn set_faults(&self, faults: Faults) {
        *lock(&self.0.faults) = faults;
    }

    /// Cuts the power: every process crashes, and only what was synced remains.
    pub fn cut_power(&self) {
        for handle in lock(&self.0.handles).drain(..) {
            if let Some(crashed) = handle.upgrade() {
                crashed.store(true, Ordering::SeqCst);
            }
        }
        lock(&self.0.late).clear();
        self.0.memory.lose_volatile();
    }

    /// What has happened so far.
    pub fn injected(&self) -> &Injected {
        &self.0.injected
    }

    fn happens(&self, rate: impl Fn(&Faults) -> u32, counter: &AtomicU64) -> bool {
        let rate = rate(&lock(&self.0.faults));
        let happens = rate > 0 && self.0.random.chance(rate);
        if happens {
            counter.fetch_add(1, Ordering::SeqCst);
        }
        happens
    }

    async fn delay(&self) {
        let longest = lock(&self.0.faults).delay;
        if longest > 0 {
            self.0.sleep.sleep(self.0.random.below(longest)).await;
        }
    }

    /// Lets late commits happen, or not yet.
    async fn land(&self) {
        let waiting = std::mem::take(&mut *lock(&self.0.late));
        for commit in waiting {
            if self.0.random.chance(300) {
                // Nobody waits for what comes of it.
                if self.0.memory.commit(commit).await.is_ok() {
                    self.0.injected.late.fetch_add(1, Ordering::SeqCst);
                }
            } else {
                lock(&self.0.late).push(commit);
            }
        }
    }
}

/// A process's handle on a [`FaultyStore`]: fails as the store's [`Faults`] say, and for good once it has crashed.
#[derive(Clone)]
pub struct FaultyLedger {
    store: FaultyStore,
    crashed: Arc<AtomicBool>,
}

impl std::fmt::Debug for FaultyLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyLedger").field("crashed", &self.crashed).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

fn unknown() -> Error {
    Error::unavailable("outcome_unknown", "the storage did not answer: the write may have happened or not")
        .hint("look, or retry with a dedupe row")
}

impl FaultyLedger {
    /// Crashes the process that holds this handle: writes under way have happened or not, and no call succeeds any
    /// more. The executor's [`kill`](super::Spawner::kill) is what ends the process's tasks.
    pub fn crash(&self) {
        self.crashed.store(true, Ordering::SeqCst);
    }

    fn check(&self) -> Result<()> {
        if self.crashed.load(Ordering::SeqCst) {
            return Err(Error::unavailable("ledger_crashed", "the process of this ledger's handle has crashed")
                .hint("open the ledger again"));
        }
        Ok(())
    }

    /// Makes a call with the faults around it.
    async fn call<T>(&self, access: Access, call: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let injected = &self.store.0.injected;
        self.check()?;
        self.store.land().await;
        self.store.delay().await;
        self.check()?;
        if self.store.happens(|faults| faults.unavailable, &injected.unavailable) {
            return Err(Error::unavailable("storage_unavailable", "the storage is not available, by injection")
                .hint("retry: nothing happened"));
        }
        let write = access == Access::Write;
        if write && self.store.happens(|faults| faults.lost_request, &injected.lost_requests) {
            return Err(unknown());
        }
        // Counts writes whose process is gone before they return, whether its tasks are dropped or go on.
        let mut interrupted = Interrupted(write.then_some(&injected.interrupted));
        let result = call.await;
        self.store.delay().await;
        if let Err(error) = self.check() {
            return Err(if write { unknown() } else { error });
        }
        interrupted.0 = None;
        let result = result?;
        if write && self.store.happens(|faults| faults.lost_acknowledgement, &injected.lost_acknowledgements) {
            return Err(unknown());
        }
        Ok(result)
    }
}

struct Interrupted<'a>(Option<&'a AtomicU64>);

impl Drop for Interrupted<'_> {
    fn drop(&mut self) {
        if let Some(counter) = self.0 {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[async_trait]
impl Ledger for FaultyLedger {
    async fn commit(&self, commit: Commit) -> Result<Receipt> {
        self.check()?;
        let late = AtomicU64::new(0);
        if self.store.happens(|faults| faults.late, &late) {
            self.store.delay().await;
            lock(&self.store.0.late).push(commit);
            self.store.delay().await;
            return Err(unknown());
        }
        self.call(Access::Write, self.store.truth().commit(commit)).await
    }

    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>> {
        self.call(Access::Read, self.store.truth().journal(journal)).await
    }

    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>> {
        self.call(Access::Read, self.store.truth().journals(filter)).await
    }

    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>> {
        self.call(Access::Read, self.store.truth().read(read)).await
    }

    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        self.call(Access::Read, self.store.truth().rows(query)).await
    }

    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        self.call(Access::Read, self.store.truth().registers(journal)).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome> {
        self.call(Access::Write, self.store.truth().lease(request)).await
    }

    async fn holder(&self, journal: JournalId) -> Result<Option<Lease>> {
        self.call(Access::Read, self.store.truth().holder(journal)).await
    }

    async fn wait(&self, journal: JournalId, after: u64, milliseconds: u64) -> Result<u64> {
        self.call(Access::Read, self.store.truth().wait(journal, after, milliseconds)).await
    }

    async fn replace_views(&self, generation: Vec<Generation>) -> Result<()> {
        self.call(Access::Write, self.store.truth().replace_views(generation)).await
    }

    async fn delete_journal(&self, journal: JournalId, keep_to: u64) -> Result<()> {
        self.call(Access::Write, self.store.truth().delete_journal(journal, keep_to)).await
    }

    async fn audit_log(&self, log: Option<u64>) -> Result<Option<LogState>> {
        self.call(Access::Read, self.store.truth().audit_log(log)).await
    }

    async fn leaves(&self, log: u64, from: u64, limit: usize) -> Result<Vec<Vec<u8>>> {
        self.call(Access::Read, self.store.truth().leaves(log, from, limit)).await
    }

    async fn destroy_keys(&self, keys: Vec<KeyId>) -> Result<()> {
        self.call(Access::Write, self.store.truth().destroy_keys(keys)).await
    }

    async fn erase(&self, erasure: Erasure) -> Result<Tombstones> {
        self.call(Access::Write, self.store.truth().erase(erasure)).await
    }

    async fn owned(&self, owner: Pseudonym) -> Result<Vec<Run>> {
        self.call(Access::Read, self.store.truth().owned(owner)).await
    }
}

#[async_trait]
impl BlockIndex for FaultyLedger {
    async fn find_blocks(&self, blocks: Vec<BlockId>) -> Result<Vec<Option<BlockPlace>>> {
        self.call(Access::Read, self.store.truth().find_blocks(blocks)).await
    }

    async fn inline_blocks(&self, blocks: Vec<BlockId>) -> Result<Vec<Option<Vec<u8>>>> {
        self.call(Access::Read, self.store.truth().inline_blocks(blocks)).await
    }

    async fn pin(&self, pin: Pin) -> Result<()> {
        self.call(Access::Write, self.store.truth().pin(pin)).await
    }

    async fn unpin(&self, pin: PinId) -> Result<()> {
        self.call(Access::Write, self.store.truth().unpin(pin)).await
    }

    async fn pins(&self, now: i64) -> Result<Vec<Pin>> {
        self.call(Access::Read, self.store.truth().pins(now)).await
    }

    async fn packs(&self) -> Result<Vec<PackRow>> {
        self.call(Access::Read, self.store.truth().packs()).await
    }

    async fn blocks(&self, after: Option<BlockId>, limit: usize) -> Result<Vec<BlockRow>> {
        self.call(Access::Read, self.store.truth().blocks(after, limit)).await
    }

    async fn collect(&self, collection: Collection) -> Result<()> {
        self.call(Access::Write, self.store.truth().collect(collection)).await
    }
}
