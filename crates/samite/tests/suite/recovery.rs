//! Recovery when much time has passed and the sandbox is gone.

use crate::support::{Place, run};
use samite::recover::{RecoverOptions, Site};
use samite::workspace::CheckpointOptions;
use samite::{Begin, NewSession, NewStep, WriterOptions};
use samite_model::recovery::Decision;
use samite_model::step::Effect;
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
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        client.attach(session, None, &work).await.unwrap();
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
