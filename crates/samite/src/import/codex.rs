//! Codex CLI's rollouts as sessions.
//!
//! A rollout is a file of JSON lines `{timestamp, type, payload}`; older ones hold the payloads bare. What becomes what:
//!
//! - `response_item`: messages of people and the harness are messages; the model's messages, its reasoning and its calls
//!   are responses of the model; outputs of calls are messages that end the calls' steps, failed when the output says
//!   so (`success` is false, or an exit code other than 0). What the provider runs itself (`web_search_call`) is no step;
//! - `compacted` is a compaction;
//! - `event_msg`, `turn_context`, `session_meta`, `world_state` and every other type are events beside the conversation;
//! - an `event_msg` of type `thread_rolled_back` starts a branch before the turns that it takes back;
//! - a sub-agent's rollout is a child session; of a forked one the source names the rollout that it was copied from.

use super::frame::damage::{decode, is_blank};
use super::frame::flat::{Back, Call, Format, Meaning};
use super::frame::ids::{Key, key, path_id, printable};
use super::frame::lines::{Line, Lines};
use super::frame::plan::Begin;
use super::frame::raw::Raw;
use super::frame::report::Unit;
use samite_model::{EntryKind, Result};
use serde_json::{Map, Value};
use std::io::BufRead;
use std::path::Path;

/// Items of a response, which older rollouts hold bare.
const ITEMS: [&str; 14] = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
    "image_generation_call",
    "compaction",
    "ghost_snapshot",
];

/// How the harness's own messages in a person's name start.
const NOT_A_PERSON: [&str; 9] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<permissions instructions>",
    "<skill",
    "<subagent_notification>",
    "<user_shell_command>",
    "<collaboration_mode>",
];

/// How many lines are looked at for the rollout's own record.
const LOOKED_AT: u64 = 200;

/// A person's turn on the current branch.
#[derive(Clone, Copy, Debug)]
struct Turn {
    line: u64,
    /// Whether its start was recorded, and its end was not yet.
    is_open: bool,
    /// The prompt's text and whether an event told it, until its other record comes.
    prompt: Option<(Key, bool)>,
}

/// A rollout.
#[derive(Debug, Default)]
pub(super) struct Codex {
    id: String,
    parent: Option<String>,
    agent: Option<String>,
    cwd: Option<String>,
    version: Option<String>,
    git_branch: Option<String>,
    more: Map<String, Value>,
    turns: Vec<Turn>,
    /// The line at which a turn started whose prompt has not come yet.
    started: Option<u64>,
}

/// Whose rollout it is, from its first records and its name; nothing when no line is a record of Codex.
///
/// # Errors
/// As reading a line.
pub(super) fn identify(path: &Path, reader: impl BufRead) -> Result<Option<Codex>> {
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut found = Codex::default();
    let mut recognised = false;
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        if recognised && (!found.id.is_empty() || line.number > LOOKED_AT) {
            break;
        }
        if is_blank(line.bytes) {
            continue;
        }
        let decoded = decode(line.bytes);
        let Some(raw) = Raw::parse(&decoded.text) else { continue };
        recognised = recognised || kind_of(raw).is_some();
        found.take(raw);
    }
    if found.id.is_empty() {
        // rollout-DATE-ID
        let id = name.len().checked_sub(36).and_then(|at| name.get(at..)).filter(|_| name.starts_with("rollout-"));
        found.id = id.map_or_else(|| path_id(path), str::to_owned);
    }
    Ok(Some(found).filter(|_| recognised))
}

/// What a record is called, and its payload.
pub(super) fn kind_of(raw: Raw<'_>) -> Option<(String, Raw<'_>)> {
    if let Some(kind) = raw.text_at(&["type"]) {
        if let Some(payload) = raw.get("payload").filter(|payload| payload.is_object()) {
            return Some((kind, payload));
        }
        return ITEMS.contains(&kind.as_str()).then_some(("response_item".to_owned(), raw));
    }
    if raw.text_at(&["record_type"]).is_some() {
        return Some(("state".to_owned(), raw));
    }
    let is_bare_start = raw.text_at(&["id"]).is_some() && raw.text_at(&["timestamp"]).is_some();
    let has_its_fields = raw.get("instructions").is_some() || raw.get("git").is_some();
    (is_bare_start && has_its_fields).then_some(("session_meta".to_owned(), raw))
}

/// Whether words in a person's place are the harness's own.
pub(super) fn is_of_harness(text: &str) -> bool {
    NOT_A_PERSON.iter().any(|start| text.trim_start().starts_with(start))
}

impl Codex {
    /// Takes what the rollout's own record tells; in a forked one, those of the rollouts it was copied from follow it.
    fn take(&mut self, raw: Raw<'_>) {
        let Some((kind, meta)) = kind_of(raw) else { return };
        if kind != "session_meta" || !self.id.is_empty() {
            return;
        }
        self.id = meta.text_at(&["id"]).or_else(|| meta.text_at(&["session_id"])).unwrap_or_default();
        self.cwd = meta.text_at(&["cwd"]);
        self.version = meta.text_at(&["cli_version"]);
        self.git_branch = meta.text_at(&["git", "branch"]);
        let spawned = ["source", "subagent", "thread_spawn", "parent_thread_id"];
        self.parent = meta.text_at(&["parent_thread_id"]).or_else(|| meta.text_at(&spawned));
        if self.parent.is_some() {
            let nickname = meta
                .text_at(&["agent_nickname"])
                .or_else(|| meta.text_at(&["source", "subagent", "thread_spawn", "agent_nickname"]));
            self.agent = nickname.or_else(|| Some(self.id.clone()));
        }
        if let Some(from) = meta.text_at(&["forked_from_id"]) {
            self.more.insert("forked_from".to_owned(), from.into());
        }
    }

    fn event(&mut self, line: u64, payload: Raw<'_>) -> Meaning {
        let mut meaning = Meaning::event();
        match payload.text_at(&["type"]).unwrap_or_default().as_str() {
            "task_started" | "turn_started" => {
                self.close_turn();
                self.started = Some(line);
            }
            "task_complete" | "turn_complete" | "turn_aborted" => self.close_turn(),
            "user_message" => self.prompt(line, &payload.text_at(&["message"]).unwrap_or_default(), true),
            "item_completed" if payload.text_at(&["item", "type"]).as_deref() == Some("UserMessage") => {
                let content = payload.at(&["item", "content"]).map(text_of).unwrap_or_default();
                self.prompt(line, &content, true);
            }
            "thread_rolled_back" => {
                let turns = payload.get("num_turns").and_then(Raw::number).unwrap_or_default();
                meaning.back = self.roll_back(usize::try_from(turns).unwrap_or_default());
            }
            _ => {}
        }
        meaning
    }

    fn close_turn(&mut self) {
        self.started = None;
        if let Some(turn) = self.turns.last_mut() {
            turn.is_open = false;
        }
    }

    /// Notes a prompt; it stands in the rollout as an item and as an event, in either order.
    fn prompt(&mut self, line: u64, text: &str, is_event: bool) {
        if is_of_harness(text) {
            return;
        }
        let text = key(text.as_bytes());
        if let Some(started) = self.started.take() {
            self.turns.push(Turn { line: started, is_open: true, prompt: Some((text, is_event)) });
            return;
        }
        if let Some(turn) = self.turns.last_mut() {
            if turn.is_open {
                return;
            }
            if turn.prompt.take_if(|(known, by_event)| *known == text && *by_event != is_event).is_some() {
                return;
            }
        }
        self.turns.push(Turn { line, is_open: false, prompt: Some((text, is_event)) });
    }

    fn roll_back(&mut self, turns: usize) -> Option<Back> {
        if turns == 0 {
            return None;
        }
        self.started = None;
        let kept = self.turns.len().saturating_sub(turns);
        let first = self.turns.get(kept).map(|turn| turn.line);
        self.turns.truncate(kept);
        if let Some(turn) = self.turns.last_mut() {
            turn.is_open = false;
            turn.prompt = None;
        }
        Some(first.map_or_else(|| Back::Missing("a turn".to_owned()), Back::Before))
    }

    fn item(&mut self, line: u64, item: Raw<'_>) -> Meaning {
        let call = || item.text_at(&["call_id"]).unwrap_or_default();
        let name = || item.text_at(&["name"]).unwrap_or_default();
        let kind = item.text_at(&["type"]).unwrap_or_default();
        match kind.as_str() {
            "message" if item.text_at(&["role"]).as_deref() == Some("assistant") => {
                Meaning::of(EntryKind::MODEL_RESPONSE)
            }
            "message" => {
                if item.text_at(&["role"]).as_deref() == Some("user") {
                    self.prompt(line, &item.get("content").map(text_of).unwrap_or_default(), false);
                }
                Meaning::of(EntryKind::MESSAGE)
            }
            "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
                let input = item.get("arguments").or_else(|| item.get("input")).or_else(|| item.get("action"));
                let tool = match (kind.as_str(), name()) {
                    ("local_shell_call", name) if name.is_empty() => "local_shell".to_owned(),
                    ("tool_search_call", name) if name.is_empty() => "tool_search".to_owned(),
                    (_, name) => name,
                };
                let mut id = call();
                if id.is_empty() {
                    id = item.text_at(&["id"]).unwrap_or_default();
                }
                let input = input.and_then(Raw::unpacked);
                Meaning::of(EntryKind::MODEL_RESPONSE).with_call(Call { id, tool, input })
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
                let failed = item.get("output").is_some_and(has_failed);
                Meaning::of(EntryKind::MESSAGE).with_result(call(), failed)
            }
            "reasoning" | "web_search_call" | "image_generation_call" => Meaning::of(EntryKind::MODEL_RESPONSE),
            "compaction" | "compaction_summary" => Meaning::of(EntryKind::COMPACTION),
            _ => Meaning::event(),
        }
    }
}

/// The text of a content: its parts one after the other.
pub(super) fn text_of(content: Raw<'_>) -> String {
    match content.text() {
        Some(text) => text,
        None => content.items().into_iter().filter_map(|part| part.text_at(&["text"])).collect(),
    }
}

/// Whether a call's output says that it failed.
fn has_failed(output: Raw<'_>) -> bool {
    let code_of = |value: &Value| value.pointer("/metadata/exit_code").and_then(Value::as_i64);
    if let Some(success) = output.get("success") {
        return !success.is_true() && !success.is_null();
    }
    let text = match output.text() {
        Some(text) => text,
        None => output.get("content").map_or_else(|| text_of(output), text_of),
    };
    if let Some(code) = serde_json::from_str::<Value>(&text).ok().as_ref().and_then(code_of) {
        return code != 0;
    }
    // What the command printed comes after this line.
    let head = text.lines().take_while(|line| *line != "Output:").take(8);
    head.filter_map(|line| line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: ")))
        .any(|code| code.trim() != "0")
}

impl Format for Codex {
    const STARTS: &'static [&'static str] = &["{\"timestamp\":"];
    const UNIT: Unit = Unit::Line;

    fn is_record(raw: Raw<'_>) -> bool {
        raw.text_at(&["type"]).is_some() && raw.get("payload").is_some()
    }

    fn begin(&self) -> Begin {
        let key = |id: &str| format!("codex:{}", printable(id, 200));
        Begin {
            harness: "codex",
            key: key(&self.id),
            session_id: self.id.clone(),
            agent: self.agent.clone(),
            parent: self.parent.as_deref().map(key),
            cwd: self.cwd.clone(),
            version: self.version.clone(),
            git_branch: self.git_branch.clone(),
            line: 1,
            more: self.more.clone(),
            ..Begin::default()
        }
    }

    fn read(&mut self, line: &Line<'_>, raw: Raw<'_>) -> Option<Meaning> {
        let (kind, payload) = kind_of(raw)?;
        Some(match kind.as_str() {
            "response_item" => self.item(line.number, payload),
            "event_msg" => self.event(line.number, payload),
            "compacted" => Meaning::of(EntryKind::COMPACTION),
            _ => Meaning::event(),
        })
    }
}
