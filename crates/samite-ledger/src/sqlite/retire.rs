//! Deleting journals, and replacing views by rebuilt ones.

use super::failure::Failure;
use super::journal_row::{self, JournalRow};
use super::number::{number, stored};
use super::work::Work;
use crate::memory::refusal;
use crate::{Generation, JournalStatus};
use rusqlite::OptionalExtension as _;
use samite_model::{JournalId, Link, hash};

impl Work<'_> {
    pub(super) fn delete(&mut self, id: JournalId, keep_to: u64) -> Result<(), Failure> {
        self.settle()?;
        let mut journal = self.journal(id)?.journal.clone();
        let before_first = journal.fork_seq();
        let keep_to = keep_to.clamp(before_first, journal.state.head.max(before_first));
        if let Some((seq, fork)) = self.highest_fork(journal.row)?
            && seq > keep_to
        {
            return Err(refusal::fork_depends(id, keep_to, fork, seq).into());
        }
        let head_link = if keep_to == journal.state.head {
            journal.state.head_link
        } else if keep_to == before_first {
            self.link_before(&journal)?
        } else {
            self.entry_link(journal.row, keep_to)?.ok_or_else(|| refusal::unreadable(id, keep_to))?
        };
        let from = (journal.row, stored(keep_to));
        self.database.prepare_cached("DELETE FROM entry WHERE journal = ?1 AND seq > ?2")?.execute(from)?;
        self.database.prepare_cached("DELETE FROM view_row WHERE journal = ?1 AND seq > ?2")?.execute(from)?;
        let registers =
            self.database.prepare_cached("DELETE FROM register WHERE journal = ?1 AND seq > ?2")?.execute(from)?;
        journal.state.registers = journal.state.registers.saturating_add(u64::from(registers > 0));
        journal.state.head = keep_to;
        journal.state.head_link = head_link;
        journal.state.status = JournalStatus::Deleted;
        journal_row::update(&mut self.statements, &journal)?;
        self.changed();
        self.settle()?;
        Ok(())
    }

    /// The highest fork point of the forks that need it: those that are open or keep entries of their own.
    fn highest_fork(&self, row: i64) -> rusqlite::Result<Option<(u64, JournalId)>> {
        self.database
            .prepare_cached(
                "SELECT fork_seq, id FROM journal WHERE parent = ?1 AND (status = ?2 OR head_seq > fork_seq) \
                 ORDER BY fork_seq DESC LIMIT 1",
            )?
            .query_row((row, journal_row::OPEN), |row| Ok((number(row.get(0)?), JournalId(row.get(1)?))))
            .optional()
    }

    /// The link before a journal's first own entry: that of its genesis, or the one over its parent's link.
    fn link_before(&self, journal: &JournalRow) -> Result<Link, Failure> {
        let state = &journal.state;
        let identity =
            hash::JournalIdentity { id: state.id, family: state.family, owner: state.owner, kind: state.kind.code() };
        let (Some(row), Some(parent)) = (journal.parent, state.parent) else { return Ok(hash::genesis(&identity)) };
        let link = self.entry_link(row, parent.seq)?.ok_or_else(|| refusal::unreadable(parent.journal, parent.seq))?;
        Ok(hash::fork(&identity, parent.journal, parent.seq, link))
    }

    pub(super) fn replace_views(&mut self, generations: &[Generation]) -> Result<(), Failure> {
        for generation in generations {
            let head = self.journal(generation.journal)?.journal.state.head;
            if head != generation.head {
                return Err(refusal::head_moved(generation.journal, head, generation.head).into());
            }
        }
        for generation in generations {
            self.replace_view(generation)?;
        }
        self.changed();
        Ok(())
    }

    fn replace_view(&mut self, generation: &Generation) -> Result<(), Failure> {
        let held = self.journal(generation.journal)?;
        held.journal.state.registers = held.journal.state.registers.saturating_add(1);
        held.dirty = true;
        let (journal, owner) = (held.journal.row, held.journal.owner);
        self.database.prepare_cached("DELETE FROM view_row WHERE journal = ?1")?.execute([journal])?;
        self.database.prepare_cached("DELETE FROM register WHERE journal = ?1")?.execute([journal])?;
        // A row is its entry's owner's; that of an entry which is gone would be the journal's.
        let mut insert = self.database.prepare_cached(
            "INSERT INTO view_row(journal, kind, hash, seq, place, owner, value) VALUES(?1, ?2, ?3, ?4, ?5, \
             coalesce((SELECT owner FROM entry WHERE journal = ?1 AND seq = ?4), ?6), ?7)",
        )?;
        for (place, (seq, row)) in (0_i64..).zip(&generation.rows) {
            insert.execute((journal, row.kind, &row.hash, stored(*seq), place, owner, &row.value))?;
        }
        let mut insert = self.database.prepare_cached(
            "INSERT INTO register(journal, kind, hash, seq, owner, value) VALUES(?1, ?2, ?3, ?4, \
             coalesce((SELECT owner FROM entry WHERE journal = ?1 AND seq = ?4), ?5), ?6)",
        )?;
        for register in &generation.registers {
            insert.execute((journal, register.kind, &register.hash, stored(register.seq), owner, &register.value))?;
        }
        Ok(())
    }
}
