//! Steps that a person, or the machine, interrupts.

use crate::support::{Place, text};
use std::fs;
use std::process::Command;

/// Interrupts a step that has begun, and returns samite's exit status and what it said.
fn interrupt(place: &Place, arguments: &[&str], signal: &str) -> (Option<i32>, String) {
    let mut command = place.command(arguments);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    while !fs::metadata(place.path().join("work/begun.txt")).is_ok_and(|found| found.len() > 0) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
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
        fs::create_dir(place.path().join("work")).unwrap();
        place.run(&["workspace", "attach", &id, "work"]).ok();
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
