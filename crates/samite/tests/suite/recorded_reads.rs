//! Reads by others are in the log within 100 ms, by a clock of the tests' own, and what a kill inside of that leaves out.

use crate::audit_archive::{Opened, open};
use crate::place::Place;
use crate::support::{event, principal, run};
use futures_lite::future::poll_once;
use samite::{Client, NewSession, ReadOptions, Store, WriterOptions};
use samite_host::{Clock as _, Sleep, Sleeping};
use samite_ledger::testing::{Faults, FaultyStore, Seeded};
use samite_model::access::{Grantee, Right, Rights};
use samite_model::{Observer, SessionId};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ROOT: &str = "SAMITE_TEST_READS";
const MILLISECOND: i64 = 1_000_000;

/// How long each batch wants to be gathered, and what lets it go on.
struct Gate {
    asked: Receiver<Duration>,
    open: Sender<()>,
}

fn gated(store: Store) -> (Store, Gate) {
    let (ask, asked) = channel();
    let (open, opened) = channel::<()>();
    let (ask, opened) = (Mutex::new(ask), Mutex::new(opened));
    let pause = Arc::new(move |wanted: Duration| {
        ask.lock().unwrap().send(wanted).ok();
        opened.lock().unwrap().recv().ok();
    });
    (store.gathering(pause), Gate { asked, open })
}

/// A session of ada's that bob may read, and bob there.
async fn shared(store: &Store) -> (Client, Client, SessionId) {
    let ada = store.client(principal("ada")).await.unwrap();
    let session = ada.create_session(NewSession::default()).await.unwrap().id;
    let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
    writer.append(event("hers")).await.unwrap();
    let bob = Grantee { user: Some("bob".to_owned()), agent: None };
    ada.share(session, bob, Rights::of([Right::Read]), None).await.unwrap();
    let bob = store.client(principal("bob")).await.unwrap();
    let there = bob.enter(session).await.unwrap();
    (ada, there, session)
}

async fn look(there: &Client, session: SessionId) {
    let read = there.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
    assert_eq!(read.len(), 1);
}

/// Of each record of reads of the branch: when its first and last read were, when it was written, and how many entries.
async fn recorded(ada: &Client, session: SessionId) -> Vec<(i64, i64, i64, u64)> {
    let branch = ada.current_branch(session).await.unwrap();
    let reads = ada.reads_by_others().await.unwrap();
    let of_branch = |read: &samite::access::RecordedRead| -> u64 {
        read.recorded.read.iter().filter(|looked| looked.journal == branch).map(|looked| looked.entries).sum()
    };
    reads
        .iter()
        .filter(|read| of_branch(read) > 0)
        .map(|read| (read.recorded.from, read.recorded.until, read.time, of_branch(read)))
        .collect()
}

#[test]
fn a_batch_is_gathered_for_half_of_the_bound_and_then_written() {
    let place = tempfile::tempdir().unwrap();
    let Opened { store, clock, .. } = open(place.path(), 0);
    let (store, gate) = gated(store);
    run(async {
        let (ada, there, session) = shared(&store).await;
        there.record_reads().await.unwrap();
        while gate.asked.try_recv().is_ok() {}
        let began = clock.now();
        look(&there, session).await;
        clock.advance(40 * MILLISECOND);
        look(&there, session).await;
        assert_eq!(recorded(&ada, session).await, [], "it is still gathered");
        let wanted = gate.asked.recv().unwrap();
        assert_eq!(wanted, Duration::from_millis(50));
        clock.advance(10 * MILLISECOND);
        gate.open.send(()).unwrap();
        gate.open.send(()).unwrap();
        while recorded(&ada, session).await.is_empty() {
            std::thread::yield_now();
        }
        let at = |milliseconds: i64| began + milliseconds * MILLISECOND;
        assert_eq!(recorded(&ada, session).await, [(at(0), at(40), at(50), 2)]);
    });
}

#[test]
fn nothing_more_is_answered_once_what_was_is_a_hundred_milliseconds_old() {
    let place = tempfile::tempdir().unwrap();
    let Opened { store, clock, .. } = open(place.path(), 0);
    // The thread that would record never comes to it.
    let (store, _gate) = gated(store);
    run(async {
        let (ada, there, session) = shared(&store).await;
        there.record_reads().await.unwrap();
        let began = clock.now();
        look(&there, session).await;
        clock.advance(99 * MILLISECOND);
        look(&there, session).await;
        assert_eq!(recorded(&ada, session).await, []);
        clock.advance(MILLISECOND);
        look(&there, session).await;
        let at = |milliseconds: i64| began + milliseconds * MILLISECOND;
        assert_eq!(recorded(&ada, session).await, [(at(0), at(99), at(100), 2)], "before the third was answered");
        std::mem::forget(there);
    });
    std::mem::forget(store);
}

/// Time that does not pass.
struct Stopped;

impl Sleep for Stopped {
    fn sleep(&self, _nanoseconds: u64) -> Sleeping {
        Box::pin(std::future::pending())
    }
}

#[test]
fn reads_whose_recording_is_given_up_are_recorded_all_the_same() {
    let place = Place::new();
    let faulty = FaultyStore::new(Seeded::new(7), Arc::new(Stopped), Faults::NONE);
    let ledger = Arc::new(faulty.open());
    let (store, _gate) = gated(Store::new(place.backends(ledger.clone(), ledger)));
    run(async {
        let (ada, there, session) = shared(&store).await;
        there.record_reads().await.unwrap();
        for _ in 0..2 {
            look(&there, session).await;
            // A commit that takes longer than whoever waits for it wants to wait.
            faulty.set_faults(Faults { delay: 1_000_000, ..Faults::NONE });
            assert!(poll_once(there.record_reads()).await.is_none());
            faulty.set_faults(Faults::NONE);
        }
        there.record_reads().await.unwrap();
        let entries: u64 = recorded(&ada, session).await.iter().map(|one| one.3).sum();
        assert_eq!(entries, 2, "each read once, and none twice");
        std::mem::forget(there);
    });
    std::mem::forget(store);
}

#[test]
#[ignore = "run by the other test, in a process of its own"]
fn child_reads_and_waits() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
    let Opened { store, clock, .. } = open(&root, 0);
    let (store, _gate) = gated(store);
    run(async {
        let (_, there, session) = shared(&store).await;
        there.record_reads().await.unwrap();
        look(&there, session).await;
        clock.advance(100 * MILLISECOND);
        look(&there, session).await;
        clock.advance(99 * MILLISECOND);
        look(&there, session).await;
        std::fs::write(root.join("session"), session.to_string()).unwrap();
        loop {
            std::thread::park();
        }
    });
}

fn wait_for(path: &Path) -> String {
    let ends = std::time::Instant::now() + Duration::from_mins(2);
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.len() == 32 => return text,
            _ => assert!(std::time::Instant::now() < ends, "the process never read"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_kill_leaves_out_the_last_batch_alone() {
    let place = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "recorded_reads::child_reads_and_waits", "--include-ignored", "--quiet"])
        .env(ROOT, place.path())
        .spawn()
        .unwrap();
    let session: SessionId = wait_for(&place.path().join("session")).parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let Opened { store, .. } = open(place.path(), 1);
    run(async {
        let ada = store.client(principal("ada")).await.unwrap();
        let kept: Vec<u64> = recorded(&ada, session).await.iter().map(|one| one.3).collect();
        // Three reads were answered: the first is in the log, those of the last 100 ms are not.
        assert_eq!(kept, [1]);
        assert_eq!(ada.audit().verify(&[], &Observer::default()).await.unwrap().findings, []);
    });
}
