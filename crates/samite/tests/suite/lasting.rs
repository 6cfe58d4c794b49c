//! How long the trees of branches last.

use crate::support::{Place, event, noise, run};
use samite::recover::{RecoverOptions, Site};
use samite::workspace::CheckpointOptions;
use samite::{Begin, Client, DEFAULT_TREES_KEPT, ForkOptions, Lifetime, NewSession, NewStep, WriterOptions};
use samite_model::recovery::Decision;
use samite_model::step::Effect;
use samite_model::{BlockId, BranchId, SessionId};
use std::fs;

const DAY: i64 = 24 * 3600 * 1_000_000_000;

async fn checkpoint(client: &Client, session: SessionId, branch: BranchId) -> BlockId {
    let options = CheckpointOptions { no_environment: true, ..CheckpointOptions::default() };
    client.checkpoint(session, Some(branch), WriterOptions::default(), options).await.unwrap().root
}

async fn going(client: &Client) -> Vec<(BranchId, usize)> {
    let plan = client.plan_collection().await.unwrap();
    plan.branches.iter().map(|branch| (branch.branch, branch.trees)).collect()
}

#[test]
fn the_trees_of_a_branch_age_from_its_last_entry_and_those_of_the_current_one_never() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    run(async {
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        client.attach(session, None, &work).await.unwrap();
        let current = client.current_branch(session).await.unwrap();
        fs::write(work.join("file"), noise(1, 1000)).unwrap();
        checkpoint(&client, session, current).await;
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let idle = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let forked_until = client.branches(session).await.unwrap()[1].lifetime;
        let second = place.path("second");
        client.materialise(session, fork, &second).await.unwrap();
        // It is worked in for fifty days, and nobody makes it current.
        for week in 0..8 {
            clock.advance(7 * DAY);
            fs::write(second.join("file"), noise(week + 2, 1000)).unwrap();
            checkpoint(&client, session, fork).await;
            assert_eq!(going(&client).await, []);
        }
        let until = client.branches(session).await.unwrap();
        let until = |branch: BranchId| until.iter().find(|known| known.id == branch).unwrap().lifetime;
        let Lifetime::TreesUntil(left) = forked_until else { panic!("{forked_until:?}") };
        let now = samite_host::Clock::now(&*clock);
        assert_eq!(until(fork), Lifetime::TreesUntil(now + DEFAULT_TREES_KEPT));
        // One in which nothing was done ages from the fork on.
        assert!(matches!(until(idle), Lifetime::TreesUntil(over) if over <= left + DAY && over < now));
        assert_eq!(until(current), Lifetime::Current);
        clock.advance(29 * DAY);
        assert_eq!(going(&client).await, []);
        clock.advance(2 * DAY);
        assert_eq!(going(&client).await, [(fork, 8)]);
        // A message is work as well.
        let writer = client.writer(session, Some(fork), WriterOptions::default()).await.unwrap();
        writer.append(event("going on")).await.unwrap();
        writer.release().await.unwrap();
        assert_eq!(going(&client).await, []);
        // What somebody said holds, whatever is done.
        client.set_lifetime(session, fork, Some(1)).await.unwrap();
        assert_eq!(going(&client).await, [(fork, 8)]);
    });
}

#[test]
fn the_tree_of_a_step_without_an_outcome_is_not_collected() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    let site = Site { base: place.path(""), lives: place.directory("lives") };
    run(async {
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        client.attach(session, None, &work).await.unwrap();
        fs::write(work.join("file"), "first").unwrap();
        let current = client.current_branch(session).await.unwrap();
        checkpoint(&client, session, current).await;
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let second = place.path("second");
        client.materialise(session, fork, &second).await.unwrap();
        fs::write(second.join("other"), noise(1, 1000)).unwrap();
        checkpoint(&client, session, fork).await;
        fs::write(second.join("file"), "before the step").unwrap();
        let tree = checkpoint(&client, session, fork).await;
        let effect = Effect::Contained { within: Vec::new() };
        let step = NewStep { effect, tree: Some(tree), ..NewStep::new("edit", "edit", serde_json::json!({})) };
        let writer = client.writer(session, Some(fork), WriterOptions::default()).await.unwrap();
        assert!(matches!(writer.begin(&step).await.unwrap(), Begin::Run(_)));
        // The sandbox is gone, and so is its writer.
        fs::remove_dir_all(&second).unwrap();
        drop(writer);
        clock.advance(100 * DAY);
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
