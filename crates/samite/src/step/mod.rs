//! Steps: tool executions with a durable boundary.

mod begin;
mod finish;
mod list;
mod refused;
mod standing;
mod starts;

pub(crate) use begin::started;
pub(crate) use finish::{Beside, output_of};
pub(crate) use refused::{Refused, is_known};
pub(crate) use starts::Starts;

use crate::payload::{NotRun, SettledBy, StepEnded, StepSettled, StepStarted};
use crate::workspace::Checkpoint;
use samite_model::step::{Effect, Evidence, OutcomeKind, Probe, State};
use samite_model::{BlockId, EntryId, Error, Position, Result, limits};
use serde_json::Value;
use std::sync::Arc;

/// A step to begin.
#[derive(Clone, Debug)]
pub struct NewStep {
    /// The caller's key: the same key on the same branch is the same step.
    pub key: String,
    /// The tool.
    pub tool: String,
    /// What it is called with.
    pub input: Value,
    /// What it can do.
    pub effect: Effect,
    /// What it touches outside, normalised.
    pub touches: Vec<String>,
    /// How to look whether it happened.
    pub probe: Option<Probe>,
    /// The workspace's tree at the start, for a contained step.
    pub tree: Option<BlockId>,
    /// The processes that run it.
    pub process: Option<Value>,
    /// The entry that asked for it, in an imported log.
    pub source: Option<u64>,
}

impl NewStep {
    /// A step of a tool with an input; nothing is declared about its effect, so it is opaque.
    pub fn new(key: impl Into<String>, tool: impl Into<String>, input: Value) -> Self {
        Self {
            key: key.into(),
            tool: tool.into(),
            input,
            effect: Effect::Opaque,
            touches: Vec::new(),
            probe: None,
            tree: None,
            process: None,
            source: None,
        }
    }

    fn check(&self) -> Result<()> {
        limits::check_name("a step's key", &self.key)?;
        limits::check_name("a tool's name", &self.tool)?;
        for touch in &self.touches {
            limits::check_name("a touched resource", touch)?;
        }
        if matches!(self.effect, Effect::Observable { .. }) && self.probe.is_none() {
            return Err(Error::invalid("no_probe", format!("step {:?} is observable but has no probe", self.key))
                .hint("say how to look whether it happened, or declare it opaque"));
        }
        Ok(())
    }
}

/// What `begin` answers.
#[derive(Clone, Debug)]
pub enum Begin {
    /// Its start is durable: do it now, then complete or fail it.
    Run(StepHandle),
    /// It ended before, or is not to be run ([`Outcome::not_run`]): this is what came of it. Do nothing.
    Replay(Outcome),
    /// Somebody is at it.
    Busy(Box<StepRecord>),
    /// A step on the same tool or resource has no outcome and its writer is gone: settle that one first. Should it have
    /// happened, what was asked for may be the same act in other words, and the caller decides whether to begin it after
    /// all; [`Client::run_step`](crate::Client::run_step) refuses it until it is told so.
    InDoubt(Box<InDoubt>),
}

/// A started step of this writer.
#[derive(Clone, Debug)]
pub struct StepHandle {
    /// The entry that started it.
    pub id: EntryId,
    /// Where that entry is.
    pub position: Position,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// What the outside dedupes on.
    pub idempotency_key: String,
    pub(crate) key: String,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub kind: OutcomeKind,
    /// What it put out.
    pub output: Value,
    /// The step for whose sake it was not run, when it was not: it may be the same act in other words.
    pub not_run: Option<NotRun>,
    /// Where the outcome is.
    pub position: Position,
    /// Who settled it, when it was in doubt.
    pub settled: Option<SettledBy>,
    /// Whether it was given up.
    pub abandoned: bool,
    /// How long it took, in nanoseconds.
    pub duration: Option<u64>,
}

/// How a step ended, to be recorded.
#[derive(Clone, Debug)]
pub struct Completion {
    /// How.
    pub kind: OutcomeKind,
    /// What it put out.
    pub output: Value,
    /// How long it took, in nanoseconds.
    pub duration: Option<u64>,
    /// The entry that holds the result, in an imported log.
    pub source: Option<u64>,
}

impl Completion {
    /// It did what it should.
    pub fn completed(output: Value) -> Self {
        Self { kind: OutcomeKind::Completed, output, duration: None, source: None }
    }

    /// It failed; `retryable` lets the next `begin` run it again.
    pub fn failed(output: Value, retryable: bool) -> Self {
        let kind = if retryable { OutcomeKind::FailedRetryable } else { OutcomeKind::Failed };
        Self { kind, output, duration: None, source: None }
    }
}

/// Where a step's outcome was recorded, with the workspace's tree.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Where the outcome is.
    pub position: Position,
    /// The tree, in the entry before; none when there was no workspace to take one of, none was due, or it failed.
    pub tree: Option<Checkpoint>,
    /// Why there is no tree although one was to be taken: that never keeps an outcome from being recorded.
    pub failed: Option<Arc<Error>>,
}

/// A step in doubt, with what is known of it.
#[derive(Clone, Debug)]
pub struct InDoubt {
    /// The step.
    pub step: StepRecord,
    /// What a fenced writer, or the branches that forks left, recorded of it: the branch that started it comes first.
    pub recorded: Vec<Outcome>,
    /// Whether it is the step that was asked for, or another that blocks it.
    pub same_key: bool,
    /// Whether a call brought it up, whose caller will know what it is settled to.
    pub by_call: bool,
}

/// How a doubt is settled.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// What happened.
    pub what: Settled,
    /// Who says so.
    pub by: SettledBy,
    /// What was seen.
    pub evidence: Option<Evidence>,
    /// A person's words.
    pub note: Option<String>,
}

/// What a doubt is settled to.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// It happened, and this stands for its output.
    Happened(Value),
    /// It did not: it may run again.
    DidNot,
    /// It is given up.
    Abandoned,
}

/// A step as a branch's log has it.
#[derive(Clone, Debug)]
pub struct StepRecord {
    /// The entry of its latest start.
    pub id: EntryId,
    /// Where that entry is.
    pub start: Position,
    /// When it started, in nanoseconds since 1970.
    pub started_at: i64,
    /// The epoch that it was started in.
    pub epoch: u64,
    /// What was started.
    pub started: StepStarted,
    /// Where it stands on the branch that was asked.
    pub state: State,
    /// What came of it.
    pub outcome: Option<Outcome>,
}

impl StepRecord {
    /// A step as the entry of its start has it.
    pub(crate) fn of_start(entry: &crate::log::Entry, state: State) -> Result<Self> {
        Ok(Self {
            id: entry.header.id,
            start: entry.position,
            started_at: entry.header.time,
            epoch: entry.header.epoch,
            started: entry.json()?,
            state,
            outcome: None,
        })
    }
}

fn ended(entry: &crate::log::Entry) -> Result<Outcome> {
    let ended: StepEnded = entry.json()?;
    Ok(Outcome {
        kind: ended.kind,
        output: ended.output,
        not_run: ended.not_run,
        position: entry.position,
        settled: None,
        abandoned: false,
        duration: ended.duration,
    })
}

fn settled(entry: &crate::log::Entry, abandoned: bool) -> Result<Outcome> {
    let settled: StepSettled = entry.json()?;
    let kind = match (abandoned, settled.happened) {
        (true, _) => OutcomeKind::Failed,
        (false, true) => OutcomeKind::Completed,
        (false, false) => OutcomeKind::FailedRetryable,
    };
    Ok(Outcome {
        kind,
        output: settled.output,
        not_run: None,
        position: entry.position,
        settled: Some(settled.by),
        abandoned,
        duration: None,
    })
}

/// The outcome that an entry of a step kind records, if it records one.
pub(crate) fn outcome_of(entry: &crate::log::Entry) -> Result<Option<Outcome>> {
    use samite_model::EntryKind as K;
    match entry.header.kind {
        K::STEP_COMPLETED | K::STEP_FAILED => ended(entry).map(Some),
        K::STEP_RESOLVED => settled(entry, false).map(Some),
        K::STEP_ABANDONED => settled(entry, true).map(Some),
        _ => Ok(None),
    }
}
