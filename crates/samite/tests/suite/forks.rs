//! Forks, rewinds and what they leave behind.

use crate::support::{World, event, run};
use samite::payload::ForkReason;
use samite::payload::SettledBy;
use samite::recover::Site;
use samite::{
    Begin, Completion, ForkOptions, Lifetime, NewSession, NewStep, ReadOptions, Resolution, Settled, Writer,
    WriterOptions,
};
use samite_model::recovery::{Ask, Decision};
use samite_model::step::{Effect, OutcomeKind, Probe, State};
use samite_model::{BranchId, EntryKind, ErrorKind, SessionId};
use serde_json::json;

const ASK: Decision = Decision::Ask { reason: Ask::Opaque };

async fn writer(world: &World, session: SessionId, branch: Option<BranchId>) -> Writer {
    let options = WriterOptions { take_over: true, ..WriterOptions::default() };
    world.client.writer(session, branch, options).await.unwrap()
}

async fn bodies(world: &World, session: SessionId, branch: Option<BranchId>) -> Vec<String> {
    let entries = world.client.read(session, branch, ReadOptions::default()).await.unwrap().all().await.unwrap();
    entries
        .iter()
        .filter(|entry| entry.is_event())
        .map(|entry| String::from_utf8(entry.event().unwrap().body.to_vec()).unwrap())
        .collect()
}

#[test]
fn a_fork_inherits_up_to_its_point_and_neither_sees_the_others_tail() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let main = writer(&world, session.id, None).await;
        for word in ["a", "b", "c"] {
            main.append(event(word)).await.unwrap();
        }
        let fork = world.client.fork(session.id, ForkOptions { seq: Some(2), ..Default::default() }).await.unwrap();
        assert_eq!((fork.at.seq, fork.at.journal), (2, session.current));
        let lifetimes: Vec<Lifetime> =
            world.client.branches(session.id).await.unwrap().iter().map(|branch| branch.lifetime).collect();
        assert_eq!(lifetimes, [Lifetime::Current, Lifetime::TreesUntil(fork.trees_until.unwrap())]);
        let child = writer(&world, session.id, Some(fork.branch)).await;
        assert_eq!(child.append(event("x")).await.unwrap().position.seq, 3);
        assert_eq!(bodies(&world, session.id, Some(fork.branch)).await, ["a", "b", "x"]);
        assert_eq!(bodies(&world, session.id, None).await, ["a", "b", "c"]);
        // A fork of the fork at a position that it inherits hangs off the journal that owns it.
        let options = ForkOptions { branch: Some(fork.branch), seq: Some(1), ..Default::default() };
        let second = world.client.fork(session.id, options).await.unwrap();
        assert_eq!((second.at.seq, second.at.journal), (1, session.current));
        assert_eq!(bodies(&world, session.id, Some(second.branch)).await, ["a"]);
    });
}

#[test]
fn a_rewind_makes_the_fork_current_and_keeps_the_tail() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let main = writer(&world, session.id, None).await;
        for word in ["a", "b", "c"] {
            main.append(event(word)).await.unwrap();
        }
        let rewind = ForkOptions { seq: Some(1), reason: ForkReason::Rewind, ..Default::default() };
        let report = world.client.fork(session.id, rewind).await.unwrap();
        assert_eq!(world.client.current_branch(session.id).await.unwrap(), report.branch);
        assert_eq!(bodies(&world, session.id, None).await, ["a"]);
        assert_eq!(bodies(&world, session.id, Some(report.previous)).await, ["a", "b", "c"]);
        let branches = world.client.branches(session.id).await.unwrap();
        assert_eq!(branches.len(), 2);
        assert!(matches!(branches[0].lifetime, Lifetime::TreesUntil(_)));
        assert_eq!(branches[1].lifetime, Lifetime::Current);
        world.client.make_current(session.id, report.previous).await.unwrap();
        assert_eq!(bodies(&world, session.id, None).await, ["a", "b", "c"]);
    });
}

#[test]
fn effects_outside_after_the_fork_point_are_listed() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let main = writer(&world, session.id, None).await;
        main.append(event("a")).await.unwrap();
        let push = NewStep {
            touches: vec!["git:origin/main".into(), "file:x".into()],
            ..NewStep::new("push", "git_push", json!({}))
        };
        let Begin::Run(step) = main.begin(&push).await.unwrap() else { panic!() };
        main.complete(&step, json!("ok")).await.unwrap();
        let fork = world.client.fork(session.id, ForkOptions { seq: Some(1), ..Default::default() }).await.unwrap();
        assert_eq!(fork.left_behind.len(), 1);
        assert_eq!(fork.left_behind[0].touches, ["git:origin/main"]);
        assert_eq!(fork.left_behind[0].step.state, State::Completed);
        let none = world.client.fork(session.id, ForkOptions::default()).await.unwrap();
        assert!(none.left_behind.is_empty());
    });
}

#[test]
fn effects_left_behind_are_those_that_may_have_happened_each_once() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap().id;
        let main = writer(&world, session, None).await;
        let step = |key: &str, effect: Effect, touches: &[&str], probe: Option<Probe>| NewStep {
            effect,
            touches: touches.iter().map(|touch| (*touch).to_owned()).collect(),
            probe,
            ..NewStep::new(key, key, json!({}))
        };
        let observable = Effect::Observable { settle_seconds: None };
        let url = "https://example.com/x";
        let get = Probe::HttpGet { url: url.to_owned(), contains: None, before: None };
        let file = Probe::File { path: "x".to_owned(), sha256: None, before: None };
        let listed: &[(NewStep, Option<&[&str]>)] = &[
            (step("declares", Effect::Idempotent, &[url, "file:x"], None), Some(&[url])),
            (step("opaque", Effect::Opaque, &[], None), Some(&[])),
            (step("opaque-inside", Effect::Opaque, &["workspace"], None), None),
            (step("keyed", Effect::Keyed { window_seconds: None }, &[], None), Some(&[])),
            (step("remote", observable.clone(), &[], Some(get)), Some(&[url])),
            (step("local", observable, &[], Some(file)), None),
            (step("idempotent", Effect::Idempotent, &[], None), None),
        ];
        let mut expected = Vec::new();
        for (step, touches) in listed {
            let Begin::Run(handle) = main.begin(step).await.unwrap() else { panic!("{}", step.key) };
            main.finish(&handle, &Completion::completed(json!({}))).await.unwrap();
            expected.extend(touches.map(|touches| (step.key.clone(), touches.join(" "))));
        }
        // Two tries are one effect, and one that did not happen is none.
        let twice = step("twice", Effect::Opaque, &[url], None);
        for retryable in [true, false] {
            let Begin::Run(handle) = main.begin(&twice).await.unwrap() else { panic!("{retryable}") };
            let completion =
                if retryable { Completion::failed(json!({}), true) } else { Completion::completed(json!({})) };
            main.finish(&handle, &completion).await.unwrap();
        }
        expected.push(("twice".to_owned(), url.to_owned()));
        let not = step("not", Effect::Opaque, &["git:origin/main"], None);
        let Begin::Run(handle) = main.begin(&not).await.unwrap() else { panic!() };
        let open = step("open", Effect::Opaque, &["git:origin/other"], None);
        let Begin::Run(_) = main.begin(&open).await.unwrap() else { panic!() };
        let resolution = Resolution { what: Settled::DidNot, by: SettledBy::Person, evidence: None, note: None };
        writer(&world, session, None).await.resolve(handle.id, &resolution).await.unwrap();
        expected.push(("open".to_owned(), "git:origin/other".to_owned()));
        let fork = world.client.fork(session, ForkOptions { seq: Some(0), ..ForkOptions::default() }).await.unwrap();
        let left = fork.left_behind.iter().map(|left| (left.step.started.key.clone(), left.touches.join(" ")));
        assert_eq!(left.collect::<Vec<_>>(), expected);
    });
}

#[test]
fn a_step_that_spans_the_fork_point_is_in_doubt_in_the_child_with_the_parents_outcome() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let main = writer(&world, session.id, None).await;
        let new = NewStep::new("deploy", "deploy", json!({}));
        let Begin::Run(step) = main.begin(&new).await.unwrap() else { panic!() };
        let early = world.client.fork(session.id, ForkOptions::default()).await.unwrap();
        let waiting = writer(&world, session.id, Some(early.branch)).await;
        assert!(matches!(waiting.begin(&new).await.unwrap(), Begin::Busy(_)), "the parent is still at it");
        main.complete(&step, json!("v1")).await.unwrap();
        main.append(event("after")).await.unwrap();
        let late = world.client.fork(session.id, ForkOptions { seq: Some(1), ..Default::default() }).await.unwrap();
        for branch in [early.branch, late.branch] {
            let child = writer(&world, session.id, Some(branch)).await;
            let Begin::InDoubt(doubt) = child.begin(&new).await.unwrap() else { panic!("no doubt") };
            assert_eq!(doubt.step.id, step.id);
            assert_eq!(doubt.recorded.len(), 1, "the parent's outcome is evidence");
            assert_eq!(doubt.recorded[0].output, json!("v1"));
        }
        // A fork after the outcome replays it, and a fork's own effect has its own idempotency key.
        let after = world.client.fork(session.id, ForkOptions::default()).await.unwrap();
        let child = writer(&world, session.id, Some(after.branch)).await;
        assert!(matches!(child.begin(&new).await.unwrap(), Begin::Replay(_)));
        let own = NewStep::new("own", "other", json!({}));
        let Begin::Run(in_child) = child.begin(&own).await.unwrap() else { panic!() };
        let Begin::Run(in_parent) = main.begin(&own).await.unwrap() else { panic!() };
        assert_ne!(in_child.idempotency_key, in_parent.idempotency_key);
    });
}

#[test]
fn however_a_step_ended_in_the_parent_that_is_the_evidence_in_the_child() {
    let ends = [
        ("completed", OutcomeKind::Completed, Completion::completed(json!({"sent": 1}))),
        ("failed", OutcomeKind::Failed, Completion::failed(json!({"refused": 2}), false)),
        ("failed for now", OutcomeKind::FailedRetryable, Completion::failed(json!({"busy": 3}), true)),
    ];
    for (name, kind, completion) in ends {
        let world = World::new();
        run(async {
            let session = world.client.create_session(NewSession::default()).await.unwrap();
            let main = writer(&world, session.id, None).await;
            main.append(event("before")).await.unwrap();
            let new = NewStep::new("deploy", "deploy", json!({}));
            let Begin::Run(step) = main.begin(&new).await.unwrap() else { panic!("{name}") };
            // One fork is made while it is open, and one at the same place after it ended.
            let early = world.client.fork(session.id, ForkOptions::default()).await.unwrap();
            let ended = main.finish(&step, &completion).await.unwrap();
            main.append(event("after")).await.unwrap();
            let at = Some(step.position.seq);
            let late = world.client.fork(session.id, ForkOptions { seq: at, ..Default::default() }).await.unwrap();
            main.release().await.unwrap();
            for fork in [early, late] {
                assert_eq!(fork.at.seq, 2, "{name}");
                assert_eq!(fork.in_doubt.len(), 1, "{name}");
                assert_eq!((fork.in_doubt[0].id, fork.in_doubt[0].state), (step.id, State::InDoubt), "{name}");
                let child = writer(&world, session.id, Some(fork.branch)).await;
                let doubts = child.doubts().await.unwrap();
                assert_eq!(doubts.len(), 1, "{name}");
                let Begin::InDoubt(doubt) = child.begin(&new).await.unwrap() else { panic!("{name}: no doubt") };
                for doubt in [&doubts[0], &doubt] {
                    assert_eq!((doubt.step.id, doubt.recorded.len()), (step.id, 1), "{name}");
                    let evidence = &doubt.recorded[0];
                    assert_eq!((evidence.position, evidence.settled), (ended, None), "{name}");
                    assert_eq!((evidence.kind, &evidence.output), (kind, &completion.output), "{name}");
                }
                // It is evidence and no outcome: the child's log has none until somebody settles the doubt.
                let log = world.client.read(session.id, Some(fork.branch), ReadOptions::default()).await.unwrap();
                let kinds: Vec<EntryKind> = log.all().await.unwrap().iter().map(|entry| entry.header.kind).collect();
                assert_eq!(kinds, [EntryKind::MESSAGE, EntryKind::STEP_STARTED, EntryKind::STEPS_INHERITED], "{name}");
            }
            // After its end there is nothing to doubt.
            let after = ForkOptions { seq: Some(ended.seq), ..Default::default() };
            assert!(world.client.fork(session.id, after).await.unwrap().in_doubt.is_empty(), "{name}");
            assert!(world.store.verify(false, None).await.unwrap().stale_views.is_empty(), "{name}");
        });
    }
}

#[test]
fn what_a_person_settled_on_the_branches_between_is_the_evidence_in_a_fork_of_a_fork() {
    let happened = Settled::Happened(json!("it is there"));
    let table = [
        (happened, OutcomeKind::Completed, false, Decision::Completed, "by a person's word: it happened"),
        (Settled::DidNot, OutcomeKind::FailedRetryable, false, ASK, "by a person's word: it did not happen"),
        (Settled::Abandoned, OutcomeKind::Failed, true, ASK, "by a person's word: it was given up"),
    ];
    for (what, kind, abandoned, decision, words) in table {
        let world = World::new();
        run(async {
            let session = world.client.create_session(NewSession::default()).await.unwrap();
            let main = writer(&world, session.id, None).await;
            let new = NewStep::new("deploy", "deploy", json!({}));
            let Begin::Run(step) = main.begin(&new).await.unwrap() else { panic!("not to run") };
            let middle = world.client.fork(session.id, ForkOptions::default()).await.unwrap();
            let options = ForkOptions { branch: Some(middle.branch), ..Default::default() };
            let leaf = world.client.fork(session.id, options).await.unwrap();
            assert_eq!((leaf.at.journal, leaf.in_doubt.len()), (middle.branch, 1), "{what:?}");
            main.release().await.unwrap();
            let child = writer(&world, session.id, Some(leaf.branch)).await;
            assert!(child.doubts().await.unwrap()[0].recorded.is_empty(), "{what:?}: nobody knows anything yet");
            let settling = writer(&world, session.id, Some(middle.branch)).await;
            let resolution = Resolution { what: what.clone(), by: SettledBy::Person, evidence: None, note: None };
            let at = settling.resolve(step.id, &resolution).await.unwrap();
            let doubts = child.doubts().await.unwrap();
            let [recorded] = doubts[0].recorded.as_slice() else { panic!("{what:?}: {doubts:?}") };
            assert_eq!((recorded.kind, recorded.abandoned), (kind, abandoned), "{what:?}");
            assert_eq!((recorded.position, recorded.settled), (at, Some(SettledBy::Person)), "{what:?}");
            let nowhere = Site { lives: "/nowhere".into(), base: "/".into() };
            let assessed = child.assess(&doubts[0], &nowhere).await.unwrap();
            assert_eq!(assessed.decision, decision, "{what:?}");
            let seen = assessed.evidence.unwrap().seen;
            let expected =
                format!("branch {} settled the doubt after this branch left it, {words}", middle.branch.short());
            assert_eq!(seen, expected);
            // What the branch that started it records itself comes first.
            let main = writer(&world, session.id, None).await;
            let did_not = Resolution { what: Settled::DidNot, by: SettledBy::Effect, evidence: None, note: None };
            main.resolve(step.id, &did_not).await.unwrap();
            let recorded = child.doubts().await.unwrap().remove(0).recorded;
            let by: Vec<Option<SettledBy>> = recorded.iter().map(|outcome| outcome.settled).collect();
            assert_eq!(by, [Some(SettledBy::Effect), Some(SettledBy::Person)], "{what:?}");
        });
    }
}

#[test]
fn a_deleted_branch_keeps_what_its_forks_inherit() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let main = writer(&world, session.id, None).await;
        for word in ["a", "b"] {
            main.append(event(word)).await.unwrap();
        }
        let side = world.client.fork(session.id, ForkOptions::default()).await.unwrap();
        let writer_side = writer(&world, session.id, Some(side.branch)).await;
        writer_side.append(event("c")).await.unwrap();
        writer_side.append(event("d")).await.unwrap();
        let options = ForkOptions { branch: Some(side.branch), seq: Some(3), ..Default::default() };
        let leaf = world.client.fork(session.id, options).await.unwrap();
        let error = world.client.delete_branch(session.id, session.current).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "branch_current"));
        let error = world.client.delete_branch(session.id, side.branch).await.unwrap_err();
        assert_eq!(error.code(), "lease_held", "a living writer is not cut off");
        writer_side.release().await.unwrap();
        assert_eq!(world.client.delete_branch(session.id, side.branch).await.unwrap().kept_to, 3);
        assert_eq!(bodies(&world, session.id, Some(leaf.branch)).await, ["a", "b", "c"]);
        let again = world.client.writer(session.id, Some(side.branch), WriterOptions::default()).await;
        assert_eq!(again.err().unwrap().kind(), ErrorKind::Conflict);
        assert_eq!(world.client.make_current(session.id, side.branch).await.unwrap_err().code(), "journal_closed");
        assert!(world.client.branches(session.id).await.unwrap()[1].deleted);
        assert!(world.store.verify(false, None).await.unwrap().stale_views.is_empty());
    });
}

#[test]
fn a_branch_that_is_cut_within_a_step_has_it_open_again() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap().id;
        writer(&world, session, None).await.append(event("a")).await.unwrap();
        let side = world.client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let writing = writer(&world, session, Some(side)).await;
        let new = NewStep::new("deploy", "deploy", json!({}));
        let Begin::Run(step) = writing.begin(&new).await.unwrap() else { panic!("not to run") };
        let at = Some(step.position.seq);
        let leaf = ForkOptions { branch: Some(side), seq: at, ..ForkOptions::default() };
        let leaf = world.client.fork(session, leaf).await.unwrap();
        assert_eq!(leaf.in_doubt.len(), 1);
        writing.complete(&step, json!("v1")).await.unwrap();
        writing.release().await.unwrap();
        // The outcome goes with what is cut off, and what it said of the step with it.
        assert_eq!(world.client.delete_branch(session, side).await.unwrap().kept_to, step.position.seq);
        let verified = world.store.verify(false, None).await.unwrap();
        assert!(verified.findings.is_empty() && verified.stale_views.is_empty(), "{verified:?}");
        let child = writer(&world, session, Some(leaf.branch)).await;
        assert!(matches!(child.begin(&new).await.unwrap(), Begin::InDoubt(_)));
    });
}

#[test]
fn a_fork_before_any_entry_begins_anew() {
    let world = World::new();
    run(async {
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        writer(&world, session.id, None).await.append(event("a")).await.unwrap();
        let rewind = ForkOptions { seq: Some(0), reason: ForkReason::Rewind, ..Default::default() };
        let report = world.client.fork(session.id, rewind).await.unwrap();
        assert_eq!((report.at.journal, report.at.seq), (session.current, 0));
        assert!(bodies(&world, session.id, None).await.is_empty());
        let anew = writer(&world, session.id, None).await;
        assert_eq!(anew.append(event("b")).await.unwrap().position.seq, 1);
        let second = world.client.fork(session.id, ForkOptions { seq: Some(0), ..Default::default() }).await.unwrap();
        assert!(bodies(&world, session.id, Some(second.branch)).await.is_empty());
        let branches = world.client.branches(session.id).await.unwrap();
        assert_eq!(branches[1].forked_at, Some(report.at));
        assert!(world.store.verify(false, None).await.unwrap().findings.is_empty());
    });
}
