//! A ledger in memory: for tests, simulations and scratch work. It keeps every rule of the contract but durability.

mod blocks;
mod commit;
mod erase;
mod lease;
mod leaves;
pub(crate) mod refusal;
mod retire;
mod state;
#[cfg(feature = "testing")]
mod tamper;
mod view;

use crate::{
    BlockIndex, BlockPlace, BlockRow, Collection, Commit, Erasure, Finisher, Generation, JournalFilter, JournalState,
    Lease, LeaseOutcome, LeaseRequest, Ledger, LogState, PackRow, Pin, Read, Receipt, Register, Row, RowQuery, Run,
    StoredEntry, Tombstones,
};
use async_trait::async_trait;
use samite_host::{Sleep, SystemSleep};
use samite_model::{BlockId, JournalId, KeyId, PinId, Pseudonym, Result};
use state::State;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

#[cfg(feature = "testing")]
pub use tamper::Tampering;

/// Journals and blocks of one tenant in this process's memory. A clone is another handle on the same ledger.
#[derive(Clone)]
pub struct MemoryLedger {
    shared: Arc<Shared>,
    sleep: Arc<dyn Sleep>,
    finisher: Option<Arc<dyn Finisher>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Who waits for a head to move.
    waiting: Mutex<Vec<Waker>>,
}

impl std::fmt::Debug for MemoryLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryLedger").finish_non_exhaustive()
    }
}

impl Default for MemoryLedger {
    fn default() -> Self {
        Self::new(Arc::new(SystemSleep))
    }
}

impl MemoryLedger {
    /// An empty ledger whose [`Ledger::wait`] sleeps by this.
    pub fn new(sleep: Arc<dyn Sleep>) -> Self {
        Self { shared: Arc::default(), sleep, finisher: None }
    }

    /// The same, with an audit log.
    #[must_use]
    pub fn with_finisher(mut self, finisher: Arc<dyn Finisher>) -> Self {
        self.finisher = Some(finisher);
        self
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let waiting = std::mem::take(&mut *self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn commit(&self, commit: Commit) -> Result<Receipt> {
        let receipt = self.state().commit(commit, self.finisher.as_deref())?;
        self.wake();
        Ok(receipt)
    }

    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>> {
        Ok(self.state().journals.get(&journal).map(|journal| journal.state.clone()))
    }

    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>> {
        Ok(self.state().list(&filter))
    }

    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>> {
        self.state().read(&read)
    }

    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        self.state().rows(&query)
    }

    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        self.state().registers(journal)
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome> {
        self.state().lease(request)
    }

    async fn holder(&self, journal: JournalId) -> Result<Option<Lease>> {
        self.state().holder(journal)
    }

    async fn wait(&self, journal: JournalId, after: u64, milliseconds: u64) -> Result<u64> {
        let mut sleeping = self.sleep.sleep(milliseconds.saturating_mul(1_000_000));
        poll_fn(|context| {
            // Listen before looking, so that no commit falls between.
            {
                let mut waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    waiting.push(context.waker().clone());
                }
            }
            let head = match self.state().journal(journal) {
                Ok(journal) => journal.state.head,
                Err(error) => return Poll::Ready(Err(error)),
            };
            if head > after || sleeping.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(head));
            }
            Poll::Pending
        })
        .await
    }

    async fn replace_views(&self, generation: Vec<Generation>) -> Result<()> {
        self.state().replace_views(generation)
    }

    async fn delete_journal(&self, journal: JournalId, keep_to: u64) -> Result<()> {
        self.state().delete(journal, keep_to)
    }

    async fn audit_log(&self, log: Option<u64>) -> Result<Option<LogState>> {
        Ok(self.state().logs.state(log))
    }

    async fn leaves(&self, log: u64, from: u64, limit: usize) -> Result<Vec<Vec<u8>>> {
        Ok(self.state().logs.leaves(log, from, limit))
    }

    async fn destroy_keys(&self, keys: Vec<KeyId>) -> Result<()> {
        self.state().destroyed.extend(keys);
        Ok(())
    }

    async fn erase(&self, erasure: Erasure) -> Result<Tombstones> {
        self.state().erase(erasure)
    }

    async fn owned(&self, owner: Pseudonym) -> Result<Vec<Run>> {
        Ok(self.state().owned(owner))
    }
}

#[async_trait]
impl BlockIndex for MemoryLedger {
    async fn find_blocks(&self, blocks: Vec<BlockId>) -> Result<Vec<Option<BlockPlace>>> {
        let state = self.state();
        Ok(blocks.iter().map(|block| state.blocks.find(block)).collect())
    }

    async fn inline_blocks(&self, blocks: Vec<BlockId>) -> Result<Vec<Option<Vec<u8>>>> {
        let state = self.state();
        Ok(blocks.iter().map(|block| state.blocks.inline(block)).collect())
    }

    async fn pin(&self, pin: Pin) -> Result<()> {
        self.state().blocks.pins.insert(pin.id, pin);
        Ok(())
    }

    async fn unpin(&self, pin: PinId) -> Result<()> {
        self.state().blocks.pins.remove(&pin);
        Ok(())
    }

    async fn pins(&self, now: i64) -> Result<Vec<Pin>> {
        Ok(self.state().blocks.pins.values().filter(|pin| pin.expires > now).cloned().collect())
    }

    async fn packs(&self) -> Result<Vec<PackRow>> {
        Ok(self.state().blocks.packs.values().cloned().collect())
    }

    async fn blocks(&self, after: Option<BlockId>, limit: usize) -> Result<Vec<BlockRow>> {
        Ok(self.state().blocks.list(after, limit))
    }

    async fn collect(&self, collection: Collection) -> Result<()> {
        self.state().collect(collection)
    }
}
