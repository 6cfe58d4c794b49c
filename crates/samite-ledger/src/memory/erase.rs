//! Turning entries into tombstones, and closing journals.

use super::state::State;
use crate::{Erasure, JournalStatus, Run, Tombstones};
use samite_model::{Header, Pseudonym, Result};
use std::collections::BTreeSet;

impl State {
    pub(super) fn erase(&mut self, erasure: Erasure) -> Result<Tombstones> {
        for journal in erasure.runs.iter().map(|run| run.journal).chain(erasure.close.iter().copied()) {
            self.journal(journal)?;
        }
        self.destroyed.extend(erasure.keys);
        for id in erasure.close {
            let journal = self.journal_mut(id)?;
            if journal.state.status == JournalStatus::Open {
                journal.state.status = JournalStatus::Deleted;
                journal.state.epoch = journal.state.epoch.saturating_add(1);
                journal.lease = None;
            }
        }
        let mut taken = Tombstones::default();
        for run in erasure.runs {
            let journal = self.journal_mut(run.journal)?;
            let mut erased = BTreeSet::new();
            for (seq, entry) in journal.entries.range_mut(run.first..=run.last.max(run.first)) {
                let of = Header::decode(&entry.header).map(|header| header.owner).ok();
                if erasure.owner.is_some_and(|owner| of != Some(owner)) {
                    continue;
                }
                erased.insert(*seq);
                taken.payloads = taken.payloads.saturating_add(u64::from(entry.payload.take().is_some()));
            }
            let before = journal.rows.len() + journal.registers.len();
            journal.rows.retain(|row, _| !erased.contains(&row.seq) || erasure.keep.contains(&row.kind));
            let registers = journal.registers.len();
            journal.registers.retain(|_, (seq, _)| !erased.contains(seq));
            if journal.registers.len() != registers {
                journal.state.registers = journal.state.registers.saturating_add(1);
            }
            let gone = before - journal.rows.len() - journal.registers.len();
            taken.views = taken.views.saturating_add(u64::try_from(gone).unwrap_or(u64::MAX));
        }
        Ok(taken)
    }

    pub(super) fn owned(&self, owner: Pseudonym) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for journal in self.order.iter().filter_map(|id| self.journals.get(id)) {
            let id = journal.state.id;
            for (seq, entry) in &journal.entries {
                if !Header::decode(&entry.header).is_ok_and(|header| header.owner == owner) {
                    continue;
                }
                match runs.last_mut() {
                    Some(run) if run.journal == id && run.last.saturating_add(1) == *seq => run.last = *seq,
                    _ => runs.push(Run { journal: id, first: *seq, last: *seq }),
                }
            }
        }
        runs
    }
}
