//! What the hooks of a harness recorded on a branch, as its conversation. Pure.

use super::Happened;
use super::parts::Part;
use crate::hook::Harness;
use crate::payload::{Event, StepEnded, StepSettled, StepStarted};
use samite_model::step::OutcomeKind;
use samite_model::{EntryKind, Position, Result};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

/// The kinds of entries that make a conversation.
pub(super) const KINDS: [EntryKind; 7] = [
    EntryKind::MESSAGE,
    EntryKind::EVENT,
    EntryKind::STEP_STARTED,
    EntryKind::STEP_COMPLETED,
    EntryKind::STEP_FAILED,
    EntryKind::STEP_RESOLVED,
    EntryKind::STEP_ABANDONED,
];

/// The conversation of a branch.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The harness; none while nothing of one came.
    pub(super) harness: Option<Harness>,
    /// The harness's session that was at work last.
    pub(super) session: Option<String>,
    /// The transcript that it wrote.
    pub(super) transcript: Option<PathBuf>,
    /// The directory that it worked in.
    pub(super) directory: Option<PathBuf>,
    /// What happened.
    pub(super) happened: Vec<Happened>,
    /// What was kept of transcripts.
    pub(super) parts: Vec<Part>,
    /// The calls, by where they started.
    calls: HashMap<Position, String>,
}

impl History {
    /// Adds the next entry.
    pub(super) fn add(&mut self, at: Position, kind: EntryKind, payload: &[u8]) -> Result<()> {
        match kind {
            EntryKind::MESSAGE | EntryKind::EVENT => self.event(&Event::decode(payload)?),
            EntryKind::STEP_STARTED => {
                let started: StepStarted = crate::core::from_json("a step's start", payload)?;
                self.called(at, &started);
            }
            EntryKind::STEP_COMPLETED | EntryKind::STEP_FAILED => {
                let ended: StepEnded = crate::core::from_json("a step's end", payload)?;
                let output = ended.output.get("response").cloned().unwrap_or(ended.output);
                self.returned(ended.start, output, ended.kind != OutcomeKind::Completed);
            }
            EntryKind::STEP_RESOLVED | EntryKind::STEP_ABANDONED => {
                let settled: StepSettled = crate::core::from_json("how a step was settled", payload)?;
                self.returned(settled.start, Value::String(told(kind, &settled)), !settled.happened);
            }
            _ => {}
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) {
        let Some(attributes) = &event.attributes else { return };
        let text = |name: &str| attributes.get(name).and_then(Value::as_str);
        let Some(harness) = text("harness").and_then(Harness::from_name) else { return };
        if let Some(part) = Part::of(attributes, event.body) {
            self.parts.push(part);
            return;
        }
        self.harness = Some(harness);
        let mut session = text("session").map(ToOwned::to_owned);
        let mut transcript = text("transcript").map(PathBuf::from);
        let mut turn = None;
        // Events that are kept whole say it themselves.
        if let Ok(Value::Object(raw)) = serde_json::from_slice::<Value>(event.body) {
            let field = |name: &str| raw.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
            if raw.contains_key("hook_event_name") {
                session = session.or_else(|| field("session_id"));
                transcript = transcript.or_else(|| field("transcript_path").map(PathBuf::from));
                self.directory = field("cwd").map(PathBuf::from).or(self.directory.take());
            }
        }
        if let Some(Value::String(id)) = attributes.pointer("/more/turn_id") {
            turn = Some(id.clone());
        }
        // At a resumption, Gemini CLI first names a file that holds nothing and never will.
        let is_start = text("event") == Some("SessionStart");
        if self.session.is_none() || !is_start || self.session != session {
            self.transcript = transcript.or(self.transcript.take());
        }
        self.session = session.or(self.session.take());
        let words = || String::from_utf8_lossy(event.body).into_owned();
        match (text("role"), text("event").unwrap_or_default()) {
            (Some("user"), _) => self.happened.push(Happened::Prompt { turn, text: words() }),
            (Some("assistant"), "Stop" | "StopFailure" | "AfterAgent") => {
                self.happened.push(Happened::Ended { said: Some(words()) });
            }
            (None, "Stop" | "StopFailure" | "AfterAgent") => self.happened.push(Happened::Ended { said: None }),
            _ => {}
        }
    }

    fn called(&mut self, at: Position, started: &StepStarted) {
        let (Some(Value::String(tool)), Some(input)) = (started.input.get("name"), started.input.get("input")) else {
            return;
        };
        // A call that is run again is one call of the model.
        if self.calls.values().all(|call| *call != started.key) {
            self.happened.push(Happened::Called {
                call: started.key.clone(),
                tool: tool.clone(),
                input: input.clone(),
            });
        }
        self.calls.insert(at, started.key.clone());
    }

    fn returned(&mut self, start: Position, output: Value, failed: bool) {
        let Some(call) = self.calls.get(&start).cloned() else { return };
        // How it was settled stands, and not what came before.
        self.happened.retain(|event| !matches!(event, Happened::Returned { call: of, .. } if *of == call));
        self.happened.push(Happened::Returned { call, output, failed });
    }
}

/// How a call was settled that was cut off, as its result.
fn told(kind: EntryKind, settled: &StepSettled) -> String {
    let mut told = "This call was cut off before its result was recorded. ".to_owned();
    told.push_str(match (kind, settled.happened) {
        (EntryKind::STEP_ABANDONED, _) => "It was given up: do not count on it.",
        (_, true) => "It did happen: do not run it again.",
        (_, false) => "It did not happen.",
    });
    for more in [settled.evidence.as_ref().map(|evidence| evidence.seen.as_str()), settled.note.as_deref()] {
        if let Some(more) = more.filter(|more| !more.is_empty()) {
            told.push(' ');
            told.push_str(more);
        }
    }
    if !settled.output.is_null() {
        told.push_str("\nIts output: ");
        told.push_str(&super::outcome_text(&settled.output));
    }
    told
}
