//! The whole tenant's ledger for as long as its principal may look after the tenant, which is asked at each read.

use super::authority::Authority;
use async_trait::async_trait;
use samite_ledger::{
    Commit, Erasure, Generation, JournalFilter, JournalState, Lease, LeaseOutcome, LeaseRequest, Ledger, LogState,
    Read, Receipt, Register, Row, RowQuery, Run, StoredEntry, Tombstones,
};
use samite_model::access::Right;
use samite_model::{JournalId, KeyId, Pseudonym, Result};
use std::sync::Arc;

/// What somebody sees who may look after the tenant, and what they see who may not, or not any more.
pub(crate) struct Overseen {
    pub(super) authority: Arc<Authority>,
    /// As the principal sees it otherwise.
    pub(super) own: Arc<dyn Ledger>,
}

impl Overseen {
    async fn ledger(&self) -> Result<&dyn Ledger> {
        self.authority.refresh().await?;
        let is_operator = self.authority.on_tenant(Right::Operate).is_allowed();
        Ok(if is_operator { self.authority.whole.0.ledger.as_ref() } else { self.own.as_ref() })
    }
}

#[async_trait]
impl Ledger for Overseen {
    async fn commit(&self, commit: Commit) -> Result<Receipt> {
        self.ledger().await?.commit(commit).await
    }

    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>> {
        self.ledger().await?.journal(journal).await
    }

    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>> {
        self.ledger().await?.journals(filter).await
    }

    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>> {
        self.ledger().await?.read(read).await
    }

    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        self.ledger().await?.rows(query).await
    }

    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        self.ledger().await?.registers(journal).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome> {
        self.ledger().await?.lease(request).await
    }

    async fn holder(&self, journal: JournalId) -> Result<Option<Lease>> {
        self.ledger().await?.holder(journal).await
    }

    async fn wait(&self, journal: JournalId, after: u64, milliseconds: u64) -> Result<u64> {
        self.ledger().await?.wait(journal, after, milliseconds).await
    }

    async fn audit_log(&self, log: Option<u64>) -> Result<Option<LogState>> {
        self.ledger().await?.audit_log(log).await
    }

    async fn leaves(&self, log: u64, from: u64, limit: usize) -> Result<Vec<Vec<u8>>> {
        self.ledger().await?.leaves(log, from, limit).await
    }

    async fn replace_views(&self, generation: Vec<Generation>) -> Result<()> {
        self.ledger().await?.replace_views(generation).await
    }

    async fn delete_journal(&self, journal: JournalId, keep_to: u64) -> Result<()> {
        self.ledger().await?.delete_journal(journal, keep_to).await
    }

    async fn destroy_keys(&self, keys: Vec<KeyId>) -> Result<()> {
        self.ledger().await?.destroy_keys(keys).await
    }

    async fn erase(&self, erasure: Erasure) -> Result<Tombstones> {
        self.ledger().await?.erase(erasure).await
    }

    async fn owned(&self, owner: Pseudonym) -> Result<Vec<Run>> {
        self.ledger().await?.owned(owner).await
    }
}
