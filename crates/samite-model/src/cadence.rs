//! When a checkpoint is taken that nobody asks for.
//!
//! A checkpoint costs the time of a look through the workspace, and whoever works waits for it. So each earns its place:
//! time that passes earns *credit*, at the rate that the overhead allows, and a snapshot spends what it takes. Where bounds
//! contradict each other the overhead wins: work is lost for at most as long as the overhead allows, and what was reached
//! is shown.

#[cfg(test)]
mod tests;

use crate::settings::{Bounds, Cadence};
use serde::{Deserialize, Serialize};

/// Where a checkpoint may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// In the middle of a step: half of something, and better than nothing.
    Tick,
    /// A step has ended.
    StepEnd,
    /// A turn of the agent has ended.
    TurnEnd,
}

/// Why a tree was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Somebody asked for it.
    #[default]
    Asked,
    /// A step on files is about to start.
    StepStart,
    /// A step has ended.
    StepEnd,
    /// A turn has ended.
    TurnEnd,
    /// A step took long.
    Tick,
    /// The workspace is about to be put back.
    Safety,
    /// The workspace was put back.
    Restored,
}

impl Cause {
    /// Every one.
    pub const ALL: [Self; 7] =
        [Self::Asked, Self::StepStart, Self::StepEnd, Self::TurnEnd, Self::Tick, Self::Safety, Self::Restored];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::StepStart => "step_start",
            Self::StepEnd => "step_end",
            Self::TurnEnd => "turn_end",
            Self::Tick => "tick",
            Self::Safety => "safety",
            Self::Restored => "restored",
        }
    }
}

/// What snapshots of a branch's workspace have cost so far, as the last one knew it: each tree's report holds it, so that
/// the next process goes on from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Costs {
    /// When the last one began, in nanoseconds since 1970: what it holds is as things were then.
    pub begun: i64,
    /// How long it took, in nanoseconds.
    pub duration: u64,
    /// How long the next may take, in nanoseconds: as the dearest, which is forgotten by and by.
    pub expected: u64,
    /// The time that may be spent, in nanoseconds; below zero where too much was.
    pub credit: i64,
}

/// Credit, and debt, is that of so long at most: who was idle all night does not spend it in a minute. 10 minutes, in
/// nanoseconds.
pub const HORIZON: u64 = 600_000_000_000;

/// The first snapshot takes so many times as long as the next, until one has shown how long that takes.
const FIRST: u64 = 8;

/// A part of a time, in thousandths.
fn share(nanoseconds: u64, permille: u32) -> i64 {
    i64::try_from(u128::from(nanoseconds) * u128::from(permille) / 1000).unwrap_or(i64::MAX)
}

fn signed(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}

/// How long it is from one time to another; nothing where the clock was set back.
fn between(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

impl Costs {
    /// The costs after a snapshot, in nanoseconds, where checkpoints may take so many thousandths of the time.
    #[must_use]
    pub fn after(before: Option<&Self>, begun: i64, duration: u64, permille: u32) -> Self {
        // The first reads everything, and is owed to nobody: without it there is nothing to go back to.
        let Some(before) = before else { return Self { begun, duration, expected: duration / FIRST, credit: 0 } };
        let expected = duration.max(before.expected - before.expected.saturating_sub(duration) / 4);
        let credit = before.credit_at(begun, permille).saturating_sub(signed(duration));
        Self { begun, duration, expected, credit: credit.max(-share(HORIZON, permille)) }
    }

    /// The costs where a tree is known without a snapshot: nothing is spent.
    #[must_use]
    pub fn at(&self, now: i64, permille: u32) -> Self {
        Self { begun: now, credit: self.credit_at(now, permille), ..*self }
    }

    /// The credit at a time.
    fn credit_at(&self, now: i64, permille: u32) -> i64 {
        // What no snapshot could be paid with is no credit.
        let most = share(HORIZON, permille).max(signed(self.expected));
        self.credit.saturating_add(share(between(self.begun, now), permille)).min(most)
    }
}

/// What checkpoints cost those who wait for them, whatever the cadence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The time that they took, in nanoseconds, without the first, which reads everything and is owed to nobody.
    pub taken: u64,
    /// The time that went by from the end of the first to the end of the last, in nanoseconds.
    pub of: u64,
}

impl Spent {
    /// What the snapshots of one branch took, each given by when it began (ns since 1970) and how long it took (ns).
    pub fn by(snapshots: impl IntoIterator<Item = (i64, u64)>) -> Self {
        let mut spent = Self::default();
        let mut first = None;
        for (begun, took) in snapshots {
            let ended = begun.saturating_add(signed(took));
            match first {
                None => first = Some(ended),
                Some(first) => {
                    spent.taken = spent.taken.saturating_add(took);
                    spent.of = spent.of.max(between(first, ended));
                }
            }
        }
        spent
    }

    /// The sum of those of two branches.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { taken: self.taken.saturating_add(other.taken), of: self.of.saturating_add(other.of) }
    }

    /// The part of the time that it was, in thousandths; none before a second one. A clock that was set back can make it
    /// more than all.
    pub fn permille(self) -> Option<u64> {
        let permille = (u128::from(self.taken) * 1000).checked_div(u128::from(self.of))?;
        Some(u64::try_from(permille).unwrap_or(u64::MAX))
    }
}

/// How things stand where a checkpoint may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The boundary.
    pub boundary: Boundary,
    /// The time, in nanoseconds since 1970.
    pub now: i64,
    /// What snapshots cost so far; none when there was none.
    pub costs: Option<Costs>,
    /// What the trees of the session hold, in bytes.
    pub held: u64,
    /// Whether anything may have changed since the last checkpoint.
    pub changed: bool,
}

/// Whether to take a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Now.
    Take,
    /// Not now; while a step goes on, it is worth asking again after so many nanoseconds.
    Wait {
        /// So long.
        nanoseconds: u64,
        /// Why.
        why: Why,
    },
}

/// Why no checkpoint is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The session's cadence has none here.
    Cadence,
    /// Nothing can have changed.
    Unchanged,
    /// The last one is fresh enough.
    Fresh,
    /// It would take more of the time than it may.
    Overhead,
    /// The trees hold as many bytes as they may: only turns are still kept.
    Bytes,
}

impl Why {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cadence => "cadence",
            Self::Unchanged => "unchanged",
            Self::Fresh => "fresh",
            Self::Overhead => "overhead",
            Self::Bytes => "bytes",
        }
    }
}

/// How long to wait where nothing will change by itself: a minute, in nanoseconds.
const LATER: u64 = 60_000_000_000;

/// Whether a checkpoint is taken.
#[must_use]
pub fn decide(cadence: &Cadence, moment: &Moment) -> Decision {
    let wait = |nanoseconds, why| Decision::Wait { nanoseconds, why };
    let bounds = match (cadence, moment.boundary) {
        (Cadence::Turn, Boundary::StepEnd | Boundary::Tick) | (Cadence::Step, Boundary::Tick) => {
            return wait(u64::MAX, Why::Cadence);
        }
        _ if !moment.changed => return wait(LATER, Why::Unchanged),
        (Cadence::Turn | Cadence::Step, _) => return Decision::Take,
        (Cadence::Adaptive(bounds), _) => bounds,
    };
    if moment.boundary != Boundary::TurnEnd && moment.held >= bounds.max_bytes {
        return wait(LATER, Why::Bytes);
    }
    // What one costs is not known before there was one.
    let Some(costs) = &moment.costs else { return Decision::Take };
    let credit = costs.credit_at(moment.now, bounds.max_overhead);
    let missing = match moment.boundary {
        // A person may come back to what a turn left in days: it may be owed for.
        Boundary::TurnEnd => signed(costs.expected).saturating_sub(share(HORIZON, bounds.max_overhead)),
        Boundary::StepEnd | Boundary::Tick => signed(costs.expected),
    }
    .saturating_sub(credit);
    let earned = u128::try_from(missing).unwrap_or(0) * 1000;
    let until_paid = u64::try_from(earned.div_ceil(u128::from(bounds.max_overhead.max(1)))).unwrap_or(u64::MAX);
    // A step's end is a better place than its middle, which is for the bound alone.
    let until_due = match moment.boundary {
        Boundary::Tick => {
            // Half as long again, since it is to be durable by then however much there is to store.
            let takes = costs.expected.max(costs.duration);
            let due = bounds.max_loss.saturating_sub(takes.saturating_add(takes / 2));
            due.saturating_sub(between(costs.begun, moment.now))
        }
        Boundary::StepEnd | Boundary::TurnEnd => 0,
    };
    match (until_paid, until_due) {
        (0, 0) => Decision::Take,
        (paid, due) if paid > due => wait(paid, Why::Overhead),
        (_, due) => wait(due, Why::Fresh),
    }
}

impl Bounds {
    /// The work that may be lost where a snapshot takes so long, in nanoseconds: the bound, or where that contradicts the
    /// overhead, as much as the overhead allows.
    pub fn loss_kept(&self, snapshot: u64) -> u64 {
        let rate = u128::from(self.max_overhead.max(1));
        let allowed = (u128::from(snapshot) * (1000 + rate)).div_ceil(rate);
        self.max_loss.max(u64::try_from(allowed).unwrap_or(u64::MAX))
    }
}
