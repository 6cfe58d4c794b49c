//! Erasing somebody who comes back meanwhile, and what others took back, hold or go on with while somebody is erased.

use crate::erasing_shared::{ALL, client, session, share, with};
use crate::place::Place;
use crate::support::{attached, event, noise, run, take};
use samite::artifact::{ArtifactFilter, ArtifactSource, PutArtifact};
use samite::embedded::Embedded;
use samite::erasure::{Because, EraseOptions, EraseWhat, HoldOn, SweepOptions};
use samite::payload::Counted;
use samite::policy::Retained;
use samite::{Client, NewEvent, NewSession, Observer, ReadOptions, SubjectExportOptions, WriterOptions};
use samite_model::access::Right;
use samite_model::{EntryKind, ErrorKind, SessionId};
use serde_json::json;
use std::fs;
use std::path::PathBuf;

fn erasing(what: EraseWhat) -> EraseOptions {
    EraseOptions { what, reason: "asked for".to_owned(), also: Vec::new(), observer: Observer::default() }
}

async fn tell(client: &Client, session: SessionId, text: &str) {
    let options = WriterOptions { take_over: true, ..WriterOptions::default() };
    let writer = client.writer(session, None, options).await.unwrap();
    writer.append(event(text)).await.unwrap();
    writer.release().await.unwrap();
}

async fn is_whole(store: &Embedded) {
    for rebuild in [false, true] {
        let verified = store.store().verify(rebuild, None).await.unwrap();
        assert_eq!(verified.findings, [], "{verified:?}");
        assert_eq!((verified.stale_views.len(), verified.rebuilt.len()), (0, 0), "{verified:?}");
        assert!(verified.unreadable.is_empty() && verified.packs.is_empty(), "{verified:?}");
    }
}

async fn found(store: &Embedded, texts: &[&str]) -> Vec<usize> {
    let canaries = texts.iter().map(|text| (*text).to_owned()).collect();
    store.sweep(&SweepOptions { canaries, ..SweepOptions::default() }).await.unwrap().found()
}

/// The database of the place's store.
fn database(place: &Place) -> PathBuf {
    let tenant = fs::read_dir(place.path("store").join("tenants")).unwrap().next().unwrap().unwrap().path();
    tenant.join("ledger.db")
}

/// A note of a hook's event that was not recorded, of a session of this name.
fn note(place: &Place, session: &str) {
    let line = format!(
        "{{\"id\":\"{session}\",\"time\":1,\"harness\":\"claude-code\",\"session\":\"{session}\",\"name\":\"Stop\",\"why\":\"busy\"}}\n"
    );
    let path = place.path("store.unrecorded");
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(path, format!("{}{line}", before.trim_start())).unwrap();
}

#[test]
fn who_comes_back_while_their_erasure_waits_is_somebody_else() {
    run(async {
        let place = Place::new();
        let store = place.open();
        // The user of the command line, whose hooks they are.
        let (ada, bo) = (client(&store, "local").await, client(&store, "bo").await);
        let work = place.directory("work");
        fs::write(work.join("file"), noise(1, 100_000)).unwrap();
        let gone = attached(&ada, &work).await;
        take(&ada, gone).await;
        tell(&ada, gone, "words of the one who goes").await;
        let of_bo = session(&bo).await;
        tell(&bo, of_bo, "words of bo").await;
        share(&bo, of_bo, "local", &ALL).await;
        tell(&ada.enter(of_bo).await.unwrap(), of_bo, "her words in his").await;
        note(&place, "before");

        // Somebody keeps an older state of the ledger in use.
        let reader = rusqlite::Connection::open(database(&place)).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM entry").unwrap();
        let error = store.erase(&bo, &erasing(EraseWhat::User("local".to_owned()))).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "busy"));
        assert!(!fs::read_to_string(place.path("store.unrecorded")).unwrap().contains("before"));
        drop(ada);

        // Somebody of that name comes, who works as anybody does.
        let back = client(&store, "local").await;
        let work = place.directory("anew");
        fs::write(work.join("file"), noise(2, 100_000)).unwrap();
        let anew = attached(&back, &work).await;
        take(&back, anew).await;
        tell(&back, anew, "words of the one who came").await;
        share(&bo, of_bo, "local", &ALL).await;
        tell(&back.enter(of_bo).await.unwrap(), of_bo, "new words in his").await;
        back.register_secret("theirs", b"a secret of the one who came").await.unwrap();
        note(&place, "after");
        store.close().await;

        // It is tried again at the opening, and nobody is kept from writing.
        drop(back);
        let store = place.open();
        assert_eq!(store.erasures_wait().map(samite_model::Error::code), Some("busy"));
        let bo = client(&store, "bo").await;
        tell(&bo, of_bo, "bo goes on").await;
        drop(reader);
        let done = store.resume_erasures(&Observer::default()).await.unwrap();
        assert_eq!(done.len(), 1, "what came since keeps nothing from its end");
        assert_eq!(found(&store, &["words of the one who goes", "her words in his"]).await, [] as [usize; 0]);
        let texts = ["words of the one who came", "new words in his", "bo goes on", "a secret of the one who came"];
        assert_eq!(found(&store, &texts).await.len(), 4);
        assert!(fs::read_to_string(place.path("store.unrecorded")).unwrap().contains("after"));
        is_whole(&store).await;
        let back = client(&store, "local").await;
        assert_eq!(back.sessions().await.unwrap().len(), 1);
        let entered = back.enter(of_bo).await.unwrap();
        let there = entered.read(of_bo, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
        assert_eq!(there.iter().filter(|entry| entry.payload.is_none()).count(), 1);
        fs::write(work.join("more"), "more").unwrap();
        take(&back, anew).await;
        store.close().await;
        is_whole(&place.open()).await;
    });
}

#[test]
fn a_grant_that_was_taken_back_stands_no_more_when_who_gave_it_goes() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let (cleo, dan, eve) = (client(&store, "cleo").await, client(&store, "dan").await, client(&store, "eve").await);
        let of_bo = session(&bo).await;
        tell(&bo, of_bo, "words of bo").await;
        share(&bo, of_bo, "ada", &ALL).await;
        // Dan is let in by Bo, then by Ada in place of that; Cleo by Ada, and Eve by Bo.
        share(&bo, of_bo, "dan", &[Right::Read]).await;
        share(&ada, of_bo, "dan", &[Right::Read, Right::Append]).await;
        share(&ada, of_bo, "cleo", &[Right::Read]).await;
        share(&bo, of_bo, "eve", &[Right::Read]).await;
        assert_eq!(bo.unshare(of_bo, Some(&with("cleo"))).await.unwrap().len(), 1);
        assert_eq!(bo.unshare(of_bo, Some(&with("dan"))).await.unwrap().len(), 1);
        store.erase(&bo, &erasing(EraseWhat::User("ada".to_owned()))).await.unwrap();
        for out in [&cleo, &dan] {
            assert_eq!(out.enter(of_bo).await.err().unwrap().code(), "no_session");
        }
        assert!(eve.enter(of_bo).await.is_ok());
        let standing = bo.grants(of_bo).await.unwrap();
        assert_eq!(standing.iter().map(|one| one.grant.to.clone()).collect::<Vec<_>>(), [with("eve")]);
        // Nor after the views were made again.
        is_whole(&store).await;
        assert_eq!(dan.enter(of_bo).await.err().unwrap().code(), "no_session");
    });
}

#[test]
fn a_sweep_leaves_its_process_the_locks_on_the_ledger() {
    use std::os::unix::fs::MetadataExt as _;
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let at = session(&ada).await;
        tell(&ada, at, "words that are there").await;
        let database = database(&place);
        let files = [database.clone(), database.with_extension("db-shm")].map(|path| fs::metadata(path).unwrap().ino());
        // The locks of this process on these files, as the system lists them of each of its own open files:
        // `lock:	1: POSIX  ADVISORY  READ PID MAJOR:MINOR:INODE …`. The list of the whole system loses lines while
        // other processes lock and unlock.
        let locks = || -> Vec<u64> {
            let mut held: Vec<u64> = fs::read_dir("/proc/self/fdinfo")
                .unwrap()
                .filter_map(|file| fs::read_to_string(file.ok()?.path()).ok())
                .flat_map(|file| file.lines().map(str::to_owned).collect::<Vec<_>>())
                .filter(|line| line.starts_with("lock:") && line.contains("POSIX"))
                .filter_map(|line| line.split_whitespace().nth(6)?.rsplit(':').next()?.parse().ok())
                .filter(|inode| files.contains(inode))
                .collect();
            held.sort_unstable();
            held.dedup();
            held
        };
        if !std::path::Path::new("/proc/self/fdinfo").exists() {
            eprintln!("SKIPPED: the system lists no locks of open files");
            return;
        }
        let before = locks();
        assert_eq!(before.len(), 2, "connections have both");
        for _ in 0..2 {
            assert_eq!(found(&store, &["words that are there"]).await, [0]);
            assert_eq!(locks(), before);
        }
        // Nor does one that names the store's directory beside it.
        let also = vec![place.path("store")];
        let options =
            SweepOptions { canaries: vec!["words that are there".to_owned()], also, ..SweepOptions::default() };
        store.sweep(&options).await.unwrap();
        assert_eq!(locks(), before);
    });
}

#[test]
fn a_copy_that_went_on_by_itself_loses_what_was_erased_and_nothing_else() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let common = session(&ada).await;
        tell(&ada, common, "words that both have").await;
        ada.register_secret("common", b"a secret that both have").await.unwrap();
        store.backup(&place.path("copy")).await.unwrap();
        let keyed = async |client: &Client, key: &str| {
            let new = NewSession { key: Some(key.to_owned()), ..NewSession::default() };
            client.create_session(new).await.unwrap()
        };
        // Each goes on by itself, at the same places.
        let copy = place.open_at(&place.path("copy"));
        let there = client(&copy, "ada").await;
        there.register_secret("own", b"a secret of the copy").await.unwrap();
        let of_copy = keyed(&there, "kept").await.id;
        tell(&there, common, "words of the copy").await;
        there.create_session(NewSession::default()).await.unwrap();
        copy.close().await;
        ada.register_secret("own", b"a secret of the first").await.unwrap();
        let of_first = keyed(&ada, "gone").await.id;
        tell(&ada, common, "words of the first").await;
        let branch = ada.current_branch(common).await.unwrap();
        store.erase(&ada, &erasing(EraseWhat::Entries { session: common, branch, from: 1, to: 2 })).await.unwrap();
        store.forget_secret(&ada, "own").await.unwrap();
        store.forget_secret(&ada, "common").await.unwrap();
        store.erase(&ada, &erasing(EraseWhat::Session(of_first))).await.unwrap();
        store.close().await;

        let copy = place.open_at(&place.path("copy"));
        assert_eq!(copy.erased_at_open().len(), 4);
        let there = client(&copy, "ada").await;
        assert_eq!(found(&copy, &["words that both have", "a secret that both have"]).await, [] as [usize; 0]);
        assert_eq!(found(&copy, &["words of the copy", "a secret of the copy"]).await, [0, 1]);
        let again = keyed(&there, "kept").await;
        assert_eq!(again.id, of_copy);
        tell(&there, common, "not a secret of the copy, is it").await;
        let read = there.read(common, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
        let last = read.last().and_then(|entry| entry.payload.clone()).unwrap();
        assert!(!String::from_utf8_lossy(&last).contains("a secret of the copy"), "it is looked for as before");
        is_whole(&copy).await;
    });
}

#[test]
fn a_hold_and_an_erasure_that_has_begun_stand_against_each_other_where_they_meet() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo, cleo) = (client(&store, "ada").await, client(&store, "bo").await, client(&store, "cleo").await);
        let user = |name: &str| HoldOn::User { subject: bo.pseudonym_of_user(name).unwrap() };
        let (of_ada, other_of_ada, of_bo) = (session(&ada).await, session(&ada).await, session(&bo).await);
        let of_cleo = session(&cleo).await;
        tell(&ada, of_ada, "words of ada").await;
        share(&bo, of_bo, "ada", &ALL).await;
        share(&ada, of_ada, "dan", &ALL).await;
        tell(&ada.enter(of_bo).await.unwrap(), of_bo, "ada in bo's").await;
        let dan = client(&store, "dan").await;
        tell(&dan.enter(of_ada).await.unwrap(), of_ada, "dan in ada's").await;

        // What Dan wrote in Ada's is kept by a hold on Dan.
        bo.set_hold(user("dan"), "case 1").await.unwrap();
        for (by, what) in [(&bo, EraseWhat::User("ada".to_owned())), (&ada, EraseWhat::Session(of_ada))] {
            assert_eq!(store.plan_erasure(by, &erasing(what.clone())).await.unwrap().held.unwrap().on, user("dan"));
            assert_eq!(store.erase(by, &erasing(what)).await.unwrap_err().code(), "legal_hold");
        }
        store.erase(&ada, &erasing(EraseWhat::Session(other_of_ada))).await.unwrap();
        bo.lift_hold(user("dan"), "closed").await.unwrap();

        // While an erasure of one session waits, what has nothing to do with it can be held.
        let another = session(&ada).await;
        let reader = rusqlite::Connection::open(database(&place)).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM entry").unwrap();
        assert_eq!(store.erase(&ada, &erasing(EraseWhat::Session(another))).await.unwrap_err().code(), "busy");
        let his = bo.session_to_hold(of_bo).await.unwrap();
        let of = ada.session_to_hold(of_ada).await.unwrap();
        assert!(bo.set_hold(of, "case 2").await.unwrap());
        bo.lift_hold(of, "closed").await.unwrap();
        assert_eq!(bo.set_hold(user("ada"), "case 2").await.unwrap_err().code(), "erasure_begun");

        // While one of a person waits, nothing that it takes of others can be.
        let error = store.erase(&bo, &erasing(EraseWhat::User("ada".to_owned()))).await.unwrap_err();
        assert_eq!(error.code(), "busy");
        for on in [user("bo"), his, of, user("dan")] {
            assert_eq!(bo.set_hold(on, "case 3").await.unwrap_err().code(), "erasure_begun", "{on:?}");
        }
        assert!(bo.set_hold(user("cleo"), "case 3").await.unwrap());
        let of_cleo = cleo.session_to_hold(of_cleo).await.unwrap();
        assert!(bo.set_hold(of_cleo, "case 3").await.unwrap());
        drop(reader);
        assert_eq!(store.resume_erasures(&Observer::default()).await.unwrap().len(), 2);
        assert!(bo.set_hold(user("bo"), "case 4").await.unwrap());
        is_whole(&store).await;
    });
}

fn counted<'a>(all: &'a [Counted], store: &str) -> Option<(u64, u64, u64)> {
    let one: Option<&'a Counted> = all.iter().find(|one| one.store == store);
    one.map(|one| (one.found, one.deleted, one.retained))
}

fn bytes_of(name: &str, bytes: &str) -> PutArtifact {
    PutArtifact {
        name: Some(name.to_owned()),
        source: ArtifactSource::Bytes(bytes.as_bytes().to_vec()),
        ..PutArtifact::file("")
    }
}

#[test]
fn what_a_person_published_and_wrote_for_another_is_told_of_without_their_name() {
    const ADA: &str = "ada.lovelace";
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, ADA).await, client(&store, "bo").await);
        let of_bo = session(&bo).await;
        tell(&bo, of_bo, "words of bo").await;
        share(&bo, of_bo, ADA, &ALL).await;
        let there = ada.enter(of_bo).await.unwrap();
        tell(&there, of_bo, "ada's words in bo's").await;
        let writer = there.writer(of_bo, None, WriterOptions::default()).await.unwrap();
        let made = writer.put_artifact(&bytes_of("chart", "a chart for bo")).await.unwrap().record.artifact;
        writer.release().await.unwrap();
        // Bo sums up what she wrote, and what he wrote himself.
        let writer = bo.writer(of_bo, None, WriterOptions::default()).await.unwrap();
        for (from, to) in [(1, 2), (1, 1)] {
            let attributes = Some(json!({ "from": from, "to": to }));
            let summary = NewEvent { kind: EntryKind::COMPACTION, attributes, ..event("bo sums up") };
            writer.append(summary).await.unwrap();
        }
        writer.release().await.unwrap();

        // She may have what she wrote there.
        let options = |user: &str, to: &str| SubjectExportOptions {
            user: user.to_owned(),
            to: place.path(to),
            ..SubjectExportOptions::default()
        };
        let done = store.export_subject(&bo, &options(ADA, "of ada")).await.unwrap();
        assert_eq!(done.elsewhere, 1);
        let lines = fs::read_to_string(place.path("of ada").join("elsewhere.jsonl")).unwrap();
        assert!(lines.contains("ada's words in bo's") && !lines.contains("words of bo"), "{lines}");
        store.export_subject(&bo, &options("bo", "of bo")).await.unwrap();
        store.backup(&place.path("copy")).await.unwrap();

        let what = || erasing(EraseWhat::User(ADA.to_owned()));
        let plan = store.plan_erasure(&bo, &what()).await.unwrap();
        assert_eq!(counted(&plan.found, "summaries_elsewhere"), Some((1, 0, 1)), "{plan:?}");
        let proof = store.erase(&bo, &what()).await.unwrap().proof.unwrap().1;
        let backup = proof.unreached.iter().find(|one| one.what == "backup").unwrap();
        assert!(backup.why.contains("under their keys, which live"), "{backup:?}");
        let exports = proof.unreached.iter().filter(|one| one.what == "subject_export");
        let why: Vec<bool> = exports.map(|one| one.why.contains("in whose sessions the person wrote")).collect();
        assert_eq!(why, [false, true], "hers, and Bo's");
        assert_eq!(counted(&proof.stores, "summaries_elsewhere"), Some((1, 0, 1)));

        assert_eq!(found(&store, &[ADA, "ada's words in bo's"]).await, [] as [usize; 0]);
        let artifacts = bo.artifacts(&ArtifactFilter::default()).await.unwrap();
        assert_eq!(artifacts.len(), 1);
        let record = &artifacts[0].record;
        assert_eq!((record.artifact, record.version), (made, 1));
        assert!(record.by.user.starts_with("erased "), "{record:?}");
        let mut bytes = Vec::new();
        bo.artifact_bytes(made, None, &mut bytes).await.unwrap();
        assert_eq!(bytes, b"a chart for bo");
        is_whole(&store).await;
        // It goes as any other, with what it was said by first.
        store.erase(&bo, &erasing(EraseWhat::Artifact(made))).await.unwrap();
        assert_eq!(bo.artifacts(&ArtifactFilter::default()).await.unwrap().len(), 0);
        is_whole(&store).await;
    });
}

#[test]
fn what_retention_let_go_may_be_published_again() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let at = session(&ada).await;
        let put = async || {
            let writer = ada.writer(at, None, WriterOptions::default()).await.unwrap();
            let put = writer.put_artifact(&bytes_of("status.txt", "all is well")).await;
            writer.release().await.unwrap();
            put.map(|put| put.record.artifact)
        };
        let first = put().await.unwrap();
        ada.set_retention(Retained::Artifact, Some(0)).await.unwrap();
        let done = store.apply_retention(&ada, &Observer::default()).await.unwrap();
        assert_eq!(done.iter().filter(|one| one.erasure.is_some()).count(), 1);
        assert_ne!(put().await.unwrap(), first);
        is_whole(&store).await;
    });
}

#[test]
fn damage_to_what_another_made_keeps_nobody_elses_data_from_being_erased() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let (of_ada, of_bo) = (session(&ada).await, session(&bo).await);
        let publish = async |client: &Client, at: SessionId, name: &str, inputs: Vec<PathBuf>| {
            fs::write(place.path(name), format!("bytes of {name}")).unwrap();
            let writer = client.writer(at, None, WriterOptions::default()).await.unwrap();
            let put = PutArtifact { inputs, ..PutArtifact::file(place.path(name)) };
            let made = writer.put_artifact(&put).await.unwrap().record.artifact;
            writer.release().await.unwrap();
            made
        };
        let first = publish(&ada, of_ada, "a chart", Vec::new()).await;
        publish(&bo, of_bo, "his report", vec![place.path("a chart")]).await;
        let what = || erasing(EraseWhat::Artifact(first));
        let derived = store.plan_erasure(&ada, &what()).await.unwrap().derived;
        assert_eq!(derived.iter().map(|one| one.because).collect::<Vec<_>>(), [Because::MadeOf]);
        store.close().await;
        // A byte of each of Bo's own blocks.
        let owner = bo.pseudonym_of_user("bo").unwrap();
        drop((ada, bo));
        let ledger = rusqlite::Connection::open(database(&place)).unwrap();
        let mine = "owner = (SELECT owner FROM owner WHERE pseudonym = ?1)";
        let blocks = format!("SELECT id, bytes FROM inline_block WHERE {mine}");
        let blocks: Vec<(i64, Vec<u8>)> = {
            let mut found = ledger.prepare(&blocks).unwrap();
            let rows = found.query_map([&owner.0], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.map(Result::unwrap).collect()
        };
        assert!(!blocks.is_empty(), "his trees are in the ledger");
        let blocks_of_bo = i64::try_from(blocks.len()).unwrap();
        for (id, mut bytes) in blocks {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            ledger.execute("UPDATE inline_block SET bytes = ?2 WHERE id = ?1", (id, bytes)).unwrap();
        }
        drop(ledger);
        let store = place.open();
        let ada = client(&store, "ada").await;
        let derived = store.plan_erasure(&ada, &what()).await.unwrap().derived;
        assert_eq!(derived, [], "what Bo made cannot be told");
        let branch = ada.current_branch(of_ada).await.unwrap();
        tell(&ada, of_ada, "words that go").await;
        let entries = EraseWhat::Entries { session: of_ada, branch, from: 2, to: 2 };
        store.plan_erasure(&ada, &erasing(entries)).await.unwrap();
        store.erase(&ada, &what()).await.unwrap();
        assert_eq!(found(&store, &["bytes of a chart"]).await, [] as [usize; 0], "his own is not opened any more");
        // What of his is whole stays, for whoever mends the rest.
        let left: i64 = {
            let ledger = rusqlite::Connection::open(database(&place)).unwrap();
            let count = format!("SELECT count(*) FROM inline_block WHERE {mine}");
            ledger.query_row(&count, [&owner.0], |row| row.get(0)).unwrap()
        };
        assert_eq!(left, blocks_of_bo);
        store.erase(&client(&store, "bo").await, &erasing(EraseWhat::User("ada".to_owned()))).await.unwrap();
    });
}

#[test]
fn a_store_of_a_version_that_had_no_rows_for_what_was_found_is_whole() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, "ada").await;
        let at = session(&ada).await;
        tell(&ada, at, "a token: ghp_16C7e42F292c6912E7710c838347Ae178B4a and more").await;
        is_whole(&store).await;
        store.close().await;
        drop(ada);
        let ledger = rusqlite::Connection::open(database(&place)).unwrap();
        assert_eq!(ledger.execute("DELETE FROM view_row WHERE kind = 50", []).unwrap(), 1);
        drop(ledger);
        let store = place.open();
        let verified = store.store().verify(false, None).await.unwrap();
        assert_eq!((verified.stale_views.len(), verified.findings.len()), (0, 0), "{verified:?}");
        let verified = store.store().verify(true, None).await.unwrap();
        assert_eq!((verified.stale_views.len(), verified.rebuilt.len()), (0, 1), "{verified:?}");
        is_whole(&store).await;
    });
}

#[test]
fn an_erasure_that_cannot_be_finished_keeps_nobody_from_writing() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, "ada").await, client(&store, "bo").await);
        let work = place.directory("work");
        for number in 0..40 {
            fs::write(work.join(format!("file {number}")), noise(number, 400_000)).unwrap();
        }
        let of_bo = attached(&bo, &work).await;
        take(&bo, of_bo).await;
        let of_ada = session(&ada).await;
        tell(&ada, of_ada, "words that go").await;
        let reader = rusqlite::Connection::open(database(&place)).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM entry").unwrap();
        let error = store.erase(&ada, &erasing(EraseWhat::Session(of_ada))).await.unwrap_err();
        assert_eq!(error.code(), "busy");
        drop(reader);
        // The packs are not where they should be by now: perhaps another disk is to be attached.
        let packs = database(&place).with_file_name("packs");
        let away = place.path("away");
        fs::rename(&packs, &away).unwrap();
        fs::create_dir(&packs).unwrap();
        drop((ada, bo));
        store.close().await;
        for round in 1..=2 {
            let store = place.open();
            let waits = store.erasures_wait().map(samite_model::Error::kind);
            let expected = if round == 1 { ErrorKind::Corrupt } else { ErrorKind::Unavailable };
            assert_eq!((waits, store.is_unreadable_by_now()), (Some(expected), false), "{round}");
            let bo = client(&store, "bo").await;
            tell(&bo, of_bo, "bo goes on").await;
            drop(bo);
            store.close().await;
        }
        fs::remove_dir_all(&packs).unwrap();
        fs::rename(&away, &packs).unwrap();
        let store = place.open();
        assert_eq!(store.resume_erasures(&Observer::default()).await.unwrap().len(), 1);
        assert_eq!(found(&store, &["words that go"]).await, [] as [usize; 0]);
        is_whole(&store).await;
    });
}
