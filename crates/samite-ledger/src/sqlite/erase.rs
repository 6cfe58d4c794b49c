//! Turning entries into tombstones, and closing journals.

use super::failure::Failure;
use super::number::{number, stored};
use super::work::Work;
use crate::{Erasure, JournalStatus, Run, Tombstones};
use rusqlite::{Connection, OptionalExtension as _};
use samite_model::{JournalId, Pseudonym};

impl Work<'_> {
    pub(super) fn erase(&mut self, erasure: &Erasure) -> Result<Tombstones, Failure> {
        // Whatever is refused is refused before anything is written.
        for run in &erasure.runs {
            self.journal(run.journal)?;
        }
        for journal in &erasure.close {
            self.journal(*journal)?;
        }
        if !erasure.keys.is_empty() {
            self.destroy_keys(&erasure.keys)?;
        }
        for journal in &erasure.close {
            self.close(*journal)?;
        }
        let mut taken = Tombstones::default();
        if erasure.runs.is_empty() {
            return Ok(taken);
        }
        let owner = match erasure.owner {
            None => None,
            Some(pseudonym) => match owner_row(self.database, pseudonym)? {
                Some(row) => Some(row),
                None => return Ok(taken),
            },
        };
        let kept: Vec<String> = erasure.keep.iter().map(u16::to_string).collect();
        let kept = kept.join(", ");
        for run in &erasure.runs {
            self.erase_run(run, owner, &kept, &mut taken)?;
        }
        self.changed();
        Ok(taken)
    }

    fn close(&mut self, id: JournalId) -> Result<(), Failure> {
        let held = self.journal(id)?;
        if held.journal.state.status == JournalStatus::Deleted {
            return Ok(());
        }
        held.journal.state.status = JournalStatus::Deleted;
        held.journal.state.epoch = held.journal.state.epoch.saturating_add(1);
        held.new_epoch = true;
        held.dirty = true;
        let row = held.journal.row;
        self.database.prepare_cached("DELETE FROM lease WHERE journal = ?1")?.execute([row])?;
        self.changed();
        Ok(())
    }

    /// `kept` are the kinds of rows that stay, as a list of numbers.
    fn erase_run(&mut self, run: &Run, owner: Option<i64>, kept: &str, taken: &mut Tombstones) -> Result<(), Failure> {
        let held = self.journal(run.journal)?;
        let row = held.journal.row;
        let range = (row, stored(run.first), stored(run.last), owner);
        let payloads = self
            .database
            .prepare_cached(
                "UPDATE entry SET payload = NULL WHERE journal = ?1 AND seq BETWEEN ?2 AND ?3 \
                 AND payload IS NOT NULL AND (?4 IS NULL OR owner = ?4)",
            )?
            .execute(range)?;
        let rows = self
            .database
            .prepare_cached(&format!(
                "DELETE FROM view_row WHERE journal = ?1 AND seq BETWEEN ?2 AND ?3 AND (?4 IS NULL OR owner = ?4) \
                 AND kind NOT IN ({kept})"
            ))?
            .execute(range)?;
        let registers = self
            .database
            .prepare_cached(
                "DELETE FROM register WHERE journal = ?1 AND seq BETWEEN ?2 AND ?3 AND (?4 IS NULL OR owner = ?4)",
            )?
            .execute(range)?;
        if registers > 0 {
            let held = self.journal(run.journal)?;
            held.journal.state.registers = held.journal.state.registers.saturating_add(1);
            held.dirty = true;
        }
        taken.payloads = taken.payloads.saturating_add(payloads as u64);
        taken.views = taken.views.saturating_add(rows as u64).saturating_add(registers as u64);
        Ok(())
    }
}

fn owner_row(database: &Connection, pseudonym: Pseudonym) -> rusqlite::Result<Option<i64>> {
    database
        .prepare_cached("SELECT owner FROM owner WHERE pseudonym = ?1")?
        .query_row([&pseudonym.0], |row| row.get(0))
        .optional()
}

/// All entries of an owner, as runs, in the order of their journals.
pub(super) fn owned(database: &Connection, owner: Pseudonym) -> Result<Vec<Run>, Failure> {
    let Some(owner) = owner_row(database, owner)? else { return Ok(Vec::new()) };
    let mut statement = database.prepare_cached(
        "SELECT j.id, e.seq FROM entry e JOIN journal j ON j.row = e.journal WHERE e.owner = ?1 ORDER BY e.journal, e.seq",
    )?;
    let mut rows = statement.query([owner])?;
    let mut runs: Vec<Run> = Vec::new();
    while let Some(row) = rows.next()? {
        let (journal, seq) = (JournalId(row.get(0)?), number(row.get(1)?));
        match runs.last_mut() {
            Some(run) if run.journal == journal && run.last.saturating_add(1) == seq => run.last = seq,
            _ => runs.push(Run { journal, first: seq, last: seq }),
        }
    }
    Ok(runs)
}
