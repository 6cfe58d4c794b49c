//! The steps of a branch, as its log has them.

use super::{StepRecord, outcome_of};
use crate::client::Client;
use crate::log::{ReadOptions, Reader};
use crate::payload::{StepEnded, StepSettled, StepsInherited};
use crate::recover::{Runner, runner};
use crate::views::{self, StepRow, row};
use samite_ledger::RowQuery;
use samite_model::step::{OutcomeKind, State};
use samite_model::{BranchId, EntryId, EntryKind, Position, Result, SessionId};
use std::collections::HashMap;

/// The kinds that speak of steps.
pub(crate) const STEP_KINDS: [EntryKind; 6] = [
    EntryKind::STEP_STARTED,
    EntryKind::STEP_COMPLETED,
    EntryKind::STEP_FAILED,
    EntryKind::STEP_RESOLVED,
    EntryKind::STEP_ABANDONED,
    EntryKind::STEPS_INHERITED,
];

/// So many calls are looked at that may have begun one right after the other.
const AT_ONCE: u64 = 256;

impl Client {
    /// The steps of a branch (none: the current one), in the order of their latest start. A step that is open while
    /// no writer holds the branch, or after the process that ran it has gone, is in doubt.
    ///
    /// # Errors
    /// `not_found` when there is no such branch; `corrupt` when an entry cannot be read.
    pub async fn steps(&self, session: SessionId, branch: Option<BranchId>) -> Result<Vec<StepRecord>> {
        let branch = self.or_current(session, branch).await?;
        let head = self.head(session, branch).await?;
        self.steps_from(branch, 1, head.seq).await
    }

    /// The same, of those that started between two seqs, as things were at the second.
    pub(crate) async fn steps_from(&self, branch: BranchId, from: u64, to: u64) -> Result<Vec<StepRecord>> {
        let mut steps = self.steps_between(Position { journal: branch, seq: to }, from).await?;
        let writing = self.core.live_holder(branch).await?.map(|lease| lease.epoch);
        for step in steps.iter_mut().filter(|step| step.state == State::Started) {
            // Processes that share a writer's epoch come and go: each answers for the steps that it runs.
            if writing != Some(step.epoch) || runner(&step.started) == Runner::Gone {
                step.state = State::InDoubt;
            }
        }
        Ok(steps)
    }

    /// Where the step with a key last started on the current branch, if it did.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn step_start(&self, session: SessionId, key: &str) -> Result<Option<Position>> {
        let branch = self.current_branch(session).await?;
        let head = self.head(session, branch).await?;
        let hash = views::step_key(&self.core.hasher(self.subject.pseudonym, session), key)?;
        let query = RowQuery { at: head, kind: row::STEP, hashes: vec![hash], limit: usize::MAX };
        for found in self.core.0.ledger.rows(query).await? {
            if StepRow::decode(&found.value)?.state == State::Started {
                return Ok(Some(found.position));
            }
        }
        Ok(None)
    }

    /// The step that starts at a position of a branch, where its outcome is known there; and the position before it, and before the
    /// steps that began right before it. Whoever goes back to where a call began means to be rid of it: after its start and before its
    /// outcome it would be in doubt, although it is not.
    ///
    /// # Errors
    /// `corrupt` when an entry cannot be read.
    pub async fn before_step(
        &self,
        session: SessionId,
        branch: BranchId,
        seq: u64,
    ) -> Result<Option<(StepRecord, u64)>> {
        if seq < 2
            || self.core.entry_at(self.position(session, branch, seq).await?).await?.header.kind
                != EntryKind::STEP_STARTED
        {
            return Ok(None);
        }
        let head = self.head(session, branch).await?;
        let first = seq.saturating_sub(AT_ONCE).max(1);
        let steps = self.steps_between(Position { journal: branch, seq: head.seq }, first).await?;
        let ended_at = |seq: u64| steps.iter().find(|step| step.start.seq == seq && step.outcome.is_some());
        let Some(step) = ended_at(seq) else { return Ok(None) };
        let before = (1..seq).rev().find(|before| ended_at(*before).is_none()).unwrap_or_default();
        Ok((before > 0).then(|| (step.clone(), before)))
    }

    /// The steps that started or ended from `from` on.
    pub(crate) async fn steps_between(&self, head: Position, from: u64) -> Result<Vec<StepRecord>> {
        let options = ReadOptions { from, kinds: STEP_KINDS.to_vec(), ..ReadOptions::default() };
        let mut reader = Reader::new(self.core.clone(), head, options).await?;
        let mut steps: Vec<StepRecord> = Vec::new();
        let mut places: HashMap<EntryId, usize> = HashMap::new();
        loop {
            let page = reader.next().await?;
            if page.is_empty() {
                return Ok(steps);
            }
            for entry in page {
                // A step that was erased is none any more.
                if entry.payload.is_none() && entry.blocks.is_empty() {
                    continue;
                }
                match entry.header.kind {
                    EntryKind::STEP_STARTED => {
                        places.insert(entry.header.id, steps.len());
                        steps.push(StepRecord::of_start(&entry, State::Started)?);
                    }
                    EntryKind::STEPS_INHERITED => {
                        for (id, _) in entry.json::<StepsInherited>()?.steps {
                            if let Some(step) = places.get(&id).and_then(|place| steps.get_mut(*place)) {
                                step.state = State::InDoubt;
                            }
                        }
                    }
                    _ => {
                        let id = match entry.header.kind {
                            EntryKind::STEP_COMPLETED | EntryKind::STEP_FAILED => entry.json::<StepEnded>()?.step,
                            _ => entry.json::<StepSettled>()?.step,
                        };
                        if let Some(step) = places.get(&id).and_then(|place| steps.get_mut(*place)) {
                            step.outcome = outcome_of(&entry)?;
                            step.state = match &step.outcome {
                                Some(outcome) if outcome.abandoned => State::Abandoned,
                                Some(outcome) => match outcome.kind {
                                    OutcomeKind::Completed => State::Completed,
                                    OutcomeKind::Failed => State::Failed,
                                    OutcomeKind::FailedRetryable => State::FailedRetryable,
                                },
                                None => step.state,
                            };
                        }
                    }
                }
            }
        }
    }
}
