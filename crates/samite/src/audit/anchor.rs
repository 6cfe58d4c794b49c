//! Anchors: how far journals had come, put into the log, so that a journal that is changed or cut is found by the log.

use super::Audit;
use crate::payload::{Anchored, AnchoredJournal};
use crate::views::{self, register};
use samite_audit::leaf::Anchor;
use samite_ledger::{Append, Commit, JournalFilter, JournalKind, JournalState, NewEntry, NewJournal};
use samite_model::{EntryKind, FamilyId, JournalId, Observer, Result};
use std::collections::HashMap;

/// How many journals one leaf anchors.
const A_LEAF: usize = 256;

impl Audit {
    /// The journal of what is done with the log itself: one, with an id that every process derives alike.
    pub(super) fn journal(&self) -> JournalId {
        JournalId(self.client.core.0.keys.writer("samite audit journal").0)
    }

    /// Puts into the log how far every journal has come that was not seen there at its head: those that nobody writes to any
    /// more as well as those that somebody does. Returns how many there were. When this returns, it is durable.
    ///
    /// # Errors
    /// `unavailable` when the store cannot be written.
    pub async fn anchor(&self, observer: &Observer) -> Result<usize> {
        let ledger = &self.client.core.0.ledger;
        let own = self.journal();
        let known: HashMap<JournalId, Vec<u8>> = match ledger.journal(own).await? {
            Some(_) => {
                let (_, registers) = ledger.registers(own).await?;
                let anchored = registers.into_iter().filter(|register| register.kind == register::ANCHORED);
                anchored.map(|register| (JournalId(register.hash), register.value)).collect()
            }
            None => HashMap::new(),
        };
        let moved = |state: &JournalState| {
            let is_empty = state.head == state.parent.map_or(0, |parent| parent.seq);
            !is_empty
                && state.id != own
                && known.get(&state.id) != Some(&views::anchored_at(state.head, state.head_link))
        };
        let all = ledger.journals(JournalFilter::default()).await?;
        let moved: Vec<AnchoredJournal> = all
            .iter()
            .filter(|state| moved(state))
            .map(|state| AnchoredJournal { journal: state.id, seq: state.head, link: state.head_link })
            .collect();
        for (done, some) in moved.chunks(A_LEAF).enumerate() {
            observer.tell("anchoring journals", (done * A_LEAF) as u64, Some(moved.len() as u64));
            let anchored = Anchored { journals: some.to_vec() };
            let anchors = some
                .iter()
                .map(|journal| Anchor { journal: journal.journal, seq: journal.seq, link: journal.link })
                .collect();
            let core = &self.client.core;
            let draft = core.draft(EntryKind::ANCHORED, &anchored, views::anchored(&anchored))?;
            let mut entry = core.seal(own, &self.client.author(0), draft)?;
            if entry.leaf.is_some() {
                entry.leaf = Some(core.leaf(&self.client.author(0), anchors)?);
            }
            self.append(entry).await?;
        }
        Ok(moved.len())
    }

    /// Appends to the journal of what is done with the log, making it first where it is new.
    pub(super) async fn append(&self, entry: NewEntry) -> Result<()> {
        let (own, core) = (self.journal(), &self.client.core);
        let appends = vec![Append { journal: own, entries: vec![entry] }];
        if core.0.ledger.journal(own).await?.is_none() {
            let owner = core.0.keys.tenant_pseudonym();
            let journal =
                NewJournal { id: own, family: FamilyId(own.0), kind: JournalKind::Audit, owner, parent: None };
            let first = Commit { journals: vec![journal], appends: appends.clone(), ..Commit::default() };
            match core.0.ledger.commit(first).await {
                Err(error) if error.code() == "journal_exists" => {}
                other => return other.map(|_| ()),
            }
        }
        core.0.ledger.commit(Commit { appends, ..Commit::default() }).await.map(|_| ())
    }
}
