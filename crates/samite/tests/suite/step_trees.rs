//! The trees between which a step on files lies.

use crate::place::Place;
use crate::support::{assert_verifies, attached, files_only, run};
use samite::recover::{RecoverOptions, Site};
use samite::workspace::RestoreRequest;
use samite::{Begin, Completion, ForkOptions, NewSession, NewStep, ReadOptions, Writer, WriterOptions};
use samite_model::step::Effect;
use samite_model::{BlockId, EntryKind};
use serde_json::json;
use std::fs;

async fn begin(writer: &Writer, key: &str) -> (samite::StepHandle, BlockId) {
    let tree = writer.checkpoint(files_only()).await.unwrap().root;
    let effect = Effect::Contained { within: Vec::new() };
    let step = NewStep { effect, tree: Some(tree), ..NewStep::new(key, "edit", json!({ "key": key })) };
    match writer.begin(&step).await.unwrap() {
        Begin::Run(handle) => (handle, tree),
        other => panic!("not to run: {other:?}"),
    }
}

#[test]
fn a_step_ends_with_the_tree_that_it_left_in_one_commit() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        fs::write(work.join("a"), "one").unwrap();
        let (step, before) = begin(&writer, "k1").await;
        fs::write(work.join("a"), "two").unwrap();
        fs::write(work.join("b"), "new").unwrap();
        let done = Completion::completed(json!("done"));
        let ended = writer.finish_with_tree(&step, &done).await.unwrap();
        let tree = ended.tree.unwrap();
        assert_eq!((step.position.seq, tree.position.seq, ended.position.seq), (2, 3, 4));
        assert!(tree.root != before && !tree.unchanged);
        let kinds: Vec<EntryKind> = writer
            .read(ReadOptions::default())
            .await
            .unwrap()
            .all()
            .await
            .unwrap()
            .iter()
            .map(|entry| entry.header.kind)
            .collect();
        let (started, completed) = (EntryKind::STEP_STARTED, EntryKind::STEP_COMPLETED);
        assert_eq!(kinds, [EntryKind::TREE, started, EntryKind::TREE, completed]);
        // Said again, because the word of it was lost: the same outcome.
        assert_eq!(writer.finish_with_tree(&step, &done).await.unwrap().position, ended.position);
        // The next step begins from there, and what a person does after a step that changed nothing is not the step's.
        let (step, before) = begin(&writer, "k2").await;
        assert_eq!(before, tree.root);
        assert!(writer.finish_with_tree(&step, &done).await.unwrap().tree.unwrap().unchanged);
        fs::write(work.join("mine"), "by a person").unwrap();
        writer.release().await.unwrap();
        let site = Site { base: place.path(""), lives: place.directory("lives") };
        let recovered = client.recover(session, RecoverOptions::default(), &site).await.unwrap();
        let drift = recovered.workspace.unwrap().drift;
        let drift: Vec<_> = drift.iter().filter(|drift| drift.path == "mine").collect();
        assert_eq!((drift.len(), drift[0].step.as_ref(), drift[0].one_of.len()), (1, None, 0));
        let options = ForkOptions { seq: Some(1), ..ForkOptions::default() };
        client.rewind(session, options, WriterOptions::default(), &RestoreRequest::default()).await.unwrap();
        assert_eq!(fs::read_to_string(work.join("a")).unwrap(), "one");
        assert!(!work.join("b").exists() && work.join("mine").exists());
        assert_verifies(store.store());
    });
}

#[test]
fn an_outcome_is_recorded_although_there_is_no_tree_to_take() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let done = Completion::completed(json!("done"));
        let Begin::Run(step) = writer.begin(&NewStep::new("k0", "edit", json!({}))).await.unwrap() else { panic!() };
        assert!(writer.finish_with_tree(&step, &done).await.unwrap().tree.is_none());
        client.attach(session, None, &work).await.unwrap();
        let (step, _) = begin(&writer, "k1").await;
        fs::remove_dir_all(&work).unwrap();
        let ended = writer.finish_with_tree(&step, &done).await.unwrap();
        assert!(ended.tree.is_none());
        let Begin::Replay(outcome) = writer
            .begin(&NewStep {
                effect: Effect::Contained { within: Vec::new() },
                ..NewStep::new("k1", "edit", json!({ "key": "k1" }))
            })
            .await
            .unwrap()
        else {
            panic!("no replay")
        };
        assert_eq!(outcome.position, ended.position);
    });
}

#[test]
fn a_writer_that_was_taken_over_leaves_its_outcome_as_evidence_and_no_tree() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let (step, before) = begin(&writer, "k1").await;
        fs::write(work.join("a"), "late").unwrap();
        let take_over = WriterOptions { take_over: true, ..WriterOptions::default() };
        let second = client.writer(session, None, take_over).await.unwrap();
        let error = writer.finish_with_tree(&step, &Completion::completed(json!("late"))).await.unwrap_err();
        assert_eq!(error.kind(), samite_model::ErrorKind::Fenced);
        assert_eq!(second.doubts().await.unwrap()[0].recorded.len(), 1);
        let head = client.head(session, second.branch()).await.unwrap();
        assert_eq!(client.tree_at(head).await.unwrap().unwrap().tree.root, before);
    });
}
