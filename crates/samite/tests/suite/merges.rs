//! Merges of branches that worked in directories of their own.

use crate::place::Place;
use crate::support::{assert_verifies, attached, event, run, shared, take, take_of};
use samite::merge::{MergeReport, MergeRequest, MergeState};
use samite::payload::Merged;
use samite::{Client, ForkOptions, WriterOptions};
use samite_model::settings::Branching;
use samite_model::tree::ConflictKind;
use samite_model::{BranchId, EntryKind, Result, SessionId};
use std::fs;
use std::path::{Path, PathBuf};

/// A session that works in `work`, and a fork of it in `other`.
struct Two {
    place: Place,
    client: Client,
    session: SessionId,
    main: BranchId,
    fork: BranchId,
    work: PathBuf,
    other: PathBuf,
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

const LINES: &str = "one\ntwo\nthree\nfour\nfive\n";

impl Two {
    async fn new(files: &[(&str, &str)]) -> Self {
        let place = Place::new();
        let work = place.directory("work");
        let client = place.client().await;
        let session = attached(&client, &work).await;
        for (name, content) in files {
            fs::create_dir_all(work.join(name).parent().unwrap()).unwrap();
            fs::write(work.join(name), content).unwrap();
        }
        take(&client, session).await;
        let main = client.current_branch(session).await.unwrap();
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let other = work.parent().unwrap().join("other");
        client.materialise(session, fork, &other).await.unwrap();
        Self { place, client, session, main, fork, work, other }
    }

    async fn try_merge(&self, from: BranchId, into: BranchId, request: &MergeRequest) -> Result<MergeReport> {
        self.client.merge(self.session, from, Some(into), WriterOptions::default(), request).await
    }

    async fn merge(&self, request: &MergeRequest) -> MergeReport {
        take_of(&self.client, self.session, Some(self.fork)).await;
        self.try_merge(self.fork, self.main, request).await.unwrap()
    }

    async fn go_on(&self, request: &MergeRequest) -> Result<MergeReport> {
        self.client.continue_merge(self.session, Some(self.main), WriterOptions::default(), request).await
    }

    fn decide(layout: &Path, path: &str, decision: &str) {
        let file = layout.join("manifest.json");
        let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let conflicts = manifest["conflicts"].as_array_mut().unwrap();
        let conflict = conflicts.iter_mut().find(|conflict| conflict["path"] == path).unwrap();
        conflict["decision"] = decision.into();
        fs::write(file, serde_json::to_vec(&manifest).unwrap()).unwrap();
    }
}

fn auto() -> MergeRequest {
    MergeRequest { auto: true, ..MergeRequest::default() }
}

fn undecided(report: &MergeReport) -> Vec<(String, ConflictKind)> {
    report.undecided.iter().map(|conflict| (conflict.path.to_string(), conflict.kind)).collect()
}

#[test]
fn what_one_side_changed_is_taken_and_both_parents_are_recorded() {
    run(async {
        let two = Two::new(&[("a", "one"), ("b", "one"), ("gone", "one"), ("d/deep", "one"), ("text", LINES)]).await;
        fs::write(two.work.join("a"), "ours").unwrap();
        fs::write(two.work.join("text"), LINES.replace("one", "ONE")).unwrap();
        fs::write(two.other.join("b"), "theirs").unwrap();
        fs::write(two.other.join("text"), LINES.replace("five", "FIVE")).unwrap();
        fs::remove_file(two.other.join("gone")).unwrap();
        fs::rename(two.other.join("d"), two.other.join("e")).unwrap();
        take_of(&two.client, two.session, Some(two.fork)).await;
        let planned = two.client.plan_merge(two.session, two.fork, Some(two.main), &auto()).await.unwrap();
        assert_eq!((planned.state, planned.undecided.len()), (MergeState::Planned, 0));
        assert_eq!(read(&two.work.join("gone")).as_deref(), Some("one"), "a plan touches nothing");
        let report = two.merge(&auto()).await;
        assert_eq!(report.state, MergeState::Merged);
        let changed =
            |report: &MergeReport| report.changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>();
        assert_eq!(changed(&report), ["b", "d", "d/deep", "e", "e/deep", "gone", "text"]);
        assert_eq!(changed(&report), changed(&planned));
        assert_eq!(read(&two.work.join("a")).as_deref(), Some("ours"));
        assert_eq!(read(&two.work.join("b")).as_deref(), Some("theirs"));
        assert_eq!(read(&two.work.join("text")).as_deref(), Some("ONE\ntwo\nthree\nfour\nFIVE\n"));
        assert_eq!(read(&two.work.join("e/deep")).as_deref(), Some("one"));
        assert!(!two.work.join("gone").exists() && !two.work.join("d").exists());
        // The entry, with the tree before it and the outcome after it.
        let at = report.position.unwrap();
        let kinds = [-1, 0, 1].map(|by| at.seq.checked_add_signed(by).unwrap());
        let options = samite::ReadOptions { from: kinds[0], to: Some(kinds[2]), ..samite::ReadOptions::default() };
        let entries = two.client.read(two.session, Some(two.main), options).await.unwrap().all().await.unwrap();
        let found: Vec<EntryKind> = entries.iter().map(|entry| entry.header.kind).collect();
        assert_eq!(found, [EntryKind::TREE, EntryKind::MERGED, EntryKind::STEP_COMPLETED]);
        let merged: Merged = entries[1].json().unwrap();
        assert_eq!((merged.from, merged.theirs), (two.fork, report.theirs));
        let branches = two.client.branches(two.session).await.unwrap();
        let main = branches.iter().find(|branch| branch.id == two.main).unwrap();
        assert_eq!(
            main.merged.iter().map(|merged| (merged.seq, merged.from)).collect::<Vec<_>>(),
            [(at.seq, report.theirs)]
        );
        assert_eq!(main.merging, None);
        // Nothing is left to merge; and what comes later starts from what was merged.
        let again = two.try_merge(two.fork, two.main, &auto()).await.unwrap();
        assert_eq!(again.state, MergeState::UpToDate);
        fs::write(two.other.join("b"), "theirs, later").unwrap();
        fs::write(two.other.join("a"), "theirs now").unwrap();
        let later = two.merge(&MergeRequest::default()).await;
        assert_eq!(later.bases, [report.theirs]);
        assert_eq!(undecided(&later), [("a".to_owned(), ConflictKind::Edited)]);
        assert_eq!(read(&two.work.join("b")).as_deref(), Some("theirs"), "nothing is touched while a merge is open");
        two.client.abort_merge(two.session, Some(two.main), WriterOptions::default()).await.unwrap();
        assert_verifies(two.place.open().store());
    });
}

#[test]
fn conflicts_are_laid_out_and_decided_before_anything_is_touched() {
    run(async {
        let two = Two::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n"), ("d", "1\n"), ("e", "1\n"), ("f", LINES)]).await;
        for name in ["a", "b", "c", "e"] {
            fs::write(two.work.join(name), "ours\n").unwrap();
            fs::write(two.other.join(name), "theirs\n").unwrap();
        }
        fs::remove_file(two.work.join("d")).unwrap();
        fs::write(two.other.join("d"), "edited\n").unwrap();
        fs::write(two.work.join("f"), LINES.replace("one", "ONE")).unwrap();
        fs::write(two.other.join("f"), LINES.replace("five", "FIVE")).unwrap();
        fs::write(two.other.join("new"), "theirs\n").unwrap();
        let report = two.merge(&MergeRequest::default()).await;
        assert_eq!(report.state, MergeState::Open);
        let kinds = [
            ("a", ConflictKind::Edited),
            ("b", ConflictKind::Edited),
            ("c", ConflictKind::Edited),
            ("d", ConflictKind::DeleteEdit),
            ("e", ConflictKind::Edited),
            ("f", ConflictKind::Edited),
        ];
        assert_eq!(undecided(&report), kinds.map(|(path, kind)| (path.to_owned(), kind)));
        let proposed: Vec<bool> = report.undecided.iter().map(|conflict| conflict.proposed).collect();
        assert_eq!(proposed, [false, false, false, false, false, true]);
        assert!(!two.work.join("new").exists());
        let layout = report.layout.unwrap();
        let laid_out = |name: &str| read(&layout.join(name));
        assert_eq!((laid_out("1.base"), laid_out("1.ours")), (Some("1\n".into()), Some("ours\n".into())));
        assert_eq!((laid_out("4.ours"), laid_out("4.theirs")), (None, Some("edited\n".into())));
        assert_eq!(laid_out("6.proposed").as_deref(), Some("ONE\ntwo\nthree\nfour\nFIVE\n"));
        // Another merge waits for this one.
        let error = two.try_merge(two.fork, two.main, &auto()).await.unwrap_err();
        assert_eq!(error.code(), "merge_open");
        fs::write(layout.join("mine"), "by hand\n").unwrap();
        for (path, decision) in [("a", "theirs"), ("b", "mine"), ("c", "base"), ("d", "removed")] {
            Two::decide(&layout, path, decision);
        }
        let still = two.go_on(&MergeRequest::default()).await.unwrap();
        assert_eq!((still.state, undecided(&still).len()), (MergeState::Open, 2));
        assert!(!two.work.join("new").exists());
        // A person edits one of the sides: that decision does not count any more.
        fs::write(two.work.join("a"), "a person's\n").unwrap();
        let take = vec![("e".to_owned(), "ours".parse().unwrap())];
        let anew = two.go_on(&MergeRequest { take: take.clone(), ..auto() }).await.unwrap();
        assert_eq!(undecided(&anew), [("a".to_owned(), ConflictKind::Edited)]);
        assert!(anew.undecided[0].asked_anew);
        Two::decide(&layout, "a", "ours");
        let done = two.go_on(&MergeRequest { take, ..auto() }).await.unwrap();
        assert_eq!(done.state, MergeState::Merged);
        let right = [
            ("a", "a person's\n"),
            ("b", "by hand\n"),
            ("c", "1\n"),
            ("e", "ours\n"),
            ("new", "theirs\n"),
            ("f", "ONE\ntwo\nthree\nfour\nFIVE\n"),
        ];
        for (name, content) in right {
            assert_eq!(read(&two.work.join(name)).as_deref(), Some(content), "{name}");
        }
        assert!(!two.work.join("d").exists() && !layout.exists());
        let choices: Vec<&str> = done.decisions.iter().map(|decision| decision.choice.as_str()).collect();
        assert_eq!(choices, ["ours", "file", "base", "removed", "ours", "proposed"]);
        assert_eq!(two.go_on(&auto()).await.unwrap_err().code(), "no_open_merge");
        assert_verifies(two.place.open().store());
    });
}

#[test]
fn what_is_written_into_a_layout_leads_nowhere_else() {
    run(async {
        let two = Two::new(&[("a", "1\n")]).await;
        fs::write(two.work.join("a"), "ours\n").unwrap();
        fs::write(two.other.join("a"), "theirs\n").unwrap();
        let secret = two.work.parent().unwrap().join("secret");
        fs::write(&secret, "secret").unwrap();
        let report = two.merge(&MergeRequest::default()).await;
        let layout = report.layout.unwrap();
        std::os::unix::fs::symlink(&secret, layout.join("link")).unwrap();
        let manifest = fs::read(layout.join("manifest.json")).unwrap();
        for (decision, code) in [
            ("../secret", "bad_decision"),
            ("/etc/passwd", "bad_decision"),
            ("link", "layout_file_outside"),
            ("missing", "bad_decision"),
            ("proposed", "bad_decision"),
        ] {
            Two::decide(&layout, "a", decision);
            assert_eq!(two.go_on(&MergeRequest::default()).await.unwrap_err().code(), code, "{decision}");
        }
        for bad in ["", "{", "[]", "{\"format\": 1}"] {
            fs::write(layout.join("manifest.json"), bad).unwrap();
            assert_eq!(two.go_on(&MergeRequest::default()).await.unwrap_err().code(), "bad_manifest", "{bad}");
        }
        assert_eq!(read(&two.work.join("a")).as_deref(), Some("ours\n"));
        // A manifest that is gone is written anew.
        fs::remove_file(layout.join("manifest.json")).unwrap();
        assert_eq!(two.go_on(&MergeRequest::default()).await.unwrap().state, MergeState::Open);
        assert_eq!(fs::read(layout.join("manifest.json")).unwrap(), manifest);
        let aborted = two.client.abort_merge(two.session, Some(two.main), WriterOptions::default()).await.unwrap();
        assert_eq!(aborted.state, MergeState::Aborted);
        assert!(!layout.exists() && secret.exists());
        // In a directory that somebody named, what somebody put there stays.
        let named = two.work.parent().unwrap().join("layout");
        let inside = MergeRequest { layout: Some(two.work.join("layout")), ..MergeRequest::default() };
        assert_eq!(two.try_merge(two.fork, two.main, &inside).await.unwrap_err().code(), "layout_in_workspace");
        let deeper = MergeRequest { layout: Some(two.work.join("not/there/yet")), ..MergeRequest::default() };
        assert_eq!(two.try_merge(two.fork, two.main, &deeper).await.unwrap_err().code(), "layout_in_workspace");
        assert!(!two.work.join("layout").exists() && !two.work.join("not").exists(), "what is refused leaves nothing");
        let elsewhere = MergeRequest { layout: Some(named.clone()), ..MergeRequest::default() };
        two.try_merge(two.fork, two.main, &elsewhere).await.unwrap();
        fs::write(named.join("notes"), "mine").unwrap();
        two.client.abort_merge(two.session, Some(two.main), WriterOptions::default()).await.unwrap();
        let left: Vec<_> = fs::read_dir(&named).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["notes"]);
    });
}

#[test]
fn a_policy_that_forbids_forks_forbids_merges() {
    run(async {
        let two = Two::new(&[("a", "1\n")]).await;
        fs::write(two.other.join("a"), "2\n").unwrap();
        take_of(&two.client, two.session, Some(two.fork)).await;
        for branching in [Branching::Rewind, Branching::Linear] {
            two.client.change_settings(two.session, |settings| settings.branching = branching).await.unwrap();
            let error = two.try_merge(two.fork, two.main, &auto()).await.unwrap_err();
            assert_eq!(error.code(), "branching_denied");
        }
        two.client.change_settings(two.session, |settings| settings.branching = Branching::Tree).await.unwrap();
        assert_eq!(two.try_merge(two.main, two.main, &auto()).await.unwrap_err().code(), "same_branch");
        let take = vec![("b".to_owned(), "ours".parse().unwrap())];
        let error = two.try_merge(two.fork, two.main, &MergeRequest { take, ..auto() }).await.unwrap_err();
        assert_eq!(error.code(), "no_conflict");
        assert_eq!(read(&two.work.join("a")).as_deref(), Some("1\n"));
        two.client.delete_branch(two.session, two.fork).await.unwrap();
        assert_eq!(two.try_merge(two.fork, two.main, &auto()).await.unwrap_err().code(), "journal_closed");
    });
}

#[test]
fn branches_that_are_merged_back_and_forth_meet() {
    run(async {
        let two = Two::new(&[("a", "1\n"), ("b", "1\n")]).await;
        fs::write(two.work.join("a"), "ours\n").unwrap();
        fs::write(two.other.join("b"), "theirs\n").unwrap();
        take(&two.client, two.session).await;
        two.merge(&auto()).await;
        let back = two.try_merge(two.main, two.fork, &auto()).await.unwrap();
        assert_eq!((back.state, back.undecided.len()), (MergeState::Merged, 0));
        for directory in [&two.work, &two.other] {
            assert_eq!(read(&directory.join("a")).as_deref(), Some("ours\n"));
            assert_eq!(read(&directory.join("b")).as_deref(), Some("theirs\n"));
        }
        // What was taken back on one side after the merge stays taken back.
        fs::write(two.work.join("b"), "1\n").unwrap();
        fs::write(two.other.join("c"), "new\n").unwrap();
        let later = two.merge(&MergeRequest::default()).await;
        assert_eq!(later.state, MergeState::Merged, "{:?}", later.undecided);
        assert_eq!(read(&two.work.join("b")).as_deref(), Some("1\n"));
        assert_eq!(read(&two.work.join("c")).as_deref(), Some("new\n"));
        assert_verifies(two.place.open().store());
    });
}

#[test]
fn collection_takes_nothing_that_a_merge_needs() {
    run(async {
        let two = Two::new(&[("a", "1\n"), ("b", "1\n")]).await;
        fs::write(two.work.join("a"), "ours\n").unwrap();
        fs::write(two.other.join("a"), "theirs\n").unwrap();
        let open = two.merge(&MergeRequest::default()).await;
        assert_eq!(open.state, MergeState::Open);
        // The merged branch is given up while its merge is open.
        two.client.set_lifetime(two.session, two.fork, Some(0)).await.unwrap();
        let collect = || two.client.collect();
        collect().await.unwrap();
        let take = vec![("a".to_owned(), "theirs".parse().unwrap())];
        let done = two.go_on(&MergeRequest { take, ..MergeRequest::default() }).await.unwrap();
        assert_eq!(done.state, MergeState::Merged);
        collect().await.unwrap();
        assert_eq!(read(&two.work.join("a")).as_deref(), Some("theirs\n"));
        // And the second parent is there for the next merge.
        two.client.checkpoint_at(done.theirs).await.unwrap();
        assert_verifies(two.place.open().store());
    });
}

fn python(script: &Path, arguments: &[&Path]) -> std::process::Output {
    let mut command = std::process::Command::new("python3");
    command.arg(script).arg(if arguments.len() == 1 { "build" } else { "compare" }).args(arguments).output().unwrap()
}

#[test]
fn the_nasty_tree_is_forked_rewound_and_merged() {
    let Some(script) = shared("tools/nasty_tree.py") else { return };
    let place = Place::new();
    let scratch = place.directory("scratch");
    let (work, other) = (scratch.join("work"), scratch.join("other"));
    assert!(python(&script, &[&work]).status.success());
    // Nothing stores a socket.
    fs::remove_file(work.join("sock")).unwrap();
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        let first = take(&client, session).await;
        let main = client.current_branch(session).await.unwrap();
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        client.materialise(session, fork, &other).await.unwrap();
        let same = |when: &str| {
            let compared = python(&script, &[&work, &other]);
            assert!(compared.status.success(), "{when}: {}", String::from_utf8_lossy(&compared.stdout));
        };
        same("a fork");
        // Each side changes some of it, odd names included.
        fs::write(work.join("-rf"), "ours").unwrap();
        fs::write(work.join("many/f00001"), "ours").unwrap();
        fs::remove_file(other.join("newline\nname")).unwrap();
        fs::write(other.join("many/f04999"), "theirs").unwrap();
        fs::write(other.join("nested/f"), "theirs").unwrap();
        take(&client, session).await;
        take_of(&client, session, Some(fork)).await;
        let request = MergeRequest::default();
        let report = client.merge(session, fork, Some(main), WriterOptions::default(), &request).await.unwrap();
        assert_eq!(report.state, MergeState::Merged, "{:?}", report.undecided);
        let restored = report.restored.unwrap();
        assert!(restored.report.is_complete(), "{:?} {:?}", restored.report.kept, restored.report.failed);
        let back = client.merge(session, main, Some(fork), WriterOptions::default(), &request).await.unwrap();
        assert_eq!(back.state, MergeState::Merged, "{:?}", back.undecided);
        same("merged both ways");
        assert_eq!(read(&other.join("-rf")).as_deref(), Some("ours"));
        assert!(!work.join("newline\nname").exists());
        // And back to where it began.
        let fresh = scratch.join("fresh");
        let options = ForkOptions { seq: Some(first.position.seq), ..ForkOptions::default() };
        let (_, rewound) = client
            .rewind(session, options.clone(), WriterOptions::default(), &samite::workspace::RestoreRequest::default())
            .await
            .unwrap();
        assert!(rewound.unwrap().report.is_complete());
        let again = client.fork(session, options).await.unwrap().branch;
        client.materialise(session, again, &fresh).await.unwrap();
        let compared = python(&script, &[&work, &fresh]);
        assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stdout));
    });
}

#[test]
fn a_fork_with_an_edited_entry_goes_on_from_before_it() {
    run(async {
        let place = Place::new();
        let client = place.client().await;
        let session = client.create_session(samite::NewSession::default()).await.unwrap().id;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let mut asked = event("what is the time");
        asked.dedupe = Some("m2".to_owned());
        writer.append(event("hello")).await.unwrap();
        let at = writer.append(asked.clone()).await.unwrap().position;
        writer.append(event("noon")).await.unwrap();
        writer.release().await.unwrap();
        let edited = client.edited(at, b"what day is it".to_vec()).await.unwrap();
        let options = ForkOptions { seq: Some(at.seq - 1), key: Some("try".to_owned()), ..ForkOptions::default() };
        let fork = client.fork_edited(session, options.clone(), edited.clone()).await.unwrap().branch;
        // Who asks again under the key gets that branch, and with other words none.
        assert_eq!(client.fork_edited(session, options.clone(), edited).await.unwrap().branch, fork);
        let otherwise = client.edited(at, b"what year is it".to_vec()).await.unwrap();
        let refused = client.fork_edited(session, options, otherwise).await.unwrap_err();
        assert_eq!(refused.code(), "branch_key_exists");
        let entries =
            client.read(session, Some(fork), samite::ReadOptions::default()).await.unwrap().all().await.unwrap();
        let said: Vec<String> =
            entries.iter().map(|entry| String::from_utf8_lossy(entry.event().unwrap().body).into_owned()).collect();
        assert_eq!(said, ["hello", "what day is it"]);
        // Who replays with the changed words finds them there, and who does not is told.
        let writer = client.writer(session, Some(fork), WriterOptions::default()).await.unwrap();
        assert_eq!(writer.append(asked.clone()).await.unwrap_err().code(), "dedupe_mismatch");
        asked.body = b"what day is it".to_vec();
        assert!(writer.append(asked).await.unwrap().duplicate);
        writer.release().await.unwrap();
        let control = client.read(session, None, samite::ReadOptions::default()).await.unwrap().all().await.unwrap();
        assert_eq!(control.len(), 3, "the first branch is as it was");
        assert_verifies(place.open().store());
    });
}
