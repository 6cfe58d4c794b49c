//! Deleting journals and collecting blocks.

use super::refusal;
use super::state::{Journal, State};
use crate::{Collection, JournalStatus, PackState};
use samite_model::{JournalId, Link, Result, hash};
use std::collections::BTreeSet;

impl State {
    pub(super) fn delete(&mut self, id: JournalId, keep_to: u64) -> Result<()> {
        let journal = self.journal(id)?;
        let before_first = journal.first().saturating_sub(1);
        let keep_to = keep_to.clamp(before_first, journal.state.head.max(before_first));
        let needed = self.journals.values().filter_map(|fork| {
            let parent = fork.state.parent.filter(|parent| parent.journal == id)?;
            let lives = fork.state.status == JournalStatus::Open || fork.state.head > parent.seq;
            lives.then_some((parent.seq, fork.state.id))
        });
        if let Some((seq, fork)) = needed.max()
            && seq > keep_to
        {
            return Err(refusal::fork_depends(id, keep_to, fork, seq));
        }
        let head_link = match journal.entries.get(&keep_to) {
            Some(entry) => entry.link,
            None if keep_to == before_first => self.link_before(journal)?,
            None => return Err(refusal::unreadable(id, keep_to)),
        };
        let journal = self.journal_mut(id)?;
        journal.entries.retain(|seq, _| *seq <= keep_to);
        journal.unreadable.retain(|seq| *seq <= keep_to);
        journal.rows.retain(|row, _| row.seq <= keep_to);
        let registers = journal.registers.len();
        journal.registers.retain(|_, (seq, _)| *seq <= keep_to);
        if journal.registers.len() != registers {
            journal.state.registers = journal.state.registers.saturating_add(1);
        }
        journal.state.head = keep_to;
        journal.state.head_link = head_link;
        journal.state.status = JournalStatus::Deleted;
        Ok(())
    }

    /// The link before a journal's first own entry: that of its genesis, or the one over its parent's link.
    fn link_before(&self, journal: &Journal) -> Result<Link> {
        if journal.state.head < journal.first() {
            return Ok(journal.state.head_link);
        }
        let identity = Journal::identity(&journal.state);
        let Some(parent) = journal.state.parent else { return Ok(hash::genesis(&identity)) };
        let entry = self.journal(parent.journal)?.entries.get(&parent.seq);
        let entry = entry.ok_or_else(|| refusal::unreadable(parent.journal, parent.seq))?;
        Ok(hash::fork(&identity, parent.journal, parent.seq, entry.link))
    }

    pub(super) fn collect(&mut self, collection: Collection) -> Result<()> {
        let seen: BTreeSet<_> = collection.seen_pins.iter().collect();
        let dying: BTreeSet<_> = collection.dying.iter().collect();
        for pin in self.blocks.pins.values().filter(|pin| pin.expires > collection.now) {
            if !seen.contains(&pin.id) || pin.packs.iter().any(|pack| dying.contains(pack)) {
                return Err(refusal::pin_live(pin.id));
            }
        }
        for (journal, link) in &collection.seen_heads {
            if self.journal(*journal)?.state.head_link != *link {
                return Err(refusal::link_moved(*journal));
            }
        }
        let journals = u64::try_from(self.order.len()).unwrap_or(u64::MAX);
        if let Some(seen) = collection.seen_journals
            && seen != journals
        {
            return Err(refusal::journals_made(journals, seen));
        }
        for id in &collection.forget {
            if self.blocks.packs.get(id).is_some_and(|pack| pack.state == PackState::Live) {
                return Err(refusal::pack_live(*id));
            }
        }
        self.blocks.check(&collection.moved, &collection.packs)?;

        self.blocks.pins.retain(|_, pin| pin.expires > collection.now);
        self.blocks.add_packs(collection.packs);
        for block in collection.moved {
            self.blocks.places.insert(block.id, (block.owner, block.place));
        }
        for id in collection.dying {
            if let Some(pack) = self.blocks.packs.get_mut(&id) {
                pack.state = PackState::Dying;
            }
        }
        self.blocks.forget(&collection.forget, &collection.forget_blocks);
        Ok(())
    }
}
