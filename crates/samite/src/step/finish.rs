//! Recording what came of a step, and settling doubts.

use super::begin::not_in_doubt;
use super::refused::Refused;
use super::standing::Standing;
use super::{Completion, Ended, Resolution, Settled, StepHandle, outcome_of};
use crate::core::{Draft, to_json};
use crate::payload::{StepEnded, StepSettled};
use crate::views::{self, OpenStep, row};
use crate::workspace::Taken;
use crate::writer::{STORED, Writer, is_collected};
use samite_ledger::{Append, Commit, Guard};
use samite_model::cadence::{Boundary, Cause, Decision};
use samite_model::step::OutcomeKind;
use samite_model::{EntryId, EntryKind, Error, ErrorKind, Position, Result};
use serde_json::{Value, json};
use std::sync::Arc;

const ROUNDS: usize = 16;

/// A commit and its entries, with the tree that is recorded in them, if any.
fn beside(tree: Option<&Taken>) -> (Commit, Vec<Draft>) {
    tree.map_or_else(Default::default, |tree| (tree.commit.clone(), vec![tree.draft.clone()]))
}

/// What is recorded in the commit that settles a doubt.
#[derive(Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    /// The workspace's tree as it was put back.
    pub(crate) tree: Option<&'a Taken>,
    /// A call that is refused because of it.
    pub(crate) refused: Option<&'a Refused>,
    /// Whether its caller is not there.
    pub(crate) unseen: bool,
    /// An entry that comes right before, such as what the step was for.
    pub(crate) also: Option<&'a Draft>,
}

impl Writer {
    /// Records a step's outcome. When this returns, it is durable. The same outcome again is no error.
    ///
    /// # Errors
    /// `fenced` when another writer took over: the outcome is then kept as evidence for whoever settles the doubt;
    /// `conflict` (`step_ended`) when another outcome is recorded.
    pub async fn finish(&self, step: &StepHandle, completion: &Completion) -> Result<Position> {
        self.finish_beside(step, completion, None, None).await
    }

    /// Records a step's outcome and, in the same commit and so with the same sync, the workspace's tree as the step left it:
    /// for a step on files. With the tree at its start, that bounds what it changed, and a rewind can take it back. When
    /// this returns, both are durable. Where there is no workspace, or it cannot be read, the outcome alone is recorded.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub async fn finish_with_tree(&self, step: &StepHandle, completion: &Completion) -> Result<Ended> {
        let label = Some(format!("after step {}", step.key));
        let finish = async |tree: Option<&Taken>| self.finish_beside(step, completion, tree, None).await;
        let (position, tree) = self.with_tree_because(Cause::StepEnd, label, None, finish).await?;
        // The tree is the entry before the outcome: who goes back to the outcome gets its files.
        let at = Position { seq: position.seq.saturating_sub(1), ..position };
        let (tree, failed) = match tree {
            Ok(tree) => (Some(tree.at(at)), None),
            Err(error) if error.code() == "no_workspace" => (None, None),
            Err(error) => (None, Some(Arc::new(error))),
        };
        Ok(Ended { position, tree, failed })
    }

    /// Records a step's outcome and, where the session's cadence asks for it at a step's end, the workspace's tree in the
    /// same commit. A step on files ends with [`Writer::finish_with_tree`] whatever the cadence. When this returns, what was
    /// recorded is durable.
    ///
    /// # Errors
    /// As [`Writer::finish`]. That no tree could be taken is none: [`Ended::failed`].
    pub async fn finish_in_cadence(&self, step: &StepHandle, completion: &Completion) -> Result<Ended> {
        let failed = match self.due(Boundary::StepEnd, None).await {
            Ok(Decision::Take) => return self.finish_with_tree(step, completion).await,
            Ok(Decision::Wait { .. }) => None,
            Err(error) => Some(Arc::new(error)),
        };
        Ok(Ended { position: self.finish(step, completion).await?, tree: None, failed })
    }

    /// The same, with a tree and an entry about it in the same commit.
    pub(crate) async fn finish_beside(
        &self,
        step: &StepHandle,
        completion: &Completion,
        tree: Option<&Taken>,
        also: Option<&Draft>,
    ) -> Result<Position> {
        for round in 0..ROUNDS {
            let (version, open) = self.open_steps(round > 0).await?;
            let Some(known) = open.iter().find(|open| open.id == step.id) else {
                if round == 0 {
                    continue;
                }
                self.forget_started(step.id);
                return self.ended_before(step, completion).await;
            };
            let (mut commit, mut drafts) = beside(tree);
            drafts.extend(also.cloned());
            let changes = 1 + also.map_or(0, |also| also.views.registers.len() as u64);
            drafts.push(self.ended_draft(known, completion)?);
            let last = drafts.len() as u64 - 1;
            commit.guards.push(Guard::Registers { journal: self.branch, version });
            drop(open);
            match self.commit_with(commit, drafts).await {
                Ok(seq) => {
                    self.remember_changed(version, changes, Some(step.id), None);
                    return Ok(Position { journal: self.branch, seq: seq + last });
                }
                Err(error) if matches!(error.code(), "registers_moved" | "outcome_unknown") => {}
                Err(error) if error.kind() == ErrorKind::Fenced => {
                    self.forget_started(step.id);
                    return Err(self.keep_evidence(step, completion, error).await);
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::conflict("steps_contended", format!("step {:?} could not be ended", step.key)).hint("try again"))
    }

    /// Records that a step did what it should.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub async fn complete(&self, step: &StepHandle, output: Value) -> Result<Position> {
        self.finish(step, &Completion::completed(output)).await
    }

    /// Records that a step failed; `retryable` lets the next `begin` run it again with the same idempotency key.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub async fn fail(&self, step: &StepHandle, output: Value, retryable: bool) -> Result<Position> {
        self.finish(step, &Completion::failed(output, retryable)).await
    }

    pub(super) fn ended_draft(&self, open: &OpenStep, completion: &Completion) -> Result<Draft> {
        let ended = StepEnded {
            step: open.id,
            start: open.start,
            kind: completion.kind,
            output: &completion.output,
            not_run: None,
            duration: completion.duration,
            source: completion.source,
        };
        let kind = match completion.kind {
            OutcomeKind::Completed => EntryKind::STEP_COMPLETED,
            OutcomeKind::Failed | OutcomeKind::FailedRetryable => EntryKind::STEP_FAILED,
        };
        self.core().draft(kind, &ended, views::step_ended(open, &ended))
    }

    pub(super) fn settled_draft(&self, open: &OpenStep, resolution: &Resolution, unseen: bool) -> Result<Draft> {
        let (kind, happened, output) = match &resolution.what {
            Settled::Happened(output) => (EntryKind::STEP_RESOLVED, true, output.clone()),
            Settled::DidNot => (EntryKind::STEP_RESOLVED, false, Value::Null),
            Settled::Abandoned => (EntryKind::STEP_ABANDONED, false, Value::Null),
        };
        let settled = StepSettled {
            step: open.id,
            start: open.start,
            happened,
            output,
            by: resolution.by,
            evidence: resolution.evidence.clone(),
            note: resolution.note.clone(),
            unseen: unseen && happened,
        };
        let views = views::step_settled(open, &settled, resolution.what == Settled::Abandoned);
        self.core().draft(kind, &settled, views)
    }

    /// The step is not open: fine when this very outcome is recorded.
    async fn ended_before(&self, step: &StepHandle, completion: &Completion) -> Result<Position> {
        let rows = self.hashes("step-key", step.key.as_bytes())?;
        if let Some(found) = self.latest_row(row::STEP, rows).await? {
            let entry = self.core().whole(self.core().entry_at(found.position).await?)?;
            if let Some(outcome) = outcome_of(&entry)? {
                let same_step = entry.json::<StepEnded>().is_ok_and(|ended| ended.step == step.id);
                let same_kind = same_step && outcome.kind == completion.kind;
                if same_kind && self.core().repeats(&entry, &output_of(&completion.output)?).await? {
                    return Ok(found.position);
                }
            }
        }
        Err(Error::conflict("step_ended", format!("step {:?} has another outcome already", step.key))
            .hint("`samite step list SESSION` shows it"))
    }

    /// Another writer took over: what came of the step is kept as evidence, outside any epoch.
    pub(super) async fn keep_evidence(&self, step: &StepHandle, completion: &Completion, fenced: Error) -> Error {
        let ended = StepEnded {
            step: step.id,
            start: step.position,
            kind: completion.kind,
            output: &completion.output,
            not_run: None,
            duration: completion.duration,
            source: None,
        };
        let once = async || {
            let draft = self.core().draft(EntryKind::STEP_EVIDENCE, &ended, views::step_evidence(&ended))?;
            let mut commit = Commit::default();
            self.core().refresh_redactor().await?;
            let entry = self.core().seal_into(self.branch, &self.author(), draft, &mut commit)?;
            commit.appends.push(Append { journal: self.branch, entries: vec![entry] });
            self.core().0.ledger.commit(commit).await
        };
        let mut kept = once().await;
        // What a large payload shares with others may be collected before it is committed.
        for _ in 1..STORED {
            if !kept.as_ref().is_err_and(is_collected) {
                break;
            }
            kept = once().await;
        }
        match kept {
            Ok(_) => fenced.hint("the outcome was kept as evidence for the writer that took over"),
            Err(_) => fenced.hint("the outcome could not be kept either"),
        }
    }

    /// Settles a doubt that a call brought up. When this returns, it is durable. Settling it again the same way is no error.
    ///
    /// # Errors
    /// `not_found` (`not_in_doubt`) when the step is not in doubt on this branch.
    pub async fn resolve(&self, step: EntryId, resolution: &Resolution) -> Result<Position> {
        self.resolve_beside(step, resolution, Beside::default()).await
    }

    /// As [`Writer::resolve`], by somebody else than who makes the step's call. When it happened, the first new call on the
    /// same tool or resource may therefore be this step in other words, and is not run ([`Writer::begin`]); a call with the
    /// step's own key ends that.
    ///
    /// # Errors
    /// As [`Writer::resolve`].
    pub async fn resolve_unseen(&self, step: EntryId, resolution: &Resolution) -> Result<Position> {
        self.resolve_beside(step, resolution, Beside { unseen: true, ..Beside::default() }).await
    }

    /// The same, with more in the commit.
    pub(crate) async fn resolve_beside(
        &self,
        step: EntryId,
        resolution: &Resolution,
        more: Beside<'_>,
    ) -> Result<Position> {
        let Beside { tree, refused, unseen, also } = more;
        for _ in 0..ROUNDS {
            let (version, open) = self.open_steps(true).await?;
            let Some(known) = self.doubtful(&open, step).await? else {
                return self.settled_before(step, resolution).await;
            };
            let (mut commit, mut drafts) = beside(tree);
            drafts.extend(also.cloned());
            drafts.push(self.settled_draft(known, resolution, unseen)?);
            let settled = drafts.len() as u64 - 1;
            commit.guards.push(Guard::Registers { journal: self.branch, version });
            if let Some(refused) = refused {
                self.refuse_beside(refused, &mut commit, &mut drafts).await?;
            }
            match self.commit_with(commit, drafts).await {
                Ok(seq) => {
                    self.forget_started(step);
                    return Ok(Position { journal: self.branch, seq: seq + settled });
                }
                Err(error) if matches!(error.code(), "registers_moved" | "head_moved" | "outcome_unknown") => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::conflict("steps_contended", format!("step {step} changed while it was settled")).hint("try again"))
    }

    /// The doubt is no more: fine when this very resolution is recorded.
    async fn settled_before(&self, step: EntryId, resolution: &Resolution) -> Result<Position> {
        let steps = self.client.steps(self.session, Some(self.branch)).await?;
        let outcome = steps.into_iter().find(|known| known.id == step).and_then(|known| known.outcome);
        let outcome = outcome.filter(|outcome| outcome.settled.is_some()).ok_or_else(|| not_in_doubt(step))?;
        let is_same = match &resolution.what {
            Settled::Happened(output) if outcome.kind == OutcomeKind::Completed => {
                let entry = self.core().entry_at(outcome.position).await?;
                self.core().repeats(&entry, &output_of(output)?).await?
            }
            Settled::Happened(_) => false,
            Settled::DidNot => outcome.kind == OutcomeKind::FailedRetryable,
            Settled::Abandoned => outcome.abandoned,
        };
        if is_same { Ok(outcome.position) } else { Err(not_in_doubt(step)) }
    }

    /// The steps in doubt on this branch, oldest first.
    ///
    /// # Errors
    /// `corrupt` when one cannot be read.
    pub async fn doubts(&self) -> Result<Vec<super::InDoubt>> {
        let (_, open) = self.open_steps(true).await?;
        let mut doubts = Vec::new();
        for step in open.iter() {
            if self.standing(step).await? == Standing::InDoubt {
                doubts.push(self.describe_doubt(step, true, false).await?);
            }
        }
        doubts.sort_by_key(|doubt| doubt.step.start.seq);
        Ok(doubts)
    }
}

/// What of a step's end is compared.
pub(crate) fn output_of(output: &Value) -> Result<Vec<u8>> {
    to_json(&json!({ "output": output }))
}
