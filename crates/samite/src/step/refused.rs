//! A call that is not run because it may be the act of another step in other words.
//!
//! When a doubt about another step stands in the way of a call, the call may be the same act: a model that is asked again
//! words it anew and gives it a new key. Whether it is cannot be told from here. So where the other step happened, the call
//! is not run, and that is recorded under its own key in the very commit that settles the other; and where only a person
//! can tell, it is recorded before that person is asked. A doubt that is settled while nobody makes a call is as good as one
//! that a call meets: the next new call is told of it. However often a script repeats the call, and wherever it is cut
//! off, the effect is not done a second time. It runs once the other step is known not to have happened, or its caller says
//! that it is another act.

use super::{NewStep, StepRecord, outcome_of};
use crate::core::Draft;
use crate::payload::{NotRun, StepEnded, StepSeen, StepStarted};
use crate::views::{self, OpenStep, StepRow, row};
use crate::writer::Writer;
use samite_ledger::{Commit, Guard, Row, RowQuery};
use samite_model::step::{OutcomeKind, State};
use samite_model::{EntryKind, Error, Position, Result};
use serde_json::Value;

/// A call that is refused, and the step that it may be.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    call: NewStep,
    other: NotRun,
}

impl Refused {
    /// A call that may be the act of a step in doubt, or of one that was settled in the absence of its caller.
    pub(crate) fn new(call: NewStep, other: &StepRecord) -> Self {
        let call = NewStep { process: None, ..call };
        Self { call, other: NotRun { key: other.started.key.clone(), step: other.id, start: other.start } }
    }
}

/// Whether a refusal could not be recorded because its key has an outcome, or runs: then that is the answer.
pub(crate) fn is_known(error: &Error) -> bool {
    error.code() == "step_ended"
}

/// How often the record is made again because the branch's head moved.
const ROUNDS: usize = 16;

impl Writer {
    /// The step for whose sake a call was not run, and is not to be.
    ///
    /// # Errors
    /// `corrupt` when its outcome cannot be read.
    pub(crate) async fn refusal(&self, key: &str) -> Result<Option<NotRun>> {
        Ok(self.outcome_of_key(key).await?.and_then(|outcome| outcome.not_run))
    }

    /// Records that a call is not run because of another step: while it is not known whether that happened, or after. Should
    /// somebody then say that it did, the call is still not run. When this returns, it is durable. The same again is no error.
    ///
    /// # Errors
    /// `conflict` (`step_ended`) when the call has an outcome or runs; `fenced` when another writer took over; `conflict`
    /// (`steps_contended`).
    pub(crate) async fn refuse(&self, refused: &Refused) -> Result<()> {
        let key = &refused.call.key;
        for _ in 0..ROUNDS {
            if self.refusal(key).await?.is_some_and(|known| known.step == refused.other.step) {
                return Ok(());
            }
            let (mut commit, mut drafts) = (Commit::default(), Vec::new());
            self.refuse_beside(refused, &mut commit, &mut drafts).await?;
            match self.commit_with(commit, drafts).await {
                Err(error) if matches!(error.code(), "head_moved" | "outcome_unknown") => {}
                other => {
                    // Others of this writer's processes may be told of steps meanwhile, too.
                    self.forget_steps();
                    return other.map(|_| ());
                }
            }
        }
        Err(Error::conflict("steps_contended", format!("step {key:?} could not be refused")).hint("try again"))
    }

    /// Whether a step that was in doubt is known not to have happened, so that it keeps no call from running.
    ///
    /// # Errors
    /// `corrupt` when its outcome cannot be read.
    pub(crate) async fn did_not_happen(&self, key: &str) -> Result<bool> {
        let outcome = self.outcome_of_key(key).await?;
        Ok(outcome.is_some_and(|outcome| outcome.settled.is_some() && outcome.kind == OutcomeKind::FailedRetryable))
    }

    /// Adds the record of a refused call to the entries of a commit. Its end names its start, which the commit gives a
    /// seq: the head is guarded, and with it that the key has no outcome that the record would hide.
    pub(super) async fn refuse_beside(
        &self,
        refused: &Refused,
        commit: &mut Commit,
        drafts: &mut Vec<Draft>,
    ) -> Result<()> {
        let call = &refused.call;
        let head = self.core().journal(self.branch).await?.head;
        let at = Position { journal: self.branch, seq: head };
        let hashes = self.hashes("step-key", call.key.as_bytes())?;
        let known = RowQuery { at, kind: row::STEP, hashes, limit: 1 };
        let known = self.core().0.ledger.rows(known).await?.into_iter().next();
        let started: StepStarted<&Value> = match &known {
            Some(found) => {
                let row = StepRow::decode(&found.value)?;
                if !self.may_be_refused(found, row.state).await? {
                    let key = &call.key;
                    return Err(Error::conflict("step_ended", format!("step {key:?} ran, or runs, meanwhile"))
                        .hint("`samite step list SESSION` shows it"));
                }
                self.next_attempt(call, found, row.attempt).await?
            }
            None => super::started(call, 1, self.idempotency_key(&call.key)?),
        };
        let id = self.core().entry_id()?;
        let hashes = views::step_hashes(&self.own_hash(), &started)?;
        commit.guards.push(Guard::Head { journal: self.branch, seq: head });
        let start = Position { journal: self.branch, seq: head + drafts.len() as u64 + 1 };
        drafts.push(self.start_draft(id, &started, &hashes)?);
        let open = OpenStep::new(id, start, self.epoch(), started.attempt, &hashes);
        let ended = StepEnded {
            step: id,
            start,
            kind: OutcomeKind::Failed,
            output: Value::Null,
            not_run: Some(refused.other.clone()),
            duration: None,
            source: None,
        };
        drafts.push(self.core().draft(EntryKind::STEP_FAILED, &ended, views::step_ended(&open, &ended))?);
        Ok(())
    }

    /// Whether nothing is lost when a call with this last row is recorded as not run: it failed and may run again, or was
    /// not run before.
    async fn may_be_refused(&self, row: &Row, state: State) -> Result<bool> {
        Ok(match state {
            State::Absent | State::FailedRetryable => true,
            State::Failed => {
                let outcome = outcome_of(&self.core().entry_at(row.position).await?)?;
                outcome.is_some_and(|outcome| outcome.not_run.is_some())
            }
            State::Started | State::InDoubt | State::Completed | State::Abandoned => false,
        })
    }

    /// Whoever asks now is told of steps that were settled as happened in the absence of their callers: they keep no call
    /// from running any more. When this returns, that is durable. Where there is none, nothing is written.
    ///
    /// # Errors
    /// `fenced` when another writer took over.
    pub(crate) async fn see(&self, told: impl Fn(&OpenStep) -> bool) -> Result<()> {
        let steps = self.known_steps(false).await?;
        for step in steps.unseen.iter().filter(|step| told(step)) {
            let seen = StepSeen { step: step.id, start: step.start };
            let draft = self.core().draft(EntryKind::STEP_SEEN, &seen, views::step_seen(&seen))?;
            let recorded = self.commit(Vec::new(), vec![draft]).await;
            self.forget_steps();
            match recorded {
                // Should it not be there, the next new call is told once more.
                Err(error) if error.code() != "outcome_unknown" => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
