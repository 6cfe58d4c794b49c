//! The journal of a namespace: made by what is first written to it.

use super::{Memory, views};
use crate::client::Client;
use crate::core::{Core, Draft};
use crate::views::Projection;
use data_encoding::HEXLOWER;
use samite_ledger::{Append, Commit, Guard, JournalFilter, JournalKind, JournalState, JournalStatus, NewJournal};
use samite_model::memory::{Namespace, Opened};
use samite_model::{EntryKind, Error, FamilyId, JournalId, Position, Pseudonym, Result};

impl Core {
    /// The journal of an owner's namespace, whose id every process derives alike. After each erasure of the namespace it is another
    /// one, since the one that was erased is closed.
    fn memory_journal(&self, owner: Pseudonym, namespace: &Namespace, erased: u32) -> JournalId {
        let name = HEXLOWER.encode(&namespace.encode());
        JournalId(self.0.keys.writer(&format!("samite memory of {owner} {erased} {name}")).0)
    }

    /// The state of an owner's namespace, if there is one, and the id of its journal to be.
    pub(crate) async fn memory_state(
        &self,
        owner: Pseudonym,
        namespace: &Namespace,
    ) -> Result<(JournalId, Option<JournalState>)> {
        let mut erased = 0;
        loop {
            let id = self.memory_journal(owner, namespace, erased);
            match self.0.ledger.journal(id).await? {
                Some(state) if state.status == JournalStatus::Deleted => erased += 1,
                state => return Ok((id, state)),
            }
        }
    }
}

impl Client {
    /// The namespaces of this principal's user, in the order in which they were made.
    ///
    /// # Errors
    /// `corrupt` naming the journal whose first entry cannot be read.
    pub async fn memory_namespaces(&self) -> Result<Vec<(Namespace, JournalState)>> {
        let filter = JournalFilter { kind: Some(JournalKind::Memory), ..JournalFilter::default() };
        let mut namespaces = Vec::new();
        for state in self.core.0.ledger.journals(filter).await? {
            if !self.sees(&state) || state.status != JournalStatus::Open || state.family.0 != state.id.0 {
                continue;
            }
            let first = self.core.entry_at(Position { journal: state.id, seq: 1 }).await?;
            // Erased with its owner.
            if first.payload.is_some() {
                namespaces.push((first.json::<Opened>()?.namespace, state));
            }
        }
        Ok(namespaces)
    }
}

impl Client {
    /// How far each of this principal's user's namespaces has come.
    pub(crate) async fn memory_positions(&self) -> Result<Vec<Position>> {
        let filter = JournalFilter { kind: Some(JournalKind::Memory), ..JournalFilter::default() };
        let states = self.core.0.ledger.journals(filter).await?;
        let is_one = |state: &&JournalState| {
            self.sees(state) && state.status == JournalStatus::Open && state.family.0 == state.id.0
        };
        Ok(states.iter().filter(is_one).map(|state| Position { journal: state.id, seq: state.head }).collect())
    }
}

impl Memory {
    /// The state of its journal; none before anything was written to it.
    pub(super) async fn state(&self) -> Result<Option<JournalState>> {
        Ok(self.client.core.memory_state(self.client.subject.pseudonym, &self.namespace).await?.1)
    }

    /// Appends to it, making it first where it is new. When this returns, the entries are durable.
    pub(super) async fn append(&self, drafts: Vec<Draft>, guards: Vec<Guard>) -> Result<Vec<Position>> {
        let core = &self.client.core;
        let owner = self.client.subject.pseudonym;
        let (journal, state) = core.memory_state(owner, &self.namespace).await?;
        let author = self.client.author(0);
        let mut commit = Commit { guards, ..Commit::default() };
        let mut entries = Vec::new();
        if state.is_none() {
            let family = FamilyId(journal.0);
            commit.journals.push(NewJournal { id: journal, family, kind: JournalKind::Memory, owner, parent: None });
            commit.journals.push(self.searches_to_be(journal));
            let opened = Opened { namespace: self.namespace.clone() };
            let draft = core.draft(EntryKind::MEMORY_OPENED, &opened, Projection::default())?;
            entries.push(core.seal(journal, &author, draft)?);
            // Nothing lies in a journal that is not there.
            commit.guards.retain(|guard| !matches!(guard, Guard::RowAbsent { journal: of, .. } if *of == journal));
        }
        let made = entries.len();
        for draft in drafts {
            let entry = core.seal_into(journal, &author, draft, &mut commit)?;
            entries.push(entry);
        }
        let count = entries.len() - made;
        commit.appends.push(Append { journal, entries });
        let receipt = core.0.ledger.commit(commit).await?;
        let first = receipt.first_seqs.first();
        let first = first.ok_or_else(|| Error::internal("no_receipt", "a commit answered with no seq"))? + made as u64;
        Ok((first..).take(count).map(|seq| Position { journal, seq }).collect())
    }

    /// The journal of what was found in a namespace, which is made with it.
    pub(super) fn searches_to_be(&self, journal: JournalId) -> NewJournal {
        let (id, owner) = (self.searches(journal), self.client.subject.pseudonym);
        NewJournal { id, family: FamilyId(journal.0), kind: JournalKind::Memory, owner, parent: None }
    }

    /// Its id.
    pub(super) fn searches(&self, journal: JournalId) -> JournalId {
        JournalId(self.client.core.0.keys.writer(&format!("samite memory searches of {journal}")).0)
    }

    /// The guard that nothing was submitted before that has this row.
    pub(super) fn absent(journal: JournalId, row: views::MemoryRow) -> Guard {
        Guard::RowAbsent { journal, kind: row.kind, hashes: vec![row.hash] }
    }
}
