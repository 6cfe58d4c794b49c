//! Transcripts from which agents go on, where the agent itself cannot be run: Claude Code's, read back by the importer.

use crate::support::{Place, text};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A session of Claude Code: a turn with a call, and a second one that was cut off in a call.
fn records() -> Vec<Value> {
    let record = |kind: &str, uuid: &str, parent: Option<&str>, content: Value| {
        let role = if kind == "assistant" { "assistant" } else { "user" };
        json!({
            "parentUuid": parent, "isSidechain": false, "sessionId": "s", "version": "2.1.0", "type": kind, "uuid": uuid,
            "timestamp": "2026-11-29T17:53:41.372Z", "message": {"role": role, "content": content},
        })
    };
    let call = |id: &str, command: &str| json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]);
    vec![
        record("user", "a", None, json!("fix it")),
        record("assistant", "b", Some("a"), call("u1", "ls")),
        record("user", "c", Some("b"), json!([{"type": "tool_result", "tool_use_id": "u1", "content": "calc.py"}])),
        record("assistant", "d", Some("c"), json!([{"type": "text", "text": "Fixed."}])),
        record("user", "e", Some("d"), json!("push it")),
        record("assistant", "f", Some("e"), call("u2", "git push")),
    ]
}

/// What its hooks told.
fn told() -> Vec<Value> {
    let call = |name: &str, id: &str, command: &str| {
        json!({
            "hook_event_name": name, "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id,
            "tool_response": {"stdout": "calc.py"},
        })
    };
    vec![
        json!({"hook_event_name": "SessionStart", "source": "startup"}),
        json!({"hook_event_name": "UserPromptSubmit", "prompt": "fix it"}),
        call("PreToolUse", "u1", "ls"),
        call("PostToolUse", "u1", "ls"),
        json!({"hook_event_name": "Stop", "last_assistant_message": "Fixed."}),
        json!({"hook_event_name": "UserPromptSubmit", "prompt": "push it"}),
        call("PreToolUse", "u2", "git push"),
    ]
}

#[test]
fn a_transcript_for_claude_code_is_read_back_to_the_same_conversation() {
    let place = Place::new();
    let project = place.path().join("projects/-project");
    let work = place.path().join("project");
    fs::create_dir_all(&project).unwrap();
    fs::create_dir_all(&work).unwrap();
    let own = project.join("s.jsonl");
    let lines: Vec<String> = records().iter().map(|record| format!("{record}\n")).collect();
    fs::write(&own, lines.concat()).unwrap();
    let mut session = String::new();
    for mut event in told() {
        let fields = event.as_object_mut().unwrap();
        fields.extend([("session_id".to_owned(), json!("s")), ("cwd".to_owned(), json!(work))]);
        fields.insert("transcript_path".to_owned(), json!(own));
        let did = place.run_with_input(&["--json", "hook", "claude-code"], event.to_string().as_bytes());
        session = text(&did.json(), "/id");
    }
    let head = place.json(&["session", "show", &session]).json()["head"].as_u64().unwrap();
    let forked = place.json(&["fork", &format!("{session}@{head}"), "--into", "second"]).json();
    let transcript = &forked["transcript"];
    let id = text(transcript, "/session");
    assert_eq!(transcript["command"], json!(["claude", "--resume", id]));
    assert_eq!(
        (&transcript["kept"], &transcript["made"], &transcript["unknown_calls"]),
        (&json!(6), &json!(1), &json!(["u2"]))
    );
    let path = text(transcript, "/path");
    let name: String = text(transcript, "/directory").replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    assert_eq!(path, place.path().join("projects").join(name).join(format!("{id}.jsonl")).display().to_string());

    let imported = place.json(&["import", "claude-code", &path]).json();
    let counts = ["lines", "imported", "duplicates", "reported"].map(|name| imported[name].as_u64().unwrap());
    assert_eq!(counts, [7, 7, 0, 0], "{imported}");
    let read = text(&imported, "/id");
    let entries = place.json(&["read", &read]).lines();
    let kinds: Vec<&str> =
        entries.iter().map(|entry| entry["kind"].as_str().unwrap()).filter(|kind| kind.starts_with("step")).collect();
    assert_eq!(kinds, ["step_started", "step_completed", "step_started", "step_failed"]);
    let tree = place.json(&["session", "tree", &read]).json();
    assert_eq!(tree["branches"].as_array().unwrap().len(), 1, "{tree}");

    // It is there: a second time nothing is written, and nothing changes.
    let before = fs::read(&path).unwrap();
    let at = format!("{session}:{}", text(&forked, "/id"));
    let again = place.json(&["session", "transcript", &at, "--write"]).json();
    assert_eq!((&again["written"], &again["exists"]), (&json!(false), &json!(true)));
    assert_eq!(fs::read(&path).unwrap(), before);
    // The transcript that the agent deleted comes back from what was kept: all up to the end of the last turn byte for byte.
    fs::remove_file(&own).unwrap();
    let back = place.json(&["session", "transcript", &session, "--write"]).json();
    assert_eq!((text(&back, "/session"), text(&back, "/path")), ("s".to_owned(), own.display().to_string()));
    assert_eq!(back["written"], true);
    let back = fs::read(&own).unwrap();
    assert!(back.starts_with(lines[..4].concat().as_bytes()), "{}", String::from_utf8_lossy(&back));
    let error = place.json(&["session", "transcript", &format!("{session}@2"), "--write"]).error(2);
    assert_eq!(error["code"], "not_at_head");
}

#[test]
fn a_session_that_no_agent_recorded_has_no_transcript() {
    let place = Place::new();
    let session = place.session();
    assert_eq!(place.json(&["session", "transcript", &session]).error(3)["code"], "no_harness");
    let forked = place.json(&["fork", &session]).json();
    assert!(forked.get("transcript").is_none(), "{forked}");
}

#[test]
fn a_transcript_that_is_no_file_or_holds_anything_at_all_harms_nothing() {
    let place = Place::new();
    fs::create_dir(place.path().join("folder")).unwrap();
    fs::write(place.path().join("noise"), [0xff, 0x00, b'\n', b'{', b'\n']).unwrap();
    for (number, path) in ["folder", "noise", "gone/away.jsonl"].into_iter().enumerate() {
        let mut session = String::new();
        for mut event in told() {
            let fields = event.as_object_mut().unwrap();
            fields.insert("session_id".to_owned(), json!(format!("s{number}")));
            fields.insert("transcript_path".to_owned(), json!(place.path().join(path)));
            let did = place.run_with_input(&["--json", "hook", "codex"], event.to_string().as_bytes());
            session = text(&did.json(), "/id");
        }
        let shown = place.json(&["session", "transcript", &session]).json();
        assert_eq!(shown["kept"], 0, "{path}: {shown}");
        let content = text(&shown, "/content");
        assert_eq!(content.lines().count(), 8, "{path}: {content}");
        assert!(content.contains("push it") && content.contains("Fixed."), "{path}");
    }
}

/// Tells what Claude Code's hooks told of a session whose transcript is a file. The session here.
fn tell(place: &Place, own: &Path, events: Vec<Value>) -> String {
    let mut session = String::new();
    for mut event in events {
        let fields = event.as_object_mut().unwrap();
        fields.extend([("session_id".to_owned(), json!("s")), ("transcript_path".to_owned(), json!(own))]);
        let did = place.run_with_input(&["--json", "hook", "claude-code"], event.to_string().as_bytes());
        session = text(&did.json(), "/id");
    }
    session
}

#[test]
fn what_was_kept_stands_in_for_a_transcript_that_lost_what_it_had() {
    let place = Place::new();
    let own = place.path().join("s.jsonl");
    let lines: Vec<String> = records()[..4].iter().map(|record| format!("{record}\n")).collect();
    let whole = lines.concat();
    fs::write(&own, &whole).unwrap();
    let session = tell(&place, &own, told()[..5].to_vec());
    let shown = || {
        let shown = place.json(&["session", "transcript", &session]).json();
        assert_eq!(text(&shown, "/content"), whole, "{shown}");
        assert_eq!((&shown["kept"], &shown["made"]), (&json!(4), &json!(0)));
    };
    shown();
    // Emptied, cut within a record, with something else in it, and gone.
    for content in ["", &whole[..whole.len() / 2], "{}\n"] {
        fs::write(&own, content).unwrap();
        shown();
    }
    fs::remove_file(&own).unwrap();
    shown();
    // A shorter one that has everything is as the agent wrote it.
    let short = whole.replace("\"isSidechain\":false,", "");
    assert!(short.len() < whole.len());
    fs::write(&own, &short).unwrap();
    assert_eq!(text(&place.json(&["session", "transcript", &session]).json(), "/content"), short);
}

#[test]
fn a_transcript_that_becomes_again_what_it_was_is_kept_as_it_is_now() {
    let place = Place::new();
    let own = place.path().join("s.jsonl");
    let lines: Vec<String> = records()[..4].iter().map(|record| format!("{record}\n")).collect();
    let first = lines.concat();
    let other = first.replace("Fixed.", "Something else.");
    let mut session = String::new();
    for (turn, content) in [&first, &other, &first].into_iter().enumerate() {
        fs::write(&own, content).unwrap();
        let mut events = if turn == 0 { told()[..4].to_vec() } else { Vec::new() };
        events
            .push(json!({"hook_event_name": "Stop", "last_assistant_message": "Fixed.", "turn_id": format!("{turn}")}));
        session = tell(&place, &own, events);
    }
    fs::remove_file(&own).unwrap();
    let shown = place.json(&["session", "transcript", &session]).json();
    let content = text(&shown, "/content");
    assert!(content.starts_with(&first), "{content}");
    assert_eq!(shown["kept"], json!(4), "{shown}");
}

/// The entries of a session that hold parts of its transcript: where, and their bytes.
fn parts(place: &Place, session: &str) -> Vec<(u64, String)> {
    let entries = place.json(&["read", session]).lines();
    let part = |entry: &Value| entry.pointer("/attributes/transcript_part").is_some();
    let found = entries.into_iter().filter(part);
    // A part of one line is told as the value that it is.
    let body = |entry: &Value| match &entry["payload"] {
        Value::String(lines) => lines.clone(),
        line => format!("{line}\n"),
    };
    found.map(|entry| (entry["seq"].as_u64().unwrap(), body(&entry))).collect()
}

fn stop(turn: &str) -> Vec<Value> {
    vec![json!({"hook_event_name": "Stop", "last_assistant_message": "Fixed.", "turn_id": turn})]
}

#[test]
fn what_was_erased_of_a_transcript_is_not_read_from_it_again() {
    let place = Place::new();
    let own = place.path().join("s.jsonl");
    let lines: Vec<String> = records().iter().map(|record| format!("{record}\n")).collect();
    let first = lines[..4].concat().replace("Fixed.", "Fixed with hunter-of-tides.");
    fs::write(&own, &first).unwrap();
    let session = tell(&place, &own, told()[..5].to_vec());
    let kept = parts(&place, &session);
    assert_eq!(kept.iter().map(|(_, body)| body.as_str()).collect::<Vec<_>>(), [first.as_str()]);
    let seq = kept[0].0;
    place.run(&["erase", "--entries", &format!("{session}@{seq}..{seq}"), "--reason", "asked for", "--yes"]).ok();
    assert_eq!(parts(&place, &session), []);
    // The harness has it still, and goes on.
    let second = format!("{first}{}", lines[4]);
    fs::write(&own, &second).unwrap();
    tell(&place, &own, stop("2"));
    let bodies = || parts(&place, &session).into_iter().map(|(_, body)| body).collect::<Vec<_>>();
    assert_eq!(bodies(), [lines[4].as_str()]);
    // It takes back its last line and says another: what is before that is looked at again.
    let third = format!("{first}{}", lines[4].replace("push it", "push it gently"));
    fs::write(&own, &third).unwrap();
    tell(&place, &own, stop("3"));
    assert_eq!(bodies(), [lines[4].clone(), lines[4].replace("push it", "push it gently")]);
    let swept = place.run_with_input(&["--json", "erase", "sweep", "--canaries", "-"], b"hunter-of-tides\n");
    assert!(swept.out.contains("\"as_expected\":true"), "{swept:?}");
    place.run(&["verify", "--rebuild"]).ok();
    place.run(&["verify"]).ok();
    fs::write(&own, format!("{third}{}", lines[5])).unwrap();
    tell(&place, &own, stop("4"));
    assert_eq!(bodies().len(), 3);
}

#[test]
fn a_line_that_is_half_written_when_a_turn_ends_is_kept_whole() {
    let place = Place::new();
    place.run(&["capture", "set", "decisions"]).ok();
    let own = place.path().join("s.jsonl");
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let mut thought = records()[3].clone();
    thought["message"]["content"] = json!([
        {"type": "thinking", "thinking": "I weigh whether to tell of the lighthouse"},
        {"type": "text", "text": format!("use {token} now")},
    ]);
    let lines: Vec<String> = records()[..3].iter().chain([&thought]).map(|record| format!("{record}\n")).collect();
    let whole = lines.concat();
    let mut session = String::new();
    for (turn, cut) in ["weigh", "292c"].into_iter().map(|word| whole.find(word).unwrap()).enumerate() {
        fs::write(&own, &whole[..cut]).unwrap();
        let events = if turn == 0 { told()[..5].to_vec() } else { stop("2") };
        session = tell(&place, &own, events);
    }
    fs::write(&own, &whole).unwrap();
    tell(&place, &own, stop("3"));
    let bodies: Vec<String> = parts(&place, &session).into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    assert_eq!(bodies[0], lines[..3].concat());
    for left in ["lighthouse", "ghp_", "16C7e42F", "178B4a"] {
        assert!(!bodies.concat().contains(left), "{left}: {bodies:?}");
    }
    assert!(bodies[1].contains("use "), "{bodies:?}");
}
