//! `samite import`: each format once, and what is none.

use crate::support::{Place, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const CODEX: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"c1","cwd":"/w"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"k1"}}
{torn
"#;
const GEMINI: &str = r#"{"sessionId":"g1","projectHash":"p","kind":"main"}
{"id":"u1","type":"user","content":[{"text":"go"}]}
{"id":"m1","type":"gemini","content":"","toolCalls":[{"id":"k1","name":"shell","args":{},"status":"success","result":[]}]}
"#;
const SWE_AGENT: &str = r#"{"trajectory":[{"action":"ls","observation":"a"}],"history":[{"role":"user","content":"go"},
{"role":"assistant","content":"x","action":"ls"}],"info":{}}"#;
const RESPONSES: &str = r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,aGVsbG8="}]}
{"type":"function_call","id":"f1","call_id":"k1","name":"look","arguments":"{}"}
{"type":"function_call_output","call_id":"k1","output":"seen"}
"#;

/// What the real programs wrote.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samite/tests/fixtures/imports")
}

/// A source of each format.
pub(crate) fn sources(place: &Place) -> Vec<(&'static str, String)> {
    let write = |name: &str, words: &str| {
        fs::write(place.path().join(name), words).unwrap();
        name.to_owned()
    };
    let fixture = |name: &str| fixtures().join(name).to_string_lossy().into_owned();
    vec![
        ("codex", write("rollout-x.jsonl", CODEX)),
        ("gemini-cli", write("session-x.jsonl", GEMINI)),
        ("swe-agent", write("x.traj", SWE_AGENT)),
        ("responses", write("chat.jsonl", RESPONSES)),
        ("openhands", fixture("openhands")),
        ("langgraph", fixture("langgraph/checkpoints.db")),
    ]
}

fn counts(value: &Value) -> Vec<u64> {
    ["lines", "imported", "duplicates", "reported"].iter().map(|name| value[name].as_u64().unwrap()).collect()
}

#[test]
fn each_format_is_imported_once() {
    let place = Place::new();
    let expected = [
        ("codex", [4, 3, 0, 1]),
        ("gemini-cli", [3, 3, 0, 0]),
        ("swe-agent", [4, 4, 0, 0]),
        ("responses", [3, 3, 0, 0]),
        ("openhands", [14, 14, 0, 0]),
        ("langgraph", [47, 47, 0, 0]),
    ];
    for ((format, source), (name, first)) in sources(&place).into_iter().zip(expected) {
        assert_eq!(format, name);
        let imported = place.json(&["import", format, &source]).json();
        assert_eq!(counts(&imported), first, "{format}: {imported}");
        let again = place.json(&["import", format, &source]).json();
        let kept = first[0] - first[3];
        assert_eq!(counts(&again), [first[0], 0, kept, first[3]], "{format}: {again}");
        assert_eq!(again["transcripts"][0]["session"], imported["transcripts"][0]["session"], "{format}");
    }
    assert!(place.json(&["verify"]).json()["findings"].as_array().unwrap().is_empty());
}

#[test]
fn calls_without_results_wait_for_a_decision_and_findings_name_their_record() {
    let place = Place::new();
    sources(&place);
    let imported = place.json(&["import", "codex", "rollout-x.jsonl"]).json();
    let messages: Vec<_> =
        imported["transcripts"][0]["findings"].as_array().unwrap().iter().map(|one| text(one, "/message")).collect();
    assert_eq!(
        messages,
        [
            "line 3 calls exec_command (k1) and no line has its result; the step is in doubt",
            "line 4 is torn: it is no whole JSON value; kept as it is",
        ]
    );
    let steps = place.json(&["step", "list", &text(&imported, "/id")]).json();
    assert_eq!(steps["steps"][0]["state"], "in_doubt", "{steps}");
    let database = fixtures().join("langgraph/checkpoints.db");
    let shown = place.run(&["import", "langgraph", &database.to_string_lossy()]).ok();
    assert!(shown.contains("47 rows: 47 imported, 0 there already, 0 with something to report"), "{shown}");
    assert!(shown.contains("row 7 calls push (call-1) and no row has its result"), "{shown}");
}

#[test]
fn what_is_no_source_of_a_format_is_refused_and_makes_no_session() {
    let place = Place::new();
    place.session();
    fs::create_dir(place.path().join("none")).unwrap();
    fs::write(place.path().join("words.jsonl"), "plain words\n").unwrap();
    for format in ["codex", "gemini-cli", "swe-agent", "openhands", "responses"] {
        let error = place.json(&["import", format, "words.jsonl"]).error(2);
        assert_eq!(error["code"], "not_a_transcript", "{format}: {error}");
        assert!(!error["hints"].as_array().unwrap().is_empty(), "{format}");
        assert_eq!(place.json(&["import", format, "none"]).error(3)["code"], "no_transcripts", "{format}");
        assert_eq!(place.json(&["import", format, "gone"]).error(3)["code"], "no_file", "{format}");
    }
    assert_eq!(place.json(&["import", "langgraph", "words.jsonl"]).error(2)["code"], "no_checkpoints");
    assert_eq!(place.json(&["import", "langgraph", "gone"]).error(3)["code"], "no_file");
    let dump = fs::read(fixtures().join("langgraph/dump.sql")).unwrap();
    fs::write(place.path().join("cut.sql"), &dump[..dump.len() / 2]).unwrap();
    assert_eq!(place.json(&["import", "langgraph", "cut.sql"]).error(2)["code"], "bad_dump");
    let nobody = "postgresql://nobody:secret-word@127.0.0.1:1/none";
    let error = place.json(&["import", "langgraph", nobody]);
    let said = format!("{error:?}");
    assert!(said.contains("no_psql") || said.contains("checkpoints_unreadable"), "{said}");
    assert!(!said.contains("secret-word"), "{said}");
    assert_eq!(place.json(&["session", "list"]).json()["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn what_has_a_secret_is_imported_once_whatever_the_policy_is_by_then() {
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    for (before, after) in [("redact", "redact"), ("redact", "off"), ("off", "redact"), ("report", "redact")] {
        let place = Place::new();
        place.session();
        let decide = |mode: &str| place.run(&["policy", "redaction", "--secrets", mode]).ok();
        decide(before);
        let secret = CODEX.replace("\"go\"", &format!("\"use {token}\"")).replace("\"{}\"", &format!("\"{token}\""));
        fs::write(place.path().join("rollout-x.jsonl"), &secret).unwrap();
        let imported = place.json(&["import", "codex", "rollout-x.jsonl"]).json();
        assert_eq!(counts(&imported), [4, 3, 0, 1], "{imported}");
        decide(after);
        let again = place.json(&["import", "codex", "rollout-x.jsonl"]).json();
        assert_eq!(counts(&again)[1..3], [0, 3], "{before} {after}: {again}");
        let entries = place.json(&["read", &text(&imported, "/id")]).ok();
        assert_eq!(entries.contains(token), before != "redact", "{before}");
        assert_eq!(place.json(&["verify"]).json()["ok"], true);
    }
}

#[test]
fn attachments_of_items_become_artifacts_once() {
    let place = Place::new();
    sources(&place);
    let imported = place.json(&["import", "responses", "chat.jsonl"]).json();
    let id = text(&imported, "/id");
    place.json(&["import", "responses", "chat.jsonl"]).json();
    assert_attached(&place, &id);
}

fn assert_attached(place: &Place, id: &str) {
    let listed = place.json(&["artifact", "list", id]).json();
    let all: Vec<_> = listed["artifacts"].as_array().unwrap().iter().map(|one| text(one, "/name")).collect();
    assert_eq!(all, ["image-ea8f163db386.png"], "{listed}");
    let artifact = text(&listed["artifacts"][0], "/id");
    assert_eq!(place.run(&["artifact", "get", &artifact]).ok(), "hello");
    assert!(place.json(&["verify"]).json()["findings"].as_array().unwrap().is_empty());
}

#[cfg(feature = "kill-points")]
#[test]
fn an_import_that_is_killed_over_an_attachment_goes_on() {
    for point in ["artifact.stored", "artifact.committed"] {
        let place = Place::new();
        sources(&place);
        let mut command = place.command(&["import", "responses", "chat.jsonl"]);
        assert!(!command.env("SAMITE_KILL_POINT", point).output().unwrap().status.success(), "{point}");
        let imported = place.json(&["import", "responses", "chat.jsonl"]).json();
        assert_eq!(counts(&imported), [3, 3, 0, 0], "{point}: {imported}");
        assert_attached(&place, &text(&imported, "/id"));
        let again = place.json(&["import", "responses", "chat.jsonl"]).json();
        assert_eq!(counts(&again), [3, 0, 3, 0], "{point}: {again}");
    }
}
