//! Workspaces, checkpoints, recovery, backups.

use crate::support::{Place, Redactor, text};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// A session with a workspace in `work` and a checkpoint of two files.
fn with_workspace(place: &Place) -> (String, u64) {
    let id = place.session();
    place.attach_work(&id);
    fs::write(place.path().join("work/a.txt"), "one\n").unwrap();
    fs::write(place.path().join("work/b.txt"), "two\n").unwrap();
    let seq = checkpoint(place, &id);
    (id, seq)
}

fn checkpoint(place: &Place, session: &str) -> u64 {
    let taken = place.json(&["checkpoint", session, "--no-environment"]).json();
    taken["seq"].as_u64().unwrap()
}

fn changes(value: &Value) -> Vec<(String, String)> {
    let list = value["changes"].as_array().unwrap();
    list.iter()
        .map(|change| (text(change, "/change"), text(change, "/path")))
        .filter(|(kind, _)| kind != "time")
        .collect()
}

#[test]
fn a_workspace_has_a_past() {
    let place = Place::new();
    let (id, first) = with_workspace(&place);
    fs::write(place.path().join("work/a.txt"), "one, changed\n").unwrap();
    fs::remove_file(place.path().join("work/b.txt")).unwrap();
    fs::write(place.path().join("work/c.txt"), "three\n").unwrap();
    let expected = [("content", "a.txt"), ("removed", "b.txt"), ("added", "c.txt")];
    let expected: Vec<(String, String)> =
        expected.iter().map(|(kind, path)| ((*kind).into(), (*path).into())).collect();
    let files = |value: &Value| -> Vec<(String, String)> {
        changes(value).into_iter().filter(|(_, path)| path.contains('.')).collect()
    };
    assert_eq!(files(&place.json(&["workspace", "status", &id]).json()), expected);
    checkpoint(&place, &id);
    assert_eq!(files(&place.json(&["diff", &format!("{id}@{first}"), &id]).json()), expected);
    assert_eq!(place.run(&["workspace", "cat", &format!("{id}@{first}"), "a.txt"]).ok(), "one\n");
    assert_eq!(place.run(&["workspace", "cat", &id, "./a.txt"]).ok(), "one, changed\n");
    let log = place.json(&["workspace", "log", &id, "b.txt"]).json();
    let versions: Vec<bool> =
        log["versions"].as_array().unwrap().iter().map(|version| version["exists"].as_bool().unwrap()).collect();
    assert_eq!(versions, [false, true], "removed last, made first");
    let error = place.json(&["workspace", "cat", &id, "../a.txt"]).error(2);
    assert_eq!(error["kind"], "invalid");
}

#[test]
fn a_file_that_cannot_be_printed_whole_is_no_success() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    fs::write(place.path().join("work/small"), "no line break").unwrap();
    fs::write(place.path().join("work/large"), "line\n".repeat(500_000)).unwrap();
    checkpoint(&place, &id);
    for name in ["small", "large"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = place.command(&["workspace", "cat", &id, name]).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(7), "{name}: {said}");
        assert!(said.contains("output_failed") && said.contains("No space left"), "{said}");
    }
    // Nobody reads it any more, which is no error.
    let mut cat = place.command(&["workspace", "cat", &id, "large"]);
    let mut child = cat.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(141), ""));
}

#[test]
fn a_rewind_puts_files_back_and_keeps_what_it_did_not_write() {
    let place = Place::new();
    let (id, first) = with_workspace(&place);
    fs::write(place.path().join("work/a.txt"), "changed\n").unwrap();
    fs::write(place.path().join("work/c.txt"), "new\n").unwrap();
    checkpoint(&place, &id);
    fs::write(place.path().join("work/mine.txt"), "not recorded\n").unwrap();
    let plan = place.json(&["rewind", &format!("{id}@{first}"), "--plan"]).json();
    assert!(plan["actions"].as_array().unwrap().iter().any(|action| action["path"] == "a.txt"), "{plan}");
    assert_eq!(place.read("work/a.txt").unwrap(), "changed\n", "a plan touches nothing");
    let report = place.json(&["rewind", &format!("{id}@{first}")]).json();
    assert_eq!(place.read("work/a.txt").unwrap(), "one\n");
    assert_eq!(place.read("work/c.txt"), None);
    assert_eq!(place.read("work/mine.txt").unwrap(), "not recorded\n");
    assert_eq!(text(&report, "/workspace/from/branch"), text(&report, "/previous"));
}

#[test]
fn what_a_deleted_branch_leaves_is_previewed_and_goes() {
    let place = Place::new();
    let (id, first) = with_workspace(&place);
    let fork = text(&place.json(&["fork", &format!("{id}@{first}"), "--into", "side"]).json(), "/id");
    let side = format!("{id}:{fork}");
    let lines: Vec<u8> =
        (0..200_000_u64).flat_map(|line| line.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()).collect();
    fs::write(place.path().join("side/large"), lines).unwrap();
    checkpoint(&place, &side);
    let nothing = place.json(&["gc", "--dry-run"]).json();
    assert_eq!((&nothing["plan"]["bytes"], nothing["plan"]["branches"].as_array().unwrap().len()), (&0.into(), 0));
    place.run(&["branch", "delete", &side, "--yes"]).ok();
    let said = place.run(&["gc", "--dry-run"]).ok();
    assert!(said.contains(&fork[..12]) && said.contains("deleted"), "{said}");
    let plan = place.json(&["gc", "--dry-run"]).json()["plan"].clone();
    let branch = &plan["branches"][0];
    assert_eq!((text(branch, "/branch"), &branch["deleted"], &branch["trees"]), (fork, &true.into(), &1.into()));
    assert!(plan["bytes"].as_u64().unwrap() > 500_000 && plan["bytes"] == branch["bytes"], "{plan}");
    let done = place.json(&["gc", "--yes"]).json();
    assert_eq!((&done["plan"], &done["collected"]["bytes"]), (&plan, &plan["bytes"]));
    assert_eq!(place.json(&["gc", "--dry-run"]).json()["plan"]["bytes"], 0);
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
}

#[test]
fn a_fork_gets_a_directory_of_its_own() {
    let place = Place::new();
    let (id, first) = with_workspace(&place);
    let at = format!("{id}@{first}");
    let fork = place.json(&["fork", &at, "--into", "other"]).json();
    assert_eq!(place.read("other/a.txt").unwrap(), "one\n");
    assert!(text(&fork, "/workspace/directory").ends_with("/other"));
    fs::write(place.path().join("other/a.txt"), "elsewhere\n").unwrap();
    assert_eq!(place.read("work/a.txt").unwrap(), "one\n");
    let branches = |place: &Place| place.json(&["branch", "list", &id]).json()["branches"].as_array().unwrap().len();
    assert_eq!(branches(&place), 2);
    assert_eq!(place.json(&["fork", &at, "--into", "other"]).error(4)["code"], "not_empty");
    assert_eq!(branches(&place), 2, "a fork that cannot work leaves no branch");
    let error = place.json(&["workspace", "attach", &format!("{id}:{}", text(&fork, "/id")), "work"]).error(4);
    assert_eq!(error["code"], "workspace_in_use");
}

#[test]
fn a_contained_step_that_was_cut_off_is_undone_by_recover() {
    let place = Place::new();
    let (id, _) = with_workspace(&place);
    let script = "echo half > a.txt; echo > ../started; sleep 60";
    let arguments =
        ["step", "run", &id, "--key", "k", "--effect", "contained", "--cwd", "work", "--", "sh", "-c", script];
    place.cut_off(&arguments, "started");
    assert_eq!(place.read("work/a.txt").unwrap(), "half\n");
    // Its supervisor takes a moment to end the command, and a plan ends nothing itself.
    let plan = || text(&place.json(&["recover", &id, "--plan"]).json(), "/steps/0/decision");
    let mut decision = plan();
    while decision == "busy" {
        decision = plan();
    }
    assert_eq!(decision, "put_back_and_run_again");
    assert_eq!(place.read("work/a.txt").unwrap(), "half\n", "a plan touches nothing");
    let recovered = place.json(&["recover", &id]).json();
    assert_eq!(recovered["clear"], true, "{recovered}");
    assert_eq!(place.read("work/a.txt").unwrap(), "one\n");
    assert_eq!(recovered.pointer("/steps/0/settlement/put_back").unwrap().to_string(), r#"["a.txt"]"#);
    let safety = recovered.pointer("/steps/0/settlement/safety/seq").and_then(Value::as_u64).unwrap();
    assert_eq!(place.run(&["workspace", "cat", &format!("{id}@{safety}"), "a.txt"]).ok(), "half\n");
    assert_eq!(place.json(&["recover", &id]).json()["steps"], Value::Array(Vec::new()));
}

#[test]
fn golden_pages_of_a_workspace() {
    let place = Place::new();
    let (id, first) = with_workspace(&place);
    fs::write(place.path().join("work/a.txt"), "changed\n").unwrap();
    fs::write(place.path().join("work/.env"), "TOKEN=x\n").unwrap();
    fs::write(place.path().join("work/progress.md"), "half-way there\n").unwrap();
    let mut redactor = Redactor::new(&place);
    let mut golden = String::new();
    let mut note = |arguments: &[&str]| {
        let out = place.run(arguments).ok();
        golden.push_str(&redactor.text(&format!("$ samite {}\n{out}\n", arguments.join(" "))));
    };
    note(&["workspace", "status", &id]);
    note(&["recover", &id]);
    note(&["rewind", &format!("{id}@{first}"), "--plan"]);
    note(&["workspace", "log", &id, "a.txt"]);
    note(&["gc", "--dry-run"]);
    insta::assert_snapshot!(golden);
}

#[test]
fn golden_json_of_a_recovery() {
    let place = Place::new();
    let (id, _) = with_workspace(&place);
    fs::write(place.path().join("work/a.txt"), "changed\n").unwrap();
    fs::write(place.path().join("work/plan.md"), "1. go on\n").unwrap();
    let recovered = place.json(&["recover", &id]).json();
    insta::assert_snapshot!(Redactor::new(&place).json(&recovered));
}

#[test]
fn a_backup_is_a_store() {
    let place = Place::new();
    let (id, first) = with_workspace(&place);
    place.run(&["backup", "copy"]).ok();
    place.say(&id, "after the backup");
    assert_eq!(place.json(&["--store", "copy", "verify"]).json()["ok"], true);
    let at = format!("{id}@{first}");
    assert_eq!(place.run(&["--store", "copy", "workspace", "cat", &at, "a.txt"]).ok(), "one\n");
    let head = |store: &[&str]| {
        let mut arguments = store.to_vec();
        arguments.extend(["session", "show", &id]);
        place.json(&arguments).json()["head"].as_u64().unwrap()
    };
    assert_eq!(head(&["--store", "copy"]) + 1, head(&[]));
    assert_eq!(place.json(&["backup", "copy"]).error(4)["code"], "not_empty");
}

#[test]
fn the_master_key_is_exported_under_a_passphrase() {
    let place = Place::new();
    place.session();
    let exported = place.run_with_input(&["key", "export", "key.samite"], b"correct horse\n");
    exported.ok();
    let bytes = fs::read(place.path().join("key.samite")).unwrap();
    assert!(bytes.len() > 64);
    let error = place.run_with_input(&["--json", "key", "export", "key.samite"], b"x\n").error(4);
    assert_eq!(error["code"], "file_exists");
    let error = place.run_with_input(&["--json", "key", "export", "other"], b"\n").error(2);
    assert_eq!(error["code"], "bad_passphrase");
}

#[test]
fn a_backup_opens_elsewhere_with_an_imported_key() {
    let place = Place::new();
    let id = place.session();
    place.run(&["backup", "copy"]).ok();
    place.run_with_input(&["key", "export", "key.samite"], b"correct horse\n").ok();
    let elsewhere = |arguments: &[&str], passphrase: &str| {
        let mut command = place.command(arguments);
        command.env("SAMITE_MASTER_FILE", place.path().join("elsewhere/master.key"));
        command.env("SAMITE_STORE", place.path().join("copy")).env("SAMITE_PASSPHRASE", passphrase);
        command.output().unwrap()
    };
    assert_eq!(elsewhere(&["session", "show", &id], "").status.code(), Some(6), "no key, no store");
    assert_eq!(elsewhere(&["key", "import", "key.samite"], "wrong").status.code(), Some(6));
    assert!(elsewhere(&["key", "import", "key.samite"], "correct horse").status.success());
    assert!(elsewhere(&["session", "show", &id], "").status.success());
}

#[test]
fn a_master_command_is_split_into_words_as_a_shell_splits_it() {
    let place = Place::new();
    let service = "cd \"$1\"; case $2 in create) head -c 32 /dev/urandom | base64 -w 0 > secret; echo 1 ;; get) cat secret ;; \
                   put-copy) cat > copy ;; get-copy) cat copy 2> /dev/null || exit 3 ;; esac";
    fs::create_dir(place.path().join("a service")).unwrap();
    fs::write(place.path().join("a service/run"), service).unwrap();
    let root = place.path().join("a service").display().to_string();
    let made = |command: &str| {
        let mut new = place.command(&["session", "new"]);
        new.env("SAMITE_MASTER_COMMAND", command).output().unwrap().status.code()
    };
    assert_eq!(made(&format!("sh '{root}/run' \"{root}\"")), Some(0));
    assert!(place.path().join("a service/secret").exists());
    assert_eq!(made(&format!("sh '{root}/run")), Some(2));
}

#[test]
fn golden_json_of_status() {
    let place = Place::new();
    let (id, first) = with_workspace(&place);
    place.json(&["rewind", &format!("{id}@{first}")]).json();
    let mut status = place.json(&["status"]).json();
    for name in ["database_bytes", "pack_bytes"] {
        assert!(status[name].is_u64());
        status[name] = Value::from("<BYTES>");
    }
    status["sessions"][0]["checkpoints"]["held_bytes"] = Value::from("<BYTES>");
    for branch in status["sessions"][0]["branches"].as_array_mut().unwrap() {
        for name in ["log_bytes", "tree_bytes"] {
            assert!(branch[name].is_u64());
            branch[name] = Value::from("<BYTES>");
        }
    }
    insta::assert_snapshot!(Redactor::new(&place).json(&status));
}

#[test]
fn a_transcript_is_imported_once() {
    let place = Place::new();
    let line = |uuid: &str, parent: &str, kind: &str, text: &str| {
        format!(
            "{{\"uuid\":\"{uuid}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\"type\":\"{kind}\",\
             \"message\":{{\"role\":\"{kind}\",\"content\":\"{text}\"}}}}\n"
        )
    };
    let transcript = [line("a", "null", "user", "hello"), "{torn\n".to_owned(), line("b", "\"a\"", "assistant", "hi")];
    fs::write(place.path().join("s.jsonl"), transcript.concat()).unwrap();
    let counts = |value: &Value| -> Vec<u64> {
        ["lines", "imported", "duplicates", "reported"].iter().map(|name| value[name].as_u64().unwrap()).collect()
    };
    let first = place.json(&["import", "claude-code", "s.jsonl"]).json();
    assert_eq!(counts(&first), [3, 2, 0, 1], "{first}");
    assert_eq!(first["transcripts"][0]["findings"][0]["line"], 2);
    let id = text(&first, "/id");
    assert_eq!(place.json(&["read", &id]).lines().len(), 3, "the torn line is kept");
    assert_eq!(counts(&place.json(&["import", "claude-code", "s.jsonl"]).json()), [3, 0, 2, 1]);
    assert_eq!(place.json(&["import", "claude-code", "none"]).error(3)["code"], "no_file");
}
