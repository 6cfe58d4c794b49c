//! Commits: everything is checked first, and then nothing can fail.

use super::leaves::Group;
use super::refusal;
use super::state::{Journal, State};
use crate::{
    Append, Commit, Finisher, Guard, JournalState, JournalStatus, NewEntry, NewJournal, Receipt, RowQuery, StoredEntry,
};
use samite_model::{Header, JournalId, Link, Position, Result, hash};
use std::collections::{BTreeMap, BTreeSet};

impl State {
    pub(super) fn commit(&mut self, commit: Commit, finisher: Option<&dyn Finisher>) -> Result<Receipt> {
        for guard in &commit.guards {
            self.guard(guard)?;
        }
        let links = self.check(&commit, finisher.is_some())?;

        let mut group = Group::new(finisher);
        for (journal, link) in commit.journals.iter().zip(links) {
            self.make(journal, link);
        }
        let mut first_seqs = Vec::with_capacity(commit.appends.len());
        for append in commit.appends {
            first_seqs.push(self.append(append, &mut group)?);
        }
        self.blocks.add_packs(commit.packs);
        self.blocks.add_blocks(commit.blocks);
        for pin in commit.unpin {
            self.blocks.pins.remove(&pin);
        }
        if let Some((journal, _, expires)) = commit.renew
            && let Some(held) = &mut self.journal_mut(journal)?.lease
        {
            held.lease.expires = expires;
            held.durable = expires;
            held.released = false;
        }
        if let Some((log, before)) = commit.prune {
            self.logs.prune(log, before);
        }
        self.finish(group)?;
        Ok(Receipt { first_seqs })
    }

    fn guard(&self, guard: &Guard) -> Result<()> {
        match guard {
            Guard::Head { journal, seq } => {
                let head = self.journal(*journal)?.state.head;
                if head == *seq { Ok(()) } else { Err(refusal::head_moved(*journal, head, *seq)) }
            }
            Guard::Epoch { journal, epoch } => self.check_epoch(*journal, *epoch),
            Guard::RowAbsent { journal, kind, hashes } => {
                let at = Position { journal: *journal, seq: self.journal(*journal)?.state.head };
                // No hash means nothing to look for, where a query takes it for everything.
                if hashes.is_empty() {
                    return Ok(());
                }
                let rows = self.rows(&RowQuery { at, kind: *kind, hashes: hashes.clone(), limit: 1 })?;
                match rows.first() {
                    Some(row) => Err(refusal::row_exists(*journal, *kind, row.position.journal, row.position.seq)),
                    None => Ok(()),
                }
            }
            Guard::Registers { journal, version } => {
                let now = self.journal(*journal)?.state.registers;
                if now == *version { Ok(()) } else { Err(refusal::registers_moved(*journal, now, *version)) }
            }
            Guard::Open { journal } => match self.journal(*journal)?.state.status {
                JournalStatus::Open => Ok(()),
                JournalStatus::Deleted => Err(refusal::journal_closed(*journal)),
            },
            Guard::KeyLive { key } => {
                if self.destroyed.contains(key) {
                    Err(refusal::key_destroyed(*key))
                } else {
                    Ok(())
                }
            }
            Guard::PinLive { pin } => {
                if self.blocks.pins.contains_key(pin) {
                    Ok(())
                } else {
                    Err(refusal::pin_lapsed(*pin))
                }
            }
            Guard::BlocksLive { blocks } => {
                let gone = blocks.iter().find(|block| self.blocks.find(block).is_none());
                gone.map_or(Ok(()), |block| Err(refusal::block_dying(*block)))
            }
        }
    }

    fn check_epoch(&self, journal: JournalId, expected: u64) -> Result<()> {
        let epoch = self.journal(journal)?.state.epoch;
        if epoch == expected { Ok(()) } else { Err(refusal::epoch_passed(journal, epoch, expected)) }
    }

    /// Checks all but the guards, and returns the link before the first entry of each journal that is to be made.
    fn check(&self, commit: &Commit, is_logged: bool) -> Result<Vec<Link>> {
        let mut made = BTreeSet::new();
        let mut links = Vec::with_capacity(commit.journals.len());
        for new in &commit.journals {
            if self.journals.contains_key(&new.id) || !made.insert(new.id) {
                return Err(refusal::journal_exists(new.id));
            }
            links.push(self.first_link(new, &made)?);
        }
        if let Some((log, before)) = commit.prune {
            refusal::check_prune(log, before, self.logs.state(Some(log)).map_or(0, |state| state.size))?;
        }
        for append in &commit.appends {
            if !made.contains(&append.journal) && self.journal(append.journal)?.state.status == JournalStatus::Deleted {
                return Err(refusal::journal_closed(append.journal));
            }
            let destroyed = append.entries.iter().find(|entry| self.destroyed.contains(&entry.key));
            if let Some(entry) = destroyed {
                return Err(refusal::key_destroyed(entry.key));
            }
            append.entries.iter().try_for_each(|entry| refusal::check_leaf(entry, is_logged))?;
        }
        self.blocks.check(&commit.blocks, &commit.packs)?;
        if let Some((journal, epoch, _)) = commit.renew {
            self.check_epoch(journal, epoch)?;
        }
        Ok(links)
    }

    fn first_link(&self, new: &NewJournal, made: &BTreeSet<JournalId>) -> Result<Link> {
        let identity =
            hash::JournalIdentity { id: new.id, family: new.family, owner: new.owner, kind: new.kind.code() };
        let Some(parent) = new.parent else { return Ok(hash::genesis(&identity)) };
        if made.contains(&parent.journal) {
            // A journal of the same commit has no entry yet that could be forked.
            return Err(refusal::fork_point(parent.journal, parent.seq, 1, 0));
        }
        let journal = self.journal(parent.journal)?;
        match journal.entries.get(&parent.seq) {
            Some(entry) => Ok(hash::fork(&identity, parent.journal, parent.seq, entry.link)),
            None => Err(refusal::fork_point(parent.journal, parent.seq, journal.first(), journal.state.head)),
        }
    }

    fn make(&mut self, new: &NewJournal, link: Link) {
        let state = JournalState {
            id: new.id,
            family: new.family,
            kind: new.kind,
            owner: new.owner,
            parent: new.parent,
            head: new.parent.map_or(0, |parent| parent.seq),
            head_link: link,
            epoch: 0,
            registers: 0,
            status: JournalStatus::Open,
        };
        let journal = Journal {
            state,
            entries: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            rows: BTreeMap::new(),
            registers: BTreeMap::new(),
            lease: None,
        };
        self.journals.insert(new.id, journal);
        self.order.push(new.id);
    }

    fn append(&mut self, append: Append, group: &mut Group<'_>) -> Result<u64> {
        let Self { journals, logs, .. } = self;
        let journal = journals.get_mut(&append.journal).ok_or_else(|| refusal::no_journal(append.journal))?;
        let first = journal.state.head.saturating_add(1);
        for mut entry in append.entries {
            let draft = entry.leaf.take();
            let (header, link) = journal.append(entry);
            if let Some(draft) = draft {
                group.add(logs, &draft, append.journal, &header, link)?;
            }
        }
        Ok(first)
    }
}

impl Journal {
    fn append(&mut self, entry: NewEntry) -> (Header, Link) {
        let seq = self.state.head.saturating_add(1);
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
        let header = fields.encode().to_vec();
        let link = hash::link(self.state.head_link, &header);
        self.entries.insert(seq, StoredEntry { seq, header, link, payload: Some(entry.payload) });
        self.state.head = seq;
        self.state.head_link = link;
        self.add_rows(seq, entry.rows);
        for change in entry.registers {
            self.change_register(seq, change);
        }
        (fields, link)
    }
}
