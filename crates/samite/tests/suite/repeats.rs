//! The same again under the same key, where what is stored is not what was submitted: redaction, or what the tenant keeps,
//! took something out of it, or the policy changed in between.

use crate::place::Place;
use crate::support::{World, assert_verifies, attached, event, run};
use samite::artifact::{ArtifactSource, PutArtifact};
use samite::fingerprint::Subject;
use samite::payload::SettledBy;
use samite::recover::{RecoverOptions, Site};
use samite::redaction::Mode;
use samite::workspace::CheckpointOptions;
use samite::{
    Begin, Client, ForkOptions, NewEvent, NewSession, NewStep, Resolution, Settled, StepHandle, Writer, WriterOptions,
};
use samite_model::SessionId;
use samite_model::policy::capture::Level;
use samite_model::step::Effect;
use serde_json::{Value, json};
use std::ffi::OsString;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const OTHER: &str = "ghp_26C7e42F292c6912E7710c838347Ae178B4b";

/// What may be decided between the first time and the second.
const BETWEEN: [(Mode, Mode); 4] =
    [(Mode::Redact, Mode::Redact), (Mode::Redact, Mode::Off), (Mode::Off, Mode::Redact), (Mode::Report, Mode::Redact)];

async fn decide(client: &Client, secrets: Mode) {
    client.change_redaction(|policy| policy.secrets = secrets).await.unwrap();
}

async fn session(client: &Client) -> SessionId {
    client.create_session(NewSession::default()).await.unwrap().id
}

async fn writer(client: &Client) -> Writer {
    let session = session(client).await;
    client.writer(session, None, WriterOptions::default()).await.unwrap()
}

/// A store in which the policy is the first of a pair, for each pair.
async fn each(act: impl AsyncFn(&World, Mode)) {
    for (before, after) in BETWEEN {
        let world = World::new();
        decide(&world.client, before).await;
        act(&world, after).await;
        assert_verifies(&world.store);
    }
}

async fn edited_again(world: &World, dedupe: Option<&str>, after: Mode) {
    let client = &world.client;
    let session = session(client).await;
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    let asked = NewEvent { dedupe: dedupe.map(str::to_owned), ..event("log in") };
    let at = writer.append(asked).await.unwrap().position;
    writer.release().await.unwrap();
    let edited = async |text: &str| client.edited(at, text.as_bytes().to_vec()).await.unwrap();
    let options = ForkOptions { seq: Some(0), key: Some("try".to_owned()), ..ForkOptions::default() };
    let words = format!("log in with {TOKEN}");
    let fork = client.fork_edited(session, options.clone(), edited(&words).await).await.unwrap().branch;
    decide(client, after).await;
    let again = client.fork_edited(session, options.clone(), edited(&words).await).await.unwrap();
    assert_eq!(again.branch, fork);
    let otherwise = edited(&format!("log in with {OTHER}")).await;
    let refused = client.fork_edited(session, options, otherwise).await.unwrap_err();
    assert_eq!(refused.code(), "branch_key_exists");
    assert_eq!(client.branches(session).await.unwrap().len(), 2);
}

#[test]
fn an_edit_with_a_secret_is_the_same_edit_again() {
    run(each(async |world, after| {
        edited_again(world, None, after).await;
        edited_again(world, Some("m1"), after).await;
    }));
}

#[test]
fn an_edit_of_which_something_was_dropped_and_replaced_is_the_same_edit_again() {
    run(async {
        let world = World::new();
        let client = &world.client;
        client.set_capture(None, Some(Level::Decisions)).await.unwrap();
        let body = |token: &str, thought: &str| {
            let content = json!([{"type": "thinking", "thinking": thought}, {"type": "text", "text": token}]);
            json!({"role": "assistant", "content": content}).to_string().into_bytes()
        };
        for dedupe in [None, Some("m1".to_owned())] {
            let session = session(client).await;
            let options = ForkOptions { seq: Some(0), key: Some("try".to_owned()), ..ForkOptions::default() };
            let new = |body| NewEvent { body, dedupe: dedupe.clone(), ..event("") };
            let edit = new(body(TOKEN, "long thoughts"));
            let fork = client.fork_edited(session, options.clone(), edit.clone()).await.unwrap().branch;
            assert_eq!(client.fork_edited(session, options.clone(), edit).await.unwrap().branch, fork);
            for other in [body(OTHER, "long thoughts"), body(TOKEN, "other thoughts")] {
                let refused = client.fork_edited(session, options.clone(), new(other)).await.unwrap_err();
                assert_eq!(refused.code(), "branch_key_exists");
            }
        }
        assert_verifies(&world.store);
    });
}

#[test]
fn an_append_with_a_secret_is_the_same_append_again() {
    run(each(async |world, after| {
        let writer = writer(&world.client).await;
        let new = |token: &str| NewEvent { dedupe: Some("m1".to_owned()), ..event(&format!("use {token}")) };
        let first = writer.append(new(TOKEN)).await.unwrap();
        decide(&world.client, after).await;
        let again = writer.append(new(TOKEN)).await.unwrap();
        assert_eq!((again.position, again.duplicate), (first.position, true));
        assert_eq!(writer.append(new(OTHER)).await.unwrap_err().code(), "dedupe_mismatch");
    }));
}

fn step(token: &str) -> NewStep {
    NewStep { effect: Effect::Idempotent, ..NewStep::new("s1", "http", json!({"authorization": token})) }
}

async fn begun(writer: &Writer, new: &NewStep) -> StepHandle {
    let Begin::Run(handle) = writer.begin(new).await.unwrap() else { panic!("not to run") };
    handle
}

#[test]
fn a_step_that_is_called_with_a_secret_is_the_same_step_again() {
    run(each(async |world, after| {
        let writer = writer(&world.client).await;
        let handle = begun(&writer, &step(TOKEN)).await;
        decide(&world.client, after).await;
        assert!(matches!(writer.begin(&step(TOKEN)).await.unwrap(), Begin::Busy(_)));
        assert_eq!(writer.begin(&step(OTHER)).await.unwrap_err().code(), "step_mismatch");
        writer.complete(&handle, json!(1)).await.unwrap();
        assert!(matches!(writer.begin(&step(TOKEN)).await.unwrap(), Begin::Replay(_)));
        assert_eq!(writer.begin(&step(OTHER)).await.unwrap_err().code(), "step_mismatch");
    }));
}

#[test]
fn an_outcome_with_a_secret_is_the_same_outcome_again() {
    run(each(async |world, after| {
        let writer = writer(&world.client).await;
        let handle = begun(&writer, &step("none")).await;
        let output = |token: &str| json!({"stdout": format!("TOKEN={token}"), "status": 0});
        let at = writer.complete(&handle, output(TOKEN)).await.unwrap();
        decide(&world.client, after).await;
        assert_eq!(writer.complete(&handle, output(TOKEN)).await.unwrap(), at);
        assert_eq!(writer.complete(&handle, output(OTHER)).await.unwrap_err().code(), "step_ended");
        assert_eq!(writer.fail(&handle, output(TOKEN), false).await.unwrap_err().code(), "step_ended");
    }));
}

#[test]
fn a_settlement_with_a_secret_is_the_same_settlement_again() {
    run(each(async |world, after| {
        let client = &world.client;
        let first = writer(client).await;
        let session = first.session();
        let handle = begun(&first, &NewStep { effect: Effect::Opaque, ..step("none") }).await;
        first.release().await.unwrap();
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let settled = |output: Value| Resolution {
            what: Settled::Happened(output),
            by: SettledBy::Person,
            evidence: None,
            note: Some(format!("seen with {TOKEN}")),
        };
        let at = writer.resolve(handle.id, &settled(json!({"token": TOKEN}))).await.unwrap();
        decide(client, after).await;
        assert_eq!(writer.resolve(handle.id, &settled(json!({"token": TOKEN}))).await.unwrap(), at);
        let other = writer.resolve(handle.id, &settled(json!({"token": OTHER}))).await.unwrap_err();
        assert_eq!(other.code(), "not_in_doubt");
    }));
}

#[test]
fn a_session_with_a_secret_in_its_name_is_the_same_session_again() {
    run(each(async |world, after| {
        let client = &world.client;
        let new = |token: &str| NewSession {
            name: Some(format!("with {token}")),
            key: Some("chat-1".to_owned()),
            source: Some(json!({"harness": "ours", "url": format!("https://x.example/?token={token}")})),
            ..NewSession::default()
        };
        let first = client.create_session(new(TOKEN)).await.unwrap().id;
        decide(client, after).await;
        assert_eq!(client.create_session(new(TOKEN)).await.unwrap().id, first);
        assert_eq!(client.create_session(new(OTHER)).await.unwrap_err().code(), "session_key_exists");
    }));
}

#[test]
fn an_artifact_with_a_secret_in_its_description_is_the_same_version_again() {
    run(each(async |world, after| {
        let place = Place::new();
        let writer = writer(&world.client).await;
        let put = |token: &str| PutArtifact {
            source: ArtifactSource::Bytes(b"bytes".to_vec()),
            name: Some("report".to_owned()),
            description: Some(format!("made with {token}")),
            command: Some((vec![OsString::from("fetch"), OsString::from(token)], place.root().to_owned())),
            ..PutArtifact::file("")
        };
        let first = writer.put_artifact(&put(TOKEN)).await.unwrap();
        decide(&world.client, after).await;
        let again = writer.put_artifact(&put(TOKEN)).await.unwrap();
        assert_eq!((again.duplicate, again.record.artifact), (true, first.record.artifact));
        let other = writer.put_artifact(&put(OTHER)).await.unwrap();
        assert_eq!((other.duplicate, other.record.version), (false, 2));
    }));
}

#[test]
fn a_session_is_found_by_a_name_in_which_something_was_replaced() {
    run(each(async |world, after| {
        let client = &world.client;
        let name = format!("deploy {TOKEN}");
        let new = NewSession { name: Some(name.clone()), ..NewSession::default() };
        let session = client.create_session(new).await.unwrap().id;
        assert_eq!(client.find_session(&name).await.unwrap(), session);
        assert_eq!(client.find_session(&format!("deploy {OTHER}")).await.unwrap_err().code(), "no_session");
        decide(client, after).await;
        let found = client.find_session(&name).await;
        // A name has no fingerprint: once nothing is replaced any more, what was is not told from another.
        if after == Mode::Off {
            assert_eq!(found.unwrap_err().code(), "no_session");
        } else {
            assert_eq!(found.unwrap(), session);
        }
    }));
}

#[test]
fn an_environment_in_which_something_was_replaced_does_not_differ_by_that() {
    run(each(async |world, after| {
        let client = &world.client;
        let place = Place::new();
        let work = place.directory("work");
        let kernel = samite::fingerprint::take(Some(&work), None).kernel;
        client.register_secret("kernel", kernel.as_bytes()).await.unwrap();
        let session = attached(client, &work).await;
        let options = CheckpointOptions::default();
        client.checkpoint(session, None, WriterOptions::default(), options).await.unwrap();
        decide(client, after).await;
        let site = Site { base: place.path(""), lives: place.directory("lives") };
        let plan = RecoverOptions { plan: true, ..RecoverOptions::default() };
        let found = client.recover(session, plan, &site).await.unwrap().workspace.unwrap().environment;
        // Once nothing is replaced any more, what was replaced cannot be told from what changed.
        let differs = usize::from(after == Mode::Off);
        assert_eq!(found.iter().filter(|one| one.subject == Subject::Kernel).count(), differs, "{found:?}");
    }));
}
