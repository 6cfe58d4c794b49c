//! Codex CLI's rollouts: a session's own facts, then records of what happened, each with a running number.

use super::follow::{Mark, Marked, follow, says};
use super::lines::{Line, content_text, push, push_line, records, text};
use super::{Happened, Target, UNKNOWN_END, Written, outcome_text, timestamp};
use serde_json::{Value, json};

/// The tool by which the model runs commands, and what hooks call it.
const SHELL: (&str, &str) = ("exec_command", "Bash");

/// See [`super::write`].
pub(super) fn write(original: &[u8], happened: &[Happened], target: &Target) -> Written {
    let (lines, unreadable) = records(original);
    let mut lines = lines.into_iter();
    // Whatever begins otherwise is no rollout: then all is made from the branch.
    let meta = lines.next().filter(|first| kind(&first.value) == "session_meta");
    let lines: Vec<Line<'_>> = lines.filter(|_| meta.is_some()).collect();
    let marks: Vec<Marked> =
        lines.iter().enumerate().filter_map(|(index, line)| Some((index, mark(&line.value)?))).collect();
    let followed = follow(&marks, lines.len(), happened, same);
    let left_out = |record: &Value| {
        let told = text(record, "/payload/item/id");
        call_id(record).or(told).is_some_and(|id| {
            followed.without.contains(id)
                || followed.unanswered.contains(id) && !matches!(mark(record), Some(Mark::Call { .. }))
        })
    };
    let mut rollout = Rollout::new(target);
    rollout.meta(meta.as_ref().map(|line| &line.value), happened);
    let mut kept = Vec::new();
    for line in lines.iter().take(followed.upto).filter(|line| !left_out(&line.value)) {
        rollout.keep(line);
        kept.push(&line.value);
    }
    rollout.written.left_out = lines.len() - kept.len() + unreadable;
    rollout.written.kept += usize::from(meta.is_some());
    for (id, end) in &followed.open {
        let is_custom = kept
            .iter()
            .any(|record| call_id(record) == Some(id) && text(record, "/payload/type") == Some("custom_tool_call"));
        rollout.result(id, end.and_then(|index| happened.get(index)), is_custom);
    }
    for event in followed.rest.iter().filter_map(|index| happened.get(*index)) {
        match event {
            Happened::Prompt { text, .. } => rollout.message("user", "input_text", text),
            Happened::Called { call, tool, input } => {
                rollout.call(call, tool, input);
                let end =
                    happened.iter().find(|event| matches!(event, Happened::Returned { call: of, .. } if of == call));
                rollout.result(call, end, false);
            }
            Happened::Ended { said: Some(said) } if !said.is_empty() => {
                rollout.message("assistant", "output_text", said);
            }
            Happened::Returned { .. } | Happened::Ended { .. } => {}
        }
    }
    rollout.written
}

fn kind(record: &Value) -> &str {
    text(record, "/type").unwrap_or_default()
}

fn call_id(record: &Value) -> Option<&str> {
    if kind(record) == "response_item" { text(record, "/payload/call_id") } else { None }
}

fn turn_of(record: &Value) -> Option<&str> {
    text(record, "/payload/internal_chat_message_metadata_passthrough/turn_id")
}

fn mark(record: &Value) -> Option<Mark> {
    let payload = record.get("payload")?;
    let what = text(payload, "/type").unwrap_or_default();
    match (kind(record), what) {
        ("event_msg", "task_started" | "turn_started") => Some(Mark::Begin),
        ("response_item", "message") => {
            let said = content_text(payload.get("content")?);
            match text(payload, "/role")? {
                "user" => Some(Mark::Prompt { turn: turn_of(record).map(ToOwned::to_owned), text: said }),
                "assistant" => Some(Mark::Said { text: said }),
                _ => None,
            }
        }
        ("response_item", _) => {
            let id = call_id(record)?.to_owned();
            if what.ends_with("_output") {
                return Some(Mark::Result { id });
            }
            let tool = text(payload, "/name").unwrap_or(what).to_owned();
            Some(Mark::Call { id, tool, input: Value::Null })
        }
        _ => None,
    }
}

/// Calls have ids. A prompt has the words; context that Codex adds to a turn by itself stands there as a user's message too.
fn same(mark: &Mark, event: &Happened) -> bool {
    match (mark, event) {
        (Mark::Prompt { turn, text }, Happened::Prompt { turn: told, text: words }) => {
            (turn.is_none() || told.is_none() || turn == told) && says(text, words)
        }
        _ => false,
    }
}

struct Rollout<'a> {
    target: &'a Target,
    now: String,
    /// The number of the next record, where records have numbers.
    ordinal: Option<u64>,
    written: Written,
}

impl<'a> Rollout<'a> {
    fn new(target: &'a Target) -> Self {
        Self { target, now: timestamp(target.now), ordinal: None, written: Written::default() }
    }

    /// The session's own facts: those of the old one under the new id. What it was a fork of is in it now.
    fn meta(&mut self, old: Option<&Value>, happened: &[Happened]) {
        let session = &self.target.session;
        let mut record = old.cloned().unwrap_or_else(|| json!({"type": "session_meta", "payload": {}}));
        if record.get("ordinal").is_some() {
            self.ordinal = Some(0);
        }
        if let Some(payload) = record.get_mut("payload").and_then(Value::as_object_mut) {
            let from = payload.get("id").cloned();
            for gone in ["history_base", "forked_from_ordinal_exclusive", "forked_from_id"] {
                payload.remove(gone);
            }
            payload.extend(from.map(|from| ("forked_from_id".to_owned(), from)));
            payload.insert("id".to_owned(), json!(session));
            if payload.contains_key("session_id") {
                payload.insert("session_id".to_owned(), json!(session));
            }
            payload.insert("timestamp".to_owned(), json!(self.now));
            payload.insert("cwd".to_owned(), json!(self.target.directory));
            if payload.contains_key("runtime_workspace_roots") {
                payload.insert("runtime_workspace_roots".to_owned(), json!([self.target.directory]));
            }
            for (name, value) in [("originator", "samite"), ("cli_version", "0.0.0")] {
                payload.entry(name).or_insert_with(|| json!(value));
            }
        }
        if old.is_none() && !happened.is_empty() {
            self.written.made += 1;
        }
        self.push(record);
    }

    /// A record as it is, but for its number where others before it were left out, and for a directory that is another now.
    fn keep(&mut self, line: &Line<'_>) {
        self.written.kept += 1;
        if let Some(directory) = text(&line.value, "/payload/cwd").and_then(|directory| self.target.place_of(directory))
        {
            let mut record = line.value.clone();
            if let Some(cwd) = record.pointer_mut("/payload/cwd") {
                *cwd = json!(directory);
            }
            return self.number(record);
        }
        let number = line.value.get("ordinal").and_then(Value::as_u64);
        if self.ordinal.is_none() || number == self.ordinal {
            push_line(&mut self.written.bytes, line.bytes);
            self.ordinal = self.ordinal.map(|ordinal| ordinal + 1);
        } else {
            self.number(line.value.clone());
        }
    }

    fn push(&mut self, mut record: Value) {
        if let Some(fields) = record.as_object_mut() {
            fields.insert("timestamp".to_owned(), json!(self.now));
        }
        self.number(record);
    }

    fn number(&mut self, mut record: Value) {
        if let (Some(ordinal), Some(fields)) = (self.ordinal, record.as_object_mut()) {
            fields.insert("ordinal".to_owned(), json!(ordinal));
            self.ordinal = Some(ordinal + 1);
        }
        push(&mut self.written.bytes, &record);
    }

    fn item(&mut self, payload: &Value) {
        self.written.made += 1;
        self.push(json!({"type": "response_item", "payload": payload}));
    }

    fn message(&mut self, role: &str, part: &str, text: &str) {
        self.item(&json!({"type": "message", "role": role, "content": [{"type": part, "text": text}]}));
    }

    fn call(&mut self, call: &str, tool: &str, input: &Value) {
        let command = if tool == SHELL.1 { text(input, "/command") } else { None };
        let (name, input) = match command {
            Some(command) => (SHELL.0, json!({"cmd": command})),
            None => (tool, input.clone()),
        };
        self.item(&json!({"type": "function_call", "name": name, "arguments": input.to_string(), "call_id": call}));
    }

    fn result(&mut self, call: &str, end: Option<&Happened>, is_custom: bool) {
        let output = if let Some(Happened::Returned { output, .. }) = end {
            outcome_text(output)
        } else {
            self.written.unknown.push(call.to_owned());
            UNKNOWN_END.to_owned()
        };
        let kind = if is_custom { "custom_tool_call_output" } else { "function_call_output" };
        self.item(&json!({"type": kind, "call_id": call, "output": output}));
    }
}
