//! What is left of records that were forgotten: whose place they took stays ended, and nothing that comes late names them.

use super::{Memory, views};
use crate::log::Entry;
use crate::views::row;
use samite_ledger::{Guard, JournalState, RowQuery};
use samite_memory::Standings;
use samite_model::memory::{Record, Trust};
use samite_model::{JournalId, Position, RecordId, Result};
use std::collections::HashMap;

/// The rows that stay with tombstones, by seq: the record that was said there, and the hash of what that ended.
#[derive(Debug, Default)]
pub(super) struct Left {
    records: HashMap<u64, RecordId>,
    ended: HashMap<u64, [u8; 16]>,
}

impl Memory {
    /// What is left of the erased entries of a namespace.
    pub(super) async fn left_of_erased(&self, state: &JournalState) -> Result<Left> {
        let ledger = &self.client.core.0.ledger;
        let at = Position { journal: state.id, seq: state.head };
        let query = |kind| RowQuery { at, kind, hashes: Vec::new(), limit: usize::MAX };
        let mut left = Left::default();
        for found in ledger.rows(query(row::MEMORY_RECORD)).await? {
            left.records.insert(found.position.seq, RecordId(found.hash));
        }
        for found in ledger.rows(query(row::MEMORY_ENDED)).await? {
            left.ended.insert(found.position.seq, found.hash);
        }
        Ok(left)
    }

    /// Folds in an erased entry: the record whose place was taken by what it said does not come back by that.
    pub(super) fn stays_ended(
        &self,
        state: &JournalState,
        entry: &Entry,
        left: Option<&Left>,
        standings: &mut Standings,
    ) -> Result<()> {
        let Some(left) = left else { return Ok(()) };
        let seq = entry.position.seq;
        let (Some(by), Some(ended)) = (left.records.get(&seq), left.ended.get(&seq)) else { return Ok(()) };
        let hash = self.hasher(state);
        for standing in standings.all() {
            let record = standing.record.record;
            if standing.ended.is_none() && views::ended_row(&hash, record, standing.lives)?.hash == *ended {
                standings.replaced_by_erased(record, *by, entry.header.time);
                break;
            }
        }
        Ok(())
    }

    /// The guard that these records are not forgotten meanwhile.
    ///
    /// # Errors
    /// `not_found` (`no_record`) naming one that is.
    pub(super) async fn not_forgotten(&self, journal: JournalId, named: &[RecordId]) -> Result<Option<Guard>> {
        self.client.core.refuse_forgotten(self.client.subject.pseudonym, journal, named, None).await
    }

    /// The guard that what a record names is not forgotten meanwhile, nor what it says. What the user says, or an operator, is said
    /// again because somebody wishes it.
    ///
    /// # Errors
    /// As [`Memory::not_forgotten`]; `denied` (`record_forgotten`) for what nobody says who may speak for the user.
    pub(super) async fn not_said_again(
        &self,
        journal: JournalId,
        record: &Record,
        replaced: Option<RecordId>,
    ) -> Result<Option<Guard>> {
        let mut named = record.provenance.inputs.clone();
        named.extend(replaced);
        let wished = matches!(record.provenance.trust, Trust::User | Trust::Operator);
        let core = &self.client.core;
        core.refuse_forgotten(self.client.subject.pseudonym, journal, &named, (!wished).then_some(record)).await
    }

    /// The same of what is taken over from a branch, whoever said it there: it is not said anew.
    ///
    /// # Errors
    /// As [`Memory::not_said_again`].
    pub(super) async fn not_taken_over(&self, journal: JournalId, record: &Record) -> Result<Option<Guard>> {
        let (core, owner) = (&self.client.core, self.client.subject.pseudonym);
        core.refuse_forgotten(owner, journal, &record.provenance.inputs, Some(record)).await
    }

    /// The namespace's journal, or the one that it will have.
    pub(super) async fn own_journal(&self) -> Result<JournalId> {
        Ok(self.client.core.memory_state(self.client.subject.pseudonym, &self.namespace).await?.0)
    }
}
