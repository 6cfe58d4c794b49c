//! Rows and registers.

use super::refusal;
use super::state::{Journal, RowKey, State};
use crate::{Generation, NewRow, Register, RegisterChange, Row, RowQuery};
use samite_model::{JournalId, Position, Result};
use std::collections::BTreeSet;

impl Journal {
    pub(super) fn add_rows(&mut self, seq: u64, rows: impl IntoIterator<Item = NewRow>) {
        for (place, row) in rows.into_iter().enumerate() {
            self.rows.insert(RowKey { kind: row.kind, hash: row.hash, seq, place }, row.value);
        }
    }

    pub(super) fn change_register(&mut self, seq: u64, change: RegisterChange) {
        let changed = match change {
            RegisterChange::Set { kind, hash, value } => {
                self.registers.insert((kind, hash), (seq, value));
                true
            }
            RegisterChange::Clear { kind, hash } => self.registers.remove(&(kind, hash)).is_some(),
        };
        if changed {
            self.state.registers = self.state.registers.saturating_add(1);
        }
    }

    /// Its own rows up to a seq, newest first.
    fn own_rows(&self, up_to: u64, kind: u16, hashes: &BTreeSet<[u8; 16]>) -> Vec<Row> {
        let key = |hash, seq, place| RowKey { kind, hash, seq, place };
        let mut found: Vec<(&RowKey, &Vec<u8>)> = if hashes.is_empty() {
            self.rows.range(key([0; 16], 0, 0)..=key([u8::MAX; 16], u64::MAX, usize::MAX)).collect()
        } else {
            hashes.iter().flat_map(|hash| self.rows.range(key(*hash, 0, 0)..=key(*hash, up_to, usize::MAX))).collect()
        };
        found.retain(|(row, _)| row.seq <= up_to);
        found.sort_by_key(|(row, _)| (std::cmp::Reverse(row.seq), row.place));
        let row = |(row, value): (&RowKey, &Vec<u8>)| Row {
            position: Position { journal: self.state.id, seq: row.seq },
            hash: row.hash,
            value: value.clone(),
        };
        found.into_iter().map(row).collect()
    }
}

impl State {
    pub(super) fn rows(&self, query: &RowQuery) -> Result<Vec<Row>> {
        let hashes: BTreeSet<[u8; 16]> = query.hashes.iter().copied().collect();
        let mut found = Vec::new();
        for (journal, up_to) in self.ancestry(query.at)? {
            if found.len() >= query.limit {
                break;
            }
            found.extend(journal.own_rows(up_to, query.kind, &hashes));
        }
        found.truncate(query.limit);
        Ok(found)
    }

    pub(super) fn registers(&self, journal: JournalId) -> Result<(u64, Vec<Register>)> {
        let journal = self.journal(journal)?;
        let registers = journal.registers.iter().map(|((kind, hash), (seq, value))| Register {
            kind: *kind,
            hash: *hash,
            seq: *seq,
            value: value.clone(),
        });
        Ok((journal.state.registers, registers.collect()))
    }

    pub(super) fn replace_views(&mut self, generations: Vec<Generation>) -> Result<()> {
        for generation in &generations {
            let head = self.journal(generation.journal)?.state.head;
            if head != generation.head {
                return Err(refusal::head_moved(generation.journal, head, generation.head));
            }
        }
        for generation in generations {
            let journal = self.journal_mut(generation.journal)?;
            journal.rows.clear();
            for (place, (seq, row)) in generation.rows.into_iter().enumerate() {
                journal.rows.insert(RowKey { kind: row.kind, hash: row.hash, seq, place }, row.value);
            }
            let registers = generation.registers.into_iter();
            journal.registers =
                registers.map(|register| ((register.kind, register.hash), (register.seq, register.value))).collect();
            journal.state.registers = journal.state.registers.saturating_add(1);
        }
        Ok(())
    }
}
