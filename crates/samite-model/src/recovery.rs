//! The recovery decision: what to do about a step in doubt, from what is known. Pure: no clock, no I/O.

use crate::step::{Effect, Verdict};
use serde::{Deserialize, Serialize};

/// The settle time of a remote probe that declares none, in seconds: what was sent may still arrive for so long after
/// its sender died.
pub const SETTLE_SECONDS: u64 = 30;

/// What is known about a step in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// What the step can do.
    pub effect: Effect,
    /// Whether its process still runs, or its writer's lease still lives.
    pub alive: bool,
    /// Seconds since the step's first start, by the caller's clock. A caller whose clock ran backwards gives `u64::MAX`:
    /// the outside may have forgotten the key.
    pub age_seconds: u64,
    /// For `contained`: where the changed paths stand.
    pub workspace: Workspace,
    /// For `observable`: what looking brought.
    pub look: Look,
    /// Whether the probe looks at something remote.
    pub remote: bool,
    /// Seconds from the loss of the writer (its processes found ended, or the end of its lease) to the look. A caller
    /// whose clock ran backwards gives 0. An older look does not ripen: look again, then decide.
    pub lost_seconds: u64,
}

/// What looking with a probe brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    /// The step declares no probe.
    NoProbe,
    /// Nobody has looked yet.
    NotYet,
    /// What the probe said.
    Saw(Verdict),
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

/// Decides. What it answers for every combination is the table in this module's tests.
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
        Effect::Observable { settle_seconds } => {
            let settle = settle_seconds.unwrap_or(if known.remote { SETTLE_SECONDS } else { 0 });
            match known.look {
                Look::NotYet => Decision::Probe,
                Look::Saw(Verdict::Happened) => Decision::Completed,
                Look::Saw(Verdict::DidNot) if known.lost_seconds < settle => {
                    Decision::Wait { seconds: settle - known.lost_seconds }
                }
                Look::Saw(Verdict::DidNot) => Decision::RunAgain,
                Look::NoProbe | Look::Saw(Verdict::CannotTell) => Decision::Ask { reason: Ask::CannotTell },
            }
        }
        Effect::Opaque => Decision::Ask { reason: Ask::Opaque },
    }
}

#[cfg(test)]
mod tests;
