//! A store of each format version that was ever released, as it was written then: what is on people's disks.
//!
//! `tests/fixtures/store-N` is a store of format N, with the key below. It was made by [`write_the_fixture`], which is run
//! by hand when a format gets a new version (`SAMITE_FIXTURE=DIRECTORY cargo test -p samite --test suite -- --ignored
//! write_the_fixture`), and is never made again: the fixtures of older versions stay as they are.

use crate::support::{assert_verifies, event, run};
use samite::embedded::{Embedded, EmbeddedOptions, EnvironmentMaster};
use samite::payload::ForkReason;
use samite::workspace::CheckpointOptions;
use samite::{
    Begin, Client, CollectOptions, ForkOptions, NewEvent, NewSession, NewStep, ReadOptions, Writer, WriterOptions,
};
use samite_model::step::{Effect, OutcomeKind, State};
use samite_model::{EntryKind, Tenant};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const KEY: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";

/// Larger than what stays in a journal, and small once it is compressed.
fn large() -> Vec<u8> {
    b"large ".repeat(200_000)
}

fn open(directory: &Path, create: bool) -> Embedded {
    Embedded::open(EmbeddedOptions {
        directory: directory.to_path_buf(),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(EnvironmentMaster::new(KEY).unwrap()),
        create,
        read_only: false,
        accept_behind: false,
    })
    .unwrap()
}

async fn writer(client: &Client) -> Writer {
    let session = client.session_by_key("fixture").await.unwrap().unwrap();
    client.writer(session, None, WriterOptions { take_over: true, ..WriterOptions::default() }).await.unwrap()
}

#[test]
#[ignore = "run by hand when a format gets a new version"]
fn write_the_fixture() {
    let Some(target) = std::env::var_os("SAMITE_FIXTURE").map(PathBuf::from) else { return };
    let work = tempfile::tempdir().unwrap();
    run(async {
        let store = open(&target, true);
        let client = store.client().await.unwrap();
        let new = NewSession { key: Some("fixture".into()), name: Some("as it was".into()), ..NewSession::default() };
        let session = client.create_session(new).await.unwrap().id;
        client.attach(session, None, work.path()).await.unwrap();
        fs::create_dir(work.path().join("notes")).unwrap();
        fs::write(work.path().join("notes/first"), "first words\n").unwrap();
        let writer = writer(&client).await;
        writer.append(NewEvent { dedupe: Some("one".into()), ..event("a message") }).await.unwrap();
        let attributes = Some(json!({ "context": "inside" }));
        writer.append(NewEvent { kind: EntryKind::MODEL_RESPONSE, attributes, ..event("an answer") }).await.unwrap();
        writer.append(NewEvent { body: large(), ..event("") }).await.unwrap();
        let step = NewStep { effect: Effect::Idempotent, ..NewStep::new("done", "tool", json!({ "number": 1 })) };
        let Begin::Run(handle) = writer.begin(&step).await.unwrap() else { panic!("not run") };
        writer.complete(&handle, json!("its output")).await.unwrap();
        let options = CheckpointOptions { no_environment: true, ..CheckpointOptions::default() };
        writer.checkpoint(options.clone()).await.unwrap();
        let Begin::Run(_) = writer.begin(&NewStep::new("lost", "other tool", json!({}))).await.unwrap() else {
            panic!("not run")
        };
        writer.release().await.unwrap();
        let at = || ForkOptions { seq: Some(2), ..ForkOptions::default() };
        let named = ForkOptions { name: Some("kept".into()), ..at() };
        let kept = client.fork(session, named).await.unwrap().branch;
        let gone = client.fork(session, at()).await.unwrap().branch;
        for branch in [kept, gone] {
            let writer = client.writer(session, Some(branch), WriterOptions::default()).await.unwrap();
            writer.append(event("on a fork")).await.unwrap();
            writer.release().await.unwrap();
        }
        client.delete_branch(session, gone).await.unwrap();
        client.collect_with(&CollectOptions { fold_bytes: 1, ..CollectOptions::default() }).await.unwrap();
        store.ledger().checkpoint().await.unwrap();
        let home = store.home();
        store.close().await;
        // All of it is in the database.
        for beside in ["ledger.db-wal", "ledger.db-shm"] {
            fs::remove_file(home.join(beside)).ok();
        }
        fs::remove_dir_all(home.join("caches")).unwrap();
    });
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_store_of_format_1_opens_verifies_and_is_read_and_written() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("store");
    copy(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/store-1")), &directory);
    assert!(fs::read_to_string(directory.join("node.toml")).unwrap().starts_with("format = 1\n"));
    run(async {
        let store = open(&directory, false);
        assert_verifies(store.store());
        let client = store.client().await.unwrap();
        let session = client.session_by_key("fixture").await.unwrap().unwrap();
        let all = client.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
        let kinds: Vec<EntryKind> = all.iter().map(|entry| entry.header.kind).collect();
        assert_eq!(
            kinds,
            [
                EntryKind::MESSAGE,
                EntryKind::MODEL_RESPONSE,
                EntryKind::MESSAGE,
                EntryKind::STEP_STARTED,
                EntryKind::STEP_COMPLETED,
                EntryKind::TREE,
                EntryKind::STEP_STARTED,
            ]
        );
        assert_eq!(
            (all[0].event().unwrap().body, all[1].event().unwrap().body),
            (&b"a message"[..], &b"an answer"[..])
        );
        assert_eq!(all[1].event().unwrap().attributes, Some(json!({ "context": "inside" })));
        assert!(all[2].event().unwrap().body == large() && !all[2].blocks.is_empty());
        let mut text = Vec::new();
        client.cat(all[5].position, "notes/first", &mut text).await.unwrap();
        assert_eq!(text, b"first words\n");
        let steps = client.steps(session, None).await.unwrap();
        let outcome = steps[0].outcome.as_ref().unwrap();
        assert_eq!((outcome.kind, &outcome.output), (OutcomeKind::Completed, &json!("its output")));
        assert!(steps[1].outcome.is_none());
        let branches = client.branches(session).await.unwrap();
        let seen: Vec<_> =
            branches.iter().map(|branch| (branch.name.as_deref(), branch.head, branch.deleted)).collect();
        assert_eq!(seen, [(None, 7, false), (Some("kept"), 3, false), (None, 2, true)]);
        assert_eq!(branches[1].reason, Some(ForkReason::Fork));
        // What was promised then holds now: a dedupe id, a step's key, a doubt.
        let writer = writer(&client).await;
        let again = writer.append(NewEvent { dedupe: Some("one".into()), ..event("a message") }).await.unwrap();
        assert_eq!((again.position.seq, again.duplicate), (1, true));
        let step = NewStep { effect: Effect::Idempotent, ..NewStep::new("done", "tool", json!({ "number": 1 })) };
        let Begin::Replay(outcome) = writer.begin(&step).await.unwrap() else { panic!("not replayed") };
        assert_eq!(outcome.output, json!("its output"));
        let doubts = writer.doubts().await.unwrap();
        assert_eq!((doubts.len(), doubts[0].step.state), (1, State::InDoubt));
        assert_eq!(writer.append(event("from now on")).await.unwrap().position.seq, 8);
        assert_eq!(client.plan_collection().await.unwrap().bytes, 0);
        assert_verifies(store.store());
    });
}
