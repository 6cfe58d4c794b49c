//! OpenHands' conversations as sessions.
//!
//! A conversation is a folder with one file an event (`events/event-00007-ID.json`, or `events/7.json` of older
//! versions) and `base_state.json`; a trajectory that was exported is one JSON list of events. What becomes what:
//!
//! - `ActionEvent` is a response of the model and a step that started; `ObservationEvent` a message that ends it, failed
//!   when the observation says `is_error`; `AgentErrorEvent` and `UserRejectObservation` end it as failures;
//! - `MessageEvent` is a message, or a response of the model when the agent is its source; `SystemPromptEvent` a message;
//! - `Condensation` with a summary is a compaction of what is before it;
//! - in older versions an event with `action` that runs something is a response and a step, and one with `observation`
//!   and a `cause` ends it, failed when it is an error or its exit code is not 0;
//! - every other event, and the state, is an event beside the conversation. A number that is missing is reported;
//! - an event whose `parent_id` is not the last one of its branch starts a branch after its parent. Where the state says
//!   that the conversation stands at the end of a branch (`leaf_event_id`), that one is current.

use super::frame::damage::decode;
use super::frame::flat::{Back, Call, Format, Meaning};
use super::frame::ids::{Key, key, path_id, printable};
use super::frame::lines::{Line, Records};
use super::frame::plan::Begin;
use super::frame::raw::Raw;
use super::frame::report::{FindingKind, Unit, shown};
use samite_host::files;
use samite_model::{EntryKind, Error, Result, limits};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const STATE: &str = "base_state.json";
const EVENTS: &str = "events";

/// Actions of older versions that run something.
const RUNNING: [&str; 10] = [
    "run",
    "run_ipython",
    "read",
    "write",
    "edit",
    "browse",
    "browse_interactive",
    "call_tool_mcp",
    "delegate",
    "task_tracking",
];

/// The number of an event's file.
fn number_of(name: &str) -> Option<u64> {
    let stem = name.strip_suffix(".json")?;
    let digits = match stem.strip_prefix("event-") {
        Some(rest) => rest.split('-').next()?,
        None => stem,
    };
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The folder of the conversation that a file is an event of.
pub(super) fn folder_of(path: &Path) -> Option<PathBuf> {
    let events = path.parent().filter(|folder| folder.file_name() == Some(OsStr::new(EVENTS)))?;
    number_of(&path.file_name()?.to_string_lossy())?;
    Some(events.parent()?.to_owned())
}

/// The events of a conversation's folder, in order of their numbers.
#[derive(Debug)]
pub(super) struct EventFiles {
    files: std::vec::IntoIter<PathBuf>,
    bytes: Vec<u8>,
    name: String,
    number: u64,
    offset: u64,
}

impl EventFiles {
    /// The events of a folder.
    ///
    /// # Errors
    /// As listing it.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let events = folder.join(EVENTS);
        files::real_directory(&events)?;
        let mut numbered: Vec<(u64, String)> = Vec::new();
        for name in files::list(&events)? {
            let name = name.to_string_lossy().into_owned();
            numbered.extend(number_of(&name).map(|number| (number, name)));
        }
        numbered.sort();
        let mut found: Vec<PathBuf> = numbered.into_iter().map(|(_, name)| events.join(name)).collect();
        let state = folder.join(STATE);
        if files::exists(&state)? {
            found.insert(0, state);
        }
        Ok(Self { files: found.into_iter(), bytes: Vec::new(), name: String::new(), number: 0, offset: 0 })
    }
}

impl Records for EventFiles {
    fn next_record(&mut self) -> Result<Option<Line<'_>>> {
        let Some(path) = self.files.next() else { return Ok(None) };
        self.number += 1;
        self.offset += self.bytes.len() as u64;
        let limit = limits::PAYLOAD;
        // Neither links nor pipes and devices: what an agent made of a name must not be read for what was there.
        let found = files::read_regular(&path, limit + 1)?;
        let is_file = found.is_some();
        self.bytes = found.unwrap_or_default();
        if self.bytes.len() as u64 > limit {
            return Err(Error::invalid("line_too_long", format!("{} has more than {limit} bytes", path.display()))
                .hint("this is hardly an event; move it away and import the rest"));
        }
        self.name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Some(Line {
            number: self.number,
            offset: self.offset,
            bytes: &self.bytes,
            terminated: true,
            is_readable: is_file,
            field: &self.name,
        }))
    }
}

/// A conversation.
#[derive(Debug, Default)]
pub(super) struct OpenHands {
    id: String,
    cwd: Option<String>,
    /// The number that the next event should have.
    next: u64,
    /// The lines of the events.
    lines: HashMap<Key, u64>,
    /// The first of them.
    first: Option<u64>,
    /// The event at which the conversation stands, as the state has it.
    leaf: Option<String>,
}

/// The parent of an event that starts anew.
const ROOT: &str = "__root__";

/// Whose conversation it is; nothing when no record is an event of OpenHands.
///
/// Where no state names it, it is known by the last three parts of its path.
///
/// # Errors
/// As reading a record.
pub(super) fn identify(path: &Path, records: &mut impl Records) -> Result<Option<OpenHands>> {
    let mut found = OpenHands { id: path_id(path), ..OpenHands::default() };
    while let Some(record) = records.next_record()? {
        let decoded = decode(record.bytes);
        let Some(raw) = Raw::parse(&decoded.text) else { continue };
        if record.field == STATE {
            found.id = raw.text_at(&["id"]).unwrap_or(found.id);
            found.cwd = raw.text_at(&["workspace", "working_dir"]);
        } else if is_event(raw) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn is_event(raw: Raw<'_>) -> bool {
    let says = |name: &str| raw.text_at(&[name]).is_some();
    says("source") && (says("kind") || says("action") || says("observation"))
}

/// What an event of older versions is.
fn older(raw: Raw<'_>) -> Option<Meaning> {
    let agent = raw.text_at(&["source"]).as_deref() == Some("agent");
    let id = raw.get("id").and_then(Raw::number);
    if let Some(action) = raw.text_at(&["action"]) {
        let kind = if agent { EntryKind::MODEL_RESPONSE } else { EntryKind::MESSAGE };
        return Some(match (action.as_str(), id) {
            (name, Some(id)) if RUNNING.contains(&name) => {
                let input = raw.get("args").and_then(Raw::value);
                Meaning::of(kind).with_call(Call { id: format!("event-{id}"), tool: action, input })
            }
            ("message" | "system" | "think" | "finish" | "reject", _) => Meaning::of(kind),
            ("condensation", _) if raw.at(&["args", "summary"]).is_some_and(|summary| !summary.is_null()) => {
                Meaning::of(EntryKind::COMPACTION)
            }
            _ => Meaning::event(),
        });
    }
    let observation = raw.text_at(&["observation"])?;
    let Some(cause) = raw.get("cause").and_then(Raw::number).filter(|_| observed(&observation)) else {
        return Some(Meaning::event());
    };
    let code = raw.at(&["extras", "metadata", "exit_code"]).and_then(Raw::number);
    let failed = observation == "error" || observation == "user_rejected" || code.is_some_and(|code| code != 0);
    Some(Meaning::of(EntryKind::MESSAGE).with_result(format!("event-{cause}"), failed))
}

/// Whether an observation of older versions tells what an action that runs something did.
fn observed(observation: &str) -> bool {
    RUNNING.contains(&observation) || matches!(observation, "error" | "user_rejected" | "mcp")
}

impl Format for OpenHands {
    const STARTS: &'static [&'static str] = &[];
    const UNIT: Unit = Unit::Event;

    fn is_record(_raw: Raw<'_>) -> bool {
        false
    }

    fn begin(&self) -> Begin {
        Begin {
            harness: "openhands",
            key: format!("openhands:{}", printable(&self.id, 400)),
            session_id: self.id.clone(),
            cwd: self.cwd.clone(),
            line: 1,
            ..Begin::default()
        }
    }

    fn id(&self, record: &Line<'_>, raw: Raw<'_>) -> Option<String> {
        if record.field == STATE {
            return None;
        }
        let id = raw.get("id")?;
        id.text().or_else(|| id.number().map(|number| format!("event-{number}")))
    }

    fn stands_at(&self) -> Option<u64> {
        self.leaf.as_ref().and_then(|leaf| self.lines.get(&key(leaf.as_bytes()))).copied()
    }

    fn notice(&mut self, record: &Line<'_>) -> Vec<FindingKind> {
        let Some(number) = number_of(record.field) else { return Vec::new() };
        let expected = self.next;
        self.next = self.next.max(number.saturating_add(1));
        match number.cmp(&expected) {
            std::cmp::Ordering::Greater => vec![FindingKind::Gap { from: expected, to: number - 1 }],
            std::cmp::Ordering::Less => vec![FindingKind::SameNumber { number }],
            std::cmp::Ordering::Equal => Vec::new(),
        }
    }

    fn read(&mut self, record: &Line<'_>, raw: Raw<'_>) -> Option<Meaning> {
        if record.field == STATE {
            self.leaf = raw.text_at(&["leaf_event_id"]);
            return Some(Meaning::event());
        }
        if !is_event(raw) {
            return None;
        }
        let Some(kind) = raw.text_at(&["kind"]) else { return older(raw) };
        let mut meaning = Self::event(&kind, raw);
        if let Some(parent) = raw.text_at(&["parent_id"]) {
            match self.lines.get(&key(parent.as_bytes())) {
                Some(line) => meaning.back = Some(Back::After(*line)),
                None if parent == ROOT => meaning.back = self.first.map(Back::Before),
                None => meaning.findings.push(FindingKind::ParentMissing { parent: shown(&parent) }),
            }
        }
        if let Some(id) = raw.text_at(&["id"]) {
            self.lines.insert(key(id.as_bytes()), record.number);
            self.first.get_or_insert(record.number);
        }
        Some(meaning)
    }
}

impl OpenHands {
    fn event(kind: &str, raw: Raw<'_>) -> Meaning {
        let id = || raw.text_at(&["tool_call_id"]).unwrap_or_default();
        let agent = raw.text_at(&["source"]).as_deref() == Some("agent");
        match kind {
            "ActionEvent" => {
                let input = raw.get("action").filter(|action| !action.is_null());
                let input = input.or_else(|| raw.at(&["tool_call", "arguments"])).and_then(Raw::unpacked);
                let tool = raw.text_at(&["tool_name"]).unwrap_or_default();
                Meaning::of(EntryKind::MODEL_RESPONSE).with_call(Call { id: id(), tool, input })
            }
            "ObservationEvent" => {
                let failed = raw.at(&["observation", "is_error"]).is_some_and(Raw::is_true);
                Meaning::of(EntryKind::MESSAGE).with_result(id(), failed)
            }
            "AgentErrorEvent" | "UserRejectObservation" => Meaning::of(EntryKind::MESSAGE).with_result(id(), true),
            "MessageEvent" if agent => Meaning::of(EntryKind::MODEL_RESPONSE),
            "MessageEvent" | "SystemPromptEvent" => Meaning::of(EntryKind::MESSAGE),
            "Condensation" if raw.get("summary").is_some_and(|summary| !summary.is_null()) => {
                Meaning::of(EntryKind::COMPACTION)
            }
            _ => Meaning::event(),
        }
    }
}
