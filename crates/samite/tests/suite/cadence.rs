//! Checkpoints that nobody asks for.

use crate::place::Place;
use crate::support::{assert_verifies, attached, event, files_only, noise, run};
use samite::payload::TurnEnded;
use samite::workspace::CheckpointRecord;
use samite::{
    Begin, Client, Completion, ForkOptions, NewEvent, NewStep, ReadOptions, StepHandle, Writer, WriterOptions,
};
use samite_host::TestClock;
use samite_model::cadence::{Cause, Why};
use samite_model::settings::{Bounds, Cadence};
use samite_model::{EntryKind, SessionId};
use serde_json::json;
use std::fs;

const SECOND: i64 = 1_000_000_000;

async fn set(client: &Client, session: SessionId, cadence: Cadence) {
    client.change_settings(session, |settings| settings.cadence = cadence).await.unwrap();
}

async fn begin(writer: &Writer, key: &str) -> StepHandle {
    match writer.begin(&NewStep::new(key, key, json!({}))).await.unwrap() {
        Begin::Run(handle) => handle,
        other => panic!("not to run: {other:?}"),
    }
}

async fn kinds(client: &Client, session: SessionId) -> Vec<EntryKind> {
    let entries = client.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
    entries.iter().map(|entry| entry.header.kind).collect()
}

async fn records(client: &Client, session: SessionId) -> Vec<CheckpointRecord> {
    client.checkpoints(session, None).await.unwrap()
}

fn second(clock: &TestClock, seconds: i64) {
    clock.set(samite_host::Clock::now(clock) + seconds * SECOND);
}

#[test]
fn a_step_of_any_effect_ends_with_a_tree_where_the_cadence_says_so() {
    use EntryKind as K;
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let done = Completion::completed(json!("done"));
        for (number, (cadence, takes)) in [(Cadence::Turn, false), (Cadence::Step, true)].into_iter().enumerate() {
            set(&client, session, cadence).await;
            let step = begin(&writer, &format!("k{number}")).await;
            fs::write(work.join("a"), number.to_string()).unwrap();
            let ended = writer.finish_in_cadence(&step, &done).await.unwrap();
            assert_eq!((ended.tree.is_some(), ended.failed.is_none()), (takes, true));
        }
        assert_eq!(
            kinds(&client, session).await,
            [K::STEP_STARTED, K::STEP_COMPLETED, K::STEP_STARTED, K::TREE, K::STEP_COMPLETED,]
        );
        // A tree that cannot be taken keeps no outcome from being recorded, and is told.
        let step = begin(&writer, "k2").await;
        fs::remove_dir_all(&work).unwrap();
        let ended = writer.finish_in_cadence(&step, &done).await.unwrap();
        assert!(ended.tree.is_none());
        assert_eq!(ended.failed.unwrap().code(), "no_file");
        assert_eq!(kinds(&client, session).await.last(), Some(&K::STEP_COMPLETED));
        writer.release().await.unwrap();
        assert_verifies(store.store());
    });
}

#[test]
fn a_turn_ends_once_with_its_tree_in_the_same_commit() {
    use EntryKind as K;
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        writer.append(NewEvent { dedupe: Some("m1".to_owned()), ..event("do it") }).await.unwrap();
        fs::write(work.join("a"), "one").unwrap();
        let first = writer.end_turn(Some("t1")).await.unwrap();
        assert_eq!((first.position.seq, first.duplicate), (3, false));
        let taken = first.checkpoint.unwrap();
        assert_eq!(taken.position.seq, 2);
        // Said again, whatever changed since: it has ended.
        fs::write(work.join("a"), "two").unwrap();
        let again = writer.end_turn(Some("t1")).await.unwrap();
        assert_eq!((again.position, again.duplicate, again.checkpoint.is_none()), (first.position, true, true));
        // An id is used for one thing.
        assert_eq!(writer.end_turn(Some("m1")).await.unwrap_err().code(), "dedupe_mismatch");
        let other = writer.append(NewEvent { dedupe: Some("t1".to_owned()), ..event("") }).await;
        assert_eq!(other.unwrap_err().code(), "dedupe_mismatch");
        // Without an id each is another.
        let second = writer.end_turn(None).await.unwrap();
        assert_eq!((second.position.seq, second.checkpoint.unwrap().unchanged), (5, false));
        assert_eq!(kinds(&client, session).await, [K::MESSAGE, K::TREE, K::TURN_ENDED, K::TREE, K::TURN_ENDED]);
        let entry = client.read(session, None, ReadOptions { from: 3, to: Some(3), ..ReadOptions::default() }).await;
        let ended: TurnEnded = entry.unwrap().all().await.unwrap()[0].json().unwrap();
        assert_eq!(ended, TurnEnded { dedupe: Some("t1".to_owned()), tree: Some(taken.root), no_tree: None });
        // What is gone is told, and the turn has ended.
        fs::remove_dir_all(&work).unwrap();
        let third = writer.end_turn(Some("t2")).await.unwrap();
        assert_eq!(third.failed.unwrap().code(), "no_file");
        assert_eq!(third.position.seq, 6);
        // A fork after it knows it.
        writer.release().await.unwrap();
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let ended = client.end_turn(session, Some(fork), WriterOptions::default(), Some("t1")).await.unwrap();
        assert_eq!((ended.position, ended.duplicate), (first.position, true));
        // The files of the turn are where it ended.
        let mut bytes = Vec::new();
        client.cat(first.position, "a", &mut bytes).await.unwrap();
        assert_eq!(bytes, b"one");
        assert_verifies(store.store());
    });
}

#[test]
fn a_session_without_a_workspace_has_turns_all_the_same() {
    let place = Place::new();
    run(async {
        let client = place.client().await;
        let session = client.create_session(samite::NewSession::default()).await.unwrap().id;
        let ended = client.end_turn(session, None, WriterOptions::default(), None).await.unwrap();
        assert!(ended.checkpoint.is_none() && ended.failed.is_none() && ended.not_due.is_none());
        assert_eq!(kinds(&client, session).await, [EntryKind::TURN_ENDED]);
    });
}

#[test]
fn what_was_at_risk_and_what_it_cost_is_told_by_the_trees() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    run(async {
        let session = attached(&client, &work).await;
        set(&client, session, Cadence::Step).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        writer.checkpoint(files_only()).await.unwrap();
        // A night in which nothing is done is no risk.
        second(&clock, 30_000);
        writer.append(event("do it")).await.unwrap();
        second(&clock, 5);
        let step = begin(&writer, "k1").await;
        second(&clock, 40);
        fs::write(work.join("a"), noise(1, 100_000)).unwrap();
        let done = Completion::completed(json!("done"));
        let ended = writer.finish_in_cadence(&step, &done).await.unwrap();
        assert!(ended.tree.unwrap().new_bytes > 100_000);
        // Nor is one after a step has ended, nor a step that changed nothing.
        second(&clock, 30_000);
        let step = begin(&writer, "k2").await;
        second(&clock, 500);
        writer.finish_in_cadence(&step, &done).await.unwrap();
        let seen = records(&client, session).await;
        let told: Vec<_> = seen.iter().map(|one| (one.cause.unwrap(), one.exposed, one.duration)).collect();
        assert_eq!(
            told,
            [(Cause::Asked, 0, Some(0)), (Cause::StepEnd, 45_000_000_000, Some(0)), (Cause::StepEnd, 0, Some(0)),]
        );
        let held = seen.iter().map(|one| one.new_bytes).sum::<u64>();
        assert_eq!(seen[2].tree.tree.cost().unwrap().held, held);
        let session_wide = client.session_checkpoints(session).await.unwrap();
        assert_eq!((session_wide.count(), session_wide.worst_loss(), session_wide.held), (3, 45_000_000_000, held));
        assert_eq!(session_wide.branches[0].unsaved, None);
        writer.append(event("and now")).await.unwrap();
        second(&clock, 7);
        let session_wide = client.session_checkpoints(session).await.unwrap();
        assert_eq!(session_wide.branches[0].unsaved, Some(7_000_000_000));
    });
}

#[test]
fn bounds_keep_steps_from_being_kept_and_turns_are_kept_as_long_as_they_can_be() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    run(async {
        let session = attached(&client, &work).await;
        let full = Bounds { max_bytes: 200_000, ..Bounds::default() };
        set(&client, session, Cadence::Adaptive(full)).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let done = Completion::completed(json!("done"));
        let mut number = 0;
        let mut step = async |seed: u64| {
            number += 1;
            let step = begin(&writer, &format!("k{number}")).await;
            fs::write(work.join(seed.to_string()), noise(seed, 150_000)).unwrap();
            second(&clock, 100);
            writer.finish_in_cadence(&step, &done).await.unwrap().tree.is_some()
        };
        // Nothing is known, so the first is taken; so is the second, for there are bytes left; then there are none.
        assert_eq!((step(1).await, step(2).await, step(3).await), (true, true, false));
        let told = client.session_checkpoints(session).await.unwrap();
        assert!(told.is_full() && told.held > 300_000, "{told:?}");
        let ended = writer.end_turn(None).await.unwrap();
        assert!(ended.checkpoint.unwrap().new_bytes > 150_000 && ended.not_due.is_none());
        // Another branch's trees count as well.
        writer.release().await.unwrap();
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        client.materialise(session, fork, &place.path("second")).await.unwrap();
        let writer = client.writer(session, Some(fork), WriterOptions::default()).await.unwrap();
        let handle = begin(&writer, "elsewhere").await;
        fs::write(place.path("second").join("new"), "new").unwrap();
        assert!(writer.finish_in_cadence(&handle, &done).await.unwrap().tree.is_none());
        // The first one's time is over once nobody goes on there: what it held counts no more, collected or not.
        writer.release().await.unwrap();
        client.make_current(session, fork).await.unwrap();
        second(&clock, 31 * 24 * 3600);
        let told = client.session_checkpoints(session).await.unwrap();
        assert!(!told.is_full() && told.held < 200_000, "{told:?}");
        let writer = client.writer(session, Some(fork), WriterOptions::default()).await.unwrap();
        let more = Bounds { max_bytes: 10 << 30, ..full };
        set(&client, session, Cadence::Adaptive(more)).await;
        let handle = begin(&writer, "more").await;
        assert!(writer.finish_in_cadence(&handle, &done).await.unwrap().tree.is_some());
    });
}

#[test]
fn a_turn_that_would_cost_too_much_ends_without_a_tree_and_says_so() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = slow(&place).await;
        let session = attached(&client, &work).await;
        let bounds = Bounds { max_overhead: 1, ..Bounds::default() };
        set(&client, session, Cadence::Adaptive(bounds)).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        fs::write(work.join("a"), "a").unwrap();
        let taken: Vec<bool> = {
            let mut taken = Vec::new();
            for _ in 0..4 {
                let ended = writer.end_turn(None).await.unwrap();
                assert_eq!(ended.not_due, ended.checkpoint.is_none().then_some(Why::Overhead));
                taken.push(ended.checkpoint.is_some());
            }
            taken
        };
        // One that is owed to nobody, and nothing that a thousandth of ten minutes would pay for.
        assert_eq!(taken, [true, false, false, false]);
        let entries = writer.read(ReadOptions::default()).await.unwrap().all().await.unwrap();
        let last: TurnEnded = entries.last().unwrap().json().unwrap();
        assert_eq!(last.no_tree.as_deref(), Some("overhead"));
    });
}

#[test]
fn what_a_checkpoint_at_each_step_costs_is_told_as_a_part_of_the_time() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = slow(&place).await;
        let session = attached(&client, &work).await;
        set(&client, session, Cadence::Step).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let done = Completion::completed(json!("done"));
        let costs = async || client.session_checkpoints(session).await.unwrap();
        assert_eq!(costs().await.overhead(), None);
        for number in 0..4 {
            let step = begin(&writer, &format!("k{number}")).await;
            fs::write(work.join("a"), noise(number, 10_000)).unwrap();
            assert!(writer.finish_in_cadence(&step, &done).await.unwrap().tree.is_some());
            assert_eq!(costs().await.overhead().is_some(), number > 0);
        }
        let told = costs().await;
        let seen: Vec<_> = records(&client, session).await.iter().map(|one| one.tree.tree.cost().unwrap()).collect();
        let ends = |at: usize| seen[at].costs.begun + i64::try_from(seen[at].costs.duration).unwrap();
        let taken: u64 = seen.iter().skip(1).map(|one| one.costs.duration).sum();
        let went_by = u64::try_from(ends(3) - ends(0)).unwrap();
        assert_eq!(told.overhead(), Some(taken * 1000 / went_by));
        // On this clock a snapshot takes a second at least, and a step some more.
        assert!(taken >= 3_000_000_000 && taken < went_by, "{taken} of {went_by}");
        assert_eq!(
            (told.count(), told.worst_loss(), told.bounds),
            (4, seen.iter().map(|one| one.exposed).max().unwrap(), None)
        );
        assert!(told.held > 40_000 && told.worst_loss() > 0);
        // A directory that was just put to a tree is not looked at for it: that took no time, and is no part of any.
        writer.release().await.unwrap();
        let seq = Some(records(&client, session).await[0].tree.position.seq);
        let (options, request) =
            (ForkOptions { seq, ..ForkOptions::default() }, samite::workspace::RestoreRequest::default());
        client.rewind(session, options, WriterOptions::default(), &request).await.unwrap();
        let rewound = records(&client, session).await;
        let told_of: Vec<_> = rewound.iter().map(|one| (one.cause.unwrap(), one.duration.is_some())).collect();
        assert_eq!(told_of, [(Cause::Safety, true), (Cause::Restored, false)]);
        assert_eq!(costs().await.overhead(), told.overhead());
    });
}

/// A client of a store in memory that is never done in no time.
async fn slow(place: &Place) -> Client {
    let clock = std::sync::Arc::new(Slow(std::sync::atomic::AtomicI64::new(1_700_000_000 * SECOND)));
    let store = samite::Store::new(samite::Backends { clock, ..place.backends_in_memory() });
    store.client(crate::support::principal("ada")).await.unwrap()
}

/// A clock that goes on by a second whenever it is looked at: so everything takes some.
struct Slow(std::sync::atomic::AtomicI64);

impl samite_host::Clock for Slow {
    fn now(&self) -> i64 {
        self.0.fetch_add(SECOND, std::sync::atomic::Ordering::SeqCst)
    }
}
