//! Mistakes that are refused with what to do instead, and what is said beside an answer.

use crate::support::{Place, hints, text};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

#[track_caller]
fn refused(place: &Place, arguments: &[&str], code: &str, hint: &str) {
    let error = place.json(arguments).error(2);
    assert_eq!(error["code"], code, "{arguments:?}: {error}");
    assert!(hints(&error).contains(hint), "{arguments:?}: {error}");
}

#[test]
fn an_empty_payload_is_refused_unless_an_event_means_it() {
    let place = Place::new();
    let id = place.session();
    fs::write(place.path().join("empty"), "").unwrap();
    refused(&place, &["append", &id], "empty_payload", "standard input");
    refused(&place, &["append", &id, "--text", ""], "empty_payload", "--kind event");
    refused(&place, &["append", &id, "--file", "empty", "--kind", "model_response"], "empty_payload", "event");
    refused(&place, &["append", &id, "--kind", "event"], "empty_payload", "standard input");
    place.json(&["append", &id, "--kind", "event", "--text", ""]).json();
    place.json(&["append", &id, "--kind", "event", "--file", "empty"]).json();
    assert_eq!(place.json(&["read", &id]).lines().len(), 2);
}

#[test]
fn a_compaction_names_a_range_that_is_there() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "one");
    place.say(&id, "two");
    let with = |attributes: &str| {
        let mut arguments = vec!["append", &id, "--kind", "compaction", "--text", "short"];
        if !attributes.is_empty() {
            arguments.extend_from_slice(&["--attributes", attributes]);
        }
        place.json(&arguments)
    };
    for attributes in
        ["", "{}", r#"{"from": 1}"#, r#"{"from": 0, "to": 1}"#, r#"{"from": 2, "to": 1}"#, r#"{"from": 1, "to": 3}"#]
    {
        let error = with(attributes).error(2);
        assert_eq!(error["code"], "bad_range", "{attributes}: {error}");
        assert!(hints(&error).contains("--attributes"), "{error}");
    }
    with(r#"{"from": 1, "to": 2}"#).json();
    let context = place.json(&["read", &id, "--context"]).lines();
    assert_eq!(context.iter().map(|entry| text(entry, "/payload")).collect::<Vec<_>>(), ["short"]);
}

#[test]
fn keeping_the_current_branch_says_that_it_is_kept_anyway() {
    let place = Place::new();
    let id = place.session();
    let branch = text(&place.json(&["session", "show", &id]).json(), "/branch");
    let named = format!("{id}:{branch}");
    assert!(place.run(&["branch", "keep", &named]).ok().contains("in any case"));
    let kept = place.json(&["branch", "keep", &named, "--days", "1"]).json();
    assert_eq!((&kept["current"], &kept["trees_until"]), (&Value::Bool(true), &Value::Null));
}

#[test]
fn a_backup_into_the_store_itself_is_refused() {
    let place = Place::new();
    place.session();
    std::os::unix::fs::symlink("store", place.path().join("link")).unwrap();
    for to in ["store", "store/backup", "store/tenants/../deep/er", "link/backup", "./store/./x"] {
        refused(&place, &["backup", to], "inside_store", "another disk");
    }
    assert!(!place.store().join("backup").exists());
    place.run(&["backup", "store-2"]).ok();
}

#[test]
fn a_workspace_never_holds_the_master_key_and_leaves_the_store_out() {
    let place = Place::new();
    let id = place.session();
    refused(&place, &["workspace", "attach", &id, "."], "holds_master", "SAMITE_MASTER_FILE");
    refused(&place, &["workspace", "attach", &id, "store"], "inside_store", "");
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    fs::rename(place.path().join("master.key"), place.path().join("elsewhere/master.key")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        let work = place.path().join("work");
        command.env("SAMITE_MASTER_FILE", place.path().join("elsewhere/master.key"));
        command.env("SAMITE_STORE", work.join("store")).output().unwrap()
    };
    fs::create_dir(place.path().join("work")).unwrap();
    fs::rename(place.store(), place.path().join("work/store")).unwrap();
    fs::write(place.path().join("work/file"), "x").unwrap();
    let attached = run(&["workspace", "attach", &id, "work"]);
    let said = String::from_utf8_lossy(&attached.stderr).into_owned();
    assert!(attached.status.success() && said.contains("left out"), "{said}");
    let taken = run(&["--json", "checkpoint", &id, "--no-environment"]);
    let taken: Value = serde_json::from_slice(&taken.stdout).unwrap();
    assert_eq!(taken["report"]["files"], 1, "{taken}");
}

#[test]
fn what_is_no_transcript_makes_no_session() {
    let place = Place::new();
    place.session();
    fs::create_dir(place.path().join("logs")).unwrap();
    for (name, words) in
        [("notes.jsonl", "# Notes\nplain words\n"), ("other.jsonl", "{\"a\": 1}\n[2]\n"), ("none.jsonl", "")]
    {
        fs::write(place.path().join("logs").join(name), words).unwrap();
        let path = format!("logs/{name}");
        refused(&place, &["import", "claude-code", &path], "not_a_transcript", ".claude/projects");
    }
    assert_eq!(place.json(&["import", "claude-code", "logs"]).error(3)["code"], "no_transcripts");
    assert_eq!(place.json(&["session", "list"]).json()["sessions"].as_array().unwrap().len(), 1);
    let record = r#"{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","message":{"content":"hi"}}"#;
    fs::write(place.path().join("logs/s.jsonl"), format!("torn\n{record}\ntorn\n")).unwrap();
    let imported = place.json(&["import", "claude-code", "logs"]).json();
    assert_eq!(imported["skipped"].as_array().unwrap().len(), 3, "{imported}");
    assert_eq!((&imported["lines"], &imported["reported"]), (&Value::from(3), &Value::from(2)));
}

#[test]
fn paths_that_are_no_text_are_taken_or_refused_in_words() {
    let place = Place::new();
    let odd = OsStr::from_bytes(b"odd-\xff");
    let run = |arguments: &[&OsStr]| {
        let mut command = place.command(&["--json"]);
        command.env_remove("SAMITE_STORE").args(arguments).output().unwrap()
    };
    let store = [OsStr::new("--store"), odd];
    let with = |rest: &[&OsStr]| run(&[&store, rest].concat());
    let made = with(&["session", "new"].map(OsStr::new));
    assert!(made.status.success(), "{made:?}");
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let id = text(&made, "/id");
    let backup = with(&[OsStr::new("backup"), OsStr::from_bytes(b"copy-\xfe")]);
    assert!(backup.status.success(), "{backup:?}");
    assert!(place.path().join(OsStr::from_bytes(b"copy-\xfe")).join("node.toml").exists());
    let work = OsStr::from_bytes(b"work-\xfd");
    fs::create_dir(place.path().join(work)).unwrap();
    let refused = with(&[OsStr::new("workspace"), OsStr::new("attach"), OsStr::new(&id), work]);
    assert_eq!(refused.status.code(), Some(2));
    let error: Value = serde_json::from_slice(&refused.stderr).unwrap();
    assert_eq!(error["code"], "bad_directory", "{error}");
}

#[test]
fn hints_name_the_option_that_helps() {
    let place = Place::new();
    let id = place.session();
    let pid = std::process::id().to_string();
    place.json(&["--writer", "w1", "--writer-pid", &pid, "append", &id, "--text", "x"]).json();
    let error = place.json(&["append", &id, "--text", "y"]).error(4);
    assert!(hints(&error).contains("--take-over") && hints(&error).contains("SAMITE_WRITER"), "{error}");
    place.json(&["--take-over", "append", &id, "--text", "y"]).json();
    let error = place.json(&["workspace", "cat", &id, "x"]).error(3);
    assert!(hints(&error).contains("samite checkpoint") && hints(&error).contains("workspace attach"), "{error}");
    fs::create_dir_all(place.path().join("work/src")).unwrap();
    place.run(&["workspace", "attach", &id, "work"]).ok();
    place.run(&["checkpoint", &id, "--no-environment"]).ok();
    let error = place.json(&["workspace", "cat", &id, "src"]).error(2);
    assert!(error["code"] == "not_a_file" && hints(&error).contains("fork"), "{error}");
    fs::write(place.path().join("raw.key"), [7; 32]).unwrap();
    let import = |from: &str, passphrase: &str| {
        place.run_with_input(&["--json", "key", "import", from], format!("{passphrase}\n").as_bytes())
    };
    assert!(hints(&import("raw.key", "correct horse").error(8)).contains("SAMITE_MASTER_FILE"));
    place.run_with_input(&["key", "export", "key.samite"], b"correct horse\n").ok();
    assert!(hints(&import("key.samite", "wrong horse battery").error(6)).contains("--passphrase-file"));
}

#[test]
fn entries_of_samite_are_a_line_each_and_reach_no_terminal_as_they_are() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    place.run(&["checkpoint", &id, "--no-environment", "--label", "before\u{202e}x"]).ok();
    place.run(&[
        "step",
        "run",
        &id,
        "--key",
        "list-1",
        "--tool",
        "sh\u{202e}",
        "--",
        "sh",
        "-c",
        "printf '\\033[2J'; exit 3",
    ]);
    let said = place.run(&["read", &id]).ok();
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(said.chars().all(|char| char == '\n' || !char.is_control()) && !said.contains('\u{202e}'), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains("tree ") && lines[0].contains("before\\u{202e}x"), "{said}");
    assert!(lines[1].contains("step_started  list-1 · sh\\u{202e} · opaque"), "{said}");
    assert!(lines[2].contains("step_failed  list-1 · failed · exit 3"), "{said}");
    assert!(place.run(&["read", &id, "--full", "--kind", "step_started"]).ok().contains("idempotency_key"));
}

#[test]
fn a_fork_says_how_long_trees_are_kept_where_there_may_be_trees() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "one");
    assert!(!place.run(&["fork", &id]).ok().contains("trees"));
    assert!(!place.run(&["rewind", &format!("{id}@1")]).ok().contains("trees"));
    place.attach_work(&id);
    assert!(place.run(&["fork", &id]).ok().contains("keeps its workspace trees until"));
}

#[test]
fn a_key_is_not_taken_for_the_beginning_of_another_steps_id() {
    let place = Place::new();
    let id = place.session();
    let lost = ["step", "run", &id, "--key", "lost", "--tool", "lost", "--", "sh", "-c", "kill -9 $PPID; sleep 60"];
    assert_eq!(place.json(&lost).error(7)["code"], "supervisor_lost");
    let steps = place.json(&["step", "list", &id]).json();
    let digit = text(&steps, "/steps/0/id")[..1].to_owned();
    place.run(&["step", "run", &id, "--key", &digit, "--tool", "done", "--", "true"]).ok();
    let error = place.json(&["step", "resolve", &id, &digit, "--did-not"]).error(3);
    assert_eq!(error["code"], "not_in_doubt", "{error}");
    // A variable that a script has not set names no step either.
    assert_eq!(place.json(&["step", "resolve", &id, "", "--did-not"]).error(2)["code"], "usage");
    let steps = place.json(&["step", "list", &id]).json();
    assert_eq!(text(&steps, "/steps/0/state"), "in_doubt", "{steps}");
    place.run(&["step", "resolve", &id, &text(&steps, "/steps/0/id")[..12], "--did-not"]).ok();
    assert_eq!(text(&place.json(&["step", "list", &id]).json(), "/steps/0/state"), "failed_retryable");
}

#[test]
fn a_group_of_commands_names_those_that_people_call() {
    let place = Place::new();
    for arguments in [&[][..], &["step"]] {
        let error = place.json(arguments).error(2);
        assert_eq!(error["code"], "usage");
        assert!(text(&error, "/message").contains("[subcommands: "), "{error}");
        assert!(!text(&error, "/message").contains("__"), "{error}");
    }
}

#[test]
fn tables_fit_eighty_columns() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "one");
    place.run(&["fork", &id, "--name", "beside"]).ok();
    place.run(&["rewind", &format!("{id}@1"), "--name", "again"]).ok();
    for arguments in [&["status"][..], &["branch", "list", &id], &["session", "list"], &["session", "tree", &id]] {
        let out = place.run(arguments).ok();
        for line in out.lines().filter(|line| !line.contains('/')) {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
        }
    }
}
