//! Steps that a person, or the machine, interrupts.

use crate::support::{Place, SAMITE, text, wait_for};
use samite::embedded::{Embedded, EmbeddedOptions, FileMaster};
use samite::recover::Site;
use samite::run::{OnStart, Ran, RunStep};
use samite::{NewSession, NewStep, WriterOptions};
use samite_host::{SystemRandomness, process};
use samite_model::Tenant;
use samite_model::step::{Effect, OutcomeKind, State};
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Interrupts a step that has begun, and returns samite's exit status and what it said.
fn interrupt(place: &Place, arguments: &[&str], signal: &str) -> (Option<i32>, String) {
    let mut command = place.command(arguments);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_for(&place.path().join("work/begun.txt"));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn an_interrupted_step_may_run_again_where_that_does_no_harm_and_else_is_in_doubt() {
    let table = [
        ("idempotent", "INT", 130, "failed_retryable"),
        ("keyed", "TERM", 143, "failed_retryable"),
        ("contained", "INT", 130, "failed_retryable"),
        ("observable", "HUP", 129, "in_doubt"),
        ("opaque", "INT", 130, "in_doubt"),
    ];
    for (effect, signal, status, state) in table {
        let place = Place::new();
        let id = place.session();
        place.attach_work(&id);
        let script = "echo x >> begun.txt; test $(wc -l < begun.txt) -ge 2 || sleep 60; echo x > done.txt";
        let mut run = vec!["step", "run", &id, "--key", "k", "--cwd", "work", "--effect", effect];
        if effect == "observable" {
            run.extend(["--probe", "file:work/done.txt"]);
        }
        run.extend(["--", "sh", "-c", script]);
        let (ended, said) = interrupt(&place, &run, signal);
        assert_eq!(ended, Some(status), "{effect}: {said}");
        assert!(said.contains("interrupted"), "{effect}: {said}");
        let steps = place.json(&["step", "list", &id]).json();
        assert_eq!(text(&steps, "/steps/0/state"), state, "{effect}");
        let again = place.json(&run);
        if effect == "opaque" {
            assert_eq!(again.error(4)["code"], "step_in_doubt");
            continue;
        }
        assert_eq!(text(&again.json(), "/answer"), "ran", "{effect}");
        // What it made so far stays: only a crash puts it back.
        let begun = fs::read_to_string(place.path().join("work/begun.txt")).unwrap();
        assert_eq!(begun.lines().count(), 2, "{effect}");
        let steps = place.json(&["step", "list", &id]).json();
        let last = steps["steps"].as_array().unwrap().last().unwrap();
        assert_eq!((text(last, "/state"), last["attempt"].as_u64()), ("completed".into(), Some(2)), "{effect}");
    }
}

#[test]
fn a_command_that_ends_well_although_it_was_interrupted_has_done_what_it_should() {
    let place = Place::new();
    let id = place.session();
    fs::create_dir(place.path().join("work")).unwrap();
    let script = "trap 'echo end; exit 0' TERM; echo x > work/begun.txt; while :; do sleep 0.01; done";
    let run = ["step", "run", &id, "--key", "k", "--", "sh", "-c", script];
    let (status, said) = interrupt(&place, &run, "INT");
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(place.run(&run).ok(), "end\n");
}

#[test]
fn a_signal_between_the_begin_and_the_commands_start_leaves_no_doubt() {
    let place = Place::new();
    let store = Embedded::open(EmbeddedOptions {
        directory: place.store(),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(place.path().join("master.key"), Arc::new(SystemRandomness::new()))),
        create: true,
        read_only: false,
        accept_behind: false,
    })
    .unwrap();
    let site = Site { base: place.path().to_path_buf(), lives: place.path().join("lives") };
    fs::create_dir(&site.lives).unwrap();
    let begun = place.path().join("begun.txt");
    // Once, when what interrupts is handed out: the step is about to begin.
    let signal = Arc::new(AtomicI32::new(15));
    let pending = signal.clone();
    let interrupts = OnStart(Arc::new(move |interrupt| match pending.swap(0, Ordering::SeqCst) {
        0 => {}
        signal => assert!(interrupt.interrupt(signal)),
    }));
    let run = RunStep {
        step: NewStep { effect: Effect::Opaque, ..NewStep::new("k", "touch", Value::Null) },
        argv: vec!["touch".into(), begun.clone().into()],
        directory: place.path().to_path_buf(),
        program: SAMITE.into(),
        echo: false,
        retry: false,
        anyway: false,
        on_start: Some(interrupts),
        on_checkpoint: None,
    };
    futures_lite::future::block_on(async {
        let client = store.client().await.unwrap();
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        let mine = || WriterOptions { process: Some(process::current().unwrap()), ..WriterOptions::default() };
        let ran = client.run_step(session, None, mine(), run.clone(), &site).await.unwrap();
        let Ran::Interrupted(interrupted) = ran else { panic!("{ran:?}") };
        assert_eq!((interrupted.signal, interrupted.begun, interrupted.key.as_str()), (15, true, "k"));
        assert_eq!(interrupted.outcome.unwrap().kind, OutcomeKind::FailedRetryable);
        assert!(!begun.exists());
        assert_eq!(fs::read_dir(&site.lives).unwrap().count(), 0);
        let steps = client.steps(session, None).await.unwrap();
        assert_eq!(steps.iter().map(|step| step.state).collect::<Vec<_>>(), [State::FailedRetryable]);
        // The same call runs it.
        let ran = client.run_step(session, None, mine(), run, &site).await.unwrap();
        let Ran::Ended { outcome, replayed: false, settled: None } = ran else { panic!("{ran:?}") };
        assert!(outcome.kind == OutcomeKind::Completed && begun.exists());
    });
}
