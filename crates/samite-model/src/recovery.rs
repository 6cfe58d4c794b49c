//! The recovery decision: what to do about a step in doubt, from what is known. Pure: no clock, no I/O.

use crate::step::{Effect, Verdict};
use serde::{Deserialize, Serialize};

/// What is known about a step in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// What the step can do.
    pub effect: Effect,
    /// Whether its process still runs, or its writer's lease still lives.
    pub alive: bool,
    /// Seconds since the step's first start, by the caller's clock.
    pub age_seconds: u64,
    /// For `contained`: where the changed paths stand.
    pub workspace: Workspace,
    /// For `observable`: what the probe said; `None` when it has no probe or was not asked yet.
    pub verdict: Option<Verdict>,
    /// Whether the probe looks at something remote.
    pub remote: bool,
    /// How long after the writer was lost a remote "did not" starts to count, in seconds.
    pub settle_seconds: u64,
}

/// Where the workspace of a contained step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workspace {
    /// No tree was recorded at the start, or the workspace cannot be read.
    Unknown,
    /// The workspace is gone: it is made again from the tree.
    Gone,
    /// Nothing differs from the tree at the start.
    Unchanged,
    /// Paths that the step may touch differ, all of them changed before its last sign of life.
    ChangedByStep,
    /// Some paths were changed after the step's last sign of life, or by another.
    ChangedByOthers,
}

/// Why only a person can decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// The step is opaque or undeclared.
    Opaque,
    /// The outside no longer remembers the idempotency key.
    PastWindow,
    /// The probe cannot tell, or there is none.
    CannotTell,
    /// Others changed the workspace since.
    ChangedByOthers,
    /// No tree to put back.
    NoTree,
}

/// What to do about a step in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "decision")]
pub enum Decision {
    /// Run it again, with the same idempotency key.
    RunAgain,
    /// Put the step's paths back to the tree recorded at its start, after a safety snapshot, and run it again.
    PutBackAndRunAgain,
    /// It happened: record it as completed, with the evidence.
    Completed,
    /// Look with the probe first.
    Probe,
    /// Look again after this many seconds.
    Wait {
        /// Seconds until a "did not" counts.
        seconds: u64,
    },
    /// Somebody is still at it.
    Busy,
    /// Ask a person.
    Ask {
        /// Why.
        reason: Ask,
    },
}

/// Decides.
pub fn decide(known: &Known) -> Decision {
    if known.alive {
        return Decision::Busy;
    }
    match &known.effect {
        Effect::Idempotent => Decision::RunAgain,
        Effect::Keyed { window_seconds } => match window_seconds {
            Some(window) if known.age_seconds >= *window => Decision::Ask { reason: Ask::PastWindow },
            _ => Decision::RunAgain,
        },
        Effect::Contained { .. } => match known.workspace {
            Workspace::Unchanged => Decision::RunAgain,
            Workspace::Gone | Workspace::ChangedByStep => Decision::PutBackAndRunAgain,
            Workspace::ChangedByOthers => Decision::Ask { reason: Ask::ChangedByOthers },
            Workspace::Unknown => Decision::Ask { reason: Ask::NoTree },
        },
        Effect::Observable => match known.verdict {
            None => Decision::Probe,
            Some(Verdict::Happened) => Decision::Completed,
            Some(Verdict::DidNot) if known.remote && known.age_seconds < known.settle_seconds => {
                Decision::Wait { seconds: known.settle_seconds - known.age_seconds }
            }
            Some(Verdict::DidNot) => Decision::RunAgain,
            Some(Verdict::CannotTell) => Decision::Ask { reason: Ask::CannotTell },
        },
        Effect::Opaque => Decision::Ask { reason: Ask::Opaque },
    }
}
