//! Gemini CLI's chats as sessions.
//!
//! A chat is a file of JSON lines: its own record, messages, `$set` of fields and `$rewindTo`; older ones are one JSON
//! document with a list of messages. What becomes what:
//!
//! - `user` is a message; `gemini` a response of the model, whose `toolCalls` are steps with their outcomes (`error` and
//!   `cancelled` are failures). A message that is written again under its id is a later version, and news only where it
//!   brings calls or results; other types (`info`, `error`, …) are events beside the conversation;
//! - `$set` of `messages` replaces the conversation: a compaction, when there was one; any other `$set` is an event;
//! - `$rewindTo` starts a branch before the message that it names;
//! - the chat of a sub-agent (in a folder named by its parent) is a child session.

use super::frame::context::ContextRole;
use super::frame::damage::decode;
use super::frame::elements::Elements;
use super::frame::flat::{Back, Call, Format, Meaning, Outcome};
use super::frame::ids::{Key, key, path_id, printable};
use super::frame::lines::{Line, Lines, Records};
use super::frame::plan::Begin;
use super::frame::raw::Raw;
use super::frame::report::{FindingKind, Unit, shown};
use samite_model::{EntryKind, Result};
use std::collections::HashSet;
use std::io::BufRead;
use std::path::Path;

/// A chat.
#[derive(Debug, Default)]
pub(super) struct GeminiCli {
    id: String,
    parent: Option<String>,
    project: Option<String>,
    /// The messages of the current branch, with the lines at which they came first.
    messages: Vec<(Key, u64)>,
    /// Messages that the model has had.
    seen: HashSet<Key>,
    started: HashSet<Key>,
    ended: HashSet<Key>,
}

/// How many records are looked at for the chat's own.
const LOOKED_AT: u64 = 200;

/// Whether a chat's file is one document, as older ones are.
pub(super) fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Whose chat it is; nothing when no record is one of Gemini CLI.
///
/// # Errors
/// As reading a record.
pub(super) fn identify(path: &Path, reader: impl BufRead) -> Result<Option<GeminiCli>> {
    let mut found = GeminiCli::default();
    let mut is_subagent = false;
    let mut look = |records: &mut dyn Records| -> Result<bool> {
        let mut recognised = false;
        while let Some(record) = records.next_record()? {
            if record.number > LOOKED_AT || (recognised && !found.id.is_empty() && found.project.is_some()) {
                break;
            }
            let decoded = decode(record.bytes);
            let Some(raw) = Raw::parse(&decoded.text) else { continue };
            let (field, take) = (record.field, |name: &str| match record.field {
                "" => raw.text_at(&[name]),
                field => raw.text().filter(|_| field == name),
            });
            recognised = recognised || take("projectHash").is_some() || (field.is_empty() && is_message(raw));
            found.id = if found.id.is_empty() { take("sessionId").unwrap_or_default() } else { found.id.clone() };
            found.project = found.project.take().or_else(|| take("projectHash"));
            is_subagent = is_subagent || take("kind").as_deref() == Some("subagent");
        }
        Ok(recognised)
    };
    let recognised = if is_document(path) { look(&mut Elements::new(reader))? } else { look(&mut Lines::new(reader))? };
    let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    found.parent = folder.filter(|_| is_subagent);
    if found.id.is_empty() {
        found.id = path_id(path);
    }
    Ok(Some(found).filter(|_| recognised))
}

fn is_message(raw: Raw<'_>) -> bool {
    raw.text_at(&["id"]).is_some()
        && raw.text_at(&["type"]).is_some_and(|kind| ["user", "gemini", "info", "error", "warning"].contains(&&*kind))
}

impl GeminiCli {
    fn rewind(&mut self, to: &str) -> Meaning {
        let mut meaning = Meaning::event();
        let target = self.messages.iter().position(|(id, _)| *id == key(to.as_bytes()));
        if target.is_none() {
            meaning.findings.push(FindingKind::TargetMissing { target: shown(to) });
        }
        // Where the message is not known, Gemini CLI drops all of them.
        let target = target.unwrap_or(0);
        meaning.back = self.messages.get(target).map(|(_, line)| Back::Before(*line));
        for (id, _) in self.messages.drain(target..) {
            self.seen.remove(&id);
        }
        meaning
    }

    fn set(&mut self, line: u64, fields: Raw<'_>) -> Meaning {
        let messages = fields.get("messages").map(Raw::items).unwrap_or_default();
        if messages.is_empty() {
            return Meaning::event();
        }
        let replaces = !self.messages.is_empty();
        let ids = messages.iter().filter_map(|message| message.text_at(&["id"])).map(|id| key(id.as_bytes()));
        self.messages = ids.map(|id| (id, line)).collect();
        self.seen = self.messages.iter().map(|(id, _)| *id).collect();
        let kind = if replaces { EntryKind::COMPACTION } else { EntryKind::EVENT };
        let role = if replaces { ContextRole::Summary } else { ContextRole::Inside };
        Meaning { role, ..Meaning::of(kind) }
    }

    fn message(&mut self, line: u64, id: &str, raw: Raw<'_>) -> Meaning {
        let id = key(id.as_bytes());
        let updates = self.messages.iter().any(|(known, _)| *known == id);
        if !updates {
            self.messages.push((id, line));
        }
        let mut meaning = match raw.text_at(&["type"]).as_deref() {
            Some("user") => Meaning::of(EntryKind::MESSAGE),
            Some("gemini") => Meaning::of(EntryKind::MODEL_RESPONSE),
            _ => Meaning::event(),
        };
        meaning.updates = updates;
        let mut news = false;
        for call in raw.get("toolCalls").map(Raw::items).unwrap_or_default() {
            let text = |name: &str| call.text_at(&[name]).unwrap_or_default();
            let (id, status) = (text("id"), text("status"));
            let hash = key(id.as_bytes());
            if self.started.insert(hash) || !updates {
                news = true;
                let input = call.get("args").and_then(Raw::value);
                meaning.calls.push(Call { id: id.clone(), tool: text("name"), input });
            }
            let failed = matches!(status.as_str(), "error" | "cancelled");
            let has_result = call.get("result").is_some_and(|result| !result.is_null());
            if (failed || status == "success" || (status.is_empty() && has_result))
                && (self.ended.insert(hash) || !updates)
            {
                news = true;
                meaning.results.push(Outcome { id, failed });
            }
        }
        // Results that stand in no call's record.
        for part in raw.get("content").map(Raw::items).unwrap_or_default() {
            let Some(response) = part.get("functionResponse") else { continue };
            let Some(id) = response.text_at(&["id"]) else { continue };
            if self.ended.insert(key(id.as_bytes())) {
                let failed = response.at(&["response", "error"]).is_some();
                meaning.results.push(Outcome { id, failed });
            }
        }
        if meaning.kind == EntryKind::MODEL_RESPONSE {
            // A response is written empty first, and with its calls later.
            let is_empty = raw.get("content").is_none_or(|content| content.text().is_some_and(|text| text.is_empty()))
                && meaning.calls.is_empty();
            if is_empty || (self.seen.contains(&id) && !news) {
                meaning.role = ContextRole::Outside;
            } else {
                self.seen.insert(id);
            }
        }
        meaning
    }
}

impl Format for GeminiCli {
    const STARTS: &'static [&'static str] = &["{\"id\":", "{\"$set\":", "{\"$rewindTo\":", "{\"sessionId\":"];
    const UNIT: Unit = Unit::Record;

    fn is_record(raw: Raw<'_>) -> bool {
        is_message(raw) || ["$set", "$rewindTo", "projectHash"].iter().any(|name| raw.get(name).is_some())
    }

    fn begin(&self) -> Begin {
        let key = |id: &str| format!("gemini-cli:{}", printable(id, 200));
        let mut begin = Begin {
            harness: "gemini-cli",
            key: key(&self.id),
            session_id: self.id.clone(),
            agent: self.parent.as_ref().map(|_| self.id.clone()),
            parent: self.parent.as_deref().map(key),
            line: 1,
            ..Begin::default()
        };
        if let Some(project) = &self.project {
            begin.more.insert("project".to_owned(), project.as_str().into());
        }
        begin
    }

    fn read(&mut self, record: &Line<'_>, raw: Raw<'_>) -> Option<Meaning> {
        if !matches!(record.field, "" | "messages") {
            return Some(Meaning::event());
        }
        if let Some(to) = raw.text_at(&["$rewindTo"]) {
            return Some(self.rewind(&to));
        }
        if let Some(id) = raw.text_at(&["id"]) {
            return Some(self.message(record.number, &id, raw));
        }
        if let Some(fields) = raw.get("$set").filter(|fields| fields.is_object()) {
            return Some(self.set(record.number, fields));
        }
        raw.text_at(&["sessionId"]).map(|_| Meaning::event())
    }
}
