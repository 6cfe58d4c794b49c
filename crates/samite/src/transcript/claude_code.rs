//! Claude Code's transcripts: records in a chain, each under a `uuid` and after a `parentUuid`.

use super::follow::{Followed, Mark, Marked, follow, says};
use super::lines::{Line, content_text, push, push_line, records, text};
use super::{Happened, Target, UNKNOWN_END, Written, outcome_text, timestamp};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What a record has of the session that it is in.
const SHARED: [&str; 4] = ["userType", "version", "gitBranch", "entrypoint"];

/// See [`super::write`].
pub(super) fn write(original: &[u8], happened: &[Happened], target: &Target) -> Written {
    let (lines, unreadable) = records(original);
    let marks: Vec<Marked> = lines
        .iter()
        .enumerate()
        .flat_map(|(index, line)| marks(&line.value).into_iter().map(move |mark| (index, mark)))
        .collect();
    let followed = follow(&marks, lines.len(), happened, same);
    let mut transcript = Transcript::new(target);
    // A result stands before what the model said next: no model takes it elsewhere.
    let mut open: Vec<(usize, &str, Option<&Happened>)> = followed
        .open
        .iter()
        .map(|(id, end)| (next_response(&lines, id), id.as_str(), end.and_then(|index| happened.get(index))))
        .collect();
    for (index, line) in lines.iter().take(followed.upto).enumerate() {
        for (_, id, end) in open.extract_if(.., |(next, ..)| *next == index) {
            transcript.result_between(id, end);
        }
        transcript.keep(line, &followed);
    }
    transcript.written.left_out = lines.len() - transcript.written.kept + unreadable;
    for (_, id, end) in open {
        transcript.result(id, end);
    }
    for event in followed.rest.iter().filter_map(|index| happened.get(*index)) {
        match event {
            Happened::Prompt { text, .. } => transcript.prompt(text),
            Happened::Called { call, tool, input } => {
                let use_block = json!({"type": "tool_use", "id": call, "name": tool, "input": input});
                transcript.response(&use_block, "tool_use");
                let end =
                    happened.iter().find(|event| matches!(event, Happened::Returned { call: of, .. } if of == call));
                transcript.result(call, end);
            }
            Happened::Ended { said: Some(said) } if !said.is_empty() => {
                transcript.response(&json!({"type": "text", "text": said}), "end_turn");
            }
            Happened::Returned { .. } | Happened::Ended { .. } => {}
        }
    }
    transcript.written
}

fn blocks(record: &Value) -> &[Value] {
    record.pointer("/message/content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The first record of the response after that with a call; a response has a record for each of its blocks.
fn next_response(lines: &[Line<'_>], call: &str) -> usize {
    let is_call = |line: &Line<'_>| {
        blocks(&line.value)
            .iter()
            .any(|block| text(block, "/type") == Some("tool_use") && text(block, "/id") == Some(call))
    };
    let at = lines.iter().position(is_call).unwrap_or(lines.len());
    let response = lines.get(at).and_then(|line| text(&line.value, "/message/id"));
    let is_next = |line: &&Line<'_>| {
        let other = text(&line.value, "/message/id");
        !is(&line.value, "isSidechain") && other.is_some() && response.is_some() && other != response
    };
    at + lines.iter().skip(at).take_while(|line| !is_next(line)).count()
}

fn is(record: &Value, flag: &str) -> bool {
    record.get(flag).and_then(Value::as_bool) == Some(true)
}

fn marks(record: &Value) -> Vec<Mark> {
    if is(record, "isSidechain") {
        return Vec::new();
    }
    let content = record.pointer("/message/content").unwrap_or(&Value::Null);
    match text(record, "/type").unwrap_or_default() {
        "user" => {
            let results: Vec<Mark> = blocks(record)
                .iter()
                .filter_map(|block| Some(Mark::Result { id: text(block, "/tool_use_id")?.to_owned() }))
                .collect();
            if results.is_empty() && !is(record, "isMeta") && !is(record, "isCompactSummary") {
                return vec![Mark::Prompt { turn: None, text: content_text(content) }];
            }
            results
        }
        "assistant" => {
            let said = content_text(content);
            let calls = blocks(record).iter().filter(|block| text(block, "/type") == Some("tool_use"));
            let calls = calls.filter_map(|block| {
                Some(Mark::Call {
                    id: text(block, "/id")?.to_owned(),
                    tool: text(block, "/name")?.to_owned(),
                    input: Value::Null,
                })
            });
            let said = (!said.trim().is_empty()).then_some(Mark::Said { text: said });
            said.into_iter().chain(calls).collect()
        }
        _ => Vec::new(),
    }
}

fn same(mark: &Mark, event: &Happened) -> bool {
    match (mark, event) {
        (Mark::Prompt { text, .. }, Happened::Prompt { text: words, .. }) => says(text, words),
        _ => false,
    }
}

struct Transcript<'a> {
    target: &'a Target,
    now: String,
    /// The last record of the conversation.
    last: Option<String>,
    /// What stands in the place of a record that was left out.
    instead: BTreeMap<String, Option<String>>,
    /// What the records of the session share.
    shared: Map<String, Value>,
    written: Written,
}

impl<'a> Transcript<'a> {
    fn new(target: &'a Target) -> Self {
        Self {
            target,
            now: timestamp(target.now),
            last: None,
            instead: BTreeMap::new(),
            shared: Map::new(),
            written: Written::default(),
        }
    }

    /// A record as it is, but for the session's id, a directory that is another now, blocks that the branch does not have, and a parent that was left out.
    fn keep(&mut self, line: &Line<'_>, followed: &Followed) {
        let record = &line.value;
        let gone = |block: &Value| {
            let in_set = |name: &str, unanswered: bool| {
                text(block, name)
                    .is_some_and(|id| followed.without.contains(id) || unanswered && followed.unanswered.contains(id))
            };
            let is_use = text(block, "/type") == Some("tool_use");
            is_use && in_set("/id", false) || in_set("/tool_use_id", true)
        };
        let uuid = text(record, "/uuid").map(ToOwned::to_owned);
        let parent = text(record, "/parentUuid").map(ToOwned::to_owned);
        let all = blocks(record);
        let left: Vec<&Value> = all.iter().filter(|block| !gone(block)).collect();
        if left.is_empty() && !all.is_empty() {
            let parent = self.parent(parent);
            self.instead.extend(uuid.map(|uuid| (uuid, parent)));
            return;
        }
        let moved = parent.as_ref().is_some_and(|parent| self.instead.contains_key(parent));
        let old = text(record, "/sessionId").map(ToOwned::to_owned);
        let renamed = old
            .as_ref()
            .map_or_else(|| Some(line.bytes.to_vec()), |old| with_session(line.bytes, old, &self.target.session));
        let directory = text(record, "/cwd").and_then(|directory| self.target.place_of(directory));
        if left.len() < all.len() || moved || renamed.is_none() || directory.is_some() {
            let mut record = record.clone();
            if let Some(content) = record.pointer_mut("/message/content").filter(|_| left.len() < all.len()) {
                *content = left.into_iter().cloned().collect();
            }
            if let Some(fields) = record.as_object_mut() {
                if moved {
                    fields.insert("parentUuid".to_owned(), json!(self.parent(parent)));
                }
                if let Some(directory) = directory {
                    fields.insert("cwd".to_owned(), json!(directory));
                }
                if old.is_some() {
                    fields.insert("sessionId".to_owned(), json!(self.target.session));
                }
            }
            push(&mut self.written.bytes, &record);
        } else {
            push_line(&mut self.written.bytes, &renamed.unwrap_or_default());
        }
        self.written.kept += 1;
        if uuid.is_some() && !is(record, "isSidechain") {
            self.last = uuid;
            for name in SHARED {
                if let Some(value) = record.get(name) {
                    self.shared.insert(name.to_owned(), value.clone());
                }
            }
        }
    }

    /// The nearest parent that is kept.
    fn parent(&self, parent: Option<String>) -> Option<String> {
        let mut parent = parent;
        for _ in 0..=self.instead.len() {
            match parent.as_ref().and_then(|parent| self.instead.get(parent)) {
                Some(instead) => parent.clone_from(&instead.clone()),
                None => break,
            }
        }
        parent
    }

    fn prompt(&mut self, words: &str) {
        self.push("user", &json!({"role": "user", "content": words}));
    }

    fn response(&mut self, block: &Value, reason: &str) {
        let id = format!("msg_{}", self.made_id());
        self.push(
            "assistant",
            &json!({
                "id": id, "type": "message", "role": "assistant", "model": "<synthetic>", "content": [block],
                "stop_reason": reason, "stop_sequence": null,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            }),
        );
    }

    fn result(&mut self, call: &str, end: Option<&Happened>) {
        let (content, is_error) = if let Some(Happened::Returned { output, failed, .. }) = end {
            (outcome_text(output), *failed)
        } else {
            self.written.unknown.push(call.to_owned());
            (UNKNOWN_END.to_owned(), true)
        };
        let block = json!({"tool_use_id": call, "type": "tool_result", "content": content, "is_error": is_error});
        self.push("user", &json!({"role": "user", "content": [block]}));
    }

    /// A result before records that are kept: what follows the last one follows it now.
    fn result_between(&mut self, call: &str, end: Option<&Happened>) {
        let before = self.last.clone();
        self.result(call, end);
        self.instead.extend(before.map(|before| (before, self.last.clone())));
    }

    /// The id of the next record: the session's, with a number for its last digits.
    fn made_id(&self) -> String {
        let start: String = self.target.session.chars().take(24).collect();
        format!("{start}{:012x}", self.written.made)
    }

    fn push(&mut self, kind: &str, message: &Value) {
        let uuid = self.made_id();
        let mut record = self.shared.clone();
        let fields = json!({
            "type": kind, "message": message, "uuid": uuid, "parentUuid": self.last, "isSidechain": false,
            "sessionId": self.target.session, "cwd": self.target.directory, "timestamp": self.now,
        });
        if let Value::Object(fields) = fields {
            record.extend(fields);
        }
        record.entry("userType").or_insert_with(|| json!("external"));
        push(&mut self.written.bytes, &Value::Object(record));
        self.written.made += 1;
        self.last = Some(uuid);
    }
}

/// A record's bytes with another session's id; none where it is not written as Claude Code writes it.
fn with_session(bytes: &[u8], old: &str, new: &str) -> Option<Vec<u8>> {
    let (old, new) = (format!("\"sessionId\":{}", json!(old)), format!("\"sessionId\":{}", json!(new)));
    let mut changed = Vec::with_capacity(bytes.len() + new.len());
    let mut rest = bytes;
    let mut any = false;
    while let Some(at) = rest.windows(old.len()).position(|window| window == old.as_bytes()) {
        let (before, after) = rest.split_at(at);
        changed.extend_from_slice(before);
        changed.extend_from_slice(new.as_bytes());
        rest = after.get(old.len()..).unwrap_or_default();
        any = true;
    }
    changed.extend_from_slice(rest);
    any.then_some(changed)
}
