//! The lines of a transcript.

use serde_json::Value;

/// A line that holds a record.
pub(super) struct Line<'a> {
    /// The bytes, without the line feed.
    pub(super) bytes: &'a [u8],
    /// The record.
    pub(super) value: Value,
}

/// The records of a transcript, and how many lines are none: a crash leaves torn ones.
pub(super) fn records(original: &[u8]) -> (Vec<Line<'_>>, usize) {
    let mut unreadable = 0;
    let mut records = Vec::new();
    for bytes in original.split(|byte| *byte == b'\n') {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) if value.is_object() => records.push(Line { bytes, value }),
            _ => unreadable += 1,
        }
    }
    (records, unreadable)
}

/// Adds a record as a line.
pub(super) fn push(bytes: &mut Vec<u8>, record: &Value) {
    bytes.extend_from_slice(record.to_string().as_bytes());
    bytes.push(b'\n');
}

/// Adds a line as it is.
pub(super) fn push_line(bytes: &mut Vec<u8>, line: &[u8]) {
    bytes.extend_from_slice(line);
    bytes.push(b'\n');
}

/// A string in a record.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// The text in a message's content, which is a string or parts.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| text(part, "/text")).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
