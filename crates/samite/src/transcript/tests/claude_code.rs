//! Transcripts of Claude Code.

use super::*;

fn record(kind: &str, uuid: &str, parent: Option<&str>, content: Value) -> Value {
    let role = if kind == "assistant" { "assistant" } else { "user" };
    json!({
        "parentUuid": parent, "isSidechain": false, "sessionId": "old", "version": "2.1.0", "cwd": "/work/project",
        "type": kind, "uuid": uuid, "timestamp": "t", "message": {"role": role, "content": content},
    })
}

fn use_of(id: &str, command: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}})
}

fn result_of(id: &str, text: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": text})
}

/// A call, then two calls at once, of which each has a record of its own.
fn transcript() -> Vec<Value> {
    vec![
        json!({"type": "file-history-snapshot", "messageId": "a", "snapshot": {}}),
        record("user", "a", None, json!("fix it")),
        record("assistant", "b", Some("a"), json!([use_of("u1", "ls")])),
        record("user", "c", Some("b"), json!([result_of("u1", "calc.py")])),
        record("assistant", "d", Some("c"), json!([{"type": "text", "text": "Fixed."}])),
        record("user", "e", Some("d"), json!("push it")),
        record("assistant", "f", Some("e"), json!([use_of("u2", "git push")])),
        record("assistant", "g", Some("f"), json!([use_of("u3", "git log")])),
        record("user", "h", Some("g"), json!([result_of("u3", "1234 fix")])),
        record("user", "i", Some("h"), json!([result_of("u2", "pushed")])),
        record("assistant", "j", Some("i"), json!([{"type": "text", "text": "Pushed."}])),
    ]
}

fn history() -> Vec<Happened> {
    let bash = |command: &str| json!({"command": command});
    vec![
        prompt("fix it"),
        called("u1", "Bash", bash("ls")),
        returned("u1", json!("calc.py")),
        ended("Fixed."),
        prompt("push it"),
        called("u2", "Bash", bash("git push")),
        called("u3", "Bash", bash("git log")),
        returned("u3", json!("1234 fix")),
        returned("u2", json!("pushed")),
        ended("Pushed."),
    ]
}

fn at(taken: usize) -> Written {
    write(Harness::ClaudeCode, Some(&file(&transcript())), &history()[..taken], &target())
}

/// The `uuid`s, with what was made as numbers. Each record is of the new session and follows one before it.
fn outline(written: &Written) -> Vec<String> {
    let mut seen = Vec::new();
    for record in read(written) {
        let Some(uuid) = record["uuid"].as_str() else { continue };
        assert_eq!(record["sessionId"], SESSION);
        match record["parentUuid"].as_str() {
            Some(parent) => assert!(seen.contains(&parent.to_owned()), "{record}"),
            None => assert!(seen.is_empty(), "{record}"),
        }
        seen.push(uuid.to_owned());
    }
    let start = &SESSION[..24];
    seen.iter()
        .map(|uuid| uuid.strip_prefix(start).map_or(uuid.clone(), |number| number.trim_start_matches('0').to_owned()))
        .collect()
}

#[test]
fn a_transcript_is_cut_where_the_branch_was_cut() {
    assert_eq!(outline(&at(1)), ["a"]);
    assert_eq!(outline(&at(3)), ["a", "b", "c"]);
    assert_eq!(outline(&at(4)), ["a", "b", "c", "d"]);
    assert_eq!(counts(&at(4)), (5, 6, 0, vec![]));
    assert_eq!(outline(&at(10)).len(), 10);
    assert_eq!(counts(&at(10)), (11, 0, 0, vec![]));
}

#[test]
fn a_call_that_was_cut_off_gets_a_result_in_the_chain() {
    let written = at(2);
    assert_eq!(counts(&written), (3, 8, 1, vec!["u1"]));
    let records = read(&written);
    let made = records.last().unwrap();
    assert_eq!(made["parentUuid"], "b");
    assert_eq!(made["version"], "2.1.0");
    assert_eq!(
        made["message"]["content"],
        json!([{"type": "tool_result", "tool_use_id": "u1", "content": UNKNOWN_END, "is_error": true}])
    );
}

#[test]
fn calls_at_once_are_kept_as_far_as_the_branch_has_them() {
    // The first ended later than the second: its end is not there yet.
    let written = at(8);
    assert_eq!(outline(&written)[4..7], ["e", "f", "g"]);
    assert_eq!(outline(&written)[7], "h");
    assert_eq!(counts(&written).3, ["u2"]);
    assert_eq!(read(&written).last().unwrap()["parentUuid"], "h");
    // The second was not begun: what follows it hangs off the first.
    let mut history = history();
    history.retain(
        |event| !matches!(event, Happened::Called { call, .. } | Happened::Returned { call, .. } if call == "u3"),
    );
    history.truncate(7);
    let mut lines = transcript();
    lines.remove(8);
    lines[8]["parentUuid"] = json!("g");
    let written = write(Harness::ClaudeCode, Some(&file(&lines)), &history, &target());
    assert_eq!(outline(&written)[4..], ["e", "f", "i"].map(str::to_owned)[..]);
}

#[test]
fn a_transcript_that_is_gone_is_made_from_the_branch() {
    let written = write(Harness::ClaudeCode, None, &history()[..6], &target());
    assert_eq!(outline(&written), ["", "1", "2", "3", "4", "5", "6"]);
    assert_eq!(counts(&written), (0, 0, 7, vec!["u2"]));
    let records = read(&written);
    assert_eq!(
        records[1]["message"]["content"][0],
        json!({"type": "tool_use", "id": "u1", "name": "Bash", "input": {"command": "ls"}})
    );
    assert_eq!(records[3]["message"]["content"], json!([{"type": "text", "text": "Fixed."}]));
}

#[test]
fn only_the_sessions_id_changes_in_what_is_kept() {
    let original = String::from_utf8(file(&transcript())).unwrap();
    let quoted = r#"a quote: \"sessionId\":\"old\""#;
    let original = original.replace("\"Fixed.\"", &format!("\"{quoted}\""));
    let mut history = history();
    history[3] = ended("a quote: \"sessionId\":\"old\"");
    let written = write(Harness::ClaudeCode, Some(original.as_bytes()), &history, &target());
    let expected = original.replace("\"sessionId\":\"old\"", &format!("\"sessionId\":\"{SESSION}\""));
    assert_eq!(String::from_utf8(written.bytes).unwrap(), expected);
}

#[test]
fn real_transcripts_keep_their_records_and_chains() {
    for name in ["fa812bfe-b295-4cca-9c2f-fdf01028cb46", "8463c716-a2ea-4c14-9efa-87158ebd9f20"] {
        let Some(original) = shared(&format!("claude-code/{name}.jsonl")) else { return };
        let happened = told(&original);
        let lines = original.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        let whole = write(Harness::ClaudeCode, Some(&original), &happened, &target());
        assert_eq!((whole.kept, whole.left_out, whole.made), (lines, 0, 0));
        let expected = String::from_utf8(original.clone()).unwrap().replace(name, SESSION);
        assert!(String::from_utf8(whole.bytes).unwrap().replace(name, SESSION) == expected);
        for taken in [1, happened.len() / 3, happened.len() / 2] {
            let written = write(Harness::ClaudeCode, Some(&original), &happened[..taken], &target());
            assert_eq!(written.kept + written.left_out, lines);
            assert_eq!(written.made, written.unknown.len());
            assert!(
                read(&written)
                    .iter()
                    .filter(|record| record.get("sessionId").is_some())
                    .all(|record| { record["sessionId"] == SESSION })
            );
        }
    }
}

/// What hooks would have told of a session, as its transcript has it: results follow their calls.
fn told(original: &[u8]) -> Vec<Happened> {
    let mut happened = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for line in original.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
        if record["isSidechain"] == true || record["isMeta"] == true || record["isCompactSummary"] == true {
            continue;
        }
        let content = &record["message"]["content"];
        if record["type"] == "user" && content.is_string() {
            happened.push(prompt(content.as_str().unwrap()));
        }
        for block in content.as_array().into_iter().flatten() {
            let id = block["id"].as_str().or(block["tool_use_id"].as_str()).unwrap_or_default();
            match block["type"].as_str() {
                Some("tool_use") if known.insert(id.to_owned()) => {
                    happened.push(called(id, "x", block["input"].clone()));
                }
                Some("tool_result") if known.contains(id) => happened.push(returned(id, block["content"].clone())),
                _ => {}
            }
        }
    }
    happened.push(Happened::Ended { said: None });
    happened
}

#[test]
fn a_call_whose_end_the_hooks_missed_keeps_its_result_once_the_model_went_on() {
    let lines = [
        record("user", "a", None, json!("fix it")),
        record("assistant", "b", Some("a"), json!([use_of("u1", "ls")])),
        record("user", "c", Some("b"), json!([result_of("u1", "calc.py")])),
        record("assistant", "d", Some("c"), json!([use_of("u2", "git log")])),
        record("user", "e", Some("d"), json!([result_of("u2", "1234 fix")])),
        record("assistant", "f", Some("e"), json!([use_of("u3", "git push")])),
    ];
    let bash = |command: &str| json!({"command": command});
    let history = [
        prompt("fix it"),
        called("u1", "Bash", bash("ls")),
        called("u2", "Bash", bash("git log")),
        returned("u2", json!("1234 fix")),
        called("u3", "Bash", bash("git push")),
    ];
    let at = |taken: usize| write(Harness::ClaudeCode, Some(&file(&lines)), &history[..taken], &target());
    // Each result stands right after its call: no model takes one that stands behind another call.
    assert_eq!(outline(&at(5)), ["a", "b", "c", "d", "e", "f", ""]);
    assert_eq!(counts(&at(5)).3, ["u3"]);
    assert_eq!(counts(&at(3)).3, ["u2"]);
    // As long as it did not, the branch does not have that it ended.
    assert_eq!(counts(&at(2)).3, ["u1"]);
}

#[test]
fn a_result_whose_line_was_torn_is_made_where_it_stood() {
    let of = |response: &str, mut record: Value| {
        record["message"]["id"] = json!(response);
        record
    };
    let lines = [
        record("user", "a", None, json!("fix it")),
        of("m1", record("assistant", "b", Some("a"), json!([use_of("u1", "ls")]))),
        of("m1", record("assistant", "c", Some("b"), json!([use_of("u2", "pwd")]))),
        record("user", "d", Some("c"), json!([result_of("u2", "/work")])),
        of("m2", record("assistant", "f", Some("d"), json!([use_of("u3", "git log")]))),
        record("user", "g", Some("f"), json!([result_of("u3", "1234 fix")])),
    ];
    let history = [
        prompt("fix it"),
        called("u1", "Bash", json!({"command": "ls"})),
        called("u2", "Bash", json!({"command": "pwd"})),
        returned("u2", json!("/work")),
        returned("u1", json!("calc.py")),
        called("u3", "Bash", json!({"command": "git log"})),
        returned("u3", json!("1234 fix")),
    ];
    let written = write(Harness::ClaudeCode, Some(&file(&lines)), &history, &target());
    assert_eq!(outline(&written), ["a", "b", "c", "d", "", "f", "g"]);
    let records = read(&written);
    assert_eq!((&records[4]["parentUuid"], &records[5]["parentUuid"]), (&json!("d"), &records[4]["uuid"]));
    assert_eq!(records[4]["message"]["content"][0]["content"], "calc.py");
    assert_eq!(counts(&written), (6, 0, 1, vec![]));
}
