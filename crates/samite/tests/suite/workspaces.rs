//! Workspaces: checkpoints, forks into directories, rewinds.

use crate::place::Place;
use crate::support::{assert_verifies, attached, begin_restore, event, files_only, noise, run, take, take_of};
use samite::recover::{RecoverOptions, Site};
use samite::workspace::RestoreRequest;
use samite::{Begin, Client, ForkOptions, NewSession, NewStep, Observer, WriterOptions};
use samite_model::recovery::Decision;
use samite_model::step::{Effect, State};
use samite_model::{ErrorKind, SessionId};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[test]
fn a_rewind_puts_files_back_and_keeps_what_a_person_changed() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        fs::write(work.join("a"), "one").unwrap();
        fs::write(work.join("b"), "one").unwrap();
        let first = take(&client, session).await;
        fs::write(work.join("a"), "two").unwrap();
        fs::write(work.join("new"), "by the agent").unwrap();
        take(&client, session).await;
        // A person's own edits since the last checkpoint.
        fs::write(work.join("b"), "by a person").unwrap();
        fs::write(work.join("mine"), "by a person").unwrap();
        let options = ForkOptions { seq: Some(first.position.seq), ..ForkOptions::default() };
        let (report, restored) =
            client.rewind(session, options, WriterOptions::default(), &RestoreRequest::default()).await.unwrap();
        let restored = restored.unwrap();
        assert_eq!(read(&work.join("a")).as_deref(), Some("one"));
        assert_eq!(read(&work.join("new")), None);
        assert_eq!(read(&work.join("b")).as_deref(), Some("by a person"));
        assert_eq!(read(&work.join("mine")).as_deref(), Some("by a person"));
        let kept: Vec<String> = restored.report.kept.iter().map(|kept| kept.path.to_string()).collect();
        assert_eq!(kept, ["b", "mine"]);
        // The old line can be resumed: back to its end, by the same means.
        assert_eq!(client.current_branch(session).await.unwrap(), report.branch);
        let workspace = client.workspace_of_branch(session, report.branch).await.unwrap().unwrap();
        assert_eq!(workspace.branch, report.branch);
    });
}

type Change = fn(&Path);

#[test]
fn what_a_rewind_records_of_its_end_is_what_is_there() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        fs::create_dir_all(work.join("d/deep")).unwrap();
        fs::write(work.join("d/deep/a"), "one").unwrap();
        fs::write(work.join("d/id_rsa"), "a secret").unwrap();
        fs::write(work.join("linked"), "one").unwrap();
        fs::hard_link(work.join("linked"), work.join("d/linked")).unwrap();
        fs::hard_link(work.join("linked"), work.join("d/deep/linked")).unwrap();
        let first = take(&client, session).await;
        let changes: [(&str, Change); 7] = [
            ("a file deep down", |work| fs::write(work.join("d/deep/a"), "two").unwrap()),
            ("a directory goes", |work| fs::remove_dir_all(work.join("d/deep")).unwrap()),
            ("a directory comes", |work| {
                fs::create_dir_all(work.join("x/y")).unwrap();
                fs::write(work.join("x/y/z"), "new").unwrap();
            }),
            ("one of three names goes", |work| fs::remove_file(work.join("d/linked")).unwrap()),
            ("a linked file changes", |work| fs::write(work.join("linked"), "two").unwrap()),
            ("a secret goes", |work| fs::remove_file(work.join("d/id_rsa")).unwrap()),
            ("a file becomes a directory", |work| {
                fs::remove_file(work.join("d/deep/a")).unwrap();
                fs::create_dir(work.join("d/deep/a")).unwrap();
            }),
        ];
        for (what, change) in changes {
            change(&work);
            take(&client, session).await;
            let options = ForkOptions { seq: Some(first.position.seq), ..ForkOptions::default() };
            let rewound = client.rewind(session, options, WriterOptions::default(), &RestoreRequest::default()).await;
            assert!(rewound.unwrap().1.unwrap().report.is_complete(), "{what}");
            let head = client.head(session, client.current_branch(session).await.unwrap()).await.unwrap();
            let recorded = client.tree_at(head).await.unwrap().unwrap().tree;
            assert_eq!(recorded.root, first.root, "{what}");
            let looked = take(&client, session).await;
            assert!(looked.unchanged, "{what}");
            for (name, count) in [("files", looked.report.files), ("bytes", looked.report.bytes)] {
                assert_eq!(recorded.report[name], count, "{what}: {name}");
            }
            assert_eq!(recorded.report["directories"], looked.report.directories, "{what}");
            assert_eq!(recorded.report["secrets"], serde_json::json!(["d/id_rsa"]), "{what}");
        }
    });
}

#[test]
fn a_time_that_a_person_set_is_in_the_tree_that_a_rewind_records() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        fs::write(work.join("a"), "one").unwrap();
        fs::write(work.join("b"), "one").unwrap();
        let first = take(&client, session).await;
        fs::write(work.join("a"), "two").unwrap();
        take(&client, session).await;
        let file = fs::File::options().write(true).open(work.join("b")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(7)).unwrap();
        let options = ForkOptions { seq: Some(first.position.seq), ..ForkOptions::default() };
        let rewound = client.rewind(session, options, WriterOptions::default(), &RestoreRequest::default()).await;
        assert!(rewound.unwrap().1.unwrap().report.is_complete());
        assert_eq!(read(&work.join("a")).as_deref(), Some("one"));
        let looked = take(&client, session).await;
        assert!(looked.unchanged);
        assert_ne!(looked.root, first.root);
    });
}

#[test]
fn a_rewind_to_other_rules_records_what_they_no_longer_exclude() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        fs::write(work.join("a"), "one").unwrap();
        let first = take(&client, session).await;
        fs::write(work.join(".samiteignore"), "built\n").unwrap();
        fs::write(work.join("built"), "by a person").unwrap();
        take(&client, session).await;
        let options = ForkOptions { seq: Some(first.position.seq), ..ForkOptions::default() };
        let rewound = client.rewind(session, options, WriterOptions::default(), &RestoreRequest::default()).await;
        rewound.unwrap().1.unwrap();
        assert_eq!(read(&work.join("built")).as_deref(), Some("by a person"));
        assert!(!work.join(".samiteignore").exists());
        assert!(take(&client, session).await.unchanged);
        let head = client.head(session, client.current_branch(session).await.unwrap()).await.unwrap();
        let mut out = Vec::new();
        client.cat(head, "built", &mut out).await.unwrap();
        assert_eq!(out, b"by a person");
    });
}

#[test]
fn a_time_that_a_restore_leaves_as_it_is_is_recorded_as_it_is() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        fs::write(work.join("a"), "one").unwrap();
        let first = take(&client, session).await;
        // Saved again as it was: nothing is to be put back, and the time is the person's.
        fs::write(work.join("a"), "one").unwrap();
        let request = RestoreRequest::default();
        client.restore(session, None, first.position, WriterOptions::default(), &request).await.unwrap();
        assert!(take(&client, session).await.unchanged);
    });
}

#[test]
fn what_was_there_before_a_rewind_can_be_gone_back_to_and_stays() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        fs::write(work.join("a"), "one").unwrap();
        let first = take(&client, session).await.position;
        fs::write(work.join("a"), "two").unwrap();
        take(&client, session).await;
        let back = async |to: samite_model::Position| {
            let options = ForkOptions { branch: Some(to.journal), seq: Some(to.seq), ..ForkOptions::default() };
            let request = RestoreRequest::default();
            client.rewind(session, options, WriterOptions::default(), &request).await.unwrap()
        };
        let (_, restored) = back(first).await;
        assert_eq!(read(&work.join("a")).as_deref(), Some("one"));
        // The snapshot from before lies within the restore: the restore is no step of the branch that leaves there.
        let safety = restored.unwrap().safety.unwrap();
        let (report, _) = back(safety).await;
        assert_eq!(report.in_doubt.len(), 0);
        assert_eq!(read(&work.join("a")).as_deref(), Some("two"));
        let site = Site { base: place.path(""), lives: place.directory("lives") };
        let recovered = client.recover(session, RecoverOptions::default(), &site).await.unwrap();
        assert!(recovered.is_clear() && recovered.steps.is_empty(), "{recovered:?}");
        assert_eq!(read(&work.join("a")).as_deref(), Some("two"));
        let states: Vec<State> = client.steps(session, None).await.unwrap().iter().map(|step| step.state).collect();
        assert_eq!(states, [State::Abandoned, State::Completed]);
        client.restore(session, None, first, WriterOptions::default(), &RestoreRequest::default()).await.unwrap();
        assert_eq!(read(&work.join("a")).as_deref(), Some("one"));
        assert_verifies(store.store());
    });
}

fn git(work: &Path, arguments: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e@example.com", "-C"]).arg(work).args(arguments);
    let out = git.output().unwrap();
    assert!(out.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn a_git_repository_goes_back_whole_or_stays_whole() {
    let place = Place::new();
    let work = place.directory("work");
    // A bare one beside it, into which a person pushes.
    git(place.root(), &["init", "-q", "--bare", "work/shared"]);
    git(&work, &["init", "-q"]);
    let commit = |name: &str| {
        fs::write(work.join(name), name).unwrap();
        git(&work, &["add", name]);
        git(&work, &["commit", "-qm", name]);
    };
    let commits = |directory: &Path, of: &str| {
        git(directory, &["fsck", "--full", "--no-dangling"]);
        git(directory, &["log", "--format=%H", of]).lines().count()
    };
    commit("one");
    git(&work, &["push", "-q", "shared", "HEAD:refs/heads/main"]);
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        let first = take(&client, session).await.position;
        // The session's work, of which a checkpoint knows the blob only.
        fs::write(work.join("two"), "two").unwrap();
        git(&work, &["add", "two"]);
        take(&client, session).await;
        git(&work, &["commit", "-qm", "two"]);
        let restore = |to| {
            let request = RestoreRequest::default();
            let client = &client;
            async move { client.restore(session, None, to, WriterOptions::default(), &request).await.unwrap().report }
        };
        let kept = |report: &samite::workspace::RestoreReport| {
            let named = report.kept.iter().filter(|kept| kept.repository).map(|kept| kept.path.to_string());
            named.collect::<Vec<_>>()
        };
        let report = restore(first).await;
        assert_eq!((kept(&report), commits(&work, "HEAD")), (vec![".git".to_owned()], 2), "{report:?}");
        let last = take(&client, session).await.position;
        let report = restore(first).await;
        assert_eq!((kept(&report), commits(&work, "HEAD")), (Vec::new(), 1), "{report:?}");
        let report = restore(last).await;
        assert_eq!((kept(&report), commits(&work, "HEAD")), (Vec::new(), 2), "{report:?}");
        // One repository stays for what a person did in it, and the other goes back.
        git(&work, &["push", "-q", "shared", "HEAD:refs/heads/main"]);
        let report = restore(first).await;
        assert!(kept(&report).contains(&"shared".to_owned()), "{report:?}");
        assert_eq!((commits(&work, "HEAD"), commits(&work.join("shared"), "main")), (1, 2), "{report:?}");
    });
}

#[test]
fn a_fork_into_a_directory_is_a_second_workspace() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        fs::create_dir(work.join("sub")).unwrap();
        fs::write(work.join("sub/file"), "one").unwrap();
        take(&client, session).await;
        let fork = client.fork(session, ForkOptions::default()).await.unwrap();
        let second = place.path("second");
        let made = client.materialise(session, fork.branch, &second).await.unwrap();
        assert!(made.report.is_complete());
        assert_eq!(read(&second.join("sub/file")).as_deref(), Some("one"));
        fs::write(second.join("sub/file"), "two").unwrap();
        assert_eq!(read(&work.join("sub/file")).as_deref(), Some("one"));
        let status = client.workspace_status(session, Some(fork.branch)).await.unwrap();
        let changed: Vec<String> = status.changes.iter().map(|change| change.path.to_string()).collect();
        assert_eq!(changed, ["sub/file"]);
        // One directory, two live branches of one session.
        let third = client.fork(session, ForkOptions::default()).await.unwrap();
        let error = client.attach(session, Some(third.branch), &work).await.unwrap_err();
        assert_eq!(error.code(), "workspace_in_use");
    });
}

#[test]
fn a_path_has_a_log_and_old_content() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        let mut places = Vec::new();
        for text in ["one", "one", "two"] {
            fs::write(work.join("a"), text).unwrap();
            places.push(take(&client, session).await.position);
        }
        let log = client.path_log(places[2], "a").await.unwrap();
        let seqs: Vec<u64> = log.iter().map(|version| version.tree.position.seq).collect();
        // Writing the same bytes again changes the file's time, which is a version too.
        assert_eq!(seqs, [3, 2, 1]);
        let mut bytes = Vec::new();
        client.cat(places[0], "a", &mut bytes).await.unwrap();
        assert_eq!(bytes, b"one");
        let changes = client.diff(places[0], places[2]).await.unwrap();
        assert_eq!(changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>(), ["a"]);
    });
}

#[test]
fn a_backup_is_a_store_that_verifies() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        // Larger than what stays in the ledger.
        let noise: Vec<u8> =
            (0..600_000u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        fs::write(work.join("large"), &noise).unwrap();
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        writer.append(event("hello")).await.unwrap();
        writer.checkpoint(files_only()).await.unwrap();
        writer.release().await.unwrap();
        let backup = store.backup(&place.path("backup")).await.unwrap();
        assert_eq!(backup.packs, 1);
        store.close().await;
        let copy = place.open_at(&place.path("backup"));
        let client = copy.client().await.unwrap();
        let head = client.head(session, client.current_branch(session).await.unwrap()).await.unwrap();
        assert_eq!(head.seq, 2);
        let mut bytes = Vec::new();
        client.cat(head, "large", &mut bytes).await.unwrap();
        assert!(bytes == noise);
        let verified = copy.store().verify(false, None).await.unwrap();
        assert!(verified.findings.is_empty() && verified.stale_views.is_empty());
    });
}

#[test]
fn a_backup_beside_writers_and_collections_is_a_store_that_verifies() {
    let place = Place::new();
    let work = place.directory("work");
    let store = place.open();
    let client = run(store.client()).unwrap();
    let session = run(attached(&client, &work));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let client = run(place.open().client()).unwrap();
            let mut first = None;
            for number in 1.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                // Each is a pack of its own, and most of them die soon.
                fs::write(work.join("large"), noise(number, 400_000)).unwrap();
                let Ok(taken) = run(client.checkpoint(session, None, WriterOptions::default(), files_only())) else {
                    continue;
                };
                let first = *first.get_or_insert(taken.position.seq);
                let options = ForkOptions { seq: Some(first), ..ForkOptions::default() };
                let request = RestoreRequest::default();
                if let Ok((left, _)) = run(client.rewind(session, options, WriterOptions::default(), &request)) {
                    run(client.set_lifetime(session, left.previous, Some(1))).unwrap();
                }
            }
        });
        scope.spawn(|| {
            let client = run(place.open().client()).unwrap();
            while !over.load(Ordering::Relaxed) {
                if let Err(error) = run(client.collect()) {
                    assert_eq!(error.code(), "store_busy", "{error}");
                }
            }
        });
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..10 {
                let to = place.path(&format!("backup {round}"));
                run(store.backup(&to)).unwrap();
                let copy = place.open_at(&to);
                assert_verifies(copy.store());
                let packs = run(copy.store().verify(false, None)).unwrap().packs;
                assert!(packs.is_empty(), "{packs:?}");
                // The store itself is as good as its copy, while it is written to.
                assert_verifies(store.store());
            }
        }));
        over.store(true, Ordering::Relaxed);
        checked.unwrap();
    });
}

#[test]
fn what_a_collection_takes_while_a_verification_reads_is_no_damage() {
    let place = Arc::new(Place::new());
    let work = place.directory("work");
    let store = place.open();
    let client = run(store.client()).unwrap();
    let session = run(attached(&client, &work));
    // The first tree stays; the second is what the branch that a rewind leaves had.
    fs::write(work.join("file"), noise(1, 100_000)).unwrap();
    let first = run(take(&client, session)).position.seq;
    fs::write(work.join("file"), noise(2, 100_000)).unwrap();
    run(take(&client, session));
    // The snapshot before going back is another tree then.
    fs::write(work.join("mine"), "by a person").unwrap();
    let options = ForkOptions { seq: Some(first), ..ForkOptions::default() };
    let left =
        run(client.rewind(session, options, WriterOptions::default(), &RestoreRequest::default())).unwrap().0.previous;
    let taken = Arc::new(Mutex::new(None));
    let observer = {
        let (place, taken) = (place.clone(), taken.clone());
        Observer::new(move |now| {
            let mut taken = taken.lock().unwrap();
            if now.what == "verifying trees" && taken.is_none() {
                // On a thread of its own, beside the one that verifies.
                let collected = std::thread::scope(|scope| {
                    let collecting = scope.spawn(|| {
                        let client = run(place.client());
                        run(client.set_lifetime(session, left, Some(1))).unwrap();
                        run(client.collect()).unwrap()
                    });
                    collecting.join().unwrap()
                });
                *taken = Some(collected.blocks);
            }
        })
    };
    let verified = run(store.store().verify(false, Some(&observer))).unwrap();
    assert!(taken.lock().unwrap().unwrap() > 0);
    assert!(verified.findings.is_empty(), "{:#?}", verified.findings);
}

#[test]
fn collection_takes_the_trees_of_a_branch_whose_time_is_over_and_nothing_else() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        let noise = |seed: u32| -> Vec<u8> {
            (0..200_000u32).flat_map(|number| (number ^ seed).wrapping_mul(2_654_435_761).to_be_bytes()).collect()
        };
        fs::write(work.join("kept"), noise(1)).unwrap();
        take(&client, session).await;
        let fork = client.fork(session, ForkOptions::default()).await.unwrap();
        let second = place.path("second");
        client.materialise(session, fork.branch, &second).await.unwrap();
        fs::write(second.join("tried"), noise(0x00ff_00ff)).unwrap();
        let branch = Some(fork.branch);
        take_of(&client, session, branch).await;
        assert!(client.plan_collection().await.unwrap().branches.is_empty());
        client.set_lifetime(session, fork.branch, Some(1)).await.unwrap();
        let plan = client.plan_collection().await.unwrap();
        assert_eq!(plan.branches.len(), 1);
        assert_eq!((plan.branches[0].branch, plan.branches[0].trees), (fork.branch, 1));
        assert!(plan.bytes > 100_000, "{}", plan.bytes);
        let before = store.status(&client).await.unwrap().pack_bytes;
        client.collect().await.unwrap();
        let after = store.status(&client).await.unwrap().pack_bytes;
        assert!(before - after > 100_000, "{before} {after}");
        // The log stays, the kept tree stays, and what was shared with it.
        let head = client.head(session, client.current_branch(session).await.unwrap()).await.unwrap();
        let mut bytes = Vec::new();
        client.cat(head, "kept", &mut bytes).await.unwrap();
        assert!(bytes == noise(1));
        let gone = client.head(session, fork.branch).await.unwrap();
        let error = client.cat(gone, "tried", &mut Vec::new()).await.unwrap_err();
        assert_eq!(error.code(), "tree_collected");
        assert!(store.store().verify(false, None).await.unwrap().findings.is_empty());
    });
}

#[test]
fn a_branch_on_trees_that_were_collected_has_none_and_breaks_nothing() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        fs::write(work.join("file"), "first").unwrap();
        let first = take(&client, session).await.position;
        fs::write(work.join("file"), "tried").unwrap();
        let old = take(&client, session).await.position;
        // The snapshot before going back is another tree then.
        fs::write(work.join("mine"), "by a person").unwrap();
        let options = ForkOptions { seq: Some(first.seq), ..ForkOptions::default() };
        client.rewind(session, options, WriterOptions::default(), &RestoreRequest::default()).await.unwrap();
        let current = client.current_branch(session).await.unwrap();
        client.set_lifetime(session, old.journal, Some(1)).await.unwrap();
        assert!(client.collect().await.unwrap().blocks > 0);
        assert!(client.plan_collection().await.unwrap().branches.is_empty(), "what is gone goes no more");
        let whole = async || {
            let found = store.store().verify(false, None).await.unwrap();
            assert!(found.findings.is_empty() && found.stale_views.is_empty(), "{:?}", found.findings);
            assert_eq!(client.collect().await.unwrap().blocks, 0);
            assert!(client.plan_collection().await.unwrap().branches.is_empty());
        };
        whole().await;
        // Going back there is refused before anything is done.
        let options = || ForkOptions { branch: Some(old.journal), seq: Some(old.seq), ..ForkOptions::default() };
        let request = RestoreRequest::default();
        let error = client.rewind(session, options(), WriterOptions::default(), &request).await.unwrap_err();
        assert_eq!(error.code(), "tree_collected");
        assert_eq!(client.current_branch(session).await.unwrap(), current);
        // A fork of it has its log, and no tree.
        let fork = client.fork(session, options()).await.unwrap().branch;
        whole().await;
        let error = client.materialise(session, fork, &place.path("second")).await.unwrap_err();
        assert_eq!(error.code(), "tree_collected");
        assert!(!place.path("second").exists());
        let at = client.head(session, fork).await.unwrap();
        assert_eq!(client.cat(at, "file", &mut Vec::new()).await.unwrap_err().code(), "tree_collected");
        // Nor has the old branch when it is current again, and it can take a new one.
        client.make_current(session, old.journal).await.unwrap();
        whole().await;
        let error = client.restore(session, Some(current), old, WriterOptions::default(), &request).await.unwrap_err();
        assert_eq!(error.code(), "tree_collected");
        assert_eq!(fs::read_to_string(work.join("file")).unwrap(), "first");
        let seen = client.path_log(client.head(session, old.journal).await.unwrap(), "file").await.unwrap();
        assert_eq!(seen.iter().map(|version| version.tree.position).collect::<Vec<_>>(), [first]);
        // The workspace went over with the branch.
        let branch = Some(old.journal);
        take_of(&client, session, branch).await;
        client.restore(session, branch, first, WriterOptions::default(), &request).await.unwrap();
        whole().await;
    });
}

/// A step in a workspace that was begun and changed `half`, and what its next writer makes of it.
async fn lost_step(client: &Client, work: &Path) -> SessionId {
    let session = attached(client, work).await;
    fs::write(work.join("half"), "before").unwrap();
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    let tree = writer.checkpoint(files_only()).await.unwrap().root;
    let effect = Effect::Contained { within: Vec::new() };
    let step = NewStep { effect, tree: Some(tree), ..NewStep::new("edit", "edit", serde_json::json!({})) };
    assert!(matches!(writer.begin(&step).await.unwrap(), Begin::Run(_)));
    fs::write(work.join("half"), "by the step").unwrap();
    writer.release().await.unwrap();
    session
}

#[test]
fn what_changes_between_the_look_and_the_putting_back_is_not_overwritten() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    let site = Site { base: place.path(""), lives: place.directory("lives") };
    // The step began later than anything in its workspace was changed: all of it is its own.
    clock.advance(1000 * 1_000_000_000);
    run(async {
        let session = lost_step(&client, &work).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let doubt = writer.doubts().await.unwrap().remove(0);
        for name in ["half", "new"] {
            let assessment = writer.assess(&doubt, &site).await.unwrap();
            assert_eq!(assessment.decision, Decision::PutBackAndRunAgain);
            fs::write(work.join(name), "by a person").unwrap();
            let error = writer.settle(&assessment, &site).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "workspace_changed"));
            assert!(error.message().contains(name), "{error}");
            assert_eq!(read(&work.join(name)).as_deref(), Some("by a person"));
        }
        let assessment = writer.assess(&doubt, &site).await.unwrap();
        let settled = writer.settle(&assessment, &site).await.unwrap();
        assert_eq!(settled.put_back.iter().filter(|path| !path.is_empty() && *path != ".").count(), 2);
        assert_eq!(read(&work.join("half")).as_deref(), Some("before"));
        assert!(!work.join("new").exists());
    });
}

#[test]
fn what_was_moved_here_after_a_step_was_lost_is_not_the_steps_however_old_it_looks() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, _) = place.in_memory();
    let site = Site { base: place.path(""), lives: place.directory("lives") };
    let old = place.path("old");
    fs::write(&old, "by a person, long ago").unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(1000);
    fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    run(async {
        let session = lost_step(&client, &work).await;
        // Changes of the first second after the last sign of life are the step's.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        fs::rename(&old, work.join("half")).unwrap();
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let doubt = writer.doubts().await.unwrap().remove(0);
        let assessment = writer.assess(&doubt, &site).await.unwrap();
        assert!(matches!(assessment.decision, Decision::Ask { .. }), "{:?}", assessment.decision);
        assert!(assessment.evidence.unwrap().paths.contains(&"half".to_owned()));
    });
}

#[test]
fn a_directory_that_was_moved_is_attached_again_and_the_store_is_no_workspace() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        fs::write(work.join("file"), "one").unwrap();
        let taken = take(&client, session).await;
        let moved = place.path("moved");
        assert_eq!(
            client.attach(session, None, &place.directory("other")).await.unwrap_err().code(),
            "workspace_in_use"
        );
        fs::rename(&work, &moved).unwrap();
        let again = client.attach(session, None, &moved).await.unwrap();
        assert_eq!(client.workspaces(session).await.unwrap(), [again]);
        fs::write(moved.join("file"), "two").unwrap();
        take(&client, session).await;
        let request = RestoreRequest::default();
        client.restore(session, None, taken.position, WriterOptions::default(), &request).await.unwrap();
        assert_eq!(read(&moved.join("file")).as_deref(), Some("one"));
        let other = client.create_session(NewSession::default()).await.unwrap().id;
        let error = client.attach(other, None, &place.path("store").join("tenants")).await.unwrap_err();
        assert_eq!(error.code(), "inside_store");
        assert!(store.store().verify(false, None).await.unwrap().stale_views.is_empty());
    });
}

#[test]
fn a_half_restored_workspace_goes_over_to_no_other_branch() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        fs::write(work.join("file"), "one").unwrap();
        let first = take(&client, session).await;
        fs::write(work.join("file"), "two").unwrap();
        let second = take(&client, session).await;
        let main = client.current_branch(session).await.unwrap();
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        begin_restore(&writer, first.root, second.root).await;
        writer.release().await.unwrap();
        let error = client.make_current(session, fork).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "step_in_doubt"));
        assert_eq!(client.current_branch(session).await.unwrap(), main);
        let site = Site { base: place.path(""), lives: place.directory("lives") };
        assert!(client.recover(session, RecoverOptions::default(), &site).await.unwrap().is_clear());
        assert_eq!(read(&work.join("file")).as_deref(), Some("one"));
        client.make_current(session, fork).await.unwrap();
        assert_eq!(client.workspace_of_branch(session, fork).await.unwrap().unwrap().directory, work);
    });
}

#[test]
fn a_commit_in_a_half_restored_repository_keeps_it_as_it_then_is() {
    let place = Place::new();
    let work = place.directory("work");
    git(&work, &["init", "-q"]);
    let commit = |name: &str| {
        fs::write(work.join(name), name).unwrap();
        git(&work, &["add", name]);
        git(&work, &["commit", "-qm", name]);
    };
    commit("one");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        let first = take(&client, session).await;
        commit("two");
        let second = take(&client, session).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        begin_restore(&writer, first.root, second.root).await;
        writer.release().await.unwrap();
        // It was cut off after the first of its files, and a person goes on before anybody recovers.
        fs::remove_file(work.join("two")).unwrap();
        commit("mine");
        let site = Site { base: place.path(""), lives: place.directory("lives") };
        let recovered = client.recover(session, RecoverOptions::default(), &site).await.unwrap();
        assert!(recovered.is_clear());
        let restored = recovered.steps[0].settlement.as_ref().unwrap().outcome.as_ref().unwrap();
        let kept = restored.output["kept"].as_array().unwrap();
        assert!(kept.iter().any(|kept| kept["path"] == ".git" && kept["repository"] == true), "{kept:?}");
        git(&work, &["fsck", "--full", "--no-dangling"]);
        assert_eq!(git(&work, &["log", "--format=%s"]), "mine\ntwo\none\n");
        assert_eq!(read(&work.join("mine")).as_deref(), Some("mine"));
    });
}
