//! What the actors know for certain, kept outside of all that can crash.

use super::Report;
use super::operation::Operation;
use samite_model::{JournalId, Position, Pseudonym};
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Record {
    /// Journals to work on.
    pub(super) journals: Vec<JournalId>,
    /// Every operation that was attempted, by its id.
    pub(super) attempted: BTreeMap<[u8; 16], Operation>,
    /// Where the first entry of an acknowledged operation is.
    pub(super) acknowledged: BTreeMap<[u8; 16], Position>,
    /// Forks that were acknowledged.
    pub(super) forked: Vec<JournalId>,
    /// Who was granted an epoch.
    pub(super) granted: BTreeMap<(JournalId, u64), Pseudonym>,
    /// What was asked to be kept of journals that may be deleted.
    pub(super) deletions: BTreeMap<JournalId, Vec<u64>>,
    /// Epochs and heads as last seen.
    pub(super) seen: BTreeMap<JournalId, (u64, u64)>,
    pub(super) violations: Vec<String>,
    pub(super) counts: Report,
}

impl Record {
    pub(super) fn new(roots: &[JournalId]) -> Self {
        Self { journals: roots.to_vec(), ..Self::default() }
    }

    /// Notes an acknowledgement; two for one operation must tell the same place.
    pub(super) fn acknowledge(&mut self, operation: &Operation, at: Position) {
        self.counts.acknowledged += 1;
        if let Some(before) = self.acknowledged.insert(operation.id, at)
            && before != at
        {
            self.violations.push(format!("{operation:?} was acknowledged at {before:?} and at {at:?}"));
        }
    }

    /// Notes a lease; an epoch is granted to one writer only.
    pub(super) fn grant(&mut self, journal: JournalId, epoch: u64, writer: Pseudonym) {
        match self.granted.insert((journal, epoch), writer) {
            Some(before) if before != writer => {
                self.violations
                    .push(format!("epoch {epoch} of journal {journal} was granted to {before} and {writer}"));
            }
            _ => {}
        }
    }
}
