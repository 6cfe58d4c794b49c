//! SWE-agent's trajectories as sessions.
//!
//! A trajectory is one JSON document; its records are the elements of its lists and its other fields. What becomes what:
//!
//! - `history` is the conversation: `assistant` is a response of the model, every other role a message;
//! - `trajectory` tells what was done: an element is an action with its observation, so a step that completed. It is an
//!   event beside the conversation, which holds the same words;
//! - an action of the history that no element of the trajectory tells is a step as well: it ends with the observation
//!   after it, and without one it is in doubt. Actions of demonstrations are none;
//! - every other field (`info`, `replay_config`, …) is an event.

use super::frame::damage::decode;
use super::frame::elements::Elements;
use super::frame::flat::{Call, Format, Meaning};
use super::frame::ids::{Key, key, path_id, printable};
use super::frame::lines::{Line, Records as _};
use super::frame::plan::Begin;
use super::frame::raw::Raw;
use super::frame::report::Unit;
use samite_model::{EntryKind, Result};
use std::collections::{HashMap, VecDeque};
use std::io::BufRead;
use std::path::Path;

/// A trajectory.
#[derive(Debug, Default)]
pub(super) struct SweAgent {
    id: String,
    environment: Option<String>,
    /// How often each action stands in the trajectory and not yet in the history.
    told: HashMap<Key, usize>,
    /// The actions of the history that the trajectory has not told yet, by action.
    untold: HashMap<Key, VecDeque<String>>,
    /// The call of the history's last action, until its observation.
    waiting: Option<String>,
    count: usize,
}

/// Whose trajectory it is; nothing when the document has neither a history nor a trajectory.
///
/// It has no id of its own: it is known by the last three parts of its path, which name the run, the instance and the
/// file.
///
/// # Errors
/// As reading a record.
pub(super) fn identify(path: &Path, reader: impl BufRead) -> Result<Option<SweAgent>> {
    let mut found = SweAgent { id: path_id(path), ..SweAgent::default() };
    let mut elements = Elements::new(reader);
    let mut recognised = false;
    while let Some(record) = elements.next_record()? {
        let decoded = decode(record.bytes);
        let Some(raw) = Raw::parse(&decoded.text) else { continue };
        match record.field {
            "environment" => found.environment = raw.text(),
            "history" if raw.text_at(&["role"]).is_some() => recognised = true,
            "trajectory" if raw.get("action").is_some() => recognised = true,
            _ => {}
        }
        if recognised {
            break;
        }
    }
    Ok(Some(found).filter(|_| recognised))
}

impl SweAgent {
    fn step(&mut self, raw: Raw<'_>) -> Meaning {
        let meaning = Meaning::event();
        let Some(action) = raw.text_at(&["action"]).filter(|action| !action.trim().is_empty()) else { return meaning };
        let hash = key(action.as_bytes());
        if let Some(id) = self.untold.get_mut(&hash).and_then(VecDeque::pop_front) {
            if self.waiting.as_ref() == Some(&id) {
                self.waiting = None;
                return meaning.with_result(id, false);
            }
            return meaning;
        }
        *self.told.entry(hash).or_default() += 1;
        let id = format!("trajectory-{}", self.next());
        meaning.with_call(call(id.clone(), &action)).with_result(id, false)
    }

    fn next(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    fn message(&mut self, raw: Raw<'_>) -> Meaning {
        let is_demonstration = raw.get("is_demo").is_some_and(Raw::is_true)
            || raw.text_at(&["message_type"]).is_some_and(|kind| kind == "demonstration");
        if raw.text_at(&["role"]).as_deref() != Some("assistant") {
            let mut meaning = Meaning::of(EntryKind::MESSAGE);
            if let Some(id) = self.waiting.take().filter(|_| !is_demonstration) {
                meaning = meaning.with_result(id, false);
            }
            return meaning;
        }
        let meaning = Meaning::of(EntryKind::MODEL_RESPONSE);
        let action = raw.text_at(&["action"]).filter(|action| !action.trim().is_empty() && !is_demonstration);
        let Some(action) = action else { return meaning };
        let hash = key(action.as_bytes());
        if let Some(told) = self.told.get_mut(&hash).filter(|told| **told > 0) {
            *told -= 1;
            return meaning;
        }
        let named =
            raw.get("tool_calls").map(Raw::items).unwrap_or_default().first().and_then(|one| one.text_at(&["id"]));
        let id = named.unwrap_or_else(|| format!("history-{}", self.next()));
        self.untold.entry(hash).or_default().push_back(id.clone());
        self.waiting = Some(id.clone());
        meaning.with_call(call(id, &action))
    }
}

/// A call whose tool is the action's first word.
fn call(id: String, action: &str) -> Call {
    let tool = action.split_whitespace().next().unwrap_or_default().to_owned();
    Call { id, tool, input: Some(serde_json::json!({ "action": action })) }
}

impl Format for SweAgent {
    const STARTS: &'static [&'static str] = &[];
    const UNIT: Unit = Unit::Record;

    fn is_record(_raw: Raw<'_>) -> bool {
        false
    }

    fn begin(&self) -> Begin {
        let mut begin = Begin {
            harness: "swe-agent",
            key: format!("swe-agent:{}", printable(&self.id, 400)),
            session_id: self.id.clone(),
            line: 1,
            ..Begin::default()
        };
        if let Some(environment) = &self.environment {
            begin.more.insert("environment".to_owned(), environment.as_str().into());
        }
        begin
    }

    fn read(&mut self, record: &Line<'_>, raw: Raw<'_>) -> Option<Meaning> {
        Some(match record.field {
            "history" if raw.is_object() => self.message(raw),
            "trajectory" if raw.is_object() => self.step(raw),
            "history" | "trajectory" => return None,
            _ => Meaning::event(),
        })
    }
}
