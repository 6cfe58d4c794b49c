//! Writers that are stopped, lose their branch, and go on.

use crate::children::{Process, Role, soon, start};
use crate::place::Place;
use crate::support::{assert_verifies, event, run};
use samite::payload::SettledBy;
use samite::workspace::CheckpointOptions;
use samite::{Begin, Client, Completion, NewSession, NewStep, ReadOptions, Resolution, Settled, Writer, WriterOptions};
use samite_model::step::State;
use samite_model::{Error, ErrorKind, SessionId};
use serde_json::json;

/// How long the lease of a zombie that is left to lapse lasts: 300 ms.
const SHORT: i64 = 300_000_000;

fn step(key: &str) -> NewStep {
    NewStep::new(key, "mail", json!({ "to": key }))
}

fn began(begin: Begin) -> samite::StepHandle {
    match begin {
        Begin::Run(handle) => handle,
        other => panic!("{other:?}"),
    }
}

async fn session(client: &Client) -> SessionId {
    client.session_by_key("zombie").await.unwrap().unwrap()
}

fn tell(role: &Role, what: &str, error: &Error) {
    role.say(&format!("{what} {} {} {}", error.kind(), error.kind().exit_status(), error.hints().join("; ")));
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn child_is_a_zombie() {
    let Some(role) = Role::of_this_process() else { return };
    run(async {
        let client = role.open().client().await.unwrap();
        let session = session(&client).await;
        let time_to_live = if role.name == "expires" { SHORT } else { 60_000_000_000 };
        let options = WriterOptions { id: Some("zombie".into()), time_to_live, ..WriterOptions::default() };
        let writer = client.writer(session, None, options).await.unwrap();
        writer.append(event("by the zombie")).await.unwrap();
        let first = began(writer.begin(&step("first")).await.unwrap());
        let second = began(writer.begin(&step("second")).await.unwrap());
        role.tell("ready");
        role.waits_for("go");
        // What it was about to do when it was stopped.
        tell(&role, "append", &writer.append(event("too late")).await.unwrap_err());
        tell(&role, "checkpoint", &writer.checkpoint(CheckpointOptions::default()).await.unwrap_err());
        tell(&role, "complete", &writer.complete(&first, json!("the first was sent")).await.unwrap_err());
        let done = Completion::completed(json!("the second was sent"));
        let error = writer.complete_and_begin(&second, &done, &step("third")).await.unwrap_err();
        tell(&role, "complete_and_begin", &error);
        tell(&role, "begin", &writer.begin(&step("fourth")).await.unwrap_err());
    });
}

/// The successor of a writer that is stopped: by force, or once the lease has lapsed.
async fn successor(client: &Client, session: SessionId, take_over: bool) -> Writer {
    let mut writer = None;
    while writer.is_none() {
        match client.writer(session, None, WriterOptions { take_over, ..WriterOptions::default() }).await {
            Ok(found) => writer = Some(found),
            Err(error) => {
                assert_eq!((error.kind(), error.code(), take_over), (ErrorKind::Conflict, "lease_held", false));
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }
    writer.unwrap()
}

fn a_zombie_is_fenced_and_its_outcomes_are_kept(name: &str, take_over: bool) {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let new = NewSession { key: Some("zombie".into()), ..NewSession::default() };
        let session = client.create_session(new).await.unwrap().id;
        client.attach(session, None, &work).await.unwrap();
        let role = Role::new(place.root(), name);
        let zombie = start("zombies::child_is_a_zombie", place.root(), name);
        role.waits_for("ready");
        zombie.stop();
        let writer = successor(&client, session, take_over).await;
        assert_eq!(writer.epoch(), 2);
        let doubts = writer.doubts().await.unwrap();
        assert_eq!(doubts.iter().map(|doubt| doubt.step.started.key.as_str()).collect::<Vec<_>>(), ["first", "second"]);
        assert!(doubts.iter().all(|doubt| doubt.recorded.is_empty()));
        writer.append(event("by the successor")).await.unwrap();
        zombie.go_on();
        role.tell("go");
        zombie.succeeds(&role);
        let said = role.said();
        let evidence = "the outcome was kept as evidence for the writer that took over";
        let expected = ["append", "checkpoint", "complete", "complete_and_begin", "begin"];
        assert_eq!(said.len(), expected.len(), "{said:?}");
        for (line, what) in said.iter().zip(expected) {
            assert!(line.starts_with(&format!("{what} fenced 5 ")), "{line}");
            assert_eq!(line.contains(evidence), what.starts_with("complete"), "{line}");
        }
        // The doubts are settled with what the zombie knew, and nothing is sent again.
        for doubt in writer.doubts().await.unwrap() {
            let [recorded] = doubt.recorded.as_slice() else { panic!("{doubt:?}") };
            assert_eq!(recorded.output, json!(format!("the {} was sent", doubt.step.started.key)));
            let what = Settled::Happened(recorded.output.clone());
            let resolution = Resolution { what, by: SettledBy::Person, evidence: None, note: None };
            writer.resolve(doubt.step.id, &resolution).await.unwrap();
        }
        let Begin::Replay(outcome) = writer.begin(&step("second")).await.unwrap() else { panic!("run again") };
        assert_eq!(outcome.output, json!("the second was sent"));
        began(writer.begin(&step("third")).await.unwrap());
        let entries = writer.read(ReadOptions::default()).await.unwrap().all().await.unwrap();
        let kinds: Vec<(String, u64)> =
            entries.iter().map(|entry| (entry.header.kind.name(), entry.header.epoch)).collect();
        let kinds: Vec<(&str, u64)> = kinds.iter().map(|(kind, epoch)| (kind.as_str(), *epoch)).collect();
        assert_eq!(
            kinds,
            [
                ("message", 1),
                ("step_started", 1),
                ("step_started", 1),
                ("message", 2),
                ("step_evidence", 1),
                ("step_evidence", 1),
                ("step_resolved", 2),
                ("step_resolved", 2),
                ("step_started", 2),
            ]
        );
        assert_verifies(store.store());
    });
}

#[test]
fn a_zombie_whose_lease_lapsed_is_fenced_and_its_outcomes_are_kept() {
    a_zombie_is_fenced_and_its_outcomes_are_kept("expires", false);
}

#[test]
fn a_zombie_that_was_replaced_by_force_is_fenced_and_its_outcomes_are_kept() {
    a_zombie_is_fenced_and_its_outcomes_are_kept("forced", true);
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn child_comes_back() {
    let Some(role) = Role::of_this_process() else { return };
    run(async {
        let client = role.open().client().await.unwrap();
        let session = session(&client).await;
        let mut number = 0;
        while !role.file("enough").exists() {
            let writer = successor(&client, session, true).await;
            loop {
                let word = format!("zombie {number}");
                match writer.append(event(&word)).await {
                    Ok(written) => role.say(&format!("{} {word}", written.position.seq)),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Fenced, "{error}");
                        break;
                    }
                }
                number += 1;
                if role.file("enough").exists() {
                    break;
                }
            }
        }
    });
}

/// Does something beside a process that is stopped. One that was stopped inside of a transaction keeps the whole store:
/// it is let go on for a moment.
fn while_it_is_stopped<T: Send>(zombie: &Process, act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let acting = scope.spawn(act);
        let begin = std::time::Instant::now();
        while !acting.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(1));
            if begin.elapsed().as_millis() > 100 {
                zombie.go_on();
                std::thread::sleep(std::time::Duration::from_millis(1));
                zombie.stop();
            }
        }
        acting.join().unwrap()
    })
}

#[test]
fn a_writer_that_is_stopped_anywhere_never_writes_into_a_later_epoch() {
    let place = Place::new();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let new = NewSession { key: Some("zombie".into()), ..NewSession::default() };
        let session = client.create_session(new).await.unwrap().id;
        let role = Role::new(place.root(), "stopped");
        let zombie = start("zombies::child_comes_back", place.root(), "stopped");
        let mut mine = Vec::new();
        for round in 1..=8 {
            let before = role.said().len();
            soon("the zombie writes", || role.said().len() > before + round % 4);
            zombie.stop();
            let mut written = 0;
            while written < 3 {
                let writer = while_it_is_stopped(&zombie, || run(successor(&client, session, true)));
                while written < 3 {
                    let word = format!("successor {round} {written}");
                    match while_it_is_stopped(&zombie, || run(writer.append(event(&word)))) {
                        Ok(appended) => mine.push((appended.position.seq, word)),
                        // It was let go on, and took its branch back.
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Fenced, "{error}");
                            break;
                        }
                    }
                    written += 1;
                }
            }
            zombie.go_on();
        }
        role.tell("enough");
        zombie.succeeds(&role);
        let entries = client.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
        let epochs: Vec<u64> = entries.iter().map(|entry| entry.header.epoch).collect();
        assert!(epochs.is_sorted(), "{epochs:?}");
        let text = |seq: u64| {
            let entry = entries.iter().find(|entry| entry.position.seq == seq).unwrap();
            String::from_utf8(entry.event().unwrap().body.to_vec()).unwrap()
        };
        for (seq, word) in &mine {
            assert_eq!(text(*seq), *word);
        }
        let said = role.said();
        for line in &said {
            let (seq, word) = line.split_once(' ').unwrap();
            assert_eq!(text(seq.parse().unwrap()), word);
        }
        assert!(entries.len() >= mine.len() + said.len());
        assert_verifies(store.store());
    });
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn child_restores_and_dies() {
    let Some(role) = Role::of_this_process() else { return };
    run(async {
        let client = role.open().client().await.unwrap();
        let session = client.session_by_key("restored").await.unwrap().unwrap();
        let named = WriterOptions { id: Some("hook".into()), ..WriterOptions::default() };
        let writer = client.writer(session, None, named).await.unwrap();
        began(writer.begin(&NewStep::new("restore 1", "samite.restore", json!({}))).await.unwrap());
        began(writer.begin(&NewStep::new("call", "other", json!({}))).await.unwrap());
    });
}

#[test]
fn a_restore_is_in_doubt_once_its_process_is_gone_although_its_writer_goes_on() {
    let place = Place::new();
    run(async {
        let client = place.open().client().await.unwrap();
        let session = NewSession { key: Some("restored".into()), ..NewSession::default() };
        let session = client.create_session(session).await.unwrap().id;
        start("zombies::child_restores_and_dies", place.root(), "first").succeeds(&Role::new(place.root(), "first"));
        let named = WriterOptions { id: Some("hook".into()), ..WriterOptions::default() };
        let writer = client.writer(session, None, named).await.unwrap();
        assert_eq!(writer.epoch(), 1);
        // What the harness itself does, across processes, is no doubt: it says how it ended.
        let doubts = writer.doubts().await.unwrap();
        let doubts: Vec<&str> = doubts.iter().map(|doubt| doubt.step.started.key.as_str()).collect();
        assert_eq!(doubts, ["restore 1"]);
        let states: Vec<State> = client.steps(session, None).await.unwrap().iter().map(|step| step.state).collect();
        assert_eq!(states, [State::InDoubt, State::Started]);
    });
}
