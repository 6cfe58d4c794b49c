//! Several erasures of every scope, in any order: done again in copies of the store from before them.

use crate::place::Place;
use crate::support::{attached, event, noise, principal, run, take};
use samite::artifact::{ArtifactSource, PutArtifact};
use samite::embedded::Embedded;
use samite::erasure::{EraseOptions, EraseWhat, SweepOptions};
use samite::{Client, ForkOptions, NewSession, Observer, WriterOptions};
use samite_model::SessionId;
use samite_model::access::{Grantee, Right, Rights};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What there is, and the texts by which it is found.
const TEXTS: [&str; 18] = [
    "ada's first words",            // 0
    "ada's second words",           // 1
    "ada's third words",            // 2
    "in a file of ada's",           // 3
    "in a later file of ada's",     // 4
    "ada says in another session",  // 5
    "in a file of another session", // 6
    "in an artifact of ada's",      // 7
    "ada writes in bo's session",   // 8
    "bo's first words",             // 9
    "bo's second words",            // 10
    "in a file of bo's",            // 11
    "bo says in another session",   // 12
    "in an artifact of bo's",       // 13
    "on a fork of ada's",           // 14
    "nobody ever said this",        // 15
    "eve says something",           // 16
    "in a file of eve's",           // 17
];

/// What is erased, and which of the texts go with it.
#[derive(Clone, Debug)]
struct Erasing {
    what: EraseWhat,
    /// Who asks for it.
    by: &'static str,
    takes: &'static [usize],
}

async fn client(store: &Embedded, name: &str) -> Client {
    store.store().client(principal(name)).await.unwrap()
}

async fn tell(client: &Client, session: SessionId, texts: &[usize]) {
    let options = WriterOptions { take_over: true, ..WriterOptions::default() };
    let writer = client.writer(session, None, options).await.unwrap();
    for text in texts {
        writer.append(event(TEXTS[*text])).await.unwrap();
    }
    writer.release().await.unwrap();
}

/// A session with words, and a checkpoint of a file that is of one chunk and of one that has several, which others have too.
async fn worked(client: &Client, place: &Place, directory: &str, words: &[usize], file: usize) -> SessionId {
    let work = place.directory(directory);
    fs::create_dir(work.join("sub")).unwrap();
    fs::write(work.join("sub/file"), TEXTS[file]).unwrap();
    fs::write(work.join("shared"), noise(1, 300_000)).unwrap();
    let session = attached(client, &work).await;
    tell(client, session, words).await;
    take(client, session).await;
    session
}

async fn published(client: &Client, session: SessionId, text: usize) -> EraseWhat {
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    let source = ArtifactSource::Bytes(TEXTS[text].as_bytes().to_vec());
    let put = PutArtifact { source, name: Some(format!("report {text}")), ..PutArtifact::file("") };
    let artifact = writer.put_artifact(&put).await.unwrap().record.artifact;
    writer.release().await.unwrap();
    EraseWhat::Artifact(artifact)
}

/// A store of three persons and a copy of it, closed, with what is to be erased of it.
async fn world(place: &Place) -> Vec<Erasing> {
    let store = place.open();
    let (ada, bo, eve) = (client(&store, "ada").await, client(&store, "bo").await, client(&store, "eve").await);
    let of_ada = worked(&ada, place, "ada", &[0, 1, 2], 3).await;
    fs::write(place.path("ada").join("later"), TEXTS[4]).unwrap();
    let later = take(&ada, of_ada).await.position;
    let other = worked(&ada, place, "other", &[5], 6).await;
    let of_bo = worked(&bo, place, "bo", &[9, 10], 11).await;
    let grantee = Grantee::parse(&["user:ada".to_owned()]).unwrap();
    bo.share(of_bo, grantee, Rights::of([Right::Read, Right::Append]), None).await.unwrap();
    tell(&ada.enter(of_bo).await.unwrap(), of_bo, &[8]).await;
    let other_of_bo = bo.create_session(NewSession::default()).await.unwrap().id;
    tell(&bo, other_of_bo, &[12]).await;
    worked(&eve, place, "eve", &[16], 17).await;
    let artifact = published(&ada, of_ada, 7).await;
    let artifact_of_bo = published(&bo, of_bo, 13).await;
    let branch = ada.current_branch(of_ada).await.unwrap();
    let branch_of_bo = bo.current_branch(of_bo).await.unwrap();
    let fork = ada.fork(of_ada, ForkOptions { seq: Some(2), ..ForkOptions::default() }).await.unwrap().branch;
    let writer = ada.writer(of_ada, Some(fork), WriterOptions::default()).await.unwrap();
    writer.append(event(TEXTS[14])).await.unwrap();
    writer.release().await.unwrap();
    let entries = |session, branch, from, to| EraseWhat::Entries { session, branch, from, to };
    let user = |name: &str| EraseWhat::User(name.to_owned());
    let all = vec![
        Erasing { what: entries(of_ada, branch, 1, 1), by: "ada", takes: &[0] },
        Erasing { what: entries(of_ada, branch, 2, 2), by: "ada", takes: &[1] },
        Erasing { what: entries(of_ada, branch, later.seq, later.seq), by: "ada", takes: &[4] },
        Erasing { what: entries(of_bo, branch_of_bo, 1, 1), by: "bo", takes: &[9] },
        Erasing { what: EraseWhat::Session(other), by: "ada", takes: &[5, 6] },
        Erasing { what: EraseWhat::Session(other_of_bo), by: "bo", takes: &[12] },
        Erasing { what: artifact, by: "ada", takes: &[7] },
        Erasing { what: artifact_of_bo, by: "bo", takes: &[13] },
        Erasing { what: user("ada"), by: "cleo", takes: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 14] },
        Erasing { what: user("bo"), by: "cleo", takes: &[8, 9, 10, 11, 12, 13] },
        Erasing { what: user("eve"), by: "cleo", takes: &[16, 17] },
    ];
    store.backup(&place.path("copy")).await.unwrap();
    store.close().await;
    all
}

/// The numbers of the texts that a sweep finds.
async fn found(store: &Embedded) -> BTreeSet<usize> {
    let canaries = TEXTS.iter().map(|text| (*text).to_owned()).collect();
    let swept = store.sweep(&SweepOptions { canaries, ..SweepOptions::default() }).await.unwrap();
    swept.found().into_iter().collect()
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// That a store has all but what went, is whole, and serves.
async fn is_as_erased(store: &Embedded, left: &BTreeSet<usize>, about: &str) {
    assert_eq!(found(store).await, *left, "{about}");
    for rebuild in [false, true] {
        let verified = store.store().verify(rebuild, None).await.unwrap();
        assert_eq!(verified.findings, [], "{about}: {verified:?}");
        assert_eq!((&verified.stale_views, &verified.rebuilt), (&Vec::new(), &Vec::new()), "{about}: {verified:?}");
        assert!(verified.unreadable.is_empty() && verified.packs.is_empty(), "{about}: {verified:?}");
    }
    // Also who was erased may come back.
    for name in ["ada", "cleo"] {
        let back = client(store, name).await;
        let session = back.create_session(NewSession::default()).await.unwrap().id;
        let writer = back.writer(session, None, WriterOptions::default()).await.unwrap();
        writer.append(event("somebody goes on")).await.unwrap();
        writer.release().await.unwrap();
        back.collect().await.unwrap();
    }
}

/// Erases in this order in the store, and opens copies from before all of it and from its middle.
async fn in_order(original: &Path, all: &[Erasing], order: &[usize]) {
    let place = Place::new();
    copy_all(original, place.root());
    let mut left: BTreeSet<usize> = (0..TEXTS.len()).filter(|text| *text != 15).collect();
    let store = place.open();
    let (mut done, mut since) = (0, 0);
    for (number, erasing) in order.iter().map(|number| &all[*number]).enumerate() {
        if number == order.len() / 2 {
            store.backup(&place.path("middle")).await.unwrap();
            since = done;
        }
        let options = EraseOptions {
            what: erasing.what.clone(),
            reason: "asked for".to_owned(),
            also: Vec::new(),
            observer: Observer::default(),
        };
        // It went with whoever could ask for it.
        let user = EraseWhat::User(erasing.by.to_owned());
        if order.iter().take(number).any(|earlier| all[*earlier].what == user) {
            continue;
        }
        store.erase(&client(&store, erasing.by).await, &options).await.unwrap();
        done += 1;
        left.retain(|text| !erasing.takes.contains(text));
    }
    is_as_erased(&store, &left, &format!("{order:?}, where it was asked for")).await;
    store.close().await;
    for (copy, erasures) in [("copy", done), ("middle", done - since)] {
        let opened = place.open_at(&place.path(copy));
        assert_eq!(opened.erased_at_open().len(), erasures, "{order:?}, {copy}");
        assert!(opened.erasures_wait().is_none());
        is_as_erased(&opened, &left, &format!("{order:?}, {copy}")).await;
        opened.close().await;
        // All of it is done.
        assert_eq!(place.open_at(&place.path(copy)).erased_at_open().len(), 0, "{order:?}, {copy}");
    }
}

/// So many of all there are, shuffled.
fn shuffled(count: usize, all: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut rest: Vec<usize> = (0..all).collect();
    let mut order = Vec::new();
    while order.len() < count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.push(rest.remove(usize::try_from(state >> 33).unwrap() % rest.len()));
    }
    order
}

#[test]
fn erasures_in_any_order_are_done_again_in_copies_from_before_them() {
    run(async {
        let place = Place::new();
        let all = world(&place).await;
        // What is not a person's first; persons alone; persons in between; and a person who is in others' sessions last.
        let fixed =
            [vec![0, 1, 8], vec![8, 9, 10], vec![4, 5, 3, 8], vec![6, 2, 10, 8], vec![7, 9, 0, 10, 8], vec![3, 5, 9]];
        for order in &fixed {
            in_order(place.root(), &all, order).await;
        }
        let seeds = std::env::var("SAMITE_ORDERS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
        for seed in 0..seeds {
            let count = 3 + usize::try_from(seed).unwrap() % (all.len() - 2);
            in_order(place.root(), &all, &shuffled(count, all.len(), seed)).await;
        }
    });
}
