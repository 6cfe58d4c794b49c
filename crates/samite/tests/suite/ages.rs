//! How branches age: instants are written down, and a clock is set to them.

use crate::place::Place;
use crate::support::{attached, begin_restore, event, noise, run, take, take_of};
use samite::payload::{ForkReason, SettledBy};
use samite::recover::{RecoverOptions, Site};
use samite::{Begin, Client, ForkOptions, Lifetime, NewStep, Resolution, Settled, WriterOptions};
use samite_model::recovery::Decision;
use samite_model::step::Effect;
use samite_model::{BranchId, Position, SessionId};
use serde_json::json;
use std::fs;

/// Days after an instant of 2100, in nanoseconds since 1970.
const fn day(number: i64) -> i64 {
    (4_102_444_800 + number * 24 * 3600) * 1_000_000_000
}

async fn checkpoint(client: &Client, session: SessionId, branch: BranchId) -> Position {
    take_of(client, session, Some(branch)).await.position
}

async fn lifetime(client: &Client, session: SessionId, branch: BranchId) -> Lifetime {
    let branches = client.branches(session).await.unwrap();
    branches.iter().find(|known| known.id == branch).unwrap().lifetime
}

/// The branches whose trees would go, with how many.
async fn going(client: &Client) -> Vec<(BranchId, usize)> {
    let plan = client.plan_collection().await.unwrap();
    plan.branches.iter().map(|found| (found.branch, found.trees)).collect()
}

async fn holds(client: &Client, at: Position, name: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    client.cat(at, name, &mut bytes).await.map_err(|error| error.code().to_owned())?;
    Ok(bytes)
}

#[test]
fn trees_age_from_the_last_entry_of_their_branch() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    clock.set(day(0));
    run(async {
        let session = attached(&client, &work).await;
        fs::write(work.join("file"), noise(1, 100_000)).unwrap();
        let main = client.current_branch(session).await.unwrap();
        checkpoint(&client, session, main).await;
        let fork = client.fork(session, ForkOptions::default()).await.unwrap();
        let idle = client.fork(session, ForkOptions::default()).await.unwrap();
        assert_eq!(fork.trees_until, Some(day(30)));
        assert_eq!(lifetime(&client, session, fork.branch).await, Lifetime::TreesUntil(day(30)));
        let second = place.path("second");
        client.materialise(session, fork.branch, &second).await.unwrap();
        fs::write(second.join("tried"), noise(2, 100_000)).unwrap();
        clock.set(day(20));
        let tried = checkpoint(&client, session, fork.branch).await;
        assert_eq!(lifetime(&client, session, fork.branch).await, Lifetime::TreesUntil(day(50)));
        assert_eq!(lifetime(&client, session, idle.branch).await, Lifetime::TreesUntil(day(30)));
        assert_eq!(lifetime(&client, session, main).await, Lifetime::Current);
        for (now, right) in [(day(31), vec![]), (day(50) - 1, vec![]), (day(50), vec![(fork.branch, 1)])] {
            clock.set(now);
            assert_eq!(going(&client).await, right, "at {now}");
        }
        // It is not only trees that keep a branch young.
        clock.set(day(49));
        let writer = client.writer(session, Some(fork.branch), WriterOptions::default()).await.unwrap();
        writer.append(event("still at it")).await.unwrap();
        writer.release().await.unwrap();
        clock.set(day(78));
        assert_eq!(
            (lifetime(&client, session, fork.branch).await, going(&client).await),
            (Lifetime::TreesUntil(day(79)), vec![])
        );
        // What somebody says holds as it is said.
        client.set_lifetime(session, fork.branch, Some(day(70))).await.unwrap();
        assert_eq!(lifetime(&client, session, fork.branch).await, Lifetime::TreesUntil(day(70)));
        assert_eq!(going(&client).await, [(fork.branch, 1)]);
        client.set_lifetime(session, fork.branch, None).await.unwrap();
        clock.set(day(10_000));
        assert_eq!((lifetime(&client, session, fork.branch).await, going(&client).await), (Lifetime::Kept, vec![]));
        client.set_lifetime(session, fork.branch, Some(day(9_999))).await.unwrap();
        assert!(client.collect().await.unwrap().blocks > 0);
        assert_eq!(holds(&client, tried, "tried").await, Err("tree_collected".to_owned()));
        let head = client.head(session, main).await.unwrap();
        assert!(holds(&client, head, "file").await.unwrap() == noise(1, 100_000));
    });
}

#[test]
fn a_branch_that_a_rewind_left_ages_from_then_and_from_what_is_written_to_it_later() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    clock.set(day(0));
    run(async {
        let session = attached(&client, &work).await;
        let old = client.current_branch(session).await.unwrap();
        fs::write(work.join("file"), noise(1, 100_000)).unwrap();
        let first = checkpoint(&client, session, old).await;
        fs::write(work.join("file"), noise(2, 100_000)).unwrap();
        checkpoint(&client, session, old).await;
        clock.set(day(100));
        let back = ForkOptions { seq: Some(first.seq), reason: ForkReason::Rewind, ..ForkOptions::default() };
        let new = client.fork(session, back).await.unwrap().branch;
        // Its last entry is long ago, but it was current until now.
        assert_eq!(lifetime(&client, session, old).await, Lifetime::TreesUntil(day(130)));
        clock.set(day(110));
        let writer = client.writer(session, Some(old), WriterOptions::default()).await.unwrap();
        writer.append(event("late")).await.unwrap();
        writer.release().await.unwrap();
        assert_eq!(lifetime(&client, session, old).await, Lifetime::TreesUntil(day(140)));
        clock.set(day(139));
        assert_eq!(going(&client).await, []);
        clock.set(day(140));
        assert_eq!(going(&client).await, [(old, 1)], "the other tree is the new branch's as well");
        // Current again, and left again, it is young again.
        client.make_current(session, old).await.unwrap();
        assert_eq!(lifetime(&client, session, old).await, Lifetime::Current);
        assert_eq!(lifetime(&client, session, new).await, Lifetime::TreesUntil(day(170)));
        client.make_current(session, new).await.unwrap();
        assert_eq!(lifetime(&client, session, old).await, Lifetime::TreesUntil(day(170)));
    });
}

#[test]
fn the_trees_that_an_open_restore_is_between_stay_until_it_is_settled() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    clock.set(day(0));
    run(async {
        let session = attached(&client, &work).await;
        fs::write(work.join("file"), "main").unwrap();
        let main = client.current_branch(session).await.unwrap();
        let base = take(&client, session).await;
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let second = place.path("second");
        client.materialise(session, fork, &second).await.unwrap();
        fs::write(second.join("tried"), noise(1, 100_000)).unwrap();
        let at = checkpoint(&client, session, fork).await;
        let target = client.tree_at(at).await.unwrap().unwrap().tree.root;
        // A restore of the current branch to a tree of the other was begun, and cut off.
        let writer = client.writer(session, Some(main), WriterOptions::default()).await.unwrap();
        let step = begin_restore(&writer, target, base.root).await;
        writer.release().await.unwrap();
        clock.set(day(100));
        assert_eq!(going(&client).await, []);
        assert_eq!(client.collect().await.unwrap().blocks, 0);
        assert!(holds(&client, at, "tried").await.unwrap() == noise(1, 100_000));
        let writer = client.writer(session, Some(main), WriterOptions::default()).await.unwrap();
        let resolution = Resolution { what: Settled::Abandoned, by: SettledBy::Person, evidence: None, note: None };
        writer.resolve(step.id, &resolution).await.unwrap();
        assert_eq!(going(&client).await, [(fork, 1)]);
        assert!(client.collect().await.unwrap().blocks > 0);
        assert_eq!(holds(&client, at, "tried").await, Err("tree_collected".to_owned()));
    });
}

#[test]
fn the_tree_of_a_step_without_an_outcome_is_not_collected() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    clock.set(day(0));
    let site = Site { base: place.path(""), lives: place.directory("lives") };
    run(async {
        let session = attached(&client, &work).await;
        fs::write(work.join("file"), "first").unwrap();
        let current = client.current_branch(session).await.unwrap();
        checkpoint(&client, session, current).await;
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let second = place.path("second");
        client.materialise(session, fork, &second).await.unwrap();
        fs::write(second.join("other"), noise(1, 1000)).unwrap();
        checkpoint(&client, session, fork).await;
        fs::write(second.join("file"), "before the step").unwrap();
        let tree = take_of(&client, session, Some(fork)).await.root;
        let effect = Effect::Contained { within: Vec::new() };
        let step = NewStep { effect, tree: Some(tree), ..NewStep::new("edit", "edit", json!({})) };
        let writer = client.writer(session, Some(fork), WriterOptions::default()).await.unwrap();
        assert!(matches!(writer.begin(&step).await.unwrap(), Begin::Run(_)));
        // The sandbox is gone, and so is its writer.
        fs::remove_dir_all(&second).unwrap();
        drop(writer);
        clock.set(day(100));
        assert_eq!(going(&client).await, [(fork, 1)]);
        client.collect().await.unwrap();
        assert_eq!(going(&client).await, []);
        let options = RecoverOptions { branch: Some(fork), ..RecoverOptions::default() };
        let recovered = client.recover(session, options, &site).await.unwrap();
        assert_eq!(recovered.steps[0].assessment.decision, Decision::PutBackAndRunAgain);
        assert!(recovered.is_clear(), "{recovered:?}");
        assert_eq!(fs::read_to_string(second.join("file")).unwrap(), "before the step");
    });
}
