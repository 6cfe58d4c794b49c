//! Merges that are cut off: carried out at once, laid out, gone on with, and given up.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::place::{Place, number, text};
use crate::recovery::recover;
use crate::tree::listing;
use std::collections::BTreeMap;

/// What is cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merging {
    /// A merge with nothing to decide.
    Clean,
    /// A merge whose conflicts are laid out.
    LayOut,
    /// Going on with one that is not decided yet.
    Undecided,
    /// The end of one that was decided.
    Continue,
    /// Giving one up.
    Abort,
}

const LINES: &[u8] = b"one\ntwo\nthree\nfour\nfive\n";

impl Merging {
    fn conflicts(self) -> bool {
        self != Self::Clean
    }
}

impl Scenario for Merging {
    fn name(&self) -> String {
        match self {
            Self::Clean => "merge",
            Self::LayOut => "merge with conflicts",
            Self::Undecided => "merge --continue, undecided",
            Self::Continue => "merge --continue",
            Self::Abort => "merge --abort",
        }
        .to_owned()
    }

    fn calls(&self) -> Vec<Call> {
        vec![Call::Same, Call::RecoverSame]
    }

    fn run(&self, place: &Place, cut: &Cut, call: Call) -> Counts {
        let session = place.session();
        let mut acknowledged = vec![place.say(&session, "first")];
        let work = place.path().join("work");
        place.write("work/a.txt", b"one\n");
        place.write("work/text", LINES);
        place.write("work/deep/gone", b"goes\n");
        place.write("work/turns", b"a file that becomes a directory\n");
        place.json(&["workspace", "attach", &session, "work"]);
        place.json(&["checkpoint", &session, "--no-environment"]);
        let fork = text(&place.json(&["fork", &session, "--into", "other"]), "/id");
        let theirs = format!("{session}:{fork}");
        // Theirs.
        place.write("other/text", b"one\ntwo\nthree\nfour\nFIVE\n");
        place.write("other/new/file", b"new\n");
        std::fs::remove_file(place.path().join("other/turns")).unwrap();
        place.write("other/turns/inside", b"new\n");
        std::fs::remove_file(place.path().join("other/deep/gone")).unwrap();
        if self.conflicts() {
            place.write("other/a.txt", b"theirs\n");
        }
        place.json(&["checkpoint", &theirs, "--no-environment"]);
        // Ours.
        place.write("work/text", b"ONE\ntwo\nthree\nfour\nfive\n");
        place.write("work/mine", b"a person made this, and no checkpoint has it\n");
        if self.conflicts() {
            place.write("work/a.txt", b"ours\n");
        }
        acknowledged.push(place.say(&session, "second"));
        let before = listing(&work);
        let mut merged = listing(&place.path().join("other"));
        merged.insert("text".to_owned(), b"ONE\ntwo\nthree\nfour\nFIVE\n".to_vec());
        merged.insert("mine".to_owned(), before["mine"].clone());
        merged.insert("a.txt".to_owned(), if self.conflicts() { b"theirs\n".to_vec() } else { b"one\n".to_vec() });
        let begin = ["merge", theirs.as_str(), "--auto"];
        let go_on = ["merge", "--continue", session.as_str(), "--auto", "--take", "a.txt=theirs"];
        let undecided = ["merge", "--continue", session.as_str()];
        let abort = ["merge", "--abort", session.as_str()];
        if matches!(self, Self::Undecided | Self::Continue | Self::Abort) {
            assert_eq!(place.run(&begin).status, 4);
        }
        let arguments: &[&str] = match self {
            Self::Clean | Self::LayOut => &begin,
            Self::Undecided => &undecided,
            Self::Continue => &go_on,
            Self::Abort => &abort,
        };
        cut.run(place, arguments);
        let mut asks = 0;
        if call.recovers_first() {
            recover(place, &session, &mut asks, || true);
            let found = listing(&work);
            assert!(
                found == before || found == merged,
                "a merge is either done or not begun: {:?}",
                differing(&found, &before)
            );
        }
        self.end(place, &session, &begin, &go_on, &abort, &mut asks);
        let right = if *self == Self::Abort { &before } else { &merged };
        assert_eq!(differing(&listing(&work), right), Vec::<String>::new(), "in the end");
        let branch = &place.json(&["session", "tree", &session])["branches"][0];
        let times = branch["merged"].as_array().unwrap().len();
        assert_eq!(times, usize::from(*self != Self::Abort), "{branch}");
        assert!(branch["merging"].is_null(), "{branch}");
        if *self != Self::Abort {
            let seq = branch["merged"][0]["seq"].as_u64().unwrap();
            let entries = place.entries(&session);
            let kind = |at: u64| text(entries.iter().find(|entry| number(entry, "/seq") == at).unwrap(), "/kind");
            assert_eq!((kind(seq - 1).as_str(), kind(seq).as_str()), ("tree", "merged"));
        }
        let left: Vec<String> =
            listing(&place.path()).into_keys().filter(|name| name.contains("samite-restore")).collect();
        assert_eq!(left, Vec::<String>::new(), "something is left over");
        Counts { kills: cut.kills.get(), asks, lost: place.lost(&session, &acknowledged), ..Counts::default() }
    }
}

impl Merging {
    /// Calls until it has ended, as a harness would that was cut off.
    pub(crate) fn end(
        self,
        place: &Place,
        session: &str,
        begin: &[&str],
        go_on: &[&str],
        abort: &[&str],
        asks: &mut usize,
    ) {
        let mut calls: Vec<&[&str]> = match self {
            Self::Clean => vec![begin],
            Self::LayOut => vec![begin, go_on],
            Self::Undecided | Self::Continue => vec![go_on],
            Self::Abort => vec![abort],
        };
        calls.reverse();
        while let Some(call) = calls.pop() {
            let did = place.run(call);
            // A merge that waits for decisions ends with the status of a conflict, and is no error.
            let code = if did.status == 0 || !did.out.is_empty() { String::new() } else { did.code() };
            match (did.status, code.as_str()) {
                // It is done, waits for decisions, or had ended.
                (0, _) | (4, "") | (3, "no_open_merge") => {}
                (4, "step_in_doubt") => {
                    recover(place, session, asks, || true);
                    calls.push(call);
                }
                // It was laid out, or decided, when it was cut off.
                (4, "merge_open") => {
                    if self == Self::Clean {
                        place.json(go_on_of(session).iter().map(String::as_str).collect::<Vec<_>>().as_slice());
                    }
                }
                _ => panic!("{call:?}: {did:?}"),
            }
        }
    }
}

fn go_on_of(session: &str) -> Vec<String> {
    ["merge", "--continue", session, "--auto"].map(str::to_owned).to_vec()
}

/// The paths that two listings do not have alike.
fn differing(found: &BTreeMap<String, Vec<u8>>, right: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    found.keys().chain(right.keys()).filter(|path| found.get(*path) != right.get(*path)).cloned().collect()
}
