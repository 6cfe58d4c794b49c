//! The ledger as one principal has it.

use super::acts::{Act, act};
use super::authority::{Authority, Entered, Facts};
use super::guard::{Seen, is_for_all, no_journal};
use super::reads::Reads;
use crate::views::row;
use async_trait::async_trait;
use samite_ledger::{
    Commit, Direction, Erasure, Generation, Guard, JournalFilter, JournalKind, JournalState, Lease, LeaseOutcome,
    LeaseRequest, Ledger, LogState, Read, Receipt, Register, Row, RowQuery, Run, StoredEntry, Tombstones,
};
use samite_model::access::Right;
use samite_model::{EntryKind, Error, Header, JournalId, KeyId, Pseudonym, Result};
use std::sync::Arc;

/// How often a commit is tried again because grants changed while it was made.
const ROUNDS: usize = 16;

/// What a principal may see and write of the tenant's journals.
pub(crate) struct Guarded {
    pub(crate) authority: Arc<Authority>,
    /// Whose data the client works with: its own user's, or the owner's of what it entered.
    pub(crate) acting: Pseudonym,
    pub(crate) entered: Option<Entered>,
    pub(crate) reads: Arc<Reads>,
}

impl Guarded {
    fn inner(&self) -> &dyn Ledger {
        self.authority.whole.0.ledger.as_ref()
    }

    async fn sees(&self, journal: JournalId) -> Result<Seen> {
        self.authority.refresh().await?;
        self.authority.sees(journal, self.entered).await
    }

    /// Refuses what is not seen, in the words for what is not there.
    async fn seen(&self, journal: JournalId) -> Result<Seen> {
        match self.sees(journal).await? {
            Seen::Nothing => Err(no_journal(journal)),
            seen => Ok(seen),
        }
    }

    async fn operate(&self) -> Result<()> {
        self.authority.refresh().await?;
        self.authority.on_tenant(Right::Operate).check(Right::Operate, "the tenant").map(|_| ())
    }

    /// Whether an entry of a journal that several write to is seen.
    fn shows(&self, stored: &StoredEntry, seen: &Seen) -> bool {
        match seen {
            Seen::Nothing => false,
            Seen::All { .. } => true,
            Seen::Some(seqs) => seqs.contains(&stored.seq),
            Seen::Except(seqs) => !seqs.contains(&stored.seq),
            Seen::Own => Header::decode(&stored.header)
                .is_ok_and(|header| self.is_own_or_tenants(header.owner) || is_for_all(header.kind)),
        }
    }

    fn is_own_or_tenants(&self, owner: Pseudonym) -> bool {
        owner == self.acting || owner == self.authority.whole.0.keys.tenant_pseudonym()
    }

    /// Reads what is seen of a journal of which not all is: as many entries as are asked for, where there are so many.
    async fn read_some(&self, mut read: Read, seen: &Seen) -> Result<Vec<StoredEntry>> {
        let wanted = read.limit;
        let mut found = Vec::new();
        loop {
            let page = self.inner().read(read.clone()).await?;
            let (count, last) = (page.len(), page.last().map(|entry| entry.seq));
            found.extend(page.into_iter().filter(|entry| self.shows(entry, seen)));
            let Some(last) = last.filter(|_| count >= read.limit && found.len() < wanted) else { break };
            match read.direction {
                Direction::Forward => read.from = last + 1,
                Direction::Backward => read.to = last.saturating_sub(1),
            }
            if read.from > read.to {
                break;
            }
        }
        found.truncate(wanted);
        Ok(found)
    }

    /// The rows that are seen.
    async fn rows_of(&self, query: RowQuery, seen: Seen) -> Result<Vec<Row>> {
        match seen {
            // Found by a hash that only who knows the words can make, under its own key.
            Seen::Own if !query.hashes.is_empty() => self.inner().rows(query).await,
            Seen::Own => {
                let rows = self.inner().rows(query).await?;
                let mut shown = Vec::new();
                for row in rows {
                    let at = row.position;
                    let read = Read { payloads: false, ..Read::range(at.journal, at.seq, at.seq) };
                    if self.inner().read(read).await?.iter().any(|entry| self.shows(entry, &Seen::Own)) {
                        shown.push(row);
                    }
                }
                Ok(shown)
            }
            Seen::Some(seqs) => {
                let limit = query.limit;
                let journal = query.at.journal;
                let mut rows = self.inner().rows(RowQuery { limit: usize::MAX, ..query }).await?;
                rows.retain(|row| row.position.journal == journal && seqs.contains(&row.position.seq));
                rows.truncate(limit);
                Ok(rows)
            }
            Seen::Except(seqs) => {
                let limit = query.limit;
                let journal = query.at.journal;
                let mut rows = self.inner().rows(RowQuery { limit: usize::MAX, ..query }).await?;
                rows.retain(|row| row.position.journal != journal || !seqs.contains(&row.position.seq));
                rows.truncate(limit);
                Ok(rows)
            }
            Seen::Nothing => Ok(Vec::new()),
            Seen::All { .. } => {
                let mut last = (query.at.journal, true);
                let rows = self.inner().rows(query).await?;
                let mut shown = Vec::with_capacity(rows.len());
                for row in rows {
                    // What is inherited may be another's.
                    if row.position.journal != last.0 {
                        let seen = self.sees(row.position.journal).await?;
                        last = (row.position.journal, !matches!(seen, Seen::Nothing));
                    }
                    if last.1 {
                        shown.push(row);
                    }
                }
                Ok(shown)
            }
        }
    }

    /// Notes what was read of another's journal.
    async fn note(&self, journal: JournalId, note: impl FnOnce(&Reads, Facts) + Send) -> Result<()> {
        if let Some(facts) = self.authority.facts(journal).await? {
            note(&self.reads, facts);
        }
        Ok(())
    }

    async fn commit_guarded(&self, commit: Commit) -> Result<Receipt> {
        self.authority.refresh().await?;
        if commit.prune.is_some() {
            self.operate().await?;
        }
        for guard in &commit.guards {
            let journal = match guard {
                Guard::Head { journal, .. }
                | Guard::Epoch { journal, .. }
                | Guard::RowAbsent { journal, .. }
                | Guard::Registers { journal, .. }
                | Guard::Open { journal } => *journal,
                Guard::KeyLive { .. } | Guard::PinLive { .. } | Guard::BlocksLive { .. } => continue,
            };
            // A guard tells what there is.
            self.seen(journal).await?;
        }
        for _ in 0..ROUNDS {
            let rests_on = self.authority.permit(&commit, self.acting, self.entered).await?;
            if rests_on.is_empty() {
                return self.inner().commit(commit).await;
            }
            // What was granted still is when this becomes durable.
            let mut attempt = commit.clone();
            // An erased person adds nothing to what others own either.
            attempt.guards.push(Guard::KeyLive { key: self.authority.key });
            attempt.guards.extend(
                rests_on.iter().map(|(journal, version)| Guard::Registers { journal: *journal, version: *version }),
            );
            match self.inner().commit(attempt).await {
                Err(error) if error.code() == "registers_moved" => {
                    let mut moved = false;
                    for (journal, version) in rests_on {
                        moved |= self.inner().registers(journal).await?.0 != version;
                    }
                    if !moved {
                        return Err(error);
                    }
                }
                other => return other,
            }
        }
        Err(Error::conflict("session_contended", "the session keeps changing").hint("try again"))
    }
}

#[async_trait]
impl Ledger for Guarded {
    async fn commit(&self, commit: Commit) -> Result<Receipt> {
        self.commit_guarded(commit).await
    }

    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>> {
        match self.sees(journal).await? {
            Seen::Nothing => Ok(None),
            _ => self.inner().journal(journal).await,
        }
    }

    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>> {
        self.authority.refresh().await?;
        let mut seen = Vec::new();
        for state in self.inner().journals(filter).await? {
            let facts = Facts::of(&state);
            if !matches!(self.authority.sees_of(state.id, facts, self.entered).await?, Seen::Nothing) {
                seen.push(state);
            }
        }
        Ok(seen)
    }

    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>> {
        let seen = self.seen(read.journal).await?;
        let (journal, payloads) = (read.journal, read.payloads);
        if payloads && is_others(&seen) {
            self.reads.check().await?;
        }
        let found = match &seen {
            Seen::All { .. } => self.inner().read(read).await?,
            seen => self.read_some(read, seen).await?,
        };
        if payloads && is_others(&seen) {
            self.note(journal, |reads, facts| reads.note(journal, facts, &found)).await?;
        }
        Ok(found)
    }

    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        let seen = self.seen(query.at.journal).await?;
        // What they lead to is no entry: a tree and its files, an artifact and its bytes.
        let is_recorded = is_others(&seen) && matches!(query.kind, row::TREE | row::ARTIFACT);
        if is_recorded {
            self.reads.check().await?;
        }
        let journal = query.at.journal;
        let rows = self.rows_of(query, seen).await?;
        if is_recorded {
            self.note(journal, |reads, facts| reads.note_rows(journal, facts, &rows)).await?;
        }
        Ok(rows)
    }

    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        self.seen(journal).await?;
        self.inner().registers(journal).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome> {
        self.seen(request.journal).await?;
        // Giving a lease up is never refused.
        if request.expires > request.now {
            self.authority.permit_on(request.journal, Right::Append, self.entered, &mut Vec::new()).await?;
        }
        self.inner().lease(request).await
    }

    async fn holder(&self, journal: JournalId) -> Result<Option<Lease>> {
        self.seen(journal).await?;
        self.inner().holder(journal).await
    }

    async fn wait(&self, journal: JournalId, after: u64, milliseconds: u64) -> Result<u64> {
        self.seen(journal).await?;
        self.inner().wait(journal, after, milliseconds).await
    }

    async fn audit_log(&self, log: Option<u64>) -> Result<Option<LogState>> {
        self.operate().await?;
        self.inner().audit_log(log).await
    }

    async fn leaves(&self, log: u64, from: u64, limit: usize) -> Result<Vec<Vec<u8>>> {
        self.operate().await?;
        self.inner().leaves(log, from, limit).await
    }

    async fn replace_views(&self, generation: Vec<Generation>) -> Result<()> {
        self.operate().await?;
        self.inner().replace_views(generation).await
    }

    async fn delete_journal(&self, journal: JournalId, keep_to: u64) -> Result<()> {
        self.seen(journal).await?;
        let Act::Of(right) = act(EntryKind::BRANCH_DELETED) else { return self.operate().await };
        self.authority.permit_on(journal, right, self.entered, &mut Vec::new()).await?;
        let facts = self.authority.facts(journal).await?;
        if facts.is_none_or(|facts| facts.kind != JournalKind::Branch) {
            self.operate().await?;
        }
        self.inner().delete_journal(journal, keep_to).await
    }

    async fn erase(&self, erasure: Erasure) -> Result<Tombstones> {
        self.operate().await?;
        self.inner().erase(erasure).await
    }

    async fn owned(&self, owner: Pseudonym) -> Result<Vec<Run>> {
        self.operate().await?;
        self.inner().owned(owner).await
    }

    async fn destroy_keys(&self, keys: Vec<KeyId>) -> Result<()> {
        self.operate().await?;
        self.inner().destroy_keys(keys).await
    }
}

/// Whether reading of it is recorded.
fn is_others(seen: &Seen) -> bool {
    matches!(seen, Seen::All { others: true } | Seen::Some(_))
}
