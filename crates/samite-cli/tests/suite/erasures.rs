//! Erasing a part of a person's data from the command line: what is asked first, and what goes on afterwards.

use crate::support::{Place, hints, text};
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
        &["step", "run", &id, "--key", "k", "--effect", "contained", "--cwd", "work", "--", "true"],
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
