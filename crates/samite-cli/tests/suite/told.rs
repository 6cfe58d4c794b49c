//! What a person is told: the log of what was imported or thinned out, what `status` claims, and what help and errors say.

use crate::support::{Did, Place, hints, text};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The field of every one of a list, as text.
fn each(list: &Value, field: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|one| one[field].as_str().unwrap_or("-").to_owned()).collect()
}

/// A session with its one attached directory, which has a file.
fn at_work(place: &Place) -> String {
    let id = place.session();
    place.attach_work(&id);
    fs::write(place.path().join("work/a.txt"), "one\n").unwrap();
    id
}

// ---- artifacts from standard input ----

#[test]
fn what_is_piped_or_redirected_is_published_wherever_temporary_files_are() {
    let place = Place::new();
    let id = at_work(&place);
    // More than a small file, and no repetition that would hide an order.
    let bytes: Vec<u8> = (0..700_000_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(place.path().join("bytes"), &bytes).unwrap();
    let beside_the_build = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let mut directories = vec![place.path().to_owned(), beside_the_build, std::env::temp_dir()];
    directories.extend(Some(PathBuf::from("/dev/shm")).filter(|memory| memory.is_dir()));
    for (count, directory) in directories.iter().enumerate() {
        for redirected in [true, false] {
            let name = format!("from {count} {redirected}.bin");
            let mut put = place.command(&["--json", "artifact", "put", &id, "-", "--name", &name]);
            put.env("TMPDIR", directory).stdout(Stdio::piped()).stderr(Stdio::piped());
            let did = if redirected {
                Did::new(&put.stdin(fs::File::open(place.path().join("bytes")).unwrap()).output().unwrap())
            } else {
                let mut child = put.stdin(Stdio::piped()).spawn().unwrap();
                child.stdin.take().unwrap().write_all(&bytes).unwrap();
                Did::new(&child.wait_with_output().unwrap())
            };
            let put = did.json();
            assert_eq!((&put["name"], &put["bytes"]), (&json!(name), &json!(bytes.len())), "{put}");
            let got = format!("got{count}{redirected}");
            place.run(&["artifact", "get", &text(&put, "/id"), &got]).ok();
            assert!(fs::read(place.path().join(got)).unwrap() == bytes, "{name} in {}", directory.display());
        }
    }
    // None of them has a source that anybody could look for, and the same bytes again are no new version.
    let again = place.run_with_input(&["--json", "artifact", "put", &id, "-", "--name", "from 0 true.bin"], &bytes);
    assert_eq!(again.json()["duplicate"], true);
    let empty = place.run_with_input(&["--json", "artifact", "put", &id, "-", "--name", "empty"], b"");
    assert_eq!(empty.json()["bytes"], 0);
}

// ---- the log of imported sessions ----

const CLAUDE_CODE: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"fix \u001b[31madd()\nand more"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-02T03:04:06Z","message":{"id":"m","content":[{"type":"text","text":"I look\u202e."}]}}
{"type":"assistant","uuid":"u3","parentUuid":"u2","sessionId":"s","timestamp":"2026-01-02T03:04:07Z","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"content":"LONG","file_path":"/w/calc.py"}},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"make \u0007test"}}]}}
{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"s","timestamp":"2026-01-02T03:04:08Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"},{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no"}]}}
{"type":"user","uuid":"u5","parentUuid":"u4","isMeta":true,"sessionId":"s","timestamp":"2026-01-02T03:04:09Z","message":{"role":"user","content":"a notice"}}
{"type":"user","uuid":"u6","parentUuid":"u5","sessionId":"s","timestamp":"2026-01-03T00:00:00Z","message":{"role":"user","content":"go on"}}
{"type":"assistant","uuid":"u7","parentUuid":"u6","sessionId":"s","timestamp":"2026-01-03T00:00:01Z","message":{"id":"n","content":[{"type":"text","text":"done"}]}}
"#;

#[test]
fn a_log_of_an_imported_session_says_what_was_said_and_done_and_when() {
    let place = Place::new();
    // Longer than what a step has of its input.
    let transcript = CLAUDE_CODE.replace("LONG", &"x".repeat(5_000));
    fs::write(place.path().join("s.jsonl"), &transcript).unwrap();
    let id = text(&place.json(&["import", "claude-code", "s.jsonl"]).json(), "/id");
    let log = place.json(&["log", &id]).json();
    assert_eq!(log["imported_from"], "claude-code");
    let turns = log["turns"].as_array().unwrap();
    let times: Vec<&Value> = turns.iter().map(|turn| &turn["time"]).collect();
    assert_eq!(times, ["2026-01-02T03:04:05.000000000Z", "2026-01-03T00:00:00.000000000Z"]);
    assert_eq!(each(&turns[0]["said"], "role"), ["user", "assistant", "harness"]);
    assert_eq!(each(&turns[0]["said"], "line"), ["fix \u{1b}[31madd()", "I look\u{202e}.", "a notice"]);
    assert_eq!(turns[0]["said"][1]["time"], "2026-01-02T03:04:06.000000000Z");
    assert_eq!(each(&turns[0]["steps"], "tool"), ["Write", "Bash"]);
    assert_eq!(each(&turns[0]["steps"], "what"), ["/w/calc.py", "make \u{7}test"]);
    assert_eq!(each(&turns[0]["steps"], "state"), ["completed", "failed"]);
    assert_eq!(each(&turns[1]["said"], "line"), ["go on", "done"]);
    let shown = place.run(&["log", &id]).ok();
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "a terminal would act on it: {shown}");
    assert!(shown.contains("fix \\u{1b}[31madd()") && shown.contains("make \\u{7}test"), "{shown}");
    for raw in ["parentUuid", "in_entry", "not ended"] {
        assert!(!shown.contains(raw), "{raw} in {shown}");
    }
    assert!(shown.contains("turn 1") && shown.contains("2026-01-02 03:04:05"), "{shown}");
    let last = place.run(&["log", &id, "--turns", "1"]).ok();
    assert!(last.contains("go on") && !last.contains("I look") && last.contains("1 earlier turn"), "{last}");
    // What a person adds to it later is theirs, as it stands.
    place.run(&["append", &id, "--text", "{\"my\": \"note\"}"]).ok();
    let log = place.json(&["log", &id]).json();
    assert_eq!(log["turns"][1]["said"][2]["line"], "{\"my\": \"note\"}");
}

#[test]
fn each_format_is_told_in_words() {
    let place = Place::new();
    let expected = [
        ("codex", "go", "exec_command"),
        ("gemini-cli", "go", "shell"),
        ("swe-agent", "go", "ls"),
        ("responses", "[image]", "look"),
        ("openhands", "Add 2 and 3.", "add"),
        ("langgraph", "add 2 and 3", "push"),
    ];
    for ((format, source), (name, words, tool)) in crate::imports::sources(&place).into_iter().zip(expected) {
        assert_eq!(format, name);
        let imported = place.json(&["import", format, &source]).json();
        let mut all = Vec::new();
        for id in each(&imported["transcripts"], "session") {
            for branch in place.json(&["branch", "list", &id]).json()["branches"].as_array().unwrap() {
                let log = place.json(&["log", &format!("{id}:{}", text(branch, "/id"))]).json();
                assert_eq!(log["imported_from"], format);
                all.extend(log["turns"].as_array().unwrap().iter().cloned());
            }
        }
        let said: Vec<&Value> = all.iter().flat_map(|turn| turn["said"].as_array().unwrap()).collect();
        let of_person = |said: &&&Value| said["role"] == "user";
        let prompt = said.iter().find(of_person).map(|said| text(said, "/line")).unwrap_or_default();
        assert!(prompt.to_lowercase().contains(&words.to_lowercase()), "{format}: {said:?}");
        assert!(said.iter().all(|said| !text(said, "/line").contains("\":")), "{format}: {said:?}");
        let steps: Vec<String> = all.iter().flat_map(|turn| each(&turn["steps"], "tool")).collect();
        assert!(steps.iter().any(|step| step == tool), "{format}: {steps:?}");
        let what: Vec<String> = all.iter().flat_map(|turn| each(&turn["steps"], "what")).collect();
        assert!(what.iter().all(|what| !what.contains("in_entry")), "{format}: {what:?}");
    }
}

#[test]
fn real_transcripts_are_told_in_words() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let data = std::env::var_os("SAMITE_SHARED").map_or(beside, PathBuf::from).join("data");
    if !data.is_dir() {
        eprintln!("SKIPPED: no transcripts in {}", data.display());
        return;
    }
    let place = Place::new();
    for (format, source) in
        [("claude-code", "claude-code"), ("codex", "codex"), ("gemini-cli", "gemini"), ("swe-agent", "swe-agent")]
    {
        place.run(&["import", format, &data.join(source).to_string_lossy()]).ok();
    }
    let sessions = place.json(&["session", "list"]).json();
    let mut prompts = std::collections::BTreeMap::new();
    for session in sessions["sessions"].as_array().unwrap() {
        let log = place.json(&["log", &text(session, "/id"), "--turns", "1000"]).json();
        let format = text(&log, "/imported_from");
        for turn in log["turns"].as_array().unwrap() {
            for said in turn["said"].as_array().unwrap() {
                let line = text(said, "/line");
                assert!(!line.starts_with('{') && said["role"].is_string(), "{format}: {said}");
                if said["role"] == "user" && session["parent"].is_null() {
                    prompts.entry(format.clone()).or_insert_with(Vec::new).push(line);
                }
            }
            for step in turn["steps"].as_array().unwrap() {
                assert!(!text(step, "/what").contains("in_entry"), "{format}: {step}");
            }
            let time = turn["time"].as_str().unwrap_or_default();
            assert_eq!(time.is_empty(), format == "swe-agent", "{format}: {turn}");
        }
    }
    // The persons' own prompts, and not one result of a tool.
    let count: Vec<(&str, usize)> = prompts.iter().map(|(format, lines)| (format.as_str(), lines.len())).collect();
    assert_eq!(count, [("claude-code", 5), ("codex", 2), ("gemini-cli", 1), ("swe-agent", 11)], "{prompts:#?}");
    let claude = &prompts["claude-code"];
    assert!(
        claude[0].starts_with("Work on bead spotter-dov.") && claude.contains(&"continue".to_owned()),
        "{claude:?}"
    );
    assert_eq!(prompts["gemini-cli"], ["update the notes"]);
}

// ---- checkpoints that are gone ----

#[test]
fn a_log_does_not_offer_trees_that_were_thinned_out() {
    let place = Place::new();
    let id = at_work(&place);
    for words in ["one\n", "two\n", "three\n"] {
        fs::write(place.path().join("work/a.txt"), words).unwrap();
        place.run(&["checkpoint", &id]).ok();
    }
    let trees = |place: &Place| -> Vec<Value> {
        let log = place.json(&["log", &id]).json();
        let turns = log["turns"].as_array().unwrap().clone();
        turns.into_iter().flat_map(|turn| turn["checkpoints"].as_array().unwrap().clone()).collect()
    };
    let stands = |trees: &[Value]| -> Vec<(bool, bool)> {
        trees.iter().map(|tree| (tree["thinned"].as_bool().unwrap(), tree["there"].as_bool().unwrap())).collect()
    };
    assert_eq!(stands(&trees(&place)), [(false, true); 3]);
    assert_eq!(place.run(&["log", &id]).ok().matches('●').count(), 3);
    place.run(&["checkpoint", "thin", &id, "--all-for", "0s", "--hourly-for", "0s", "--yes"]).ok();
    let thinned = stands(&trees(&place));
    assert!(thinned.contains(&(true, true)), "{thinned:?}");
    place.run(&["gc", "--yes"]).ok();
    let after = trees(&place);
    let shown = place.run(&["log", &id]).ok();
    assert!(stands(&after).contains(&(true, false)), "{after:?}");
    for tree in &after {
        let at = tree["rewind_to"].as_u64().unwrap();
        let possible = place.run(&["rewind", &format!("{id}@{at}"), "--plan"]).status == 0;
        let (offered, gone) = (shown.contains(&format!("● {at} ")), shown.contains(&format!("○ {at} ")));
        let says = shown.lines().any(|line| line.contains(&format!("○ {at} ")) && line.contains("thinned out"));
        assert_eq!((offered, gone, says), (possible, !possible, !possible), "{at}: {shown}");
        assert_eq!(tree["there"], possible, "{tree}");
    }
}

#[test]
fn a_turn_of_nothing_but_a_checkpoint_has_a_date_and_is_not_said_to_go_on() {
    let place = Place::new();
    let id = at_work(&place);
    place.run(&["checkpoint", &id]).ok();
    let log = place.json(&["log", &id]).json();
    assert!(log["turns"][0]["time"].as_str().is_some_and(|time| time.starts_with("20")), "{log}");
    let shown = place.run(&["log", &id]).ok();
    let head = shown.lines().find(|line| line.contains("turn 1")).unwrap();
    assert!(head.contains("turn 1") && head.contains(" 20") && !head.contains("not ended"), "{head}");
    place.say(&id, "words");
    let shown = place.run(&["log", &id]).ok();
    assert!(shown.lines().any(|line| line.contains("turn 1") && line.contains(" · not ended")), "{shown}");
    // Published, and nothing else.
    let other = place.session();
    fs::write(place.path().join("b.txt"), "b").unwrap();
    place.run(&["artifact", "put", &other, "b.txt"]).ok();
    assert!(place.json(&["log", &other]).json()["turns"][0]["time"].is_string());
}

// ---- what status claims ----

#[test]
fn a_closed_workspace_was_durable_then_and_nothing_is_claimed_of_now() {
    let place = Place::new();
    let id = at_work(&place);
    let closed = place.run(&["workspace", "close", &id]).ok();
    assert!(closed.contains("safe to delete") && closed.contains("stop what writes there first"), "{closed}");
    fs::write(place.path().join("work/important.txt"), "later\n").unwrap();
    let status = place.run(&["status"]).ok();
    let line = status.lines().find(|line| line.contains("workspace closed")).unwrap();
    assert!(line.contains(&id[..12]) && line.contains("(20"), "whose and when: {line}");
    assert!(status.contains("all in it was durable then") && !status.contains("everything in it durable"), "{status}");
    let told = &place.json(&["status"]).json()["sessions"][0]["branches"][0]["closed"];
    assert!(told["time"].as_str().is_some_and(|time| time.starts_with("20")) && told["seq"].is_u64(), "{told}");
    let here = place.run(&["workspace", "status", &id]).ok();
    assert!(here.contains("durable then") && here.contains("important.txt"), "{here}");
}

#[test]
fn status_names_the_sessions_whose_steps_have_no_outcome() {
    let place = Place::new();
    let ids: Vec<String> = (0..5).map(|_| place.session()).collect();
    for id in &ids {
        let script = format!("echo effect > {id}; sleep 60");
        place.cut_off(&["step", "run", id, "--key", "k", "--", "sh", "-c", &script], id);
    }
    let status = place.run(&["status"]).ok();
    let line = status.lines().find(|line| line.contains("without an outcome")).unwrap();
    let named = ids.iter().filter(|id| line.contains(&id[..12])).count();
    assert!(line.starts_with("5 steps") && named == 3 && line.ends_with("and 2 more"), "{line}");
    assert!(status.contains(&format!("`samite recover {}`", &ids[0][..12])), "{status}");
}

// ---- help, errors and notes ----

#[test]
fn a_missing_session_may_be_the_one_that_works_here() {
    let place = Place::new();
    for arguments in
        [&["recover"][..], &["turn", "end"], &["workspace", "close"], &["step", "list"], &["artifact", "put"]]
    {
        let did = place.run(arguments);
        assert!(did.status == 2 && did.err.contains("'.' is the session whose workspace is this directory"), "{did:?}");
        assert!(hints(&place.json(arguments).error(2)).contains("'.' is the session"), "{arguments:?}");
    }
    for arguments in [&["import", "codex"][..], &["append", ".", "--no-such"]] {
        assert!(!place.run(arguments).err.contains("'.' is the session"), "{arguments:?}");
    }
    let help = place.run(&["recover", "--help"]).ok();
    assert!(help.contains("Exit status:") && help.contains("jq -e .clear"), "{help}");
}

#[test]
fn a_pattern_that_can_name_nothing_is_refused() {
    let place = Place::new();
    let id = place.session();
    for pattern in ["../*", "dist/../../x", "./dist/**"] {
        let error = place.json(&["session", "set", &id, "--deliver", pattern]).error(2);
        assert_eq!(error["code"], "bad_pattern", "{pattern}: {error}");
        assert!(text(&error, "/message").contains(pattern), "{error}");
        assert_eq!(place.json(&["session", "new", "--deliver", pattern]).error(2)["code"], "bad_pattern");
    }
    assert_eq!(place.json(&["session", "set", &id]).json()["deliver"], json!([]));
    // From the workspace's top on, as in .gitignore: said, since it looks like a path of the machine.
    let did = place.run(&["session", "set", &id, "--deliver", "/etc/*"]);
    assert!(did.status == 0 && did.err.contains("etc/* at the top of the workspace"), "{did:?}");
}

#[test]
fn a_call_that_a_probe_settles_says_so() {
    let place = Place::new();
    let id = place.session();
    let script = "echo sent > sent; sleep 60";
    let run = [
        "step",
        "run",
        &id,
        "--key",
        "mail",
        "--effect",
        "observable",
        "--probe",
        "file:sent",
        "--",
        "sh",
        "-c",
        script,
    ];
    place.cut_off(&run, "sent");
    let did = place.run(&run);
    assert_eq!(did.status, 0, "{did:?}");
    assert!(
        did.err.contains("step mail had been cut off: it was looked at, and it had happened; it was not run again"),
        "{did:?}"
    );
    let again = place.run(&run);
    assert_eq!((again.status, again.err.as_str()), (0, ""), "only once: {again:?}");
    // One that is run again says so as well.
    let script = "echo x >> tries; test $(wc -l < tries) -ge 2 || sleep 60";
    let run = ["step", "run", &id, "--key", "again", "--effect", "idempotent", "--tool", "t", "--", "sh", "-c", script];
    place.cut_off(&run, "tries");
    let did = place.run(&run);
    assert!(did.status == 0 && did.err.contains("step again had been cut off: it was run again"), "{did:?}");
}
