//! Codex CLI goes back, to the side, and on.

use crate::did::text;
use crate::model::{say, shell};
use crate::place::{Agent, Place};
use crate::tree::{assert_is, tree};
use std::fs;

const FIX: &str = "sed -i 's/a - b/a + b/' calc.py && mkdir -p dist && echo built > dist/out.txt";
const PUSH: &str = "git commit -qam fix && git push -q origin HEAD:main";
const SPOIL: &str = "echo worse > calc.py; rm -r dist untracked.txt ignored.txt; echo later > later.txt";

#[test]
fn a_rewind_brings_files_and_conversation_back_and_codex_goes_on_from_it() {
    let Some(place) = Place::new(Agent::Codex) else { return };
    // The command itself keeps what the checkpoint after it must be.
    let fix = format!("{FIX} && cp -a . ../copy");
    place.work(None, "fix add", &[shell(&fix), shell(PUSH), say("Fixed and pushed.")]);
    assert_eq!(place.pushes(), 1);
    let session = place.session();
    let first = place.own_session(&session);
    // A person works on, between two turns.
    fs::write(place.path("work/mine.txt"), "mine").unwrap();
    place.work(Some(&first), "tidy up", &[shell(SPOIL), say("Tidied up.")]);
    assert!(!place.path("work/untracked.txt").exists());

    let back = place.seqs(&session, "step_completed")[0];
    let rewound = place.json(&["rewind", &format!("{session}@{back}")]);
    // Byte for byte: what the shell changed, ignored and untracked files, and git's own; but for the person's own file, which is kept.
    let mut expected = tree(&place.path("copy"));
    expected.insert("mine.txt".to_owned(), tree(&place.path("work"))["mine.txt"].clone());
    assert_is(&place.path("work"), &expected);
    assert!(rewound["workspace"].to_string().contains("mine.txt"), "{rewound}");
    let branch = text(&rewound, "/id");
    let new = text(&rewound, "/transcript/session");
    assert_eq!(new.replace('-', ""), branch);
    assert_eq!(rewound["transcript"]["command"], serde_json::json!(["codex", "resume", new]));

    // Codex itself goes on from the new branch: it knows the first call, and nothing after it.
    place.work(Some(&new), "go on", &[say("On the new line.")]);
    let before = ["user: fix add".to_owned(), format!("call: {fix}"), "result:".to_owned(), "user: go on".to_owned()];
    assert_eq!(place.asked(), before);
    let current = place.entries(&session);
    assert!(
        current.iter().any(|entry| entry["branch"] == branch && entry["payload"] == "On the new line."),
        "{current:?}"
    );
    assert_eq!(place.session(), session);

    // The old line is still there, and is resumed too.
    let old = text(&rewound, "/previous");
    place.json(&["branch", "use", &format!("{session}:{old}")]);
    place.work(Some(&first), "and here?", &[say("On the old line.")]);
    let asked = place.asked();
    assert_eq!(
        asked[asked.len() - 4..],
        [&format!("call: {SPOIL}"), "result:", "assistant: Tidied up.", "user: and here?",]
    );
    let entries = place.entries(&format!("{session}:{old}"));
    assert!(entries.iter().any(|entry| entry["branch"] == old && entry["payload"] == "On the old line."));
    assert_eq!(place.pushes(), 1);
    place.json(&["verify"]);
}

#[test]
fn a_fork_into_another_directory_is_a_session_of_its_own_for_codex() {
    let Some(place) = Place::new(Agent::Codex) else { return };
    place.work(None, "fix add", &[shell(FIX), shell("echo more >> calc.py"), say("Fixed.")]);
    let session = place.session();
    let first = place.seqs(&session, "step_completed")[0];
    let head = place.entries(&session).len();
    let second = place.path("second").display().to_string();
    let forked = place.json(&["fork", &format!("{session}@{first}"), "--into", &second]);
    let new = text(&forked, "/transcript/session");
    assert_eq!(text(&forked, "/transcript/directory"), second);
    let before = tree(&place.path("work"));
    place.work_in("second", Some(&new), "another way", &[shell("echo other >> calc.py"), say("Otherwise.")]);
    assert_eq!(place.asked()[3..5], ["user: another way", "call: echo other >> calc.py"]);
    assert_is(&place.path("work"), &before);
    let calc = "def add(a, b):\n    return a + b\n";
    assert_eq!(fs::read_to_string(place.path("second/calc.py")).unwrap(), format!("{calc}other\n"));
    // Each line has its own entries.
    assert_eq!(place.entries(&session).len(), head);
    let branch = text(&forked, "/id");
    let at = format!("{session}:{branch}");
    let ended = place.seqs(&at, "step_completed");
    assert_eq!(ended.len(), 2);
    let trees = place.seqs(&at, "tree");
    assert!(trees.iter().any(|seq| *seq > ended[0]), "{trees:?}");
    place.json(&["verify"]);
}

#[test]
fn a_rollout_that_codex_itself_forked_is_followed_to_what_it_stands_on() {
    let Some(place) = Place::new(Agent::Codex) else { return };
    place.work(None, "fix add", &[shell(FIX), say("Fixed.")]);
    let first = place.own_session(&place.session());
    place.model.play(&[shell("echo forked >> calc.py"), say("Forked.")]);
    let mut command = place.agent("work", None, "go on");
    // `codex exec … fork SESSION PROMPT`
    let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let mut again = std::process::Command::new(command.get_program());
    again.args(&words[..words.len() - 1]).args(["fork", &first, "go on"]);
    again.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    again.current_dir(place.path("work")).stdin(std::process::Stdio::null());
    assert!(again.status().unwrap().success());
    command.stdin(std::process::Stdio::null());
    // For samite it is a session of its own, since the hooks do not say what it came from.
    let listed = place.json(&["session", "list"]);
    let sessions: Vec<String> = listed["sessions"].as_array().unwrap().iter().map(|found| text(found, "/id")).collect();
    let forked = sessions.iter().find(|id| place.own_session(id) != first).unwrap();
    let rewound = place.json(&["rewind", &format!("{forked}@{}", place.seqs(forked, "step_completed")[0])]);
    place.work(Some(&text(&rewound, "/transcript/session")), "and now?", &[say("Here.")]);
    let asked = place.asked();
    let fix = format!("call: {FIX}");
    let expected =
        ["user: fix add", &fix, "result:", "assistant: Fixed.", "user: go on", "call: echo forked >> calc.py"];
    assert_eq!(asked[..6], expected);
    assert_eq!(asked[7..], ["user: and now?"]);
}
