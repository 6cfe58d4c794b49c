//! Sessions, entries, branches.

use crate::support::{Place, Redactor, text};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn golden_json_of_a_session_with_branches() {
    let place = Place::new();
    let mut redactor = Redactor::new(&place);
    let mut golden = String::new();
    let mut note = |what: &str, value: &Value| {
        golden.push_str(&format!("--- {what}\n{}\n", redactor.json(value)));
    };
    let made = place.json(&["session", "new", "--name", "golden"]).json();
    note("session new", &made);
    let id = text(&made, "/id");
    note("append", &place.json(&["append", &id, "--text", "hello", "--dedupe", "m1"]).json());
    note("append, again", &place.json(&["append", &id, "--text", "hello", "--dedupe", "m1"]).json());
    place.json(&["append", &id, "--kind", "event", "--json-value", "{\"n\": 1.50}"]).json();
    note("fork", &place.json(&["fork", &format!("{id}@1"), "--name", "other"]).json());
    note("rewind", &place.json(&["rewind", &format!("{id}@1")]).json());
    place.say(&id, "second try");
    note("session show", &place.json(&["session", "show", &id]).json());
    note("session list", &place.json(&["session", "list"]).json());
    note("session tree", &place.json(&["session", "tree", &id]).json());
    note("branch list", &place.json(&["branch", "list", &id]).json());
    let entries = place.json(&["read", &id]).lines();
    note("read", &Value::from(entries));
    insta::assert_snapshot!(golden);
}

#[test]
fn golden_pages_of_a_session_with_branches() {
    let place = Place::new();
    let id = place.session();
    for words in ["one", "two", "three \u{1b}[31mred\u{1b}[0m"] {
        place.say(&id, words);
    }
    let mut redactor = Redactor::new(&place);
    let mut golden = String::new();
    let mut note = |arguments: &[&str]| {
        let out = place.run(arguments).ok();
        golden.push_str(&redactor.text(&format!("$ samite {}\n{out}\n", arguments.join(" "))));
    };
    note(&["fork", &format!("{id}@2"), "--name", "beside"]);
    note(&["rewind", &format!("{id}@1")]);
    note(&["append", &id, "--text", "again"]);
    note(&["read", &id]);
    note(&["session", "list"]);
    note(&["session", "show", &id]);
    note(&["session", "tree", &id]);
    note(&["branch", "list", &id]);
    insta::assert_snapshot!(golden);
}

#[test]
fn payloads_come_back_as_they_were() {
    let place = Place::new();
    let id = place.session();
    let json = "{\"big\": 12345678901234567890, \"same\": 1, \"same\": 2,\n \"n\": 1.50}";
    place.run_with_input(&["append", &id], json.as_bytes()).ok();
    place.run_with_input(&["append", &id], &[0xff, 0x00, 0x0a]).ok();
    place.run_with_input(&["append", &id], "plain\nwords".as_bytes()).ok();
    let out = place.json(&["read", &id]).ok();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert!(
        lines[0]
            .contains(r#""encoding":"json","payload":{"big": 12345678901234567890, "same": 1, "same": 2,  "n": 1.50}"#)
    );
    assert!(lines[1].contains(r#""encoding":"base64","payload":"/wAK""#));
    assert!(lines[2].contains(r#""encoding":"text","payload":"plain\nwords""#));
}

#[test]
fn reading_has_ranges_kinds_and_directions() {
    let place = Place::new();
    let id = place.session();
    for number in 1..=6 {
        let kind = if number % 2 == 0 { "event" } else { "message" };
        place.json(&["append", &id, "--kind", kind, "--text", &number.to_string()]).json();
    }
    let seqs = |arguments: &[&str]| -> Vec<u64> {
        place.json(arguments).lines().iter().map(|entry| entry["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(seqs(&["read", &id]), [1, 2, 3, 4, 5, 6]);
    assert_eq!(seqs(&["read", &format!("{id}@4"), "--from", "2"]), [2, 3, 4]);
    assert_eq!(seqs(&["read", &id, "--backward", "--limit", "2"]), [6, 5]);
    assert_eq!(seqs(&["read", &id, "--kind", "event"]), [2, 4, 6]);
    assert_eq!(seqs(&["read", &format!("{id}@0")]), [0; 0]);
}

#[test]
fn following_shows_what_another_process_appends() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "first");
    let mut child =
        place.command(&["--json", "read", &id, "--follow", "--limit", "3"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || {
        let line = lines.next().unwrap().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["payload"].as_str().unwrap().to_owned()
    };
    assert_eq!(next(), "first");
    place.say(&id, "second");
    assert_eq!(next(), "second");
    place.say(&id, "third");
    assert_eq!(next(), "third");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_writer_keeps_its_branch_from_others() {
    let place = Place::new();
    let id = place.session();
    // A writer that lives as long as this test.
    let pid = std::process::id().to_string();
    let mine = ["--writer", "w1", "--writer-pid", &pid];
    let append = |extra: &[&str]| {
        let mut arguments = vec!["append", &id, "--text", "x"];
        arguments.extend_from_slice(extra);
        place.json(&arguments)
    };
    append(&mine).json();
    append(&mine).json();
    let error = append(&[]).error(4);
    assert_eq!(error["code"], "lease_held");
    let error = append(&["--writer", "w2"]).error(4);
    assert_eq!(error["code"], "lease_held");
    append(&["--writer", "w2", "--take-over"]).json();
    assert_eq!(append(&mine).error(4)["code"], "lease_held", "the first one has lost the branch");
}

#[test]
fn a_branch_that_was_left_can_be_used_again_and_deleted() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "one");
    place.say(&id, "two");
    let rewound = place.json(&["rewind", &format!("{id}@1")]).json();
    let (new, old) = (text(&rewound, "/id"), text(&rewound, "/previous"));
    place.say(&id, "other two");
    let payloads = |reference: &str| -> Vec<String> {
        place.json(&["read", reference]).lines().iter().map(|entry| text(entry, "/payload")).collect()
    };
    assert_eq!(payloads(&id), ["one", "other two"]);
    assert_eq!(payloads(&format!("{id}:{}", &old[..8])), ["one", "two"]);
    place.run(&["branch", "use", &format!("{id}:{old}")]).ok();
    assert_eq!(payloads(&id), ["one", "two"]);
    assert_eq!(place.json(&["branch", "delete", &format!("{id}:{old}")]).error(4)["code"], "branch_current");
    place.run(&["branch", "keep", &format!("{id}:{new}"), "--days", "3"]).ok();
    let target = format!("{id}:{new}");
    let plan = place.json(&["branch", "delete", &target, "--dry-run"]).json();
    assert_eq!((plan["entries"].as_u64(), plan["trees"].as_u64(), &plan["dry_run"]), (Some(1), Some(0), &true.into()));
    // Nobody can be asked here.
    let error = place.json(&["branch", "delete", &target]).error(2);
    assert_eq!(error["code"], "not_confirmed");
    assert!(text(&error, "/message").contains("1 entry"), "{error}");
    assert_eq!(payloads(&target), ["one", "other two"], "nothing was touched");
    let deleted = place.json(&["branch", "delete", &target, "--yes"]).json();
    assert_eq!((&deleted["dry_run"], deleted["entries"].as_u64()), (&false.into(), Some(1)));
    assert_eq!(payloads(&id), ["one", "two"]);
}

#[test]
fn an_output_that_nobody_reads_is_no_error() {
    let place = Place::new();
    let id = place.session();
    for _ in 0..3 {
        place.say(&id, &"x".repeat(100_000));
    }
    let mut child =
        place.command(&["--json", "read", &id]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
