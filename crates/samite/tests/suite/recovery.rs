//! Recovery when much time has passed and the sandbox is gone.

use crate::place::Place;
use crate::support::{attached, run};
use samite::payload::SettledBy;
use samite::recover::{RecoverOptions, Site};
use samite::workspace::CheckpointOptions;
use samite::{Begin, NewSession, NewStep, Resolution, Settled, WriterOptions};
use samite_model::recovery::{Ask, Decision};
use samite_model::step::{Effect, Probe};
use serde_json::json;
use std::fs;

const DAY: i64 = 24 * 3600 * 1_000_000_000;

#[test]
fn thirty_days_later_and_without_its_workspace_a_session_is_recovered() {
    let place = Place::new();
    let work = place.directory("work");
    let (client, clock) = place.in_memory();
    let site = Site { base: place.path(""), lives: place.directory("lives") };
    run(async {
        let session = attached(&client, &work).await;
        fs::write(work.join("progress.md"), "half way").unwrap();
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let taken = writer.checkpoint(CheckpointOptions::default()).await.unwrap();
        let step = NewStep {
            effect: Effect::Contained { within: Vec::new() },
            tree: Some(taken.root),
            ..NewStep::new("edit", "edit", json!({}))
        };
        assert!(matches!(writer.begin(&step).await.unwrap(), Begin::Run(_)));
        fs::write(work.join("half"), "done").unwrap();
        drop(writer);
        // The sandbox is reclaimed, and the person comes back after a month.
        fs::remove_dir_all(&work).unwrap();
        clock.advance(31 * DAY);
        let plan = RecoverOptions { plan: true, ..RecoverOptions::default() };
        let found = client.recover(session, plan, &site).await.unwrap();
        assert_eq!(found.position.seq, 2);
        assert!(!found.workspace.as_ref().unwrap().exists);
        assert_eq!(found.steps[0].assessment.decision, Decision::PutBackAndRunAgain);
        assert!(!work.exists(), "a plan changes nothing");
        let recovered = client.recover(session, RecoverOptions::default(), &site).await.unwrap();
        assert!(recovered.is_clear());
        assert_eq!(fs::read_to_string(work.join("progress.md")).unwrap(), "half way");
        assert!(!work.join("half").exists());
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let Begin::Run(again) = writer.begin(&step).await.unwrap() else { panic!("not to run again") };
        assert_eq!(again.attempt, 2);
    });
}

const SECOND: i64 = 1_000_000_000;

/// A step that was begun without samite's processes, and whose probe says that it did not happen.
fn unseen(settle_seconds: u64) -> NewStep {
    NewStep {
        effect: Effect::Observable { settle_seconds: Some(settle_seconds) },
        probe: Some(Probe::File { path: "not/there".into(), sha256: None, before: None }),
        ..NewStep::new("look", "look", json!({}))
    }
}

#[test]
fn a_step_without_a_sign_of_life_settles_from_the_end_of_its_lease_or_the_first_look() {
    for lease_expires in [true, false] {
        let place = Place::new();
        let (client, clock) = place.in_memory();
        let site = Site { base: place.path(""), lives: place.directory("lives") };
        run(async {
            let session = client.create_session(NewSession::default()).await.unwrap().id;
            let options = WriterOptions { time_to_live: 60 * SECOND, ..WriterOptions::default() };
            let writer = client.writer(session, None, options).await.unwrap();
            assert!(matches!(writer.begin(&unseen(30)).await.unwrap(), Begin::Run(_)));
            if lease_expires {
                drop(writer);
            } else {
                writer.release().await.unwrap();
            }
            clock.advance(70 * SECOND);
            let decide = async |plan| {
                let options = RecoverOptions { plan, ..RecoverOptions::default() };
                client.recover(session, options, &site).await.unwrap().steps[0].assessment.decision
            };
            // The lease ended ten seconds ago; where that is not known, nothing is known before the first look.
            let left = if lease_expires { 20 } else { 30 };
            assert_eq!(decide(false).await, Decision::Wait { seconds: left });
            clock.advance(5 * SECOND);
            assert_eq!(decide(true).await, Decision::Wait { seconds: left - 5 });
            clock.advance(i64::try_from(left).unwrap() * SECOND);
            assert_eq!(decide(false).await, Decision::RunAgain);
            assert_eq!(fs::read_dir(&site.lives).unwrap().count(), 0, "a settled doubt leaves nothing behind");
        });
    }
}

#[test]
fn an_outside_forgets_a_key_by_the_time_of_its_first_attempt() {
    let place = Place::new();
    let (client, clock) = place.in_memory();
    let site = Site { base: place.path(""), lives: place.directory("lives") };
    run(async {
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        let step =
            NewStep { effect: Effect::Keyed { window_seconds: Some(100) }, ..NewStep::new("pay", "pay", json!({})) };
        let did_not = Resolution { what: Settled::DidNot, by: SettledBy::Effect, evidence: None, note: None };
        let mut writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        assert!(matches!(writer.begin(&step).await.unwrap(), Begin::Run(_)));
        for expected in [Decision::RunAgain, Decision::Ask { reason: Ask::PastWindow }] {
            clock.advance(60 * SECOND);
            let take_over = WriterOptions { take_over: true, ..WriterOptions::default() };
            writer = client.writer(session, None, take_over).await.unwrap();
            let doubt = writer.doubts().await.unwrap().remove(0);
            let assessment = writer.assess(&doubt, &site).await.unwrap();
            assert_eq!(assessment.decision, expected);
            if expected == Decision::RunAgain {
                writer.run_again(doubt.step.id, &did_not, None, None).await.unwrap();
            }
        }
    });
}

#[test]
fn a_step_that_cannot_be_looked_at_hides_nothing_of_the_others() {
    let place = Place::new();
    let (client, clock) = place.in_memory();
    let site = Site { base: place.path(""), lives: place.directory("lives") };
    run(async {
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let damaged = NewStep {
            process: Some(json!({ "supervised": "00", "life": "x" })),
            ..NewStep::new("damaged", "one", json!({}))
        };
        assert!(matches!(writer.begin(&damaged).await.unwrap(), Begin::Run(_)));
        let right = NewStep { effect: Effect::Idempotent, ..NewStep::new("right", "two", json!({})) };
        assert!(matches!(writer.begin(&right).await.unwrap(), Begin::Run(_)));
        drop(writer);
        clock.advance(DAY);
        let recovered = client.recover(session, RecoverOptions::default(), &site).await.unwrap();
        assert!(!recovered.is_clear());
        assert_eq!(recovered.steps[0].error.as_ref().unwrap().code(), "bad_process");
        assert!(recovered.steps[1].error.is_none());
        assert_eq!(recovered.steps[1].assessment.decision, Decision::RunAgain);
    });
}
