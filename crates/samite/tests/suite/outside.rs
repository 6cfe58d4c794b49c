//! What is not the workspace's, or not this session's, is left alone.

use crate::place::Place;
use crate::support::{assert_verifies, attached, files_only, noise, principal, run, take};
use samite::workspace::{RestoreRequest, Restored};
use samite::{Begin, Client, ForkOptions, NewSession, NewStep, StepHandle, Writer, WriterOptions};
use samite_model::step::Effect;
use samite_model::{ErrorKind, Position, SessionId};
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, symlink};

async fn restore(client: &Client, session: SessionId, to: Position, force: bool) -> Restored {
    let request = RestoreRequest { force, ..RestoreRequest::default() };
    client.restore(session, None, to, WriterOptions::default(), &request).await.unwrap()
}

#[test]
fn a_directory_that_became_a_link_leads_a_restore_nowhere() {
    let place = Place::new();
    let (work, outside) = (place.directory("work"), place.directory("outside"));
    for name in ["kept", "same", "deep"] {
        fs::create_dir_all(outside.join(name)).unwrap();
        fs::write(outside.join(name).join("file"), "outside").unwrap();
    }
    fs::write(outside.join("single"), "outside").unwrap();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        for name in ["kept", "same", "deep/below"] {
            fs::create_dir_all(work.join(name)).unwrap();
            fs::write(work.join(name).join("file"), "inside").unwrap();
        }
        fs::write(work.join("single"), "inside").unwrap();
        let first = take(&client, session).await;
        // Everything inside is a way out, as an agent's or another's doing: recorded, and not recorded.
        for force in [false, true] {
            for record in [true, false] {
                for name in ["kept", "same", "deep"] {
                    if work.join(name).is_symlink() {
                        fs::remove_file(work.join(name)).unwrap();
                    } else {
                        fs::remove_dir_all(work.join(name)).unwrap();
                    }
                    symlink(outside.join(name), work.join(name)).unwrap();
                }
                fs::remove_file(work.join("single")).unwrap();
                symlink(outside.join("single"), work.join("single")).unwrap();
                if record {
                    take(&client, session).await;
                }
                let restored = restore(&client, session, first.position, force).await;
                for name in ["kept/file", "same/file", "deep/file", "single"] {
                    assert_eq!(fs::read_to_string(outside.join(name)).unwrap(), "outside", "{name} {record} {force}");
                }
                let count = |name: &str| fs::read_dir(outside.join(name)).unwrap().count();
                assert_eq!((count(""), count("deep"), count("kept")), (4, 1, 1));
                if force {
                    assert_eq!(restored.report.kept, [], "{record}");
                    assert!(!work.join("kept").is_symlink());
                    assert_eq!(fs::read_to_string(work.join("deep/below/file")).unwrap(), "inside");
                    assert_eq!(fs::read_to_string(work.join("single")).unwrap(), "inside");
                }
            }
        }
        assert_verifies(store.store());
    });
}

#[test]
fn a_store_inside_of_its_workspace_is_neither_recorded_nor_touched() {
    let place = Place::new();
    let work = place.directory("work");
    let inside = work.join("deep/store");
    fs::create_dir(work.join("deep")).unwrap();
    run(async {
        let store = place.open_at(&inside);
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        fs::write(work.join("deep/file"), "1").unwrap();
        let first = take(&client, session).await;
        assert_eq!(first.report.files, 1);
        fs::write(work.join("deep/file"), "2").unwrap();
        fs::write(work.join("deep/new"), "2").unwrap();
        take(&client, session).await;
        assert_eq!(client.workspace_status(session, None).await.unwrap().changes, []);
        let restored = restore(&client, session, first.position, true).await;
        assert!(restored.report.is_complete(), "{:?}", restored.report);
        assert_eq!(fs::read_to_string(work.join("deep/file")).unwrap(), "1");
        assert!(!work.join("deep/new").exists());
        let log = client.path_log(client.head(session, first.position.journal).await.unwrap(), "deep/store").await;
        assert!(log.unwrap().iter().all(|version| !version.exists));
        assert_verifies(store.store());
        store.close().await;
        assert_verifies(place.open_at(&inside).store());
    });
}

#[test]
fn what_another_session_changed_in_the_same_directory_is_kept_and_listed() {
    let place = Place::new();
    let work = place.directory("work");
    // Names that look alike for people, and are none the same.
    let odd = [&b"odd\xff"[..], b"odd\xfe", b"odd\\xff", b"odd\n", b"odd\\n"];
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let (mine, other) = (attached(&client, &work).await, attached(&client, &work).await);
        let write = |name: &[u8], text: &str| fs::write(work.join(OsStr::from_bytes(name)), text).unwrap();
        let read = |name: &[u8]| fs::read_to_string(work.join(OsStr::from_bytes(name))).ok();
        for name in odd.iter().chain([&&b"mine"[..], &&b"both"[..]]) {
            write(name, "at first");
        }
        let first = take(&client, mine).await;
        // An interval of this session, then one of the other, then one of this.
        write(b"mine", "by this one");
        write(b"both", "by this one");
        take(&client, mine).await;
        for name in [odd[0], odd[3]] {
            write(name, "by the other");
        }
        write(b"both", "by the other");
        write(b"new", "by the other");
        take(&client, other).await;
        for name in [odd[1], odd[2], odd[4]] {
            write(name, "by this one");
        }
        take(&client, mine).await;
        let restored = restore(&client, mine, first.position, false).await;
        let mut kept: Vec<Vec<u8>> = restored.report.kept.iter().map(|kept| kept.path.as_bytes().to_vec()).collect();
        kept.sort();
        let mut expected: Vec<Vec<u8>> = [odd[0], odd[3], b"both", b"new"].map(<[u8]>::to_vec).to_vec();
        expected.sort();
        assert_eq!(kept, expected);
        for name in [odd[0], odd[3], b"both", b"new"] {
            assert_eq!(read(name).as_deref(), Some("by the other"), "{}", String::from_utf8_lossy(name));
        }
        for name in [odd[1], odd[2], odd[4], b"mine"] {
            assert_eq!(read(name).as_deref(), Some("at first"), "{}", String::from_utf8_lossy(name));
        }
        assert_verifies(store.store());
    });
}

/// Begins a step of a session that works in the directory.
async fn contained(client: &Client, session: SessionId, key: &str) -> (Writer, StepHandle) {
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    let tree = writer.checkpoint(files_only()).await.unwrap().root;
    let step = NewStep {
        effect: Effect::Contained { within: Vec::new() },
        tree: Some(tree),
        ..NewStep::new(key, "edit", serde_json::json!({}))
    };
    let Begin::Run(handle) = writer.begin(&step).await.unwrap() else { panic!("it runs") };
    (writer, handle)
}

#[test]
fn what_changed_while_a_step_of_another_session_ran_belongs_to_nobody() {
    for ended in [false, true] {
        let place = Place::new();
        let work = place.directory("work");
        run(async {
            let store = place.open();
            let client = store.client().await.unwrap();
            let (mine, other) = (attached(&client, &work).await, attached(&client, &work).await);
            fs::write(work.join("f"), "at first").unwrap();
            let first = take(&client, mine).await;
            fs::write(work.join("f"), "by this one").unwrap();
            take(&client, mine).await;
            let (writer, handle) = contained(&client, other, "one").await;
            fs::write(work.join("g"), "by the other").unwrap();
            if ended {
                writer.complete(&handle, serde_json::json!({})).await.unwrap();
            }
            // It is this session that records what the other made.
            take(&client, mine).await;
            fs::write(work.join("h"), "by this one").unwrap();
            take(&client, mine).await;
            let restored = restore(&client, mine, first.position, false).await;
            let kept: Vec<String> = restored.report.kept.iter().map(|kept| kept.path.to_string()).collect();
            assert_eq!(kept, if ended { &["g"][..] } else { &["g", "h"] });
            assert_eq!(fs::read_to_string(work.join("g")).unwrap(), "by the other");
            assert_eq!(fs::read_to_string(work.join("f")).unwrap(), "at first");
            assert_eq!(work.join("h").exists(), !ended);
        });
    }
}

#[test]
fn what_changed_between_two_trees_of_another_session_belongs_to_nobody() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let (mine, other) = (attached(&client, &work).await, attached(&client, &work).await);
        let first = take(&client, mine).await;
        take(&client, other).await;
        fs::write(work.join("g"), "by the other").unwrap();
        take(&client, mine).await;
        take(&client, other).await;
        fs::write(work.join("h"), "by this one").unwrap();
        take(&client, mine).await;
        let restored = restore(&client, mine, first.position, false).await;
        let kept: Vec<String> = restored.report.kept.iter().map(|kept| kept.path.to_string()).collect();
        assert_eq!(kept, ["g"]);
        assert!(work.join("g").exists() && !work.join("h").exists());
    });
}

#[test]
fn a_directory_has_one_live_branch_of_a_session() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        take(&client, session).await;
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        // By any name of the directory.
        symlink(&work, place.path("alias")).unwrap();
        for name in [work.clone(), place.path("alias"), work.join("../work")] {
            let error = client.attach(session, Some(fork), &name).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "workspace_in_use"));
            assert!(error.message().contains(&work.canonicalize().unwrap().display().to_string()), "{error}");
            assert!(!error.hints().is_empty());
        }
        let missing = client.attach(session, Some(fork), &place.path("missing")).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        fs::write(place.path("file"), "").unwrap();
        let file = client.attach(session, Some(fork), &place.path("file")).await.unwrap_err();
        assert_eq!((file.kind(), file.code()), (ErrorKind::Invalid, "not_a_directory"));
        let odd = place.root().join(OsStr::from_bytes(b"odd\xff"));
        fs::create_dir(&odd).unwrap();
        let odd = client.attach(session, Some(fork), &odd).await.unwrap_err();
        assert_eq!((odd.kind(), odd.code()), (ErrorKind::Invalid, "bad_directory"));
        client.delete_branch(session, fork).await.unwrap();
        let other = attached(&client, &work).await;
        assert_eq!(client.workspaces(other).await.unwrap().len(), 1);
    });
}

/// How much memory this process has had at most, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_file_of_two_gibibytes_is_recorded_and_restored_in_little_memory() {
    let place = Place::new();
    let work = place.directory("work");
    let full = std::env::var_os("SAMITE_TEST_LARGE").is_some();
    let size = 2_u64 << 30;
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        let file = fs::File::create(work.join("large")).unwrap();
        if full {
            let mut file = std::io::BufWriter::new(&file);
            for part in 0..512 {
                file.write_all(&noise(part + 1, 4 << 20)).unwrap();
            }
        } else {
            eprintln!("SKIPPED: a file without holes, unless SAMITE_TEST_LARGE is set");
            file.set_len(size).unwrap();
            for part in 0..4 {
                file.write_all_at(&noise(part + 1, 2 << 20), part * (size / 4)).unwrap();
            }
        }
        drop(file);
        let taken = take(&client, session).await;
        assert_eq!(taken.report.bytes, size);
        let before = fs::metadata(work.join("large")).unwrap();
        fs::remove_file(work.join("large")).unwrap();
        restore(&client, session, taken.position, true).await;
        let after = fs::metadata(work.join("large")).unwrap();
        assert_eq!((after.len(), after.mtime_nsec()), (before.len(), before.mtime_nsec()));
        assert!(after.blocks() <= before.blocks() + 64, "holes are holes again");
        // The same bytes are the same tree.
        assert!(client.workspace_status(session, None).await.unwrap().changes.is_empty());
        assert!(take(&client, session).await.unchanged);
        assert!(peak() < 256 << 20, "{}", peak());
        assert_verifies(store.store());
        assert!(peak() < 256 << 20, "{}", peak());
    });
}

#[test]
fn a_directory_that_another_person_works_in_is_denied_and_their_branches_are_not_named() {
    let place = Place::new();
    let (work, own) = (place.directory("work"), place.directory("own"));
    run(async {
        let store = place.open();
        let ada = store.store().client(principal("ada")).await.unwrap();
        let session = attached(&ada, &work).await;
        fs::write(work.join("file"), noise(1, 300_000)).unwrap();
        take(&ada, session).await;
        let bob = store.store().client(principal("bob")).await.unwrap();
        let other = bob.create_session(NewSession::default()).await.unwrap().id;
        let error = bob.attach(other, None, &work).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "other_owner"));
        assert!(!error.to_string().contains("ada"), "{error}");
        bob.attach(other, None, &own).await.unwrap();
        // What of hers would go is in the sum alone.
        let fork = ada.fork(session, ForkOptions::default()).await.unwrap().branch;
        ada.materialise(session, fork, &place.path("second")).await.unwrap();
        fs::write(place.path("second").join("tried"), noise(2, 300_000)).unwrap();
        ada.checkpoint(session, Some(fork), WriterOptions::default(), files_only()).await.unwrap();
        ada.set_lifetime(session, fork, Some(1)).await.unwrap();
        let (hers, his) = (ada.plan_collection().await.unwrap(), bob.plan_collection().await.unwrap());
        assert_eq!((hers.branches.len(), his.branches.len()), (1, 0));
        assert!(his.bytes > 300_000 && his.bytes == hers.bytes, "{} {}", his.bytes, hers.bytes);
        assert_eq!(hers.branches[0].bytes, hers.bytes);
    });
}
