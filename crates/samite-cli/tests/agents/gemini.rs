//! Gemini CLI goes back, to the side, and on.

use crate::did::text;
use crate::model::{say, shell};
use crate::place::{Agent, Place};
use crate::tree::{assert_is, tree};
use std::fs;
use std::path::{Path, PathBuf};

const FIX: &str = "sed -i 's/a - b/a + b/' calc.py && mkdir -p dist && echo built > dist/out.txt";
const PUSH: &str = "git commit -qam fix && git push -q origin HEAD:main";
const SPOIL: &str = "echo worse > calc.py; rm -r dist untracked.txt ignored.txt; echo later > later.txt";

/// The chats that Gemini CLI keeps of a project.
fn chats(project: &Path) -> Vec<PathBuf> {
    let mut chats: Vec<PathBuf> = fs::read_dir(project).unwrap().map(|entry| entry.unwrap().path()).collect();
    chats.sort();
    chats
}

#[test]
fn a_rewind_brings_files_and_conversation_back_and_gemini_goes_on_from_it() {
    let Some(place) = Place::new(Agent::Gemini) else { return };
    let fix = format!("{FIX} && cp -a . ../copy");
    place.work(None, "fix add", &[shell(&fix), shell(PUSH), say("Fixed and pushed.")]);
    let session = place.session();
    let first = place.own_session(&session);
    let project = place.path("home/.gemini/tmp/work/chats");
    // As if that had been an hour ago: its name has the minute.
    let [chat] = chats(&project).try_into().unwrap();
    let earlier = project.join(format!("session-2026-01-01T00-00-{}.jsonl", &first[..8]));
    fs::rename(chat, &earlier).unwrap();
    fs::write(place.path("work/mine.txt"), "mine").unwrap();
    place.work(Some(&first), "tidy up", &[shell(SPOIL), say("Tidied up.")]);

    let back = place.seqs(&session, "step_completed")[0];
    let rewound = place.json(&["rewind", &format!("{session}@{back}")]);
    let mut expected = tree(&place.path("copy"));
    expected.insert("mine.txt".to_owned(), tree(&place.path("work"))["mine.txt"].clone());
    assert_is(&place.path("work"), &expected);
    assert!(rewound["workspace"].to_string().contains("mine.txt"), "{rewound}");
    let new = text(&rewound, "/transcript/session");
    assert_eq!(rewound["transcript"]["command"], serde_json::json!(["gemini", "--resume", new]));

    place.work(Some(&new), "go on", &[say("On the new line.")]);
    let asked = place.asked();
    assert_eq!(asked[..2], ["user: fix add".to_owned(), format!("call: {fix}")]);
    assert_eq!(asked.last().unwrap(), "user: go on");
    assert!(asked.iter().all(|line| !line.contains("git push") && !line.contains("Tidied")), "{asked:?}");
    let branch = text(&rewound, "/id");
    let entries = place.entries(&session);
    assert!(entries.iter().any(|entry| entry["branch"] == branch && entry["payload"] == "On the new line."));

    // Gemini CLI has deleted the chat of the old line when it started, since a chat that was resumed leaves one of the same
    // ending with nothing in it. What the branch kept of it brings it back.
    assert!(!earlier.exists());
    let old = text(&rewound, "/previous");
    let at = format!("{session}:{old}");
    place.json(&["branch", "use", &at]);
    let written = place.json(&["session", "transcript", &at, "--write"]);
    assert_eq!((text(&written, "/session"), &written["written"]), (first.clone(), &true.into()));
    place.work(Some(&first), "and here?", &[say("On the old line.")]);
    let asked = place.asked();
    assert!(asked.contains(&format!("call: {SPOIL}")), "{asked:?}");
    assert_eq!(asked[asked.len() - 2..], ["model: Tidied up.", "user: and here?"]);
    // The chat of the new line is under a name that this does not take away.
    let written = PathBuf::from(text(&rewound, "/transcript/path"));
    assert!(written.exists());
    assert_eq!(place.pushes(), 1);
    place.json(&["verify"]);
}

#[test]
fn a_fork_into_another_directory_is_a_session_of_its_own_for_gemini() {
    let Some(place) = Place::new(Agent::Gemini) else { return };
    place.work(None, "fix add", &[shell(FIX), shell("echo more >> calc.py"), say("Fixed.")]);
    let session = place.session();
    let first = place.seqs(&session, "step_completed")[0];
    let second = place.path("second").display().to_string();
    let forked = place.json(&["fork", &format!("{session}@{first}"), "--into", &second]);
    let new = text(&forked, "/transcript/session");
    let before = tree(&place.path("work"));
    place.work_in("second", Some(&new), "another way", &[shell("echo other >> calc.py"), say("Otherwise.")]);
    assert_is(&place.path("work"), &before);
    let calc = "def add(a, b):\n    return a + b\n";
    assert_eq!(fs::read_to_string(place.path("second/calc.py")).unwrap(), format!("{calc}other\n"));
    let asked = place.asked();
    assert!(
        asked.contains(&format!("call: {FIX}")) && !asked.contains(&"call: echo more >> calc.py".to_owned()),
        "{asked:?}"
    );
    let branch = text(&forked, "/id");
    assert_eq!(place.seqs(&format!("{session}:{branch}"), "step_completed").len(), 2);
    assert_eq!(place.seqs(&session, "step_completed").len(), 2);
}
