//! Gemini CLI's chats: the session's own facts, messages under ids of their own, and records that change what came before.
//!
//! A record with a known id replaces that message in its place; `$set` with messages replaces all of them, as after a
//! compression and at each resumption; `$rewindTo` takes a message and all after it away. So a chat went through several
//! versions, and the one to go on from is that which has the last thing that the branch has, and most of the rest.

use super::follow::{Followed, Mark, follow, says, says_value};
use super::lines::{Line, content_text, push, push_line, records, text};
use super::{Happened, Target, UNKNOWN_END, Written, outcome_text, timestamp};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// What the first words of a message are that Gemini CLI adds by itself.
const CONTEXT: [&str; 2] = ["<session_context>", "<hook_context>"];

struct Message<'a> {
    id: String,
    value: Value,
    marks: Vec<Mark>,
    /// The line that holds it alone.
    line: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    fn new(id: String, value: Value, line: Option<&'a [u8]>) -> Self {
        let marks = marks(&value);
        Self { id, value, marks, line }
    }
}

/// See [`super::write`].
pub(super) fn write(original: &[u8], happened: &[Happened], target: &Target) -> Written {
    let (mut versions, unreadable) = Versions::read(original, happened);
    let mut header = std::mem::take(&mut versions.header);
    let (messages, followed) = versions
        .best
        .take()
        .unwrap_or_else(|| (Vec::new(), Followed { rest: (0..happened.len()).collect(), ..Followed::default() }));
    let mut chat = Chat { target, now: timestamp(target.now), written: Written::default() };
    header.insert("sessionId".to_owned(), json!(target.session));
    header.insert("lastUpdated".to_owned(), json!(chat.now));
    if target.moved.is_some() {
        header.remove("projectHash");
    }
    header.entry("projectHash").or_insert_with(|| json!(project_hash(&target.directory)));
    header.entry("startTime").or_insert_with(|| json!(chat.now));
    header.entry("kind").or_insert_with(|| json!("main"));
    push(&mut chat.written.bytes, &Value::Object(header));
    for message in messages.iter().take(followed.upto).filter_map(|index| versions.messages.get(*index)) {
        chat.keep(message, &followed, happened);
    }
    chat.written.left_out = versions.last.saturating_sub(chat.written.kept) + unreadable;
    for event in followed.rest.iter().filter_map(|index| happened.get(*index)) {
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

/// What a chat went through. Only the version is kept that fits a branch best: a chat of a person who goes back often has
/// about as many versions as messages.
struct Versions<'a> {
    happened: &'a [Happened],
    /// The session's own facts.
    header: Map<String, Value>,
    /// Every message that there ever was.
    messages: Vec<Message<'a>>,
    /// The messages that there are, and where each is among them.
    now: Vec<usize>,
    places: HashMap<String, usize>,
    /// Whether these are more than the beginning of a version that was looked at.
    is_new: bool,
    /// The version that fits best, the later one of two, with how far it goes.
    best: Option<(Vec<usize>, Followed)>,
    /// How many messages the last version has.
    last: usize,
}

impl<'a> Versions<'a> {
    /// Reads a chat, and counts the lines that are no records.
    fn read(original: &'a [u8], happened: &'a [Happened]) -> (Self, usize) {
        let mut versions = Self {
            happened,
            header: Map::new(),
            messages: Vec::new(),
            now: Vec::new(),
            places: HashMap::new(),
            is_new: false,
            best: None,
            last: 0,
        };
        let (lines, unreadable) = records(original);
        for Line { bytes, value } in lines {
            versions.add(bytes, value);
        }
        if !versions.now.is_empty() {
            versions.last = versions.now.len();
        }
        versions.look();
        versions.header.remove("messages");
        (versions, unreadable)
    }

    fn add(&mut self, line: &'a [u8], value: Value) {
        if let Some(id) = text(&value, "/$rewindTo") {
            let keep = self.places.get(id).copied().unwrap_or_default();
            self.leave(keep);
        } else if let Some(id) = text(&value, "/id") {
            let id = id.to_owned();
            self.put(Message::new(id, value, Some(line)));
        } else if let Value::Object(mut fields) = value {
            let Some(Value::Object(mut set)) = fields.remove("$set") else {
                self.header.extend(fields);
                return;
            };
            if let Some(Value::Array(all)) = set.remove("messages") {
                self.leave(0);
                for value in all {
                    if let Some(id) = text(&value, "/id").map(ToOwned::to_owned) {
                        self.push(Message::new(id, value, None));
                    }
                }
            }
            self.header.extend(set);
        }
    }

    /// A message in the place of that with its id, or after all others.
    fn put(&mut self, message: Message<'a>) {
        match self.places.get(&message.id).and_then(|place| self.now.get_mut(*place)) {
            Some(known) => {
                *known = self.messages.len();
                self.messages.push(message);
                self.is_new = true;
            }
            None => self.push(message),
        }
    }

    fn push(&mut self, message: Message<'a>) {
        self.places.entry(message.id.clone()).or_insert(self.now.len());
        self.now.push(self.messages.len());
        self.messages.push(message);
        self.is_new = true;
    }

    /// Takes the messages from a place on away. Where the branch has none of them, the version fits no better than what stays.
    fn leave(&mut self, keep: usize) {
        if !self.now.is_empty() {
            self.last = self.now.len();
        }
        let gone = self.now.get(keep..).unwrap_or_default();
        if gone.iter().filter_map(|index| self.messages.get(*index)).any(|message| self.has(message)) {
            self.look();
        }
        for message in self.now.drain(keep..).filter_map(|index| self.messages.get(index)) {
            if self.places.get(&message.id).is_some_and(|place| *place >= keep) {
                self.places.remove(&message.id);
            }
        }
    }

    /// Whether the branch may have something of a message.
    fn has(&self, message: &Message<'_>) -> bool {
        message.marks.iter().any(|mark| {
            self.happened.iter().any(|event| match (mark, event) {
                (Mark::Said { text }, Happened::Ended { said: Some(said) }) => says(text, said),
                (Mark::Call { id, .. }, Happened::Called { call, .. }) => id == call || same(mark, event),
                (Mark::Result { .. }, Happened::Returned { .. }) => true,
                _ => same(mark, event),
            })
        })
    }

    /// Looks how well what the messages are now fits the branch.
    fn look(&mut self) {
        if !std::mem::take(&mut self.is_new) {
            return;
        }
        let messages = self.now.iter().filter_map(|index| self.messages.get(*index)).enumerate();
        let marks: Vec<(usize, &Mark)> =
            messages.flat_map(|(place, message)| message.marks.iter().map(move |mark| (place, mark))).collect();
        let followed = follow(&marks, self.now.len(), self.happened, same);
        if self.best.as_ref().is_none_or(|(_, best)| followed.fit >= best.fit) {
            self.best = Some((self.now.clone(), followed));
        }
    }
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
/// on the lines after its words.
fn same(mark: &Mark, event: &Happened) -> bool {
    match (mark, event) {
        (Mark::Call { tool, input, .. }, Happened::Called { tool: of, input: with, .. }) => {
            tool == of && says_value(input, with)
        }
        (Mark::Prompt { text, .. }, Happened::Prompt { text: words, .. }) => {
            let after = text.trim().strip_prefix(words.trim());
            let begins = after.is_some_and(|after| after.is_empty() || after.trim_start_matches(' ').starts_with('\n'));
            let ends = text.match_indices('\n').map(|(at, _)| at).chain([text.len()]);
            // Only what was replaced is looked for line by line.
            begins || words.contains('[') && ends.filter_map(|end| text.get(..end)).any(|before| says(before, words))
        }
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
        let ids = message.marks.iter().filter_map(|mark| match mark {
            Mark::Call { id, .. } | Mark::Result { id } => Some(id),
            _ => None,
        });
        let changes = ids.into_iter().any(|id| !matches!(of_call(Some(id)), (false, false, None)));
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
