//! Erasing somebody who comes back meanwhile, and what others took back, hold or go on with while somebody is erased.

use crate::place::Place;
use crate::support::{attached, event, noise, principal, run, take};
use samite::embedded::Embedded;
use samite::erasure::{EraseOptions, EraseWhat, HoldOn, SweepOptions};
use samite::{Client, NewSession, Observer, ReadOptions, WriterOptions};
use samite_model::access::{Grantee, Right, Rights};
use samite_model::{ErrorKind, SessionId};
use std::fs;
use std::path::PathBuf;

fn erasing(what: EraseWhat) -> EraseOptions {
    EraseOptions { what, reason: "asked for".to_owned(), also: Vec::new(), observer: Observer::default() }
}

async fn client(store: &Embedded, name: &str) -> Client {
    store.store().client(principal(name)).await.unwrap()
}

fn with(user: &str) -> Grantee {
    Grantee::parse(&[format!("user:{user}")]).unwrap()
}

const ALL: [Right; 5] = [Right::Read, Right::Append, Right::Fork, Right::Publish, Right::Manage];

async fn share(client: &Client, session: SessionId, user: &str, rights: &[Right]) {
    client.share(session, with(user), Rights::of(rights.iter().copied()), None).await.unwrap();
}

async fn session(client: &Client) -> SessionId {
    client.create_session(NewSession::default()).await.unwrap().id
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
        // Dan is let in by Bo, then by Ada in place of that; Cleo and Eve by Ada.
        share(&bo, of_bo, "dan", &[Right::Read]).await;
        share(&ada, of_bo, "dan", &[Right::Read, Right::Append]).await;
        share(&ada, of_bo, "cleo", &[Right::Read]).await;
        share(&ada, of_bo, "eve", &[Right::Read]).await;
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
        // The locks of this process on these files, as the system lists them: `1: POSIX ADVISORY READ PID MAJOR:MINOR:INODE …`.
        let locks = || -> Vec<u64> {
            let pid = std::process::id().to_string();
            let all = fs::read_to_string("/proc/locks").unwrap();
            let mut held: Vec<u64> = all
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>())
                .filter(|words| words.get(1) == Some(&"POSIX") && words.get(4) == Some(&pid.as_str()))
                .filter_map(|words| words.get(5)?.rsplit(':').next()?.parse().ok())
                .filter(|inode| files.contains(inode))
                .collect();
            held.sort_unstable();
            held.dedup();
            held
        };
        if !std::path::Path::new("/proc/locks").exists() {
            eprintln!("SKIPPED: the system lists no locks");
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
