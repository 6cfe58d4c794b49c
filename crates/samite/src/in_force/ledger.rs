//! The ledger as every client of a store writes to it: leaves get the flags of what is in force.

use crate::core::Core;
use async_trait::async_trait;
use samite_audit::log::LeafDraft;
use samite_ledger::{
    Commit, Erasure, Generation, JournalFilter, JournalKind, JournalState, Lease, LeaseOutcome, LeaseRequest, Ledger,
    LogState, Read, Receipt, Register, Row, RowQuery, Run, StoredEntry, Tombstones,
};
use samite_model::{FamilyId, JournalId, KeyId, Pseudonym, Result};
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// So many journals' homes are remembered: they never change.
const REMEMBERED: usize = 4096;

/// A ledger whose acts carry what was decided.
pub(crate) struct Flagged {
    core: Core,
    control: JournalId,
    homes: RwLock<HashMap<JournalId, Home>>,
}

/// What a journal belongs to.
#[derive(Clone, Copy)]
struct Home {
    kind: JournalKind,
    family: FamilyId,
}

impl Home {
    const fn is_session(self) -> bool {
        matches!(self.kind, JournalKind::Branch | JournalKind::SessionControl)
    }

    /// Whether several sessions write to it.
    const fn is_shared(self) -> bool {
        matches!(self.kind, JournalKind::Artifacts | JournalKind::Workspace)
    }
}

impl Flagged {
    /// Over the ledger of these backends.
    pub(crate) fn new(core: Core) -> Self {
        let control = core.tenant_control();
        Self { core, control, homes: RwLock::default() }
    }

    fn inner(&self) -> &dyn Ledger {
        self.core.0.ledger.as_ref()
    }

    async fn home(&self, journal: JournalId, commit: &Commit) -> Result<Option<Home>> {
        if let Some(new) = commit.journals.iter().find(|new| new.id == journal) {
            return Ok(Some(Home { kind: new.kind, family: new.family }));
        }
        let known = self.homes.read().unwrap_or_else(PoisonError::into_inner).get(&journal).copied();
        if known.is_some() {
            return Ok(known);
        }
        let home = self.inner().journal(journal).await?.map(|state| Home { kind: state.kind, family: state.family });
        if let Some(home) = home {
            let mut homes = self.homes.write().unwrap_or_else(PoisonError::into_inner);
            if homes.len() >= REMEMBERED {
                homes.clear();
            }
            homes.insert(journal, home);
        }
        Ok(home)
    }

    async fn flag(&self, commit: &mut Commit) -> Result<()> {
        let flags = self.core.flags().await?;
        let mut families = Vec::new();
        if flags.tells_sessions_apart() {
            let mut homes = Vec::new();
            for append in &commit.appends {
                homes.push(self.home(append.journal, commit).await?);
            }
            // What is done in a session's name to artifacts and workspaces is said in the session as well.
            let session = homes.iter().flatten().find(|home| home.is_session()).map(|home| home.family);
            let of = |home: Home| if home.is_shared() { session.unwrap_or(home.family) } else { home.family };
            families.extend(homes.into_iter().map(|home| home.map(of)));
        }
        for (place, append) in commit.appends.iter_mut().enumerate() {
            let family = families.get(place).copied().flatten();
            for entry in &mut append.entries {
                let Some(leaf) = &mut entry.leaf else { continue };
                let mut draft = LeafDraft::decode(leaf)?;
                (draft.policy, draft.consent) = flags.of(entry.owner, family)?;
                *leaf = draft.encode();
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Ledger for Flagged {
    async fn commit(&self, mut commit: Commit) -> Result<Receipt> {
        if commit.appends.iter().any(|append| append.entries.iter().any(|entry| entry.leaf.is_some())) {
            self.flag(&mut commit).await?;
        }
        let decides = commit.appends.iter().any(|append| {
            append.journal == self.control && append.entries.iter().any(|entry| !entry.registers.is_empty())
        });
        let receipt = self.inner().commit(commit).await;
        if decides {
            // What this process decided holds here from now on.
            self.core.look_again();
        }
        receipt
    }

    async fn journal(&self, journal: JournalId) -> Result<Option<JournalState>> {
        self.inner().journal(journal).await
    }

    async fn journals(&self, filter: JournalFilter) -> Result<Vec<JournalState>> {
        self.inner().journals(filter).await
    }

    async fn read(&self, read: Read) -> Result<Vec<StoredEntry>> {
        self.inner().read(read).await
    }

    async fn rows(&self, query: RowQuery) -> Result<Vec<Row>> {
        self.inner().rows(query).await
    }

    async fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        self.inner().registers(journal).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome> {
        self.inner().lease(request).await
    }

    async fn holder(&self, journal: JournalId) -> Result<Option<Lease>> {
        self.inner().holder(journal).await
    }

    async fn wait(&self, journal: JournalId, after: u64, milliseconds: u64) -> Result<u64> {
        self.inner().wait(journal, after, milliseconds).await
    }

    async fn audit_log(&self, log: Option<u64>) -> Result<Option<LogState>> {
        self.inner().audit_log(log).await
    }

    async fn leaves(&self, log: u64, from: u64, limit: usize) -> Result<Vec<Vec<u8>>> {
        self.inner().leaves(log, from, limit).await
    }

    async fn replace_views(&self, generation: Vec<Generation>) -> Result<()> {
        let replaced = self.inner().replace_views(generation).await;
        self.core.look_again();
        replaced
    }

    async fn delete_journal(&self, journal: JournalId, keep_to: u64) -> Result<()> {
        self.inner().delete_journal(journal, keep_to).await
    }

    async fn destroy_keys(&self, keys: Vec<KeyId>) -> Result<()> {
        self.inner().destroy_keys(keys).await
    }

    async fn erase(&self, erasure: Erasure) -> Result<Tombstones> {
        self.inner().erase(erasure).await
    }

    async fn owned(&self, owner: Pseudonym) -> Result<Vec<Run>> {
        self.inner().owned(owner).await
    }
}
