//! Scripts that start again from the top after a crash, and calls in other words after a doubt was settled.

use crate::support::{World, run};
use samite::payload::SettledBy;
use samite::{
    Begin, Completion, ForkOptions, NewSession, NewStep, Outcome, Resolution, Settled, StepHandle, Writer,
    WriterOptions,
};
use samite_model::step::{Effect, OutcomeKind, Probe, State};
use samite_model::{BranchId, SessionId};
use serde_json::json;

async fn session(world: &World) -> SessionId {
    world.client.create_session(NewSession::default()).await.unwrap().id
}

async fn writer(world: &World, session: SessionId, branch: Option<BranchId>) -> Writer {
    let options = WriterOptions { take_over: true, ..WriterOptions::default() };
    world.client.writer(session, branch, options).await.unwrap()
}

fn started(begin: Begin) -> StepHandle {
    match begin {
        Begin::Run(handle) => handle,
        other => panic!("not to run: {other:?}"),
    }
}

fn replayed(begin: Begin) -> Outcome {
    match begin {
        Begin::Replay(outcome) => outcome,
        other => panic!("no replay: {other:?}"),
    }
}

/// The key of the step for whose sake it was not run.
fn not_run(begin: Begin) -> String {
    replayed(begin).not_run.unwrap().key
}

fn settled(what: Settled) -> Resolution {
    Resolution { what, by: SettledBy::Person, evidence: None, note: None }
}

const STEPS: usize = 4;

/// The Nth step of a script whose steps all belong to one tool.
fn step(number: usize, effect: &Effect) -> NewStep {
    let observable = matches!(effect, Effect::Observable { .. });
    let argv = vec!["true".to_owned()];
    NewStep {
        effect: effect.clone(),
        probe: observable.then_some(Probe::Command { argv, directory: None, before: None }),
        ..NewStep::new(format!("pay-{number}"), "pay", json!({ "invoice": number }))
    }
}

fn effects() -> [Effect; 5] {
    [
        Effect::Idempotent,
        Effect::Keyed { window_seconds: None },
        Effect::Contained { within: Vec::new() },
        Effect::Observable { settle_seconds: None },
        Effect::Opaque,
    ]
}

#[test]
fn a_script_that_starts_again_from_the_top_does_nothing_twice() {
    for effect in effects() {
        for cut in 0..STEPS {
            for happened in [true, false] {
                let world = World::new();
                run(async {
                    let session = session(&world).await;
                    let mut done = [0; STEPS];
                    let first = writer(&world, session, None).await;
                    for (number, done) in done.iter_mut().enumerate().take(cut) {
                        let handle = started(first.begin(&step(number, &effect)).await.unwrap());
                        *done += 1;
                        first.complete(&handle, json!(number)).await.unwrap();
                    }
                    started(first.begin(&step(cut, &effect)).await.unwrap());
                    done[cut] += usize::from(happened);
                    let second = writer(&world, session, None).await;
                    for (number, done) in done.iter_mut().enumerate() {
                        let new = step(number, &effect);
                        let mut begun = second.begin(&new).await.unwrap();
                        if number < cut {
                            assert_eq!(replayed(begun).output, json!(number), "{effect:?}, cut off in {cut}");
                            continue;
                        }
                        if let Begin::InDoubt(doubt) = &begun {
                            assert_eq!((number, doubt.same_key, doubt.by_call), (cut, true, true));
                            let what = if happened { Settled::Happened(json!("seen")) } else { Settled::DidNot };
                            second.resolve(doubt.step.id, &settled(what)).await.unwrap();
                            begun = second.begin(&new).await.unwrap();
                        }
                        if happened && number == cut {
                            assert_eq!(replayed(begun).output, json!("seen"));
                            continue;
                        }
                        let handle = started(begun);
                        *done += 1;
                        second.complete(&handle, json!(number)).await.unwrap();
                    }
                    assert_eq!(done, [1; STEPS], "{effect:?}, cut off in {cut}");
                    assert!(world.store.verify(false, None).await.unwrap().stale_views.is_empty());
                });
            }
        }
    }
}

#[test]
fn a_doubt_elsewhere_hides_no_outcome_and_no_mistake() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let first = writer(&world, session, None).await;
        let new = |number: usize| step(number, &Effect::Opaque);
        let failed = started(first.begin(&new(0)).await.unwrap());
        first.fail(&failed, json!("no"), false).await.unwrap();
        started(first.begin(&new(1)).await.unwrap());
        let second = writer(&world, session, None).await;
        let abandoned = second.doubts().await.unwrap().remove(0);
        assert!(!abandoned.by_call);
        second.resolve(abandoned.step.id, &settled(Settled::Abandoned)).await.unwrap();
        let retryable = started(second.begin(&new(2)).await.unwrap());
        second.fail(&retryable, json!("busy"), true).await.unwrap();
        // An answer that looks like a refusal is none.
        let alike = started(second.begin(&new(4)).await.unwrap());
        second.fail(&alike, json!({ "not_run": { "key": "pay-3" } }), false).await.unwrap();
        started(second.begin(&new(3)).await.unwrap());
        let third = writer(&world, session, None).await;
        assert_eq!(replayed(third.begin(&new(0)).await.unwrap()).output, json!("no"));
        assert!(replayed(third.begin(&new(1)).await.unwrap()).abandoned);
        assert!(replayed(third.begin_again(&new(1)).await.unwrap()).abandoned);
        assert_eq!(replayed(third.begin(&new(4)).await.unwrap()).not_run, None);
        for number in [0, 1, 2, 4] {
            let other = NewStep::new(format!("pay-{number}"), "pay", json!("another invoice"));
            // What may run again meets the doubt, and so does what is said to run although it failed.
            match third.begin(&other).await {
                Err(error) => assert_eq!(error.code(), "step_mismatch"),
                Ok(begun) => panic!("{number}: {begun:?}"),
            }
        }
        for begun in [third.begin(&new(2)).await, third.begin_again(&new(0)).await, third.begin(&new(5)).await] {
            let Begin::InDoubt(doubt) = begun.unwrap() else { panic!("no doubt") };
            assert_eq!((doubt.step.started.key.as_str(), doubt.same_key), ("pay-3", false));
        }
    });
}

/// A step of `pay` that was cut off and then settled as happened while nobody made its call.
async fn unseen(world: &World, session: SessionId, effect: &Effect) -> Writer {
    let first = writer(world, session, None).await;
    started(first.begin(&step(0, effect)).await.unwrap());
    let second = writer(world, session, None).await;
    let doubt = second.doubts().await.unwrap().remove(0);
    second.resolve_unseen(doubt.step.id, &settled(Settled::Happened(json!("paid")))).await.unwrap();
    second
}

#[test]
fn the_first_new_call_after_an_unseen_settlement_is_not_run() {
    for effect in &effects()[1..] {
        let world = World::new();
        run(async {
            let session = session(&world).await;
            let second = unseen(&world, session, effect).await;
            // Other tools, and what does no harm, are free.
            started(second.begin(&NewStep::new("mail", "mail", json!({}))).await.unwrap());
            started(second.begin(&step(9, &Effect::Idempotent)).await.unwrap());
            let reworded = step(1, effect);
            for _ in 0..2 {
                assert_eq!(not_run(second.begin(&reworded).await.unwrap()), "pay-0");
            }
            let third = writer(&world, session, None).await;
            assert_eq!(not_run(third.begin(&reworded).await.unwrap()), "pay-0");
            // One call was told; the next new one is another act.
            let handle = started(third.begin(&step(2, effect)).await.unwrap());
            third.complete(&handle, json!(2)).await.unwrap();
            // And so is the first, when its caller says so.
            let handle = started(third.begin_again(&reworded).await.unwrap());
            assert_eq!(handle.attempt, 2);
            third.complete(&handle, json!(1)).await.unwrap();
            assert_eq!(replayed(third.begin(&step(0, effect)).await.unwrap()).output, json!("paid"));
            assert!(world.store.verify(false, None).await.unwrap().stale_views.is_empty());
        });
    }
}

#[test]
fn a_call_with_its_own_key_is_told_and_then_nothing_is_left_to_be_told() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let effect = Effect::Opaque;
        let second = unseen(&world, session, &effect).await;
        assert_eq!(replayed(second.begin(&step(0, &effect)).await.unwrap()).output, json!("paid"));
        let handle = started(second.begin(&step(1, &effect)).await.unwrap());
        // In a chain, too: the outcome before is recorded in any case.
        let third = writer(&world, session, None).await;
        let doubt = third.doubts().await.unwrap().remove(0);
        assert_eq!(doubt.step.id, handle.id);
        third.resolve_unseen(handle.id, &settled(Settled::Happened(json!("paid")))).await.unwrap();
        let mail = started(third.begin(&NewStep::new("mail", "mail", json!({}))).await.unwrap());
        let sent = Completion::completed(json!("sent"));
        let begun = third.complete_and_begin(&mail, &sent, &step(2, &effect)).await.unwrap();
        assert_eq!(not_run(begun), "pay-1");
        let steps = world.client.steps(session, None).await.unwrap();
        let states: Vec<(&str, State)> = steps.iter().map(|step| (step.started.key.as_str(), step.state)).collect();
        let expected = [
            ("pay-0", State::Completed),
            ("pay-1", State::Completed),
            ("mail", State::Completed),
            ("pay-2", State::Failed),
        ];
        assert_eq!(states, expected);
        assert!(world.store.verify(false, None).await.unwrap().stale_views.is_empty());
    });
}

#[test]
fn what_was_asked_for_before_and_what_did_not_happen_is_not_taken_for_other_words() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let effect = Effect::Opaque;
        let first = writer(&world, session, None).await;
        let retryable = started(first.begin(&step(1, &effect)).await.unwrap());
        first.fail(&retryable, json!("busy"), true).await.unwrap();
        let second = unseen(&world, session, &effect).await;
        let handle = started(second.begin(&step(1, &effect)).await.unwrap());
        second.complete(&handle, json!(1)).await.unwrap();
        assert_eq!(not_run(second.begin(&step(2, &effect)).await.unwrap()), "pay-0");
        for (number, what) in [(3, Settled::DidNot), (4, Settled::Abandoned)] {
            let writer = writer(&world, session, None).await;
            let lost = started(writer.begin(&step(number, &effect)).await.unwrap());
            let next = self::writer(&world, session, None).await;
            next.resolve_unseen(lost.id, &settled(what)).await.unwrap();
            let handle = started(next.begin(&step(number + 10, &effect)).await.unwrap());
            next.complete(&handle, json!(number)).await.unwrap();
        }
    });
}

#[test]
fn a_fork_inherits_what_nobody_was_told_by_then() {
    let world = World::new();
    run(async {
        let session = session(&world).await;
        let effect = Effect::Opaque;
        let main = unseen(&world, session, &effect).await;
        let settled = world.client.head(session, main.branch()).await.unwrap().seq;
        let fork = async |seq: u64| {
            let options = ForkOptions { branch: Some(main.branch()), seq: Some(seq), ..ForkOptions::default() };
            world.client.fork(session, options).await.unwrap().branch
        };
        let mut forks = vec![fork(settled).await];
        // A fork of the fork, too.
        let options = ForkOptions { branch: Some(forks[0]), ..ForkOptions::default() };
        forks.push(world.client.fork(session, options).await.unwrap().branch);
        // The branch itself is told, in one way or the other; a fork at a position before that is not.
        assert_eq!(not_run(main.begin(&step(1, &effect)).await.unwrap()), "pay-0");
        forks.push(fork(settled).await);
        for (number, branch) in forks.into_iter().enumerate() {
            let child = writer(&world, session, Some(branch)).await;
            if number == 1 {
                assert_eq!(replayed(child.begin(&step(0, &effect)).await.unwrap()).output, json!("paid"));
                let seen = world.client.head(session, branch).await.unwrap().seq;
                started(child.begin(&step(7, &effect)).await.unwrap());
                let before = ForkOptions { branch: Some(branch), seq: Some(seen - 1), ..ForkOptions::default() };
                let before = world.client.fork(session, before).await.unwrap().branch;
                let child = writer(&world, session, Some(before)).await;
                assert_eq!(not_run(child.begin(&step(8, &effect)).await.unwrap()), "pay-0");
                continue;
            }
            assert_eq!(not_run(child.begin(&step(5, &effect)).await.unwrap()), "pay-0", "{number}");
            started(child.begin(&step(6, &effect)).await.unwrap());
        }
        // Once it was told there is nothing to inherit.
        let head = world.client.head(session, main.branch()).await.unwrap().seq;
        let child = writer(&world, session, Some(fork(head).await)).await;
        assert_eq!(replayed(child.begin(&step(1, &effect)).await.unwrap()).kind, OutcomeKind::Failed);
        started(child.begin(&step(2, &effect)).await.unwrap());
        assert!(world.store.verify(false, None).await.unwrap().stale_views.is_empty());
    });
}
