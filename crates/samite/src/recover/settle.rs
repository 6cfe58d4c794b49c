//! Carrying out a recovery decision.

use super::assess::forget_life;
use super::{Assessment, Site};
use crate::step::{Beside, Outcome, Refused, Resolution, Settled};
use crate::workspace::{RESTORE, Taken};
use crate::writer::Writer;
use samite_model::recovery::Decision;
use samite_model::step::{Effect, OutcomeKind};
use samite_model::{Position, Result};

/// What was done about a step in doubt.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The step's key.
    pub key: String,
    /// The decision that was carried out.
    pub decision: Decision,
    /// Whether there was a decision to carry out; otherwise nothing was changed.
    pub decided: bool,
    /// Whether the step stays in doubt until its own key runs it again.
    pub run_again: bool,
    /// Its outcome, when it turned out to have happened.
    pub outcome: Option<Outcome>,
    /// Paths of the workspace that were put back.
    pub put_back: Vec<String>,
    /// Those of them that held what no tree has but that of the checkpoint before.
    pub replaced: Vec<Replaced>,
    /// The checkpoint of what was there before they were.
    pub safety: Option<Position>,
}

/// A path that was put back and held what no earlier tree has: half of what the step did, or what somebody did since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The path.
    pub path: String,
    /// When it was changed last, in nanoseconds since 1970.
    pub modified: i64,
}

impl Writer {
    /// Carries out what was decided about a step in doubt: records that it happened, or puts the workspace back and
    /// lets it run again. A step that only its own key may run again stays in doubt. Where no call brought the doubt up and
    /// it happened, the first new call on the same tool or resource may be the same act, and is not run ([`Writer::begin`]).
    ///
    /// # Errors
    /// As [`Writer::resolve`]; `conflict` when the workspace changed since it was assessed.
    pub async fn settle(&self, assessment: &Assessment, site: &Site) -> Result<Settlement> {
        self.settle_refusing(assessment, site, None).await
    }

    /// The same for a call that the doubt stands in the way of: when the step turns out to have happened, the call is
    /// refused in the same commit, since it may be the same act.
    pub(crate) async fn settle_refusing(
        &self,
        assessment: &Assessment,
        site: &Site,
        refused: Option<&Refused>,
    ) -> Result<Settlement> {
        let step = &assessment.doubt.step;
        let mut settlement = Settlement {
            key: step.started.key.clone(),
            decision: assessment.decision,
            decided: true,
            run_again: false,
            outcome: None,
            put_back: Vec::new(),
            replaced: Vec::new(),
            safety: None,
        };
        match assessment.decision {
            Decision::Completed => {
                let resolution = assessment.happened();
                // A restore is nobody's call.
                let unseen = !assessment.doubt.by_call && step.started.tool != RESTORE;
                let more = Beside { refused, unseen, ..Beside::default() };
                let position = self.resolve_beside(step.id, &resolution, more).await?;
                if let Some(refused) = refused {
                    // Another process may have settled it first, and known nothing of this call.
                    self.refuse(refused).await?;
                }
                settlement.outcome = happened(resolution, position);
            }
            Decision::RunAgain if step.started.tool == RESTORE => {
                let (resolution, position, ..) = self.finish_begun_restore(&assessment.doubt).await?;
                settlement.outcome = happened(resolution, position);
            }
            Decision::RunAgain if matches!(step.started.effect, Effect::Keyed { .. } | Effect::Idempotent) => {
                settlement.run_again = true;
            }
            Decision::RunAgain => {
                self.resolve(step.id, &assessment.did_not()).await?;
            }
            Decision::PutBackAndRunAgain => {
                let put_back = self.put_back(step).await?;
                (settlement.put_back, settlement.replaced) = (put_back.paths, put_back.replaced);
                settlement.safety = put_back.safety;
                // What is there now is as much the session's doing as the tree that it was put back to.
                let label = format!("after putting back step {}", step.started.key);
                let did_not = assessment.did_not();
                let record = async |tree: Option<&Taken>| {
                    self.resolve_beside(step.id, &did_not, Beside { tree, ..Beside::default() }).await
                };
                self.with_tree(label, step.started.tree, record).await?;
            }
            Decision::Probe | Decision::Wait { .. } | Decision::Busy | Decision::Ask { .. } => {
                settlement.decided = false;
            }
        }
        if settlement.decided && !settlement.run_again {
            forget_life(step, site);
        }
        Ok(settlement)
    }
}

/// What a doubt was settled to, when it happened.
fn happened(resolution: Resolution, position: Position) -> Option<Outcome> {
    let Settled::Happened(output) = resolution.what else { return None };
    Some(Outcome {
        kind: OutcomeKind::Completed,
        output,
        not_run: None,
        position,
        settled: Some(resolution.by),
        abandoned: false,
        duration: None,
    })
}
