//! One write transaction: the journals it has looked at, and what it leaves in the high-water file.

use super::failure::Failure;
use super::high_water::Mark;
use super::journal_row::{self, JournalRow};
use super::number::number;
use super::schema;
use super::statements::Statements;
use crate::audit::{Finisher, Finishing};
use crate::memory::refusal;
use rusqlite::{Connection, OptionalExtension as _};
use samite_model::{JournalId, KeyId, Pseudonym};
use std::collections::{HashMap, HashSet};

/// What never changes once it is committed, and so may be remembered from one transaction to the next.
#[derive(Default)]
pub(super) struct Memo {
    owners: HashMap<Pseudonym, i64>,
    /// The parent and the fork seq of a journal, by its row.
    parents: HashMap<i64, Option<(i64, u64)>>,
    /// Journals as they were last seen: where they are, and what of them cannot change.
    journals: HashMap<JournalId, JournalRow>,
}

impl Memo {
    /// How many facts are remembered before all are forgotten.
    const CAPACITY: usize = 50_000;

    /// Forgets what a transaction that was rolled back may have put here.
    pub(super) fn clear(&mut self) {
        self.owners.clear();
        self.parents.clear();
        self.journals.clear();
    }

    fn bound(&mut self) {
        if self.owners.len().max(self.parents.len()).max(self.journals.len()) > Self::CAPACITY {
            self.clear();
        }
    }
}

/// A write transaction that is under way.
pub(super) struct Work<'c> {
    pub(super) database: &'c Connection,
    pub(super) statements: Statements<'c>,
    memo: &'c mut Memo,
    journals: HashMap<JournalId, Held>,
    live_keys: HashSet<KeyId>,
    marks: Vec<Mark>,
    /// Makes the audit log.
    pub(super) finisher: Option<&'c dyn Finisher>,
    /// The leaves of this transaction, once it has one.
    pub(super) group: Option<Group>,
    /// Whether anything was written.
    wrote: bool,
    /// Whether something was written that the journals' heads and epochs do not show.
    changed: bool,
}

/// The leaves of a transaction.
pub(super) struct Group {
    pub(super) finishing: Box<dyn Finishing>,
    /// The log that they go to.
    pub(super) log: u64,
    /// The index of the next.
    pub(super) next: u64,
}

/// A journal as this transaction has made it; written back once, at the end.
pub(super) struct Held {
    pub(super) journal: JournalRow,
    /// The first seq that this transaction appended.
    pub(super) first: Option<u64>,
    /// Whether this transaction took it into another epoch.
    pub(super) new_epoch: bool,
    pub(super) dirty: bool,
}

impl<'c> Work<'c> {
    pub(super) fn new(database: &'c Connection, memo: &'c mut Memo, finisher: Option<&'c dyn Finisher>) -> Self {
        memo.bound();
        Self {
            database,
            statements: Statements::new(database),
            memo,
            journals: HashMap::new(),
            live_keys: HashSet::new(),
            marks: Vec::new(),
            finisher,
            group: None,
            wrote: false,
            changed: false,
        }
    }

    /// A journal, or the refusal that there is none.
    pub(super) fn journal(&mut self, id: JournalId) -> Result<&mut Held, Failure> {
        use std::collections::hash_map::Entry;
        match self.journals.entry(id) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(place) => {
                let known = self.memo.journals.get(&id).cloned();
                let again =
                    known.map(|known| journal_row::load_again(&mut self.statements, known)).transpose()?.flatten();
                let journal = if let Some(journal) = again {
                    journal
                } else {
                    let journal = journal_row::load(self.database, id)?
                        .ok_or_else(|| Failure::Refused(refusal::no_journal(id)))?;
                    self.memo.parents.insert(journal.row, journal.parent.map(|parent| (parent, journal.fork_seq())));
                    self.memo.journals.insert(id, journal.clone());
                    journal
                };
                Ok(place.insert(Held { journal, first: None, new_epoch: false, dirty: false }))
            }
        }
    }

    /// Whether a journal exists.
    pub(super) fn exists(&mut self, id: JournalId) -> Result<bool, Failure> {
        match self.journal(id) {
            Ok(_) => Ok(true),
            Err(Failure::Refused(_)) => Ok(false),
            Err(broken) => Err(broken),
        }
    }

    /// Takes a journal that was just inserted.
    pub(super) fn made(&mut self, journal: JournalRow) {
        self.wrote = true;
        self.marks.push(Mark::Journal { journal: journal.state.id });
        self.journals.insert(journal.state.id, Held { journal, first: None, new_epoch: false, dirty: false });
    }

    /// The parent of a journal and the seq it was forked at, by their rows.
    pub(super) fn parent(&mut self, row: i64) -> rusqlite::Result<Option<(i64, u64)>> {
        if let Some(parent) = self.memo.parents.get(&row) {
            return Ok(*parent);
        }
        let (parent, seq): (Option<i64>, i64) = self
            .database
            .prepare_cached("SELECT parent, fork_seq FROM journal WHERE row = ?1")?
            .query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let parent = parent.map(|parent| (parent, number(seq)));
        self.memo.parents.insert(row, parent);
        Ok(parent)
    }

    /// The integer that an owner has here; made when it is new.
    pub(super) fn owner(&mut self, pseudonym: Pseudonym) -> rusqlite::Result<i64> {
        if let Some(owner) = self.memo.owners.get(&pseudonym) {
            return Ok(*owner);
        }
        let known = self
            .database
            .prepare_cached("SELECT owner FROM owner WHERE pseudonym = ?1")?
            .query_row([&pseudonym.0], |row| row.get(0))
            .optional()?;
        let owner = match known {
            Some(owner) => owner,
            None => self.database.prepare_cached("INSERT INTO owner(pseudonym) VALUES(?1)")?.insert([&pseudonym.0])?,
        };
        self.memo.owners.insert(pseudonym, owner);
        Ok(owner)
    }

    /// Refuses a key that was destroyed.
    pub(super) fn key_live(&mut self, key: KeyId) -> Result<(), Failure> {
        if self.live_keys.contains(&key) {
            return Ok(());
        }
        let destroyed = self.statements.find_destroyed_key()?.exists([&key.0])?;
        if destroyed {
            return Err(refusal::key_destroyed(key).into());
        }
        self.live_keys.insert(key);
        Ok(())
    }

    /// Marks keys as destroyed.
    pub(super) fn destroy_keys(&mut self, keys: &[KeyId]) -> Result<(), Failure> {
        let mut insert =
            self.database.prepare_cached("INSERT OR IGNORE INTO destroyed_key(id, owner) VALUES(?1, ?2)")?;
        for key in keys {
            insert.execute((&key.0, schema::TENANT))?;
        }
        self.live_keys.clear();
        self.changed();
        Ok(())
    }

    /// Says that something was written that heads and epochs show, or whose loss does no harm.
    pub(super) fn wrote(&mut self) {
        self.wrote = true;
    }

    /// Says that something was written that no head or epoch shows.
    pub(super) fn changed(&mut self) {
        self.wrote = true;
        self.changed = true;
    }

    /// Whether there is anything to commit.
    pub(super) fn has_written(&self) -> bool {
        self.wrote
    }

    /// Writes the journals back, so that queries see them.
    pub(super) fn flush(&mut self) -> rusqlite::Result<()> {
        for held in self.journals.values_mut() {
            if held.dirty {
                journal_row::update(&mut self.statements, &held.journal)?;
                held.dirty = false;
            }
        }
        Ok(())
    }

    /// Writes the journals back and forgets them, for a request that changes them by queries of its own.
    pub(super) fn settle(&mut self) -> rusqlite::Result<()> {
        self.flush()?;
        self.mark_journals();
        self.journals.clear();
        Ok(())
    }

    fn mark_journals(&mut self) {
        for held in self.journals.values_mut() {
            let state = &held.journal.state;
            if let Some(first) = held.first.take() {
                self.marks.push(Mark::Entries { journal: state.id, first, last: state.head });
            }
            if std::mem::take(&mut held.new_epoch) {
                self.marks.push(Mark::Epoch { journal: state.id, epoch: state.epoch });
            }
        }
    }

    /// Writes back what is left to write, and returns what is acknowledged when the transaction is committed.
    pub(super) fn finish(mut self) -> rusqlite::Result<Vec<Mark>> {
        self.flush()?;
        self.finish_group()?;
        self.mark_journals();
        if self.changed {
            let count: i64 = self
                .database
                .prepare_cached("UPDATE state SET changes = changes + 1 WHERE id = 1 RETURNING changes")?
                .query_row([], |row| row.get(0))?;
            self.marks.push(Mark::Changes { count: number(count) });
        }
        Ok(self.marks)
    }
}
