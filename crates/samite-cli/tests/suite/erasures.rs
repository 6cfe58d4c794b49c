//! Erasing a part of a person's data from the command line: what is asked first, and what goes on afterwards.

use crate::sharing::client_of;
use crate::support::{Place, hints, text};
use serde_json::json;
use std::fs;

#[test]
fn it_asks_first_and_where_nobody_can_be_asked_nothing_is_touched() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "one");
    let error = place.json(&["erase", "--session", &id, "--reason", "x"]).error(2);
    assert_eq!(error["code"], "not_confirmed");
    assert!(hints(&error).contains("--plan"), "{error}");
    let shown = place.run(&["erase", "--session", &id, "--reason", "x", "--plan"]).ok();
    assert!(shown.contains("nothing was touched") && shown.contains("not reached"), "{shown}");
    assert_eq!(place.json(&["read", &id]).lines().len(), 1);
    let error = place.json(&["erase", "--session", &id, "--yes"]).error(2);
    assert_eq!(error["code"], "usage");
    for wrong in ["@1..2", "3f", "x@1..", "x@a..b"] {
        let error = place.json(&["erase", "--entries", wrong, "--reason", "x", "--yes"]);
        assert_ne!(error.status, 0, "{wrong}");
    }
    assert_eq!(place.json(&["erase", "list"]).json()["erasures"].as_array().unwrap().len(), 0);
}

#[test]
fn a_session_goes_on_after_some_of_its_entries_were_erased() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    fs::write(place.path().join("work/a"), "one").unwrap();
    place.json(&["checkpoint", &id, "--no-environment"]).json();
    let first = place.say(&id, "a password");
    place.run(&["step", "run", &id, "--key", "k", "--effect", "contained", "--cwd", "work", "--", "true"]).ok();
    let last = place.json(&["read", &id]).lines().last().unwrap()["seq"].as_u64().unwrap();
    place.say(&id, "after it");
    place.json(&["turn", "end", &id]).json();
    let fork = text(&place.json(&["fork", &id]).json(), "/id");
    place.json(&["erase", "--entries", &format!("{id}@{first}..{last}"), "--reason", "x", "--yes"]).json();
    let lines = place.json(&["read", &id]).lines();
    assert!(lines.iter().any(|line| line["erased"] == true), "{lines:?}");
    assert!(!format!("{lines:?}").contains("a password"));
    for arguments in [
        &["read", &id][..],
        &["log", &id],
        &["session", "show", &id],
        &["session", "tree", &id],
        &["session", "list"],
        &["step", "list", &id],
        &["branch", "list", &id],
        &["checkpoint", "list", &id],
        &["workspace", "status", &id],
        &["recover", &id],
        &["status"],
        &["verify"],
        &["diff", &format!("{id}@{}", first - 1), &id],
        &["read", &format!("{id}:{fork}")],
        &["append", &id, "--text", "and on"],
        &["append", &format!("{id}:{fork}"), "--text", "and on"],
        &["step", "run", &id, "--key", "k2", "--effect", "contained", "--cwd", "work", "--", "true"],
        &["checkpoint", &id, "--no-environment"],
        &["fork", &format!("{id}@{first}")],
        &["rewind", &format!("{id}@{}", first - 1)],
        &["gc", "--yes"],
        &["verify", "--rebuild"],
    ] {
        let did = place.json(arguments);
        assert_eq!(did.status, 0, "{arguments:?}: {did:?}");
    }
}

#[test]
fn entries_of_another_branch_are_told_with_it() {
    let place = Place::new();
    let id = place.session();
    for said in ["one", "two", "three"] {
        place.say(&id, said);
    }
    let fork = text(&place.json(&["fork", &format!("{id}@2")]).json(), "/id");
    place.say(&format!("{id}:{fork}"), "on the fork");
    let erase = |what: &str, more: &str| place.run(&["erase", "--entries", what, "--reason", "x", more]).ok();
    let of_fork = format!("{id}:{fork}@3..3");
    let named = format!("entries {}:{}@3..3", &id[..12], &fork[..12]);
    assert!(erase(&of_fork, "--plan").contains(&named));
    assert!(erase(&of_fork, "--yes").contains(&format!("{named} is erased: 1 entry")));
    let current = format!("entries {}@3..3", &id[..12]);
    assert!(erase(&format!("{id}@3..3"), "--yes").contains(&format!("{current} is erased: 1 entry")));
    let listed = place.json(&["erase", "list"]).json()["erasures"][0]["id"].clone();
    let shown = place.run(&["erase", "show", listed.as_str().unwrap()]).ok();
    assert!(shown.contains(&format!("{named} is erased")), "{shown}");
    let listed = place.run(&["erase", "list"]).ok();
    let begin = [format!("entries 3..3 of :{}", &fork[..3]), format!("entries 3..3 of {}", &id[..3])];
    assert!(begin.iter().all(|begin| listed.contains(begin)), "{listed}");
    // What went once is told, not erased again.
    for what in [of_fork, format!("{id}@3..3")] {
        let error = place.json(&["erase", "--entries", &what, "--reason", "x", "--yes"]).error(3);
        assert_eq!(error["code"], "erased");
        assert!(hints(&error).contains("samite erase list"), "{error}");
    }
    assert_eq!(place.json(&["erase", "list"]).json()["erasures"].as_array().unwrap().len(), 2);
}

#[test]
fn a_master_that_cannot_destroy_is_told_before_anything_changes() {
    let place = Place::new();
    let with = |arguments: &[&str]| {
        let mut command = place.command(&[&["--json"], arguments].concat());
        command.env("SAMITE_MASTER_KEY", "07".repeat(32));
        crate::support::Did::new(&command.output().unwrap())
    };
    let id = text(&with(&["session", "new"]).json(), "/id");
    let error = with(&["erase", "--user", "local", "--reason", "x", "--yes"]).error(6);
    assert_eq!(error["code"], "cannot_destroy");
    assert_eq!(with(&["erase", "list"]).json()["erasures"].as_array().unwrap().len(), 0);
    with(&["append", &id, "--text", "still here"]).json();
}

#[test]
#[cfg(feature = "kill-points")]
fn the_erasure_of_a_session_that_is_killed_anywhere_is_finished() {
    for point in [
        "erase.started",
        "erase.noted",
        "erase.fenced",
        "erase.tombstones",
        "erase.files",
        "gc.marked",
        "erase.collected",
        "erase.compacted",
    ] {
        let place = Place::new();
        let gone = text(&place.json(&["session", "new", "--key", "known as this"]).json(), "/id");
        let kept = place.session();
        place.say(&gone, "words that go");
        place.say(&kept, "words that stay");
        let mut command = place.command(&["erase", "--session", &gone, "--reason", "x", "--yes"]);
        assert_eq!(command.env("SAMITE_KILL_POINT", point).output().unwrap().status.code(), None, "{point}");
        assert_eq!(place.json(&["verify"]).status, 0, "{point}: a half erasure is no damage");
        let resumed = place.json(&["erase", "resume"]).json();
        assert_eq!(resumed["erasures"].as_array().unwrap().len(), 1, "{point}");
        let out = place
            .run_with_input(&["--json", "erase", "sweep", "--canaries", "-"], b"words that go\nknown as this\n")
            .out;
        assert!(out.contains("\"as_expected\":true"), "{point}: {out}");
        assert_eq!(place.json(&["read", &kept]).lines().len(), 1);
        assert_eq!(place.json(&["read", &gone]).error(3)["code"], "no_session");
        let again = place.json(&["session", "new", "--key", "known as this"]).error(6);
        assert_eq!(again["code"], "session_erased");
        assert_eq!(place.json(&["verify"]).status, 0, "{point}");
    }
}

#[test]
fn a_late_hook_does_not_bring_an_erased_session_back() {
    let place = Place::new();
    fs::create_dir(place.path().join("project")).unwrap();
    let hook = |name: &str, more: &str| {
        let cwd = place.path().join("project");
        let event = format!(
            r#"{{"session_id":"agents-own","hook_event_name":"{name}","cwd":{cwd:?},"transcript_path":"/none","prompt":"{more}"}}"#
        );
        place.run_with_input(&["--json", "hook", "claude-code"], event.as_bytes())
    };
    let id = text(&hook("UserPromptSubmit", "words of the person").json(), "/id");
    place.json(&["erase", "--session", &id, "--reason", "x", "--yes"]).json();
    // The agent goes on, and is not kept from that; nothing of what it does is recorded, and nothing is noted for later.
    let late = hook("UserPromptSubmit", "late words of the person");
    assert_eq!(late.status, 0, "{late:?}");
    assert!(late.err.contains("erased"), "{late:?}");
    assert_eq!(place.json(&["session", "list"]).json()["sessions"].as_array().unwrap().len(), 0);
    let out = place.run_with_input(&["erase", "sweep", "--canaries", "-"], b"words of the person\nagents-own\n");
    assert_eq!(out.status, 0, "{out:?}");
}

#[test]
fn an_artifact_goes_with_its_bytes_and_what_was_made_of_it_is_listed() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    fs::write(place.path().join("work/first"), "bytes of the first").unwrap();
    let first = text(&place.json(&["artifact", "put", &id, "work/first"]).json(), "/id");
    fs::write(place.path().join("work/second"), "made of the first one").unwrap();
    let second = text(&place.json(&["artifact", "put", &id, "work/second"]).json(), "/id");
    fs::remove_file(place.path().join("work/first")).unwrap();
    let erased = place.json(&["erase", "--artifact", &first, "--reason", "x", "--yes"]).json();
    assert_eq!(erased["erased"]["proof"]["entries"], 2, "the record, and that it was published");
    assert_eq!(place.json(&["artifact", "show", &first]).error(3)["code"], "no_artifact");
    place.json(&["artifact", "show", &second]).json();
    let listed = place.json(&["artifact", "list"]).json();
    assert_eq!(listed["artifacts"].as_array().unwrap().len(), 1);
    let out = place.run_with_input(&["erase", "sweep", "--canaries", "-"], b"bytes of the first\n");
    assert_eq!(out.status, 0, "{out:?}");
    for arguments in
        [&["log", &id][..], &["read", &id], &["session", "show", &id], &["status"], &["verify"], &["gc", "--yes"]]
    {
        let did = place.json(arguments);
        assert_eq!(did.status, 0, "{arguments:?}: {did:?}");
    }
}

#[test]
fn an_import_of_a_directory_leaves_out_what_was_erased_and_brings_the_rest() {
    let place = Place::new();
    let logs = place.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    let write = |session: &str| {
        let line = json!({"uuid": format!("u-{session}"), "parentUuid": null, "sessionId": session, "type": "user",
            "message": {"role": "user", "content": format!("said in {session}")}});
        std::fs::write(logs.join(format!("{session}.jsonl")), format!("{line}\n")).unwrap();
    };
    write("a");
    write("b");
    let imported = place.json(&["import", "claude-code", "logs"]).json();
    let first = imported["transcripts"][0].clone();
    place.json(&["erase", "--session", &text(&first, "/session"), "--reason", "x", "--yes"]).json();
    write("c");
    let again = place.json(&["import", "claude-code", "logs"]).json();
    assert_eq!(again["erased"], json!([first["path"]]));
    assert_eq!((&again["imported"], again["transcripts"].as_array().unwrap().len()), (&json!(1), 2));
    // One that is named alone is refused, as before; and where all are erased, nothing is wrong.
    assert_eq!(place.json(&["import", "claude-code", &text(&first, "/path")]).error(6)["code"], "session_erased");
    for name in ["b", "c"] {
        std::fs::remove_file(logs.join(format!("{name}.jsonl"))).unwrap();
    }
    let none = place.json(&["import", "claude-code", "logs"]).json();
    assert_eq!((&none["erased"], &none["transcripts"]), (&json!([first["path"]]), &json!([])));
}

#[test]
fn secrets_of_the_tenant_stay_when_who_registered_them_goes() {
    let place = Place::new();
    place.session();
    place.run_with_input(&["secrets", "register", "deploy"], b"a secret that nobody else has").ok();
    place.json(&["erase", "--user", "local", "--reason", "x", "--yes"]).json();
    let listed = place.json(&["secrets", "list"]).json();
    assert_eq!(listed["secrets"][0]["name"], "deploy", "{listed}");
    let id = place.session();
    place.say(&id, "it is: a secret that nobody else has");
    assert!(!place.json(&["read", &id]).ok().contains("nobody else has"));
    assert_eq!(place.json(&["verify", "--rebuild"]).status, 0);
}

#[test]
fn the_next_import_brings_no_erased_record_back() {
    let place = Place::new();
    let line = |id: &str, parent: &str, words: &str| {
        format!(
            r#"{{"uuid":"{id}","parentUuid":{parent},"sessionId":"s","type":"user","message":{{"role":"user","content":"{words}"}}}}"#
        )
    };
    let first = [line("a", "null", "words that stay"), line("b", r#""a""#, "words that go")].join("\n");
    fs::create_dir(place.path().join("logs")).unwrap();
    let log = place.path().join("logs/s.jsonl");
    fs::write(&log, format!("{first}\n")).unwrap();
    let id = text(&place.json(&["import", "claude-code", "logs/s.jsonl"]).json(), "/id");
    let lines = place.json(&["read", &id]).lines();
    let of = |words: &str| {
        let is_it = |line: &&serde_json::Value| line.to_string().contains(words);
        lines.iter().find(is_it).unwrap()["seq"].as_u64().unwrap()
    };
    let seq = of("words that go");
    assert_ne!(seq, of("words that stay"));
    place.json(&["erase", "--entries", &format!("{id}@{seq}..{seq}"), "--reason", "x", "--yes"]).json();
    // What was added to the log since comes in, and what was erased of it does not.
    fs::write(&log, format!("{first}\n{}\n", line("c", r#""b""#, "words that came"))).unwrap();
    place.json(&["import", "claude-code", "logs/s.jsonl"]).json();
    fs::remove_file(&log).unwrap();
    let out = place.run_with_input(&["erase", "sweep", "--canaries", "-"], b"words that go\n");
    assert_eq!(out.status, 0, "{out:?}");
    let kept = b"words that stay\nwords that came\n";
    let out = place.run_with_input(&["erase", "sweep", "--canaries", "-", "--expect", "found"], kept);
    assert_eq!(out.status, 0, "{out:?}");
    for arguments in [&["verify"][..], &["verify", "--rebuild"], &["verify"]] {
        assert_eq!(place.json(arguments).status, 0, "{arguments:?}");
    }
}

#[test]
fn a_plan_under_a_hold_says_that_nothing_goes() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "held");
    place.json(&["hold", "set", "--session", &id, "--reason", "case 1"]).json();
    let plan = place.json(&["erase", "--session", &id, "--reason", "x", "--plan"]).json();
    let found = plan["plan"]["found"].as_array().unwrap();
    assert!(found.iter().all(|one| one["deleted"] == 0 && one["retained"] == one["found"]), "{plan}");
    assert_eq!(plan["plan"]["held"]["reason"], "case 1");
    let shown = place.run(&["erase", "--session", &id, "--reason", "x", "--plan"]).ok();
    let first = shown.lines().next().unwrap();
    assert!(first.contains("nothing goes") && first.contains("case 1"), "{shown}");
}

#[test]
#[cfg(feature = "kill-points")]
fn a_copy_from_before_the_end_of_an_erasure_is_not_served_after_it() {
    for point in ["erase.started", "erase.noted", "erase.fenced", "erase.recorded"] {
        let place = Place::new();
        let gone = place.session();
        place.say(&gone, "words that go");
        let mut command = place.command(&["erase", "--session", &gone, "--reason", "x", "--yes"]);
        assert_eq!(command.env("SAMITE_KILL_POINT", point).output().unwrap().status.code(), None, "{point}");
        let copy = place.path().join("copy");
        crate::support::copy_tree(&place.store(), &copy);
        place.json(&["erase", "resume"]).json();
        let in_copy = |arguments: &[&str]| {
            let mut command = place.command(&[&["--json"], arguments].concat());
            crate::support::Did::new(&command.env("SAMITE_STORE", &copy).output().unwrap())
        };
        if point == "erase.recorded" {
            // It was done by then.
            assert_eq!(in_copy(&["read", &gone]).error(3)["code"], "no_session");
        } else {
            assert_eq!(in_copy(&["read", &gone]).error(6)["code"], "erasures_pending", "{point}");
        }
        let resumed = in_copy(&["erase", "resume"]).json();
        assert_eq!(resumed["erasures"].as_array().unwrap().len(), usize::from(point != "erase.recorded"), "{point}");
        let listed = in_copy(&["erase", "list"]).json();
        assert_eq!(listed["erasures"][0]["state"], "done", "{point}");
        assert_eq!(listed["erasures"][0]["replayed"], point != "erase.recorded", "{point}");
        assert_eq!(in_copy(&["read", &gone]).error(3)["code"], "no_session", "{point}");
        assert_eq!(in_copy(&["verify"]).status, 0, "{point}");
    }
}

/// More was made of it than a proof lists: the proof has a hash over all of it, and verifies with the log's key alone.
#[test]
fn a_proof_of_what_much_was_made_of_is_given_away_and_verified() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "words that go");
    let made = 1_001;
    futures_lite::future::block_on(async {
        let (store, _) = client_of(&place, "bob").await;
        let client = store.client().await.unwrap();
        let parent = samite::payload::ParentSession { session: id.parse().unwrap(), step: None };
        for _ in 0..made {
            let new = samite::NewSession { parent: Some(parent.clone()), ..samite::NewSession::default() };
            client.create_session(new).await.unwrap();
        }
        store.close().await;
    });
    let erased = place.json(&["erase", "--session", &id, "--reason", "x", "--yes"]).json();
    let erasure = text(&erased, "/erased/id");
    let shown = place.json(&["erase", "show", &erasure]).json();
    assert_eq!(shown["proof"]["derived"].as_array().unwrap().len(), made, "all of it is shown");
    place.run(&["erase", "prove", &erasure, "--to", "proof"]).ok();
    let key = place.run(&["audit", "key"]).ok().trim().to_owned();
    let verify = ["audit", "verify-proof", "proof", "--key", &key];
    let verified = place.json(&verify).json();
    assert_eq!(text(&verified, "/act"), "erased", "{verified}");
    let said = &verified["payload"];
    assert_eq!(said["derived_root"]["count"].as_u64(), Some(made as u64), "{verified}");
    assert_eq!(text(said, "/derived_root/root").len(), 64);
    assert!(said["derived"].as_array().is_none_or(Vec::is_empty), "{said}");
    assert!(fs::metadata(place.path().join("proof")).unwrap().len() < 64 << 10);
    // It proves that leaf and no other.
    let proof = fs::read_to_string(place.path().join("proof")).unwrap();
    let index = proof.lines().find(|line| line.starts_with("index ")).unwrap();
    fs::write(place.path().join("proof"), proof.replace(index, "index 3")).unwrap();
    assert_eq!(place.json(&verify).status, 8);
}

#[test]
fn what_is_remembered_is_forgotten_with_what_was_made_of_it() {
    let place = Place::new();
    let run = |arguments: &[&str]| place.json(&[&["memory"], arguments, &["-n", "team", "-n", "notes"]].concat());
    let first = text(&run(&["add", "born in May"]).json(), "/id");
    let made = text(&run(&["add", "a spring child", "--made-of", &first]).json(), "/id");
    run(&["add", "drinks tea"]).json();
    let reason = ["--reason", "asked for"];
    let error = run(&["forget", &first, reason[0], reason[1]]).error(2);
    assert_eq!(error["code"], "not_confirmed");
    assert!(error["message"].as_str().unwrap().contains("records of namespace"), "{error}");
    let plan = run(&["forget", &first, reason[0], reason[1], "--plan"]).json();
    assert_eq!((&plan["planned"], &plan["plan"]["entries"]), (&true.into(), &2.into()));
    assert_eq!((&plan["plan"]["derived"][0]["id"], &plan["plan"]["derived"][0]["taken"]), (&made.into(), &true.into()));
    let shown = place.run(&["memory", "forget", "-n", "team", "-n", "notes", &first, "--reason", "x", "--plan"]).ok();
    assert!(shown.contains("goes") && shown.contains("nothing was touched"), "{shown}");
    run(&["forget", &first, reason[0], reason[1], "--yes"]).json();
    let error = run(&["add", "born in May", "--trust", "model"]).error(6);
    assert_eq!(error["code"], "record_forgotten");
    assert_eq!(run(&["get", &first]).error(3)["code"], "no_record");
    // Some features of a build keep fields in the order in which they were written.
    let held = place.json(&["records"]).json();
    let of_memory = held["categories"].as_array().unwrap().iter().find(|one| one["category"] == "memory").unwrap();
    assert_eq!(of_memory["count"], 1, "{held}");

    let whole = ["erase", "--memory", "team", "--memory", "notes", "--reason", "asked for"];
    assert_eq!(place.json(&whole).error(2)["code"], "not_confirmed");
    let error = place.json(&["erase", "--memory", "team", "--reason", "x", "--yes"]).error(3);
    assert_eq!(error["code"], "empty_namespace");
    let both = ["erase", "--memory", "team", "--user", "local", "--reason", "x", "--yes"];
    assert_eq!(place.json(&both).error(2)["code"], "usage");
    let erased = place.json(&[&whole[..], &["--yes"]].concat()).json();
    assert_eq!((&erased["erased"]["scope"]["of"], &erased["erased"]["proof"]["keys"]), (&json!("memory"), &json!([])));
    assert_eq!(run(&["list", "--all"]).json()["records"], json!([]));
    let list = place.run(&["erase", "list"]).ok();
    assert!(list.contains("records ") && list.contains("memory "), "{list}");
    run(&["add", "born in May", "--trust", "model"]).json();
    place.run(&["verify"]).ok();
}
