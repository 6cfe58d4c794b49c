//! Steps: begin, replay, doubt.

use crate::support::{World, run};
use samite::payload::SettledBy;
use samite::{Begin, Completion, NewSession, NewStep, Resolution, Settled, Writer, WriterOptions};
use samite_model::step::{Effect, OutcomeKind, State};
use samite_model::{ErrorKind, SessionId};
use serde_json::json;

async fn session(world: &World) -> SessionId {
    world.client.create_session(NewSession::default()).await.unwrap().id
}

async fn writer(world: &World, session: SessionId) -> Writer {
    let options = WriterOptions { take_over: true, ..WriterOptions::default() };
    world.client.writer(session, None, options).await.unwrap()
}

fn started(begin: Begin) -> samite::StepHandle {
    match begin {
        Begin::Run(handle) => handle,
        other => panic!("not to run: {other:?}"),
    }
}

fn commit_step(key: &str) -> NewStep {
    NewStep::new(key, "git_commit", json!({"message": "a"}))
}

#[test]
fn a_completed_step_is_replayed() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let writer = writer(&world, session).await;
        let step = started(writer.begin(&commit_step("k")).await.unwrap());
        assert_eq!(step.attempt, 1);
        writer.complete(&step, json!("done")).await.unwrap();
        let Begin::Replay(outcome) = writer.begin(&commit_step("k")).await.unwrap() else { panic!("no replay") };
        assert_eq!((outcome.kind, outcome.output), (OutcomeKind::Completed, json!("done")));
        // The acknowledgement was lost and the caller says it again.
        writer.complete(&step, json!("done")).await.unwrap();
        assert_eq!(writer.complete(&step, json!("other")).await.unwrap_err().code(), "step_ended");
        let mismatch = NewStep::new("k", "git_commit", json!({"message": "b"}));
        assert_eq!(writer.begin(&mismatch).await.unwrap_err().code(), "step_mismatch");
    });
}

/// Another client, another language or another build writes an object's fields in another order.
#[test]
fn the_order_of_fields_makes_no_other_step() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let writer = writer(&world, session).await;
        let step = |input: &str| NewStep::new("k", "http", serde_json::from_str(input).unwrap());
        let handle = started(writer.begin(&step(r#"{"url":"/a","head":{"y":1,"x":[{"b":1,"a":2}]}}"#)).await.unwrap());
        writer.complete(&handle, serde_json::from_str(r#"{"b":1,"a":{"d":1,"c":2}}"#).unwrap()).await.unwrap();
        let again = writer.begin(&step(r#"{"head":{"x":[{"a":2,"b":1}],"y":1},"url":"/a"}"#)).await.unwrap();
        let Begin::Replay(outcome) = again else { panic!("no replay") };
        assert_eq!(outcome.output, json!({"a": {"c": 2, "d": 1}, "b": 1}));
        writer.complete(&handle, serde_json::from_str(r#"{"a":{"c":2,"d":1},"b":1}"#).unwrap()).await.unwrap();
        // What is in a list has an order.
        let other = step(r#"{"head":{"x":[{"a":2},{"b":1}],"y":1},"url":"/a"}"#);
        assert_eq!(writer.begin(&other).await.unwrap_err().code(), "step_mismatch");
    });
}

#[test]
fn an_open_step_is_busy_for_its_own_writer_and_in_doubt_for_the_next() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let first = writer(&world, session).await;
        started(first.begin(&commit_step("k")).await.unwrap());
        assert!(matches!(first.begin(&commit_step("k")).await.unwrap(), Begin::Busy(_)));
        // Parallel tool calls under one lease are no doubt.
        started(first.begin(&commit_step("parallel")).await.unwrap());
        let second = writer(&world, session).await;
        // A model that is asked again words its call anew: the doubt answers, whatever the key.
        let reworded = NewStep::new("another", "git_commit", json!({"message": "the same, in other words"}));
        let Begin::InDoubt(doubt) = second.begin(&reworded).await.unwrap() else { panic!("no doubt") };
        assert_eq!((doubt.step.started.key.as_str(), doubt.same_key), ("k", false));
        // Another tool is free, and so is an idempotent call.
        started(second.begin(&NewStep::new("r", "read_file", json!({}))).await.unwrap());
        let idempotent = NewStep { effect: Effect::Idempotent, ..commit_step("look") };
        started(second.begin(&idempotent).await.unwrap());
        assert_eq!(second.doubts().await.unwrap().len(), 2);
    });
}

#[test]
fn a_settled_doubt_replays_or_runs_again_with_the_same_idempotency_key() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let first = writer(&world, session).await;
        let one = started(first.begin(&commit_step("one")).await.unwrap());
        let other = NewStep::new("two", "mail", json!({}));
        let two = started(first.begin(&other).await.unwrap());
        let second = writer(&world, session).await;
        let happened = Resolution {
            what: Settled::Happened(json!("sha")),
            by: SettledBy::Person,
            evidence: None,
            note: Some("looked".into()),
        };
        second.resolve(one.id, &happened).await.unwrap();
        let Begin::Replay(outcome) = second.begin(&commit_step("one")).await.unwrap() else { panic!("no replay") };
        assert_eq!((outcome.output, outcome.settled), (json!("sha"), Some(SettledBy::Person)));
        let did_not = Resolution { what: Settled::DidNot, by: SettledBy::Effect, evidence: None, note: None };
        let again = second.run_again(two.id, &did_not, None, None).await.unwrap();
        assert_eq!((again.attempt, &again.idempotency_key), (2, &two.idempotency_key));
        second.complete(&again, json!("sent")).await.unwrap();
        assert_eq!(second.run_again(two.id, &did_not, None, None).await.unwrap_err().code(), "not_in_doubt");
        let states: Vec<State> =
            world.client.steps(session, None).await.unwrap().iter().map(|step| step.state).collect();
        assert_eq!(states, [State::Completed, State::FailedRetryable, State::Completed]);
    });
}

#[test]
fn a_retryable_failure_runs_again_and_a_final_one_is_replayed() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let writer = writer(&world, session).await;
        let first = started(writer.begin(&commit_step("k")).await.unwrap());
        writer.fail(&first, json!("busy"), true).await.unwrap();
        let second = started(writer.begin(&commit_step("k")).await.unwrap());
        assert_eq!((second.attempt, &second.idempotency_key), (2, &first.idempotency_key));
        writer.fail(&second, json!("no"), false).await.unwrap();
        let Begin::Replay(outcome) = writer.begin(&commit_step("k")).await.unwrap() else { panic!("no replay") };
        assert_eq!(outcome.kind, OutcomeKind::Failed);
    });
}

#[test]
fn a_chain_of_steps_takes_one_commit_a_step() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let writer = writer(&world, session).await;
        let mut step = started(writer.begin(&commit_step("0")).await.unwrap());
        for number in 1..5 {
            let next = commit_step(&number.to_string());
            let done = Completion::completed(json!(number));
            step = started(writer.complete_and_begin(&step, &done, &next).await.unwrap());
        }
        // The outcome is recorded even when the next step is not to run.
        let done = Completion::completed(json!("last"));
        let Begin::Replay(outcome) = writer.complete_and_begin(&step, &done, &commit_step("0")).await.unwrap() else {
            panic!("no replay")
        };
        assert_eq!(outcome.output, json!(1));
        let states: Vec<State> =
            world.client.steps(session, None).await.unwrap().iter().map(|step| step.state).collect();
        assert_eq!(states, [State::Completed; 5]);
    });
}

#[test]
fn a_fenced_outcome_is_kept_as_evidence() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let zombie = writer(&world, session).await;
        let step = started(zombie.begin(&commit_step("k")).await.unwrap());
        let second = writer(&world, session).await;
        let error = zombie.complete(&step, json!("sha")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fenced);
        let Begin::InDoubt(doubt) = second.begin(&commit_step("k")).await.unwrap() else { panic!("no doubt") };
        assert_eq!(doubt.recorded.len(), 1);
        assert_eq!(doubt.recorded[0].output, json!("sha"));
    });
}

/// A writer of a branch.
async fn writer_of(world: &World, session: SessionId, branch: samite_model::BranchId) -> Writer {
    let options = WriterOptions { take_over: true, ..WriterOptions::default() };
    world.client.writer(session, Some(branch), options).await.unwrap()
}

#[test]
fn a_step_is_recorded_although_the_next_cannot_begin() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let writer = writer(&world, session).await;
        let busy = NewStep::new("busy", "other", json!({}));
        started(writer.begin(&busy).await.unwrap());
        let nameless = NewStep::new("", "tool", json!({}));
        let mismatched = NewStep::new("busy", "another", json!({}));
        for (number, next, code) in [(1, nameless, "empty_name"), (2, mismatched, "step_mismatch")] {
            let key = format!("done {number}");
            let done = started(writer.begin(&NewStep::new(&key, "tool", json!({}))).await.unwrap());
            let completion = Completion::completed(json!(number));
            let error = writer.complete_and_begin(&done, &completion, &next).await.unwrap_err();
            assert_eq!(error.code(), code);
            let again = writer.begin(&NewStep::new(&key, "tool", json!({}))).await.unwrap();
            let Begin::Replay(outcome) = again else { panic!("not recorded: {again:?}") };
            assert_eq!(outcome.output, json!(number));
        }
    });
}

#[test]
fn a_step_whose_end_was_recorded_already_does_not_keep_the_next_from_beginning() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let writer = writer(&world, session).await;
        let done = started(writer.begin(&commit_step("one")).await.unwrap());
        writer.complete(&done, json!("sha")).await.unwrap();
        // The word of it was lost, so the caller says it again on the short way.
        let completion = Completion::completed(json!("sha"));
        let two = started(writer.complete_and_begin(&done, &completion, &commit_step("two")).await.unwrap());
        assert_eq!(two.attempt, 1);
        let other = Completion::completed(json!("another"));
        let error = writer.complete_and_begin(&done, &other, &commit_step("three")).await.unwrap_err();
        assert_eq!(error.code(), "step_ended");
    });
}

#[test]
fn an_attempt_after_a_failure_on_a_fork_keeps_the_key_of_the_attempt_that_failed() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let main = writer(&world, session).await;
        let new =
            NewStep { effect: Effect::Keyed { window_seconds: Some(60) }, ..NewStep::new("pay", "pay", json!({})) };
        let first = started(main.begin(&new).await.unwrap());
        let fork = world.client.fork(session, samite::ForkOptions::default()).await.unwrap();
        main.release().await.unwrap();
        let child = writer_of(&world, session, fork.branch).await;
        let Begin::InDoubt(doubt) = child.begin(&new).await.unwrap() else { panic!("no doubt") };
        let did_not = Resolution { what: Settled::DidNot, by: SettledBy::Effect, evidence: None, note: None };
        let second = child.run_again(doubt.step.id, &did_not, None, None).await.unwrap();
        assert_eq!(second.idempotency_key, first.idempotency_key);
        child.fail(&second, json!("busy"), true).await.unwrap();
        let third = started(child.begin(&new).await.unwrap());
        assert_eq!((third.attempt, &third.idempotency_key), (3, &first.idempotency_key));
        // The outside remembers the key since its first attempt.
        let steps = world.client.steps(session, Some(fork.branch)).await.unwrap();
        let since: Vec<Option<i64>> = steps.iter().map(|step| step.started.first_started).collect();
        assert_eq!(since, [None, Some(steps[0].started_at), Some(steps[0].started_at)]);
    });
}
