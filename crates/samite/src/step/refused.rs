//! A call that is not run because it may be the act of another step in other words.
//!
//! When a doubt about another step stands in the way of a call, the call may be the same act: a model that is asked again
//! words it anew and gives it a new key. Whether it is cannot be told from here. So where the other step happened, the call
//! is not run, and that is recorded under its own key in the very commit that settles the other; and where only a person
//! can tell, it is recorded before that person is asked. However often a script repeats the call, and wherever it is cut
//! off, the effect is not done a second time. It runs once the other step is known not to have happened, or its caller says
//! that it is another act.

use super::{NewStep, Outcome, StepRecord};
use crate::core::Draft;
use crate::payload::{StepEnded, StepStarted};
use crate::views::{self, OpenStep, StepRow, row};
use crate::writer::Writer;
use samite_ledger::{Commit, Guard};
use samite_model::step::OutcomeKind;
use samite_model::{EntryKind, Error, Position, Result};
use serde_json::{Value, json};

/// A call that is refused, and the step that it may be.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    /// The call.
    call: NewStep,
    /// The key, id and start of the other step.
    other: Value,
}

impl Refused {
    /// A call that may be the act of a step in doubt.
    pub(crate) fn new(call: NewStep, other: &StepRecord) -> Self {
        let call = NewStep { process: None, ..call };
        let other = json!({ "key": other.started.key, "step": other.id, "seq": other.start.seq });
        Self { call, other }
    }
}

/// The key of the step for whose sake a call was not run, when this is the outcome of such a call.
pub(crate) fn refused_for(outcome: &Outcome) -> Option<&str> {
    outcome.output.get("not_run")?.get("key")?.as_str()
}

/// How often the record is made again because the branch's head moved.
const ROUNDS: usize = 16;

impl Writer {
    /// The key of the step for whose sake a call was not run, and is not to be.
    ///
    /// # Errors
    /// `corrupt` when its outcome cannot be read.
    pub(crate) async fn refusal(&self, key: &str) -> Result<Option<String>> {
        Ok(self.outcome_of_key(key).await?.as_ref().and_then(refused_for).map(str::to_owned))
    }

    /// Records that a call is not run while it is not known whether the other step happened. Should somebody then say that
    /// it did, the call is still not run. When this returns, it is durable.
    ///
    /// # Errors
    /// `fenced` when another writer took over; `conflict` (`steps_contended`).
    pub(crate) async fn refuse(&self, refused: &Refused) -> Result<()> {
        for _ in 0..ROUNDS {
            if self.refusal(&refused.call.key).await?.is_some() {
                return Ok(());
            }
            let (mut commit, mut drafts) = (Commit::default(), Vec::new());
            self.refuse_beside(refused, &mut commit, &mut drafts).await?;
            match self.commit_with(commit, drafts).await {
                Err(error) if matches!(error.code(), "head_moved" | "outcome_unknown") => {}
                other => return other.map(|_| ()),
            }
        }
        let key = &refused.call.key;
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
    /// seq: the head is guarded.
    pub(super) async fn refuse_beside(
        &self,
        refused: &Refused,
        commit: &mut Commit,
        drafts: &mut Vec<Draft>,
    ) -> Result<()> {
        let call = &refused.call;
        let keys = self.hashes("step-key", call.key.as_bytes())?;
        let known = self.latest_row(row::STEP, keys).await?;
        let started: StepStarted<&Value> = match &known {
            Some(found) => self.next_attempt(call, found, StepRow::decode(&found.value)?.attempt).await?,
            None => super::started(call, 1, self.idempotency_key(&call.key)?),
        };
        let id = self.core().entry_id()?;
        let hashes = views::step_hashes(&self.own_hash(), &started)?;
        let head = self.core().journal(self.branch).await?.head;
        commit.guards.push(Guard::Head { journal: self.branch, seq: head });
        let start = Position { journal: self.branch, seq: head + drafts.len() as u64 + 1 };
        drafts.push(self.start_draft(id, &started, &hashes)?);
        let open = OpenStep::new(id, start, self.epoch(), started.attempt, &hashes);
        let ended = StepEnded {
            step: id,
            start,
            kind: OutcomeKind::Failed,
            output: json!({ "not_run": refused.other }),
            duration: None,
            source: None,
        };
        drafts.push(self.core().draft(EntryKind::STEP_FAILED, &ended, views::step_ended(&open, &ended))?);
        Ok(())
    }
}
