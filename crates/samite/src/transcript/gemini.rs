//! Gemini CLI's chats: the session's own facts, messages under ids of their own, and records that change what came before.
//!
//! A record with a known id replaces that message in its place; `$set` with messages replaces all of them, as after a
//! compression and at each resumption; `$rewindTo` takes a message and all after it away. So a chat went through several
//! versions, and the one to go on from is that which has the last thing that the branch has, and most of the rest.

use super::follow::{Followed, Mark, Marked, follow};
use super::lines::{content_text, push, push_line, records, text};
use super::{Happened, Target, UNKNOWN_END, Written, outcome_text, timestamp};
use serde_json::{Map, Value, json};

/// What the first words of a message are that Gemini CLI adds by itself.
const CONTEXT: [&str; 2] = ["<session_context>", "<hook_context>"];

#[derive(Clone)]
struct Message<'a> {
    id: String,
    value: Value,
    /// The line that holds it alone.
    line: Option<&'a [u8]>,
}

/// See [`super::write`].
pub(super) fn write(original: &[u8], happened: &[Happened], target: &Target) -> Written {
    let (mut header, versions, unreadable) = versions(original);
    let mut best: Option<(&Vec<Message<'_>>, Followed)> = None;
    for version in versions.iter().rev() {
        let marks: Vec<Marked> = version
            .iter()
            .enumerate()
            .flat_map(|(index, message)| marks(&message.value).into_iter().map(move |mark| (index, mark)))
            .collect();
        let followed = follow(&marks, version.len(), happened, same);
        if best.as_ref().is_none_or(|(_, best)| followed.fit > best.fit) {
            best = Some((version, followed));
        }
    }
    let none = Vec::new();
    let (messages, followed) = best.unwrap_or((&none, Followed::default()));
    let rest = if versions.is_empty() { (0..happened.len()).collect() } else { followed.rest.clone() };
    let mut chat = Chat { target, now: timestamp(target.now), written: Written::default() };
    header.insert("sessionId".to_owned(), json!(target.session));
    header.insert("lastUpdated".to_owned(), json!(chat.now));
    header.entry("projectHash").or_insert_with(|| json!(project_hash(&target.directory)));
    header.entry("startTime").or_insert_with(|| json!(chat.now));
    header.entry("kind").or_insert_with(|| json!("main"));
    push(&mut chat.written.bytes, &Value::Object(header));
    for message in messages.iter().take(followed.upto) {
        chat.keep(message, &followed, happened);
    }
    let last = versions.last().map_or(0, Vec::len);
    chat.written.left_out = last.saturating_sub(chat.written.kept) + unreadable;
    for event in rest.iter().filter_map(|index| happened.get(*index)) {
        match event {
            Happened::Prompt { text, .. } => chat.message("user", &json!([{"text": text}]), None),
            Happened::Called { call, tool, input } => {
                let end =
                    happened.iter().find(|event| matches!(event, Happened::Returned { call: of, .. } if of == call));
                let mut made = json!({"id": call, "name": tool, "args": input, "timestamp": chat.now});
                chat.answer(&mut made, end);
                chat.message("gemini", &json!(""), Some(made));
            }
            Happened::Ended { said: Some(said) } if !said.is_empty() => chat.message("gemini", &json!(said), None),
            Happened::Returned { .. } | Happened::Ended { .. } => {}
        }
    }
    chat.written
}

/// The session's own facts, and what the messages were before each record that took some of them away, and at the end.
fn versions(original: &[u8]) -> (Map<String, Value>, Vec<Vec<Message<'_>>>, usize) {
    let (lines, unreadable) = records(original);
    let mut header = Map::new();
    let mut versions = Vec::new();
    let mut messages: Vec<Message<'_>> = Vec::new();
    for line in lines {
        let Value::Object(fields) = &line.value else { continue };
        if let Some(Value::String(id)) = fields.get("$rewindTo") {
            versions.push(messages.clone());
            let keep = messages.iter().position(|message| message.id == *id).unwrap_or(0);
            messages.truncate(keep);
        } else if let Some(Value::String(id)) = fields.get("id") {
            let message = Message { id: id.clone(), value: line.value.clone(), line: Some(line.bytes) };
            match messages.iter_mut().find(|known| known.id == *id) {
                Some(known) => *known = message,
                None => messages.push(message),
            }
        } else if let Some(Value::Object(set)) = fields.get("$set") {
            let mut set = set.clone();
            if let Some(Value::Array(all)) = set.remove("messages") {
                versions.push(std::mem::take(&mut messages));
                messages.extend(all.into_iter().filter_map(|value| {
                    let id = text(&value, "/id")?.to_owned();
                    Some(Message { id, value, line: None })
                }));
            }
            header.extend(set);
        } else {
            header.extend(fields.clone());
        }
    }
    if !messages.is_empty() {
        versions.push(messages);
    }
    header.remove("messages");
    (header, versions, unreadable)
}

fn parts(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn call_of(call: &Value) -> Option<Mark> {
    Some(Mark::Call {
        id: text(call, "/id")?.to_owned(),
        tool: text(call, "/name")?.to_owned(),
        input: call.get("args").cloned().unwrap_or_default(),
    })
}

fn marks(message: &Value) -> Vec<Mark> {
    let content = message.get("content").unwrap_or(&Value::Null);
    let said = content_text(content);
    let mut marks = Vec::new();
    let result = |id: &str| Mark::Result { id: id.to_owned() };
    match text(message, "/type").unwrap_or_default() {
        "user" => {
            marks.extend(parts(content).iter().filter_map(|part| text(part, "/functionResponse/id").map(result)));
            let is_context = CONTEXT.iter().any(|start| said.trim_start().starts_with(start));
            if marks.is_empty() && !is_context && !said.trim().is_empty() {
                marks.push(Mark::Prompt { turn: None, text: said });
            }
        }
        "gemini" => {
            if !said.trim().is_empty() {
                marks.push(Mark::Said { text: said });
            }
            let calls = parts(message.get("toolCalls").unwrap_or(&Value::Null));
            marks.extend(calls.iter().filter_map(call_of));
            let more = parts(content).iter().filter_map(|part| call_of(part.get("functionCall")?));
            let new: Vec<Mark> = more.filter(|mark| !marks.iter().any(|known| is_same_call(known, mark))).collect();
            marks.extend(new);
            marks.extend(
                calls
                    .iter()
                    .filter(|call| call.get("result").is_some())
                    .filter_map(|call| text(call, "/id").map(result)),
            );
        }
        _ => {}
    }
    marks
}

fn is_same_call(one: &Mark, other: &Mark) -> bool {
    matches!((one, other), (Mark::Call { id, .. }, Mark::Call { id: of, .. }) if id == of)
}

/// Hooks tell no ids of calls, so calls of a tool with equal inputs are found in their order. A prompt may have had files put
/// after its words.
fn same(mark: &Mark, event: &Happened) -> bool {
    match (mark, event) {
        (Mark::Call { id, tool, input }, Happened::Called { call, tool: of, input: with }) => {
            id == call || (tool == of && input == with)
        }
        (Mark::Prompt { text, .. }, Happened::Prompt { text: words, .. }) => text.trim().starts_with(words.trim()),
        _ => false,
    }
}

/// The hash by which Gemini CLI knows a project: SHA-256 over the path.
fn project_hash(directory: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, directory.as_bytes());
    data_encoding::HEXLOWER.encode(hash.as_ref())
}

struct Chat<'a> {
    target: &'a Target,
    now: String,
    written: Written,
}

impl Chat<'_> {
    /// A message as it is, but for calls that the branch does not have and results that it has otherwise.
    fn keep(&mut self, message: &Message<'_>, followed: &Followed, happened: &[Happened]) {
        let of_call = |id: Option<&str>| {
            let id = id.unwrap_or_default();
            (
                followed.without.contains(id),
                followed.unanswered.contains(id),
                followed.open.iter().find(|(open, _)| open == id),
            )
        };
        let ids = marks(&message.value).into_iter().filter_map(|mark| match mark {
            Mark::Call { id, .. } | Mark::Result { id } => Some(id),
            _ => None,
        });
        let changes = ids.into_iter().any(|id| !matches!(of_call(Some(&id)), (false, false, None)));
        if !changes {
            self.written.kept += 1;
            match message.line {
                Some(line) => push_line(&mut self.written.bytes, line),
                None => push(&mut self.written.bytes, &message.value),
            }
            return;
        }
        let mut value = message.value.clone();
        if let Some(Value::Array(content)) = value.get_mut("content") {
            content.retain(|part| {
                let (without, ..) = of_call(text(part, "/functionCall/id"));
                let (gone, unanswered, _) = of_call(text(part, "/functionResponse/id"));
                !(without || gone || unanswered)
            });
        }
        if let Some(Value::Array(calls)) = value.get_mut("toolCalls") {
            calls.retain(|call| !of_call(text(call, "/id")).0);
            for call in calls {
                if let (_, _, Some((_, end))) = of_call(text(call, "/id")) {
                    self.answer(call, end.and_then(|index| happened.get(index)));
                }
            }
        }
        let is_empty = |name: &str| match value.get(name) {
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::String(text)) => text.is_empty(),
            _ => true,
        };
        if !(is_empty("content") && is_empty("toolCalls") && is_empty("thoughts")) {
            self.written.kept += 1;
            push(&mut self.written.bytes, &value);
        }
    }

    /// Gives a call its result.
    fn answer(&mut self, call: &mut Value, end: Option<&Happened>) {
        let id = text(call, "/id").unwrap_or_default().to_owned();
        let name = text(call, "/name").unwrap_or_default().to_owned();
        let (response, status) = if let Some(Happened::Returned { output, failed, .. }) = end {
            (json!({"output": outcome_text(output)}), if *failed { "error" } else { "success" })
        } else {
            self.written.unknown.push(id.clone());
            (json!({"error": UNKNOWN_END}), "cancelled")
        };
        let result = json!([{"functionResponse": {"id": id, "name": name, "response": response}}]);
        if let Some(fields) = call.as_object_mut() {
            fields.insert("result".to_owned(), result);
            fields.insert("status".to_owned(), json!(status));
            fields.remove("resultDisplay");
        }
    }

    fn message(&mut self, kind: &str, content: &Value, call: Option<Value>) {
        self.written.made += 1;
        let id = format!("{}-{}", self.target.session, self.written.made);
        let mut record = json!({"id": id, "timestamp": self.now, "type": kind, "content": content});
        if let (Some(call), Some(fields)) = (call, record.as_object_mut()) {
            fields.insert("toolCalls".to_owned(), json!([call]));
        }
        push(&mut self.written.bytes, &record);
    }
}
