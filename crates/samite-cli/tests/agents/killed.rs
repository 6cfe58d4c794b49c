//! The agent, its hooks or samite are killed in between.

use crate::did::{Did, text};
use crate::model::{say, shell};
use crate::place::{Agent, Place};
use crate::tree::{assert_is, tree};
use std::fs;
use std::path::PathBuf;

/// An agent that is killed in the middle of an edit.
fn cut_off_in_an_edit(agent: Agent) {
    let Some(place) = Place::new(agent) else { return };
    let half = "cp -a . ../copy && printf half > calc.py && rm untracked.txt && sleep 60";
    let calc = place.path("work/calc.py");
    place.cut_off("fix add", &[shell(half)], || fs::read(&calc).is_ok_and(|bytes| bytes == b"half"));
    let session = place.session();
    place.samite(&["--json", "recover", &session]);
    let start = place.seqs(&session, "step_started")[0];
    let rewound = place.json(&["rewind", &format!("{session}@{}", start - 1), "--force"]);
    assert_is(&place.path("work"), &tree(&place.path("copy")));
    // The agent goes on from before the call: it never made it.
    let new = text(&rewound, "/transcript/session");
    place.work(Some(&new), "go on", &[say("Again, then.")]);
    let asked = place.asked();
    assert!(asked.iter().all(|line| !line.starts_with("call:")), "{asked:?}");
    assert_eq!(asked.last().unwrap(), "user: go on");
    place.json(&["verify"]);
}

#[test]
fn codex_is_killed_in_an_edit() {
    cut_off_in_an_edit(Agent::Codex);
}

#[test]
fn gemini_is_killed_in_an_edit() {
    cut_off_in_an_edit(Agent::Gemini);
}

/// An agent that is killed in the middle of a push: recovery sees that it happened, the agent is told so, and where it tries
/// again all the same, a policy that blocks stops it.
fn cut_off_in_a_push(agent: Agent) {
    let Some(place) = Place::new(agent) else { return };
    fs::write(place.path("hold"), "").unwrap();
    place.sh("cd work && sed -i 's/a - b/a + b/' calc.py && git commit -qam fix");
    let push = "git push -q origin HEAD:main";
    place.cut_off("push it", &[shell(push)], || place.pushes() == 1);
    fs::remove_file(place.path("hold")).unwrap();
    let session = place.session();
    let recovered = place.json(&["recover", &session]);
    assert!(recovered.to_string().contains("\"happened\""), "{recovered}");

    let forked = place.json(&["rewind", &format!("{session}@{}", place.entries(&session).len())]);
    let new = text(&forked, "/transcript/session");
    let policy = fs::read_to_string(place.path("hooks.toml")).unwrap_or_default();
    fs::write(place.path("hooks.toml"), policy.replace("block = false", "block = true")).unwrap();
    place.work(Some(&new), "was it pushed?", &[shell(push), say("It was.")]);
    let asked = place.asked();
    let transcript = &forked["transcript"];
    assert_eq!(asked[..2], ["user: push it".to_owned(), format!("call: {push}")], "{asked:?} {transcript}");
    assert!(asked[2].contains("It did happen: do not run it again."), "{asked:?}");
    assert!(asked[3..].contains(&format!("call: {push}")), "{asked:?}");
    assert_eq!(place.pushes(), 1, "{asked:?}");
}

#[test]
fn codex_is_killed_in_a_push() {
    cut_off_in_a_push(Agent::Codex);
}

#[test]
fn gemini_is_killed_in_a_push() {
    cut_off_in_a_push(Agent::Gemini);
}

#[test]
fn hooks_are_killed_and_codex_works_on() {
    for point in ["hook.before_start", "hook.started", "hook.before_outcome", "hook.turn_said", "transcript.part_kept"]
    {
        let Some(place) = Place::new(Agent::Codex) else { return };
        let before = tree(&place.path("work"));
        place.model.play(&[shell("echo more >> calc.py"), say("Done.")]);
        let mut command = place.agent("work", None, "go");
        let did = Did::new(&command.env("SAMITE_KILL_POINT", point).output().unwrap());
        // The agent is not failed by a hook that dies.
        assert_eq!(did.status, 0, "{point}: {did:?}");
        assert!(fs::read_to_string(place.path("work/calc.py")).unwrap().ends_with("more\n"), "{point}");
        let session = place.session();
        place.samite(&["recover", &session]);
        let first = place.seqs(&session, "message")[0];
        let rewound = place.json(&["rewind", &format!("{session}@{first}"), "--force"]);
        assert_is(&place.path("work"), &before);
        place.work(Some(&text(&rewound, "/transcript/session")), "again", &[say("Done.")]);
        assert_eq!(place.asked(), ["user: go", "user: again"], "{point}");
        place.json(&["verify"]);
    }
}

#[test]
fn samite_is_killed_in_a_rewind_and_does_it_again() {
    let Some(place) = Place::new(Agent::Codex) else { return };
    place.work(None, "fix add", &[shell("cp -a . ../copy && echo more >> calc.py"), say("Done.")]);
    let session = place.session();
    let first = place.own_session(&session);
    let begin = place.seqs(&session, "message")[0];
    let root = text(&place.json(&["session", "show", &session]), "/branch");
    for point in
        ["rewind.forked", "transcript.before_write", "files.new.written", "files.new.named", "transcript.written"]
    {
        let mut command = place.samite_command(&["rewind", &format!("{session}:{root}@{begin}"), "--force"]);
        let did = Did::new(&command.env("SAMITE_KILL_POINT", point).output().unwrap());
        assert_eq!(did.status, -1, "{point}: {did:?}");
        place.json(&["recover", &session]);
        assert_is(&place.path("work"), &tree(&place.path("copy")));
        let again = place.json(&["session", "transcript", &session, "--write"]);
        assert_ne!(text(&again, "/session"), first, "{point}");
        assert_ne!(again["written"], again["exists"], "{point}: {again}");
        let path = PathBuf::from(text(&again, "/path"));
        // Nothing half is left, under any name: what a killed write left is a hidden file, which no harness takes for its own.
        assert_eq!(fs::read(&path).unwrap().last(), Some(&b'\n'), "{point}");
        place.work(Some(&text(&again, "/session")), "again", &[say("Done.")]);
        assert_eq!(place.asked(), ["user: fix add", "user: again"], "{point}");
    }
    place.json(&["verify"]);
}
