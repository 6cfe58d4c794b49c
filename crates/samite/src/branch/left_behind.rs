//! What a fork or rewind leaves in the world: effects outside the workspace after the fork point.

use super::LeftBehind;
use crate::client::Client;
use crate::step::{Outcome, StepRecord};
use samite_model::step::{Effect, OutcomeKind, Probe};
use samite_model::{Position, Result};

impl Client {
    /// The steps of a branch after `seq` that touched something outside, or may have: each key once, with its last try
    /// that may have done anything.
    pub(crate) async fn left_behind(&self, head: Position, seq: u64) -> Result<Vec<LeftBehind>> {
        if head.seq <= seq {
            return Ok(Vec::new());
        }
        let mut left: Vec<LeftBehind> = Vec::new();
        for step in self.steps_from(head.journal, seq + 1, head.seq).await? {
            if step.outcome.as_ref().is_some_and(did_nothing) {
                continue;
            }
            let Some(touches) = reach(&step) else { continue };
            left.retain(|earlier| earlier.step.started.key != step.started.key);
            left.push(LeftBehind { step, touches });
        }
        Ok(left)
    }
}

/// Whether it is known that a step did nothing: it was not run, or the doubt about it was settled so.
const fn did_nothing(outcome: &Outcome) -> bool {
    let failed = matches!(outcome.kind, OutcomeKind::Failed | OutcomeKind::FailedRetryable);
    outcome.not_run.is_some() || (outcome.settled.is_some() && failed && !outcome.abandoned)
}

/// What a step reaches outside the workspace: what it declares, or else what its effect tells. Empty when it may be
/// anything, none when it is nothing.
fn reach(step: &StepRecord) -> Option<Vec<String>> {
    let started = &step.started;
    let touches: Vec<String> = started.touches.iter().filter(|touch| is_outside(touch)).cloned().collect();
    if !touches.is_empty() {
        return Some(touches);
    }
    // Who declares the workspace alone is believed.
    if !started.touches.is_empty() {
        return None;
    }
    match (&started.effect, &started.probe) {
        (Effect::Opaque | Effect::Keyed { .. }, _)
        | (Effect::Observable { .. }, None | Some(Probe::Command { .. })) => Some(Vec::new()),
        (Effect::Observable { .. }, Some(Probe::HttpGet { url, .. })) => Some(vec![url.clone()]),
        (Effect::Observable { .. }, Some(Probe::GitRef { remote: Some(remote), reference, .. })) => {
            Some(vec![format!("git:{remote}#{reference}")])
        }
        (Effect::Observable { .. }, Some(Probe::GitRef { .. } | Probe::File { .. } | Probe::Workspace))
        | (Effect::Idempotent | Effect::Contained { .. }, _) => None,
    }
}

/// Whether a touched resource is outside the workspace.
fn is_outside(touch: &str) -> bool {
    !touch.starts_with("file:") && touch != "workspace"
}
