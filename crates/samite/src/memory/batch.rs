//! Several changes of a namespace in one commit: all of them or none, decided on what stands at that moment.

use super::query::{check_stands, no_record};
use super::write::{said_already, unchanged};
use super::{Memory, views};
use crate::core::Draft;
use crate::views::{IndexHash, Projection};
use samite_ledger::{Append, Commit, Guard, JournalKind, NewJournal};
use samite_memory::Standings;
use samite_model::memory::{Asserted, Changed, Opened, Operation, Record, Replaces, Retracted};
use samite_model::{EntryKind, Error, FamilyId, JournalId, Position, RecordId, Result};
use std::sync::Arc;

/// How often a batch is decided anew because somebody else wrote.
pub(super) const TRIES: usize = 16;

/// One change.
pub(super) enum Change {
    /// A record comes; nothing happens where the same is said already.
    Assert(Box<Record>),
    /// A record takes the place of one that was so until now.
    Replace(RecordId, Box<Record>),
    /// A record does not hold any more.
    Retract(RecordId, Option<String>),
}

/// What a batch is decided on.
pub(super) struct Basis {
    /// The namespace's journal, or the one that it will have.
    pub(super) journal: JournalId,
    /// How far it had come; none where it is not there.
    head: Option<u64>,
    /// Where its records stand.
    pub(super) standings: Arc<Standings>,
    /// What had been erased by then; none while something was.
    erasures: Option<u64>,
}

impl Basis {
    /// How far the namespace had come.
    pub(super) fn seq(&self) -> u64 {
        self.head.unwrap_or(0)
    }
}

/// Whether a batch is to be decided anew after this.
pub(super) fn is_overtaken(error: &Error) -> bool {
    matches!(error.code(), "head_moved" | "journal_exists" | "row_exists")
}

impl Memory {
    /// What stands now.
    pub(super) async fn basis(&self) -> Result<Basis> {
        let erasures = self.client.core.settled_erasures().await?;
        let (journal, state) = self.client.core.memory_state(self.client.subject.pseudonym, &self.namespace).await?;
        let head = state.map(|state| state.head);
        // Where somebody writes from here on, the head has moved when the batch comes.
        let standings = self.shared_standings().await?;
        Ok(Basis { journal, head, standings, erasures })
    }

    /// Whether nothing was erased, and nobody wrote, since a basis was read or advanced.
    pub(super) async fn is_current(&self, basis: &Basis) -> Result<bool> {
        let (journal, state) = self.client.core.memory_state(self.client.subject.pseudonym, &self.namespace).await?;
        let erasures = self.client.core.settled_erasures().await?;
        let head = state.map(|state| state.head);
        Ok(erasures.is_some() && (journal, head, erasures) == (basis.journal, basis.head, basis.erasures))
    }

    /// Commits changes, in their order, if nobody wrote since the basis was read; that is then what stands after them. When this returns,
    /// they are durable. After an error the basis says nothing any more.
    ///
    /// # Errors
    /// Those of single writes; and what [`is_overtaken`] knows.
    pub(super) async fn commit_batch(
        &self,
        basis: &mut Basis,
        changes: Vec<Change>,
        mut guards: Vec<Guard>,
    ) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let core = &self.client.core;
        core.refresh_redactor().await?;
        let (journal, owner) = (basis.journal, self.client.subject.pseudonym);
        let family = FamilyId(journal.0);
        let hash = core.hasher(owner, family);
        let mut named = Vec::new();
        let mut drafts: Vec<Draft> = Vec::new();
        let mut commit = Commit::default();
        if let Some(seq) = basis.head {
            commit.guards.push(Guard::Head { journal, seq });
        } else {
            commit.journals.push(NewJournal { id: journal, family, kind: JournalKind::Memory, owner, parent: None });
            commit.journals.push(self.searches_to_be(journal));
            let opened = Opened { namespace: self.namespace.clone() };
            drafts.push(core.draft(EntryKind::MEMORY_OPENED, &opened, Projection::default())?);
        }
        let (before, time) = (basis.head.unwrap_or(0), core.now());
        for change in changes {
            let Some(operation) = self.operation_of(&hash, &basis.standings, change)? else { continue };
            drafts.push(match &operation {
                Operation::Asserted(said) => {
                    named.extend(said.replaces.map(|replaces| replaces.record));
                    core.draft(EntryKind::MEMORY_ASSERTED, said, views::asserted(&hash, said)?)?
                }
                Operation::Retracted(said) => {
                    named.push(said.record);
                    core.draft(EntryKind::MEMORY_RETRACTED, said, views::retracted(&hash, said)?)?
                }
                _ => continue,
            });
            let at = Position { journal, seq: before + drafts.len() as u64 };
            Arc::make_mut(&mut basis.standings).apply(at, time, operation);
        }
        if named.is_empty() && !drafts.iter().any(|draft| draft.kind == EntryKind::MEMORY_ASSERTED) {
            return Ok(());
        }
        guards.extend(self.not_forgotten(journal, &named).await?);
        commit.guards.extend(guards);
        let author = self.client.author(0);
        let head = before + drafts.len() as u64;
        let mut entries = Vec::new();
        for draft in drafts {
            entries.push(core.seal_into(journal, &author, draft, &mut commit)?);
        }
        commit.appends.push(Append { journal, entries });
        core.0.ledger.commit(commit).await?;
        basis.head = Some(head);
        Ok(())
    }

    /// What a change does to what stands; nothing where its effect is there.
    fn operation_of(&self, hash: &dyn IndexHash, standings: &Standings, change: Change) -> Result<Option<Operation>> {
        let (old, record) = match change {
            Change::Assert(record) => (None, record),
            Change::Replace(old, record) => (Some(old), record),
            Change::Retract(record, reason) => {
                let standing = standings.get(record).ok_or_else(|| no_record(record))?;
                check_stands(standing)?;
                self.check_may_end(standing, None)?;
                let (record, life) = (standing.record.record, standing.lives);
                return Ok(Some(Operation::Retracted(Retracted { namespace: None, record, life, reason })));
            }
        };
        let replaces = match old {
            Some(old) => {
                let standing = standings.get(old).ok_or_else(|| no_record(old))?;
                check_stands(standing)?;
                self.check_may_end(standing, Some(record.provenance.trust))?;
                let (record, life) = (standing.record.record, standing.lives);
                Some(Replaces { record, changed: Changed::Superseded, life })
            }
            None => None,
        };
        // After those that said the same and have ended: each goes to one that came later, so it ends.
        let mut after = None;
        let content = loop {
            let content = views::content(hash, &record, after)?;
            match standings.of_content(content) {
                Some(said) if said.ended.is_none() => {
                    let (known, was_said) = (said.record.record, said.was_said(&record.provenance));
                    match replaces {
                        Some(replaces) if replaces.record == known => return Err(unchanged(known)),
                        Some(_) => return Err(said_already(known)),
                        None if was_said => return Ok(None),
                        // Who else said it is kept.
                        None => break content,
                    }
                }
                Some(said) => after = Some(said.record.record),
                None => break content,
            }
        };
        let asserted = Asserted { namespace: None, record: *record, replaces, content, origin: None };
        Ok(Some(Operation::Asserted(Box::new(asserted))))
    }
}
