//! Items of the OpenAI Responses API as sessions.
//!
//! A source is a file of JSON lines, an item or a whole response each; a response or a list of items as one JSON
//! document (its fields `input`, `output`, `data` and `items` hold items); or a JSON list. What becomes what:
//!
//! - messages of the assistant, reasoning and calls are responses of the model; other messages and outputs of calls are
//!   messages. Calls that the caller runs (`function_call`, `custom_tool_call`, `computer_call`, `local_shell_call`,
//!   `shell_call`, `apply_patch_call`) are steps, which their outputs end; an `mcp_call` holds both. What the provider
//!   runs itself (`web_search_call`, …) is no step;
//! - a whole response is one response of the model with its items' calls. One that names a `previous_response_id` which
//!   another response followed before starts a branch after that one;
//! - an image or file that stands in an item as base64 is published as an artifact before the item;
//! - `compaction` is a compaction; every other item and field is an event beside the conversation.

mod attachments;

use super::frame::damage::{decode, is_blank};
use super::frame::flat::{Back, Call, Format, Meaning, Outcome};
use super::frame::ids::{Key, key, path_id, printable};
use super::frame::lines::{Line, Lines, Records};
use super::frame::plan::Begin;
use super::frame::raw::Raw;
use super::frame::report::Unit;
use samite_model::{EntryKind, Result};
use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

/// Fields of a document that hold items.
const HOLDERS: [&str; 4] = ["input", "output", "data", "items"];

/// Calls that the caller runs.
const CALLS: [&str; 6] =
    ["function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call"];

/// Calls that the provider runs.
const PROVIDERS: [&str; 4] = ["web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"];

/// A source.
#[derive(Debug, Default)]
pub(super) struct Responses {
    id: String,
    model: Option<String>,
    /// Responses by id: their lines, and whether one followed.
    followed: HashMap<Key, (u64, bool)>,
    /// Items that were there before.
    seen: HashMap<Key, u64>,
}

/// Whether a source is a file of JSON lines, and not one document.
///
/// It is when an object is a line of its own: in a document, an object with lines before it follows `[`, `,`, `:` or `{`.
/// An only line that holds a whole response may be either; then it is the name that says so (`*.jsonl`).
///
/// # Errors
/// As reading a line.
pub(super) fn is_lines(path: &Path, reader: impl BufRead) -> Result<bool> {
    let mut lines = Lines::new(reader);
    let mut before: Option<(bool, u8)> = None;
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            // All there was: one line, or none that is an object of its own.
            Ok(None) => break,
            Err(error) if error.code() == "line_too_long" => break,
            Err(error) => return Err(error),
        };
        if is_blank(line.bytes) {
            continue;
        }
        if let Some((true, _)) = before {
            return Ok(true);
        }
        let decoded = decode(line.bytes);
        let text = decoded.text.trim();
        let raw = Some(text).filter(|text| text.starts_with('{') && text.ends_with('}')).and_then(Raw::parse);
        let is_inside = before.is_some_and(|(_, last)| b"[,:{".contains(&last));
        if let Some(raw) = raw.filter(|_| !is_inside) {
            let is_document = HOLDERS.iter().any(|name| raw.get(name).is_some_and(Raw::is_list));
            if before.is_some() || !is_document {
                return Ok(true);
            }
        }
        before = Some((raw.is_some() && before.is_none(), text.bytes().last().unwrap_or_default()));
    }
    Ok(before.is_some_and(|(is_document, _)| is_document) && path.extension().is_some_and(|ending| ending == "jsonl"))
}

/// Whose items they are; nothing when no record is one.
///
/// Items name no session: where neither a conversation in the first of them nor one response names it, it is known by
/// the last three parts of the source's path. So a file of lines keeps its session however it grows.
///
/// # Errors
/// As reading a record.
pub(super) fn identify(path: &Path, records: &mut impl Records) -> Result<Option<Responses>> {
    let (mut conversation, mut response, mut model, mut recognised) = (None, None, None, false);
    while let Some(record) = records.next_record()? {
        let decoded = decode(record.bytes);
        let Some(raw) = Raw::parse(&decoded.text) else { continue };
        let named = |raw: Raw<'_>| raw.text().or_else(|| raw.text_at(&["id"]));
        match record.field {
            "conversation" => conversation = conversation.or_else(|| named(raw)),
            "id" => response = raw.text(),
            "model" => model = raw.text(),
            field if field.is_empty() || HOLDERS.contains(&field) => {
                let is_one = is_item(raw) || is_response(raw) || (field == "input" && raw.text().is_some());
                // What comes later may not have been there at an import before.
                if is_one && !recognised {
                    conversation = conversation.or_else(|| raw.get("conversation").and_then(named));
                }
                recognised = recognised || is_one;
                model = model.or_else(|| raw.text_at(&["model"]));
            }
            _ => {}
        }
    }
    let id = conversation.or(response).unwrap_or_else(|| path_id(path));
    Ok(Some(Responses { id, model, ..Responses::default() }).filter(|_| recognised))
}

fn is_response(raw: Raw<'_>) -> bool {
    raw.text_at(&["object"]).as_deref() == Some("response") && raw.get("output").is_some_and(Raw::is_list)
}

fn is_item(raw: Raw<'_>) -> bool {
    match raw.text_at(&["type"]) {
        Some(kind) => {
            let known = ["message", "reasoning", "compaction", "item_reference", "mcp_list_tools"];
            known.contains(&kind.as_str()) || kind.ends_with("_call") || kind.ends_with("_output")
        }
        None => raw.text_at(&["role"]).is_some() && raw.get("content").is_some(),
    }
}

/// A call that the caller runs.
fn call_of(kind: &str, item: Raw<'_>) -> Call {
    let id = item.text_at(&["call_id"]).or_else(|| item.text_at(&["id"])).unwrap_or_default();
    let tool = item.text_at(&["name"]).unwrap_or_else(|| kind.trim_end_matches("_call").to_owned());
    let fields = ["arguments", "input", "action", "operation"];
    let input = fields.iter().find_map(|name| item.get(name)).and_then(Raw::unpacked);
    Call { id, tool, input }
}

/// Whether the output of a call says that it failed.
fn has_failed(item: Raw<'_>) -> bool {
    let shells = item.get("output").map(Raw::items).unwrap_or_default();
    let is_bad = |outcome: Raw<'_>| {
        outcome.text_at(&["type"]).as_deref() == Some("timeout")
            || outcome.get("exit_code").and_then(Raw::number).is_some_and(|code| code != 0)
    };
    item.text_at(&["status"]).as_deref() == Some("failed")
        || shells.iter().filter_map(|one| one.get("outcome")).any(is_bad)
}

/// Adds the calls and outcomes of an item.
fn steps_of(item: Raw<'_>, calls: &mut Vec<Call>, results: &mut Vec<Outcome>) {
    let Some(kind) = item.text_at(&["type"]) else { return };
    if CALLS.contains(&kind.as_str()) {
        calls.push(call_of(&kind, item));
    } else if kind == "mcp_call" {
        let call = call_of(&kind, item);
        let is = |name: &str| item.get(name).is_some_and(|value| !value.is_null());
        if is("output") || is("error") || item.text_at(&["status"]).as_deref() == Some("failed") {
            results.push(Outcome { id: call.id.clone(), failed: is("error") || !is("output") });
        }
        calls.push(call);
    } else if kind.ends_with("_call_output") {
        let id = item.text_at(&["call_id"]).unwrap_or_default();
        results.push(Outcome { id, failed: has_failed(item) });
    }
}

impl Responses {
    fn item(item: Raw<'_>) -> Option<Meaning> {
        if !is_item(item) && item.text_at(&["type"]).is_none() {
            return None;
        }
        let kind = item.text_at(&["type"]).unwrap_or_else(|| "message".to_owned());
        let by_model = PROVIDERS.contains(&kind.as_str()) || CALLS.contains(&kind.as_str());
        let mut meaning = Meaning::of(match kind.as_str() {
            "message" if item.text_at(&["role"]).as_deref() == Some("assistant") => EntryKind::MODEL_RESPONSE,
            "message" => EntryKind::MESSAGE,
            "reasoning" | "mcp_call" => EntryKind::MODEL_RESPONSE,
            "compaction" => EntryKind::COMPACTION,
            other if other.ends_with("_call_output") => EntryKind::MESSAGE,
            _ if by_model => EntryKind::MODEL_RESPONSE,
            _ => EntryKind::EVENT,
        });
        steps_of(item, &mut meaning.calls, &mut meaning.results);
        attachments::of_item(item, &mut meaning);
        Some(meaning)
    }

    fn response(&mut self, line: u64, response: Raw<'_>) -> Meaning {
        let mut meaning = Meaning::of(EntryKind::MODEL_RESPONSE);
        for name in ["input", "output"] {
            for item in response.get(name).map(Raw::items).unwrap_or_default() {
                steps_of(item, &mut meaning.calls, &mut meaning.results);
                attachments::of_item(item, &mut meaning);
            }
        }
        if let Some(before) = response.text_at(&["previous_response_id"]) {
            let is_first = self.followed.is_empty();
            meaning.back = match self.followed.get_mut(&key(before.as_bytes())) {
                None if is_first => None,
                None => Some(Back::Missing(before)),
                Some((_, followed @ false)) => {
                    *followed = true;
                    None
                }
                Some((line, true)) => Some(Back::After(*line)),
            };
        }
        if let Some(id) = response.text_at(&["id"]) {
            self.followed.insert(key(id.as_bytes()), (line, false));
        }
        meaning
    }
}

impl Format for Responses {
    const STARTS: &'static [&'static str] = &["{\"id\":", "{\"type\":", "{\"role\":"];
    const UNIT: Unit = Unit::Record;

    fn is_record(raw: Raw<'_>) -> bool {
        raw.text_at(&["id"]).is_some() && (is_item(raw) || is_response(raw))
    }

    fn begin(&self) -> Begin {
        let mut begin = Begin {
            harness: "responses",
            key: format!("responses:{}", printable(&self.id, 400)),
            session_id: self.id.clone(),
            line: 1,
            ..Begin::default()
        };
        if let Some(model) = &self.model {
            begin.more.insert("model".to_owned(), model.as_str().into());
        }
        begin
    }

    fn id(&self, record: &Line<'_>, raw: Raw<'_>) -> Option<String> {
        let holds_items = record.field.is_empty() || HOLDERS.contains(&record.field);
        raw.text_at(&["id"]).filter(|id| holds_items && !id.is_empty())
    }

    fn read(&mut self, record: &Line<'_>, raw: Raw<'_>) -> Option<Meaning> {
        if !record.field.is_empty() && !HOLDERS.contains(&record.field) {
            return Some(Meaning::event());
        }
        if raw.text().is_some() && record.field == "input" {
            return Some(Meaning::of(EntryKind::MESSAGE));
        }
        if is_response(raw) {
            return Some(self.response(record.number, raw));
        }
        let mut meaning = Self::item(raw)?;
        // An item is told again, with another status, as the input of what followed.
        if let Some(id) = raw.text_at(&["id"]).filter(|id| !id.is_empty()) {
            meaning.updates = self.seen.insert(key(id.as_bytes()), record.number).is_some();
        }
        Some(meaning)
    }
}
