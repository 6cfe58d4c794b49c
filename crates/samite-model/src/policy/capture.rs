//! What of an entry is kept: all of it, what was decided, or that it was.
//!
//! Deliberation is what a model says to itself: blocks of thinking and reasoning, whatever provider's form they have, and text
//! in tags of thinking. Where a body cannot be read and may hold some, all of it is dropped.

use crate::EntryKind;
use crate::json::canonical_text;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How much of entries is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// All of it, as it came.
    #[default]
    Full,
    /// All but deliberation.
    Decisions,
    /// Its kind, size and time, and of its attributes those that samite itself goes by and that hold no content.
    Metadata,
}

impl Level {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Full, Self::Decisions, Self::Metadata];

    /// The name in commands and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Decisions => "decisions",
            Self::Metadata => "metadata",
        }
    }

    /// The stored code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Full => 0,
            Self::Decisions => 1,
            Self::Metadata => 2,
        }
    }

    /// The level of a stored code. One that is not known keeps least.
    pub const fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Full,
            1 => Self::Decisions,
            _ => Self::Metadata,
        }
    }
}

/// How much is kept of which kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Of kinds for which nothing else is decided.
    pub others: Level,
    /// Of kinds for which something is.
    pub kinds: BTreeMap<EntryKind, Level>,
}

impl Capture {
    /// How much is kept of a kind.
    pub fn level(&self, kind: EntryKind) -> Level {
        self.kinds.get(&kind).copied().unwrap_or(self.others)
    }
}

/// What is kept of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept<'a> {
    /// The body.
    pub body: Cow<'a, [u8]>,
    /// How many pieces were dropped.
    pub dropped: u64,
}

/// The types of objects that are deliberation.
const TYPES: [&str; 16] = [
    "thinking",
    "redacted_thinking",
    "thinking_delta",
    "signature_delta",
    "thought",
    "think",
    "reasoning",
    "reasoning_delta",
    "reasoning_text",
    "reasoning_summary",
    "summary_text",
    "agent_reasoning",
    "agent_reasoning_delta",
    "agent_reasoning_raw_content",
    "agent_reasoning_raw_content_delta",
    "agent_reasoning_section_break",
];

/// Fields that hold nothing else. Numbers, booleans and null in them stay: they count or say that there was some.
const FIELDS: [&str; 18] = [
    "thinking",
    "thinking_blocks",
    "thinking_signature",
    "thought",
    "thoughts",
    "thought_signature",
    "thoughtSignature",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "reasoning_summary",
    "reasoning_text",
    "reasoningContent",
    "chain_of_thought",
    "deliberation",
    "inner_monologue",
    "scratchpad",
    "agent_reasoning",
];

/// Tags around deliberation in text.
const TAGS: [&str; 5] = ["think", "thinking", "thought", "reasoning", "scratchpad"];

/// Words of which one stands in whatever holds deliberation in a form that we know.
const MARKERS: [&str; 6] = ["think", "thought", "reasoning", "deliberation", "monologue", "scratchpad"];

/// JSON in strings in JSON is followed so deep.
const DEPTH: usize = 8;

/// What is kept of an entry's body, for a kind at a level.
pub fn keep(level: Level, kind: EntryKind, body: &[u8]) -> Kept<'_> {
    let nothing = Kept { body: Cow::Borrowed(&[][..]), dropped: 1 };
    match level {
        Level::Full => Kept { body: Cow::Borrowed(body), dropped: 0 },
        Level::Metadata if body.is_empty() => Kept { body: Cow::Borrowed(body), dropped: 0 },
        Level::Metadata => nothing,
        Level::Decisions => {
            let Ok(text) = std::str::from_utf8(body) else {
                let may = kind == EntryKind::MODEL_RESPONSE || has_marker(&String::from_utf8_lossy(body));
                return if may { nothing } else { Kept { body: Cow::Borrowed(body), dropped: 0 } };
            };
            match decisions(text) {
                Some((_, 0)) => Kept { body: Cow::Borrowed(body), dropped: 0 },
                Some((kept, dropped)) => Kept { body: Cow::Owned(kept.into_bytes()), dropped },
                None => nothing,
            }
        }
    }
}

/// What is kept of JSON that stands beside a body, and how many pieces were dropped.
pub fn keep_value(level: Level, mut value: Value) -> (Value, u64) {
    if level == Level::Full {
        return (value, 0);
    }
    if level == Level::Metadata {
        return frame_alone(value);
    }
    let mut found = Found::default();
    filter(&mut value, 0, &mut found);
    (value, found.dropped)
}

/// Words of which attributes are kept as metadata, where they are one of these.
const WORDS: [(&str, &[&str]); 5] = [
    ("role", &["system", "developer", "user", "assistant", "tool", "function", "model"]),
    ("context", &["outside", "inside", "boundary", "summary"]),
    ("stream", &["stdout", "stderr"]),
    ("flaw", &["torn", "unfinished", "glued", "nul_bytes", "not_utf8"]),
    ("harness", &["claude-code", "codex", "gemini-cli"]),
];

/// Of attributes, those that samite itself goes by and that say nothing of the content: words of a closed list, seqs, ranges of
/// lines and bytes, and the step that an output is of. With how many were dropped.
fn frame_alone(value: Value) -> (Value, u64) {
    let Value::Object(mut all) = value else { return (Value::Object(Map::new()), 1) };
    let before = all.len();
    all.retain(|name, value| is_of_frame(name, value));
    let dropped = (before - all.len()) as u64;
    (Value::Object(all), dropped)
}

fn is_of_frame(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("from" | "to", Value::Number(number)) => number.is_u64(),
        ("record" | "lines", Value::Array(range)) => range.len() == 2 && range.iter().all(Value::is_u64),
        ("output_of", Value::String(id)) => id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        (name, Value::String(word)) => {
            WORDS.iter().any(|(attribute, words)| *attribute == name && words.contains(&word.as_str()))
        }
        _ => false,
    }
}

/// What was found while something was filtered.
#[derive(Default)]
struct Found {
    dropped: u64,
    /// Whether a tag was opened and not closed in the same string.
    open: bool,
}

/// A text without deliberation; none where that cannot be told from the rest.
fn decisions(text: &str) -> Option<(String, u64)> {
    let mut found = Found::default();
    if let Ok(mut value) = serde_json::from_str::<Value>(text)
        && (value.is_object() || value.is_array())
    {
        filter(&mut value, 0, &mut found);
        return Some((if found.dropped == 0 { text.to_owned() } else { canonical_text(&value) }, found.dropped));
    }
    if !text.lines().any(|line| json_of(line).is_some()) {
        let looks_like_json = text.trim_start().starts_with(['{', '[']);
        if looks_like_json && has_marker(text) {
            return None;
        }
        let kept = without_tags(text, &mut found);
        return Some((kept, found.dropped));
    }
    // A stream: lines of JSON, or events of which the data is.
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let Some((before, mut value)) = json_of(line) else {
            if line.contains(['{', '[']) && has_marker(line) {
                found.dropped += 1;
            } else {
                kept.push_str(&without_tags(line, &mut found));
            }
            continue;
        };
        let so_far = found.dropped;
        filter(&mut value, 0, &mut found);
        if found.dropped == so_far {
            kept.push_str(line);
            continue;
        }
        kept.push_str(before);
        kept.push_str(&canonical_text(&value));
        if line.ends_with('\n') {
            kept.push('\n');
        }
    }
    // What follows a tag that another line closes cannot be told.
    if found.open { None } else { Some((kept, found.dropped)) }
}

/// The JSON of a line, with what stands before it.
fn json_of(line: &str) -> Option<(&str, Value)> {
    let start = if line.starts_with("data:") { line.find(['{', '['])? } else { line.len() - line.trim_start().len() };
    let (before, json) = line.split_at_checked(start)?;
    if !json.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(json).ok().map(|value| (before, value))
}

fn has_marker(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    MARKERS.iter().any(|marker| text.contains(marker))
}

fn is_deliberation(object: &Map<String, Value>) -> bool {
    let of_type = object.get("type").and_then(Value::as_str);
    of_type.is_some_and(|name| TYPES.contains(&name) || name.starts_with("response.reasoning"))
        || object.get("thought") == Some(&Value::Bool(true))
}

/// What stands where an object of deliberation was and something must be: what it was.
fn stub(object: &Map<String, Value>) -> Value {
    let of_type = object.get("type").filter(|name| name.is_string()).cloned();
    Value::Object(of_type.map(|name| ("type".to_owned(), name)).into_iter().collect())
}

/// Drops deliberation from JSON.
fn filter(value: &mut Value, depth: usize, found: &mut Found) {
    match value {
        Value::Array(items) => {
            let before = items.len();
            items.retain(|item| !item.as_object().is_some_and(is_deliberation));
            found.dropped += (before - items.len()) as u64;
            for item in items.iter_mut() {
                filter(item, depth, found);
            }
        }
        Value::Object(object) => {
            if is_deliberation(object) {
                let stub = stub(object);
                if Value::Object(object.clone()) != stub {
                    found.dropped += 1;
                    *value = stub;
                }
                return;
            }
            let before = object.len();
            object.retain(|name, field| !FIELDS.contains(&name.as_str()) || is_plain(field));
            found.dropped += (before - object.len()) as u64;
            for field in object.values_mut() {
                filter(field, depth, found);
            }
        }
        Value::String(text) => filter_string(text, depth, found),
        _ => {}
    }
}

/// Whether a field of deliberation holds none.
fn is_plain(field: &Value) -> bool {
    match field {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}

fn filter_string(text: &mut String, depth: usize, found: &mut Found) {
    if text.trim_start().starts_with(['{', '[']) {
        match serde_json::from_str::<Value>(text) {
            Ok(mut inner) if depth < DEPTH => {
                let so_far = found.dropped;
                filter(&mut inner, depth + 1, found);
                if found.dropped > so_far {
                    *text = canonical_text(&inner);
                }
                return;
            }
            Ok(_) if has_marker(text) => {
                found.dropped += 1;
                text.clear();
                return;
            }
            _ => {}
        }
    }
    let so_far = found.dropped;
    let kept = without_tags(text, found);
    if found.dropped > so_far {
        *text = kept;
    }
}

/// A text without what stands in tags of deliberation. One that is not closed reaches to the end, one that was not opened
/// from the beginning.
fn without_tags(text: &str, found: &mut Found) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((start, after, name, closes)) = next_tag(rest) {
        found.dropped += 1;
        if closes {
            // The model's template opened it.
            kept.clear();
            rest = rest.get(after..).unwrap_or_default();
            continue;
        }
        kept.push_str(rest.get(..start).unwrap_or_default());
        let inside = rest.get(after..).unwrap_or_default();
        let end = format!("</{name}>");
        let Some(at) = find_ignoring_case(inside, &end) else {
            found.open = true;
            return kept;
        };
        rest = inside.get(at + end.len()..).unwrap_or_default();
    }
    kept.push_str(rest);
    kept
}

/// The first tag: where it begins and ends, its name, and whether it is a closing one.
fn next_tag(text: &str) -> Option<(usize, usize, &'static str, bool)> {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('<')) {
        let start = from + at;
        let after = text.get(start + 1..).unwrap_or_default();
        let closes = after.starts_with('/');
        let name = if closes { after.get(1..).unwrap_or_default() } else { after };
        for tag in TAGS {
            let is_it = name.get(..tag.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(tag))
                && name.get(tag.len()..).is_some_and(|end| end.starts_with('>'));
            if is_it {
                return Some((start, start + 1 + usize::from(closes) + tag.len() + 1, tag, closes));
            }
        }
        from = start + 1;
    }
    None
}

fn find_ignoring_case(text: &str, ascii: &str) -> Option<usize> {
    text.as_bytes().windows(ascii.len()).position(|window| window.eq_ignore_ascii_case(ascii.as_bytes()))
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
