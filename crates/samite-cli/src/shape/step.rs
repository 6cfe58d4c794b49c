//! A step as an answer.

use super::PositionShape;
use crate::printer::words::{duration, rfc3339, short_id, time};
use crate::printer::{Column, Table};
use samite::StepRecord;
use samite::payload::{NotRun, SettledBy};
use samite_model::step::{Effect, OutcomeKind, Probe, State};
use serde::Serialize;
use serde_json::Value;

/// A step.
#[derive(Debug, Serialize)]
pub(crate) struct StepShape {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) effect: Effect,
    pub(crate) touches: Vec<String>,
    pub(crate) probe: Option<Probe>,
    pub(crate) state: State,
    pub(crate) attempt: u32,
    pub(crate) idempotency_key: String,
    /// Where it started.
    #[serde(flatten)]
    pub(crate) start: PositionShape,
    pub(crate) started: String,
    pub(crate) outcome: Option<OutcomeShape>,
    #[serde(skip)]
    started_at: i64,
}

/// What came of a step.
#[derive(Debug, Serialize)]
pub(crate) struct OutcomeShape {
    pub(crate) kind: OutcomeKind,
    pub(crate) output: Value,
    /// The step that a call may be which was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) may_be: Option<MayBeShape>,
    #[serde(flatten)]
    pub(crate) position: PositionShape,
    pub(crate) settled_by: Option<SettledBy>,
    pub(crate) abandoned: bool,
    pub(crate) duration_ns: Option<u64>,
}

/// The step for whose sake a call was not run.
#[derive(Debug, Serialize)]
pub(crate) struct MayBeShape {
    pub(crate) id: String,
    pub(crate) key: String,
    #[serde(flatten)]
    pub(crate) start: PositionShape,
}

impl MayBeShape {
    fn new(other: &NotRun) -> Self {
        Self { id: other.step.to_string(), key: other.key.clone(), start: other.start.into() }
    }
}

impl OutcomeShape {
    /// The shape of an outcome.
    pub(crate) fn new(outcome: &samite::Outcome) -> Self {
        Self {
            kind: outcome.kind,
            output: outcome.output.clone(),
            may_be: outcome.not_run.as_ref().map(MayBeShape::new),
            position: outcome.position.into(),
            settled_by: outcome.settled,
            abandoned: outcome.abandoned,
            duration_ns: outcome.duration,
        }
    }
}

/// Where a step stands, in words.
pub(super) fn state_words(state: State, not_run: bool) -> &'static str {
    match state {
        State::Failed if not_run => "not run",
        State::Absent => "absent",
        State::Started => "running",
        State::InDoubt => "IN DOUBT",
        State::Completed => "completed",
        State::Failed => "failed",
        State::FailedRetryable => "failed, may run again",
        State::Abandoned => "abandoned",
    }
}

impl StepShape {
    /// The shape of a step.
    pub(crate) fn new(step: &StepRecord) -> Self {
        let started = &step.started;
        Self {
            id: step.id.to_string(),
            key: started.key.clone(),
            tool: started.tool.clone(),
            input: started.input.clone(),
            effect: started.effect.clone(),
            touches: started.touches.clone(),
            probe: started.probe.clone(),
            state: step.state,
            attempt: started.attempt,
            idempotency_key: started.idempotency_key.clone(),
            start: step.start.into(),
            started: rfc3339(step.started_at),
            outcome: step.outcome.as_ref().map(OutcomeShape::new),
            started_at: step.started_at,
        }
    }

    /// Where it stands, in words.
    pub(crate) fn state(&self) -> &'static str {
        state_words(self.state, self.outcome.as_ref().is_some_and(|outcome| outcome.may_be.is_some()))
    }

    /// When it was started, for a person.
    pub(crate) fn when(&self) -> String {
        time(self.started_at)
    }
}

/// A table of steps.
pub(crate) fn step_table(steps: &[StepShape]) -> Table {
    let mut table = Table::new(&[
        ("SEQ", Column::Right),
        ("ID", Column::Left),
        ("KEY", Column::Flexible),
        ("TOOL", Column::Flexible),
        ("EFFECT", Column::Left),
        ("STATE", Column::Flexible),
        ("TRY", Column::Right),
        ("TOOK", Column::Right),
        ("TOUCHES", Column::Flexible),
    ]);
    for step in steps {
        let style =
            if step.state == State::InDoubt { crate::printer::Style::Care } else { crate::printer::Style::Plain };
        let took = step.outcome.as_ref().and_then(|outcome| outcome.duration_ns).map_or_else(String::new, duration);
        table.styled(
            style,
            [
                step.start.seq.to_string(),
                short_id(&step.id),
                step.key.clone(),
                step.tool.clone(),
                step.effect.name().to_owned(),
                step.state().to_owned(),
                // Most steps have one try, and the column is left out then.
                if step.attempt > 1 { step.attempt.to_string() } else { String::new() },
                took,
                step.touches.join(" "),
            ],
        );
    }
    table
}
