//! Commits: everything is checked first, and then only the storage can fail.

use super::failure::Failure;
use super::journal_row::{self, JournalRow};
use super::number::stored;
use super::work::Work;
use crate::memory::refusal;
use crate::{Append, Commit, JournalState, JournalStatus, NewEntry, NewJournal, Receipt, RegisterChange};
use rusqlite::OptionalExtension as _;
use samite_model::{Header, JournalId, Link, hash};
use std::collections::HashSet;

impl Work<'_> {
    pub(super) fn commit(&mut self, commit: &Commit) -> Result<Receipt, Failure> {
        for guard in &commit.guards {
            self.guard(guard)?;
        }
        let links = self.check(commit)?;

        for (journal, link) in commit.journals.iter().zip(links) {
            self.make(journal, link)?;
        }
        let mut first_seqs = Vec::with_capacity(commit.appends.len());
        for append in &commit.appends {
            first_seqs.push(self.append(append)?);
        }
        if !commit.packs.is_empty() || !commit.blocks.is_empty() {
            self.add_packs(&commit.packs)?;
            self.add_blocks(&commit.blocks)?;
            // Entries that come with them show their loss.
            if commit.appends.is_empty() {
                self.changed();
            }
        }
        for pin in &commit.unpin {
            self.drop_pin(*pin)?;
        }
        if let Some((log, before)) = commit.prune {
            super::leaves::prune(self.database, log, before)?;
        }
        if let Some((journal, _, expires)) = commit.renew {
            self.renew(journal, expires)?;
        }
        Ok(Receipt { first_seqs })
    }

    /// Checks all but the guards, and returns the link before the first entry of each journal that is to be made.
    fn check(&mut self, commit: &Commit) -> Result<Vec<Link>, Failure> {
        let mut made = HashSet::new();
        let mut links = Vec::with_capacity(commit.journals.len());
        for new in &commit.journals {
            if !made.insert(new.id) || self.exists(new.id)? {
                return Err(refusal::journal_exists(new.id).into());
            }
            links.push(self.first_link(new, &made)?);
        }
        for append in &commit.appends {
            if !made.contains(&append.journal)
                && self.journal(append.journal)?.journal.state.status == JournalStatus::Deleted
            {
                return Err(refusal::journal_closed(append.journal).into());
            }
            for entry in &append.entries {
                self.key_live(entry.key)?;
                refusal::check_leaf(entry, self.finisher.is_some())?;
            }
        }
        if let Some((log, before)) = commit.prune {
            let size = super::leaves::state(self.database, Some(log))?.map_or(0, |state| state.size);
            refusal::check_prune(log, before, size)?;
        }
        self.check_blocks(&commit.blocks, &commit.packs)?;
        if let Some((journal, epoch, _)) = commit.renew {
            self.check_epoch(journal, epoch)?;
        }
        Ok(links)
    }

    fn first_link(&mut self, new: &NewJournal, made: &HashSet<JournalId>) -> Result<Link, Failure> {
        let identity =
            hash::JournalIdentity { id: new.id, family: new.family, owner: new.owner, kind: new.kind.code() };
        let Some(parent) = new.parent else { return Ok(hash::genesis(&identity)) };
        if made.contains(&parent.journal) {
            // A journal of the same commit has no entry yet that could be forked.
            return Err(refusal::fork_point(parent.journal, parent.seq, 1, 0).into());
        }
        let journal = &self.journal(parent.journal)?.journal;
        let (row, first, head) = (journal.row, journal.fork_seq().saturating_add(1), journal.state.head);
        if parent.seq < first || parent.seq > head {
            return Err(refusal::fork_point(parent.journal, parent.seq, first, head).into());
        }
        match self.entry_link(row, parent.seq)? {
            Some(link) => Ok(hash::fork(&identity, parent.journal, parent.seq, link)),
            None => Err(refusal::unreadable(parent.journal, parent.seq).into()),
        }
    }

    /// The link of an own entry of a journal.
    pub(super) fn entry_link(&self, journal: i64, seq: u64) -> rusqlite::Result<Option<Link>> {
        self.database
            .prepare_cached("SELECT link FROM entry WHERE journal = ?1 AND seq = ?2")?
            .query_row((journal, stored(seq)), |row| Ok(Link(row.get(0)?)))
            .optional()
    }

    fn make(&mut self, new: &NewJournal, link: Link) -> rusqlite::Result<()> {
        let owner = self.owner(new.owner)?;
        let parent = match new.parent {
            Some(parent) => journal_row::load(self.database, parent.journal)?.map(|journal| journal.row),
            None => None,
        };
        let fork_seq = new.parent.map_or(0, |parent| parent.seq);
        let row = self
            .database
            .prepare_cached(
                "INSERT INTO journal(id, family, kind, owner, parent, fork_seq, head_seq, head_link, epoch, registers, \
                 status) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, 0, 0, ?8)",
            )?
            .insert((
                &new.id.0,
                &new.family.0,
                new.kind.code(),
                owner,
                parent,
                stored(fork_seq),
                &link.0,
                journal_row::OPEN,
            ))?;
        let state = JournalState {
            id: new.id,
            family: new.family,
            kind: new.kind,
            owner: new.owner,
            parent: new.parent,
            head: fork_seq,
            head_link: link,
            epoch: 0,
            registers: 0,
            status: JournalStatus::Open,
        };
        self.made(JournalRow { row, owner, parent, state });
        Ok(())
    }

    fn append(&mut self, append: &Append) -> Result<u64, Failure> {
        let (row, mut head, mut link, mut registers) = {
            let held = self.journal(append.journal)?;
            let state = &held.journal.state;
            (held.journal.row, state.head, state.head_link, state.registers)
        };
        let first = head.saturating_add(1);
        for entry in &append.entries {
            head = head.saturating_add(1);
            let (next, changes) = self.insert(row, append.journal, head, link, entry)?;
            link = next;
            registers = registers.saturating_add(changes);
        }
        if !append.entries.is_empty() {
            let journal = self.journal(append.journal)?;
            journal.journal.state.head = head;
            journal.journal.state.head_link = link;
            journal.journal.state.registers = registers;
            journal.first.get_or_insert(first);
            journal.dirty = true;
            self.wrote();
        }
        Ok(first)
    }

    /// Inserts one entry with its rows and registers; returns its link and how many registers changed.
    fn insert(
        &mut self,
        journal: i64,
        id: JournalId,
        seq: u64,
        previous: Link,
        entry: &NewEntry,
    ) -> rusqlite::Result<(Link, u64)> {
        let fields = Header {
            kind: entry.kind,
            seq,
            epoch: entry.epoch,
            time: entry.time,
            id: entry.id,
            actor: entry.actor,
            owner: entry.owner,
            key: entry.key,
            length: entry.length,
            commitment: entry.commitment,
        };
        let header = fields.encode();
        let link = hash::link(previous, &header);
        let owner = self.owner(entry.owner)?;
        let seq = stored(seq);
        self.statements.insert_entry()?.execute((journal, seq, owner, &header[..], &link.0, &entry.payload))?;
        if !entry.rows.is_empty() {
            let insert = self.statements.insert_row()?;
            for (place, row) in (0_i64..).zip(&entry.rows) {
                insert.execute((journal, row.kind, &row.hash, seq, place, owner, &row.value))?;
            }
        }
        let mut changes = 0;
        for change in &entry.registers {
            changes += self.change_register(journal, seq, owner, change)?;
        }
        if let Some(draft) = &entry.leaf {
            self.add_leaf(draft, id, &fields, link, owner)?;
        }
        Ok((link, changes))
    }

    fn change_register(
        &mut self,
        journal: i64,
        seq: i64,
        owner: i64,
        change: &RegisterChange,
    ) -> rusqlite::Result<u64> {
        let changed = match change {
            RegisterChange::Set { kind, hash, value } => {
                self.statements.set_register()?.execute((journal, kind, hash, seq, owner, value))?
            }
            RegisterChange::Clear { kind, hash } => self.statements.clear_register()?.execute((journal, kind, hash))?,
        };
        Ok(u64::from(changed > 0))
    }
}
