//! Tables of small transcripts: what is kept, what goes, and what is made.

mod claude_code;
mod codex;
mod gemini;

use super::{Happened, Target, UNKNOWN_END, Written, write};
use crate::hook::Harness;
use serde_json::{Value, json};

const SESSION: &str = "0f0e0d0c-0b0a-0908-0706-050403020100";

fn target() -> Target {
    Target {
        session: SESSION.to_owned(),
        directory: "/work/project".to_owned(),
        moved: None,
        now: 1_795_974_821_372_000_000,
    }
}

fn prompt(text: &str) -> Happened {
    Happened::Prompt { turn: None, text: text.to_owned() }
}

fn called(call: &str, tool: &str, input: Value) -> Happened {
    Happened::Called { call: call.to_owned(), tool: tool.to_owned(), input }
}

fn returned(call: &str, output: Value) -> Happened {
    Happened::Returned { call: call.to_owned(), output, failed: false }
}

fn ended(said: &str) -> Happened {
    Happened::Ended { said: Some(said.to_owned()) }
}

fn file(records: &[Value]) -> Vec<u8> {
    records.iter().flat_map(|record| format!("{record}\n").into_bytes()).collect()
}

/// The records of a transcript that was written.
fn read(written: &Written) -> Vec<Value> {
    written
        .bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// The counts: kept, left out, made, and the calls whose end is not known.
fn counts(written: &Written) -> (usize, usize, usize, Vec<&str>) {
    (written.kept, written.left_out, written.made, written.unknown.iter().map(String::as_str).collect())
}

/// A recorded stream or transcript of the shared data; none where that is absent.
#[expect(clippy::disallowed_methods, reason = "the test reads real files")]
fn shared(name: &str) -> Option<Vec<u8>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let shared = std::env::var("SAMITE_SHARED").unwrap_or_else(|_| beside.to_owned());
    let path = std::path::Path::new(&shared).join("data").join(name);
    let read = std::fs::read(&path).ok();
    if read.is_none() {
        eprintln!("SKIPPED: {} does not exist (set SAMITE_SHARED)", path.display());
    }
    read
}

#[test]
fn times_are_written_as_harnesses_write_them() {
    assert_eq!(super::timestamp(1_795_974_821_372_000_000), "2026-11-29T17:53:41.372Z");
}

#[test]
fn outcomes_are_told_as_the_model_would_have_seen_them() {
    for (output, text) in [
        (json!(null), ""),
        (json!("ok\n"), "ok\n"),
        (json!({"llmContent": "Output: v2", "returnDisplay": "v2"}), "Output: v2"),
        (json!({"stdout": "a"}), r#"{"stdout":"a"}"#),
        (json!([1, 2]), "[1,2]"),
    ] {
        assert_eq!(super::outcome_text(&output), text);
    }
}
