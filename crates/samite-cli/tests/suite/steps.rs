//! Commands as steps.

use crate::support::{Place, Redactor, text};

#[test]
fn a_command_runs_once_under_its_key_and_is_replayed() {
    let place = Place::new();
    let id = place.session();
    let script = "echo out; echo err >&2; echo ran >> ran.txt; exit 3";
    let run = || place.run(&["step", "run", &id, "--key", "k", "--", "sh", "-c", script]);
    let (first, again) = (run(), run());
    assert_eq!((first.status, first.out.as_str(), first.err.as_str()), (3, "out\n", "err\n"));
    assert_eq!((again.status, again.out.as_str(), again.err.as_str()), (3, "out\n", "err\n"));
    assert_eq!(std::fs::read_to_string(place.path().join("ran.txt")).unwrap(), "ran\n");
}

#[test]
fn a_failure_that_may_run_again_does() {
    let place = Place::new();
    let id = place.session();
    let script = "echo $SAMITE_IDEMPOTENCY_KEY >> keys.txt; test $(wc -l < keys.txt) -ge 2";
    let run = || place.json(&["step", "run", &id, "--key", "k", "--retry", "--", "sh", "-c", script]).status;
    assert_eq!((run(), run(), run()), (1, 0, 0));
    let keys = std::fs::read_to_string(place.path().join("keys.txt")).unwrap();
    let keys: Vec<&str> = keys.lines().collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1], "the outside dedupes on one key");
}

#[test]
fn another_command_under_the_same_key_is_a_conflict() {
    let place = Place::new();
    let id = place.session();
    place.json(&["step", "run", &id, "--key", "k", "--", "true"]).json();
    let error = place.json(&["step", "run", &id, "--key", "k", "--", "false"]).error(4);
    assert_eq!(error["code"], "step_mismatch");
}

#[test]
fn golden_json_of_steps() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "push it");
    let mut redactor = Redactor::new(&place);
    let run = ["step", "run", &id, "--key", "k", "--touches", "git:origin/main", "--", "sh", "-c", "printf done"];
    let mut golden = redactor.json(&place.json(&run).json());
    golden.push('\n');
    golden.push_str(&redactor.json(&place.json(&run).json()));
    golden.push('\n');
    golden.push_str(&redactor.json(&place.json(&["step", "list", &id]).json()));
    golden.push('\n');
    golden.push_str(&redactor.json(&place.json(&["fork", &format!("{id}@1")]).json()));
    insta::assert_snapshot!(golden);
}

#[test]
fn a_step_cut_off_by_sigkill_is_in_doubt_until_a_person_decides() {
    let place = Place::new();
    let id = place.session();
    let script = "echo effect >> effects.txt; sleep 60";
    let mut command = place.command(&["step", "run", &id, "--key", "k", "--", "sh", "-c", script]);
    let mut child = command.spawn().unwrap();
    // The effect has happened once the file is there.
    while !place.path().join("effects.txt").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The model words its call anew: another key, another command, the same tool.
    let again = ["step", "run", &id, "--key", "other", "--", "sh", "-c", "echo effect >> effects.txt"];
    let error = place.json(&again).error(4);
    assert_eq!(error["code"], "step_in_doubt", "{error}");
    place.run(&["step", "resolve", &id, "k", "--happened", "--note", "the file has it"]).ok();
    let steps = place.json(&["step", "list", &id]).json();
    assert_eq!(text(&steps, "/steps/0/state"), "completed");
    assert_eq!(text(&steps, "/steps/0/outcome/settled_by"), "person");
    assert_eq!(std::fs::read_to_string(place.path().join("effects.txt")).unwrap(), "effect\n");
}

#[test]
fn a_supervisor_that_is_killed_leaves_its_step_in_doubt() {
    let place = Place::new();
    let id = place.session();
    let script = "echo effect >> effects.txt; kill -9 $PPID; sleep 60";
    let error = place.json(&["step", "run", &id, "--key", "k", "--", "sh", "-c", script]).error(7);
    assert_eq!(error["code"], "supervisor_lost");
    let recovered = place.json(&["recover", &id]).json();
    assert_eq!(recovered["clear"], false);
    assert_eq!(text(&recovered, "/steps/0/decision"), "ask");
}

#[test]
fn a_long_output_is_replayed_whole() {
    let place = Place::new();
    let id = place.session();
    let run = || place.run(&["step", "run", &id, "--key", "k", "--", "seq", "1", "400000"]).ok();
    let first = run();
    assert_eq!(first.lines().count(), 400_000);
    assert!(run() == first, "the replay is another text");
}

#[test]
fn nothing_of_a_command_outlives_its_samite() {
    let place = Place::new();
    let id = place.session();
    let script = "setsid sh -c 'echo $$ > pid.txt; mv pid.txt child.txt; sleep 300' & wait";
    let mut child = place.command(&["step", "run", &id, "--key", "k", "--", "sh", "-c", script]).spawn().unwrap();
    let child_pid = loop {
        match std::fs::read_to_string(place.path().join("child.txt")) {
            Ok(pid) => break pid.trim().to_owned(),
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let stat = std::path::PathBuf::from(format!("/proc/{child_pid}/stat"));
    for _ in 0..1000 {
        match std::fs::read_to_string(&stat) {
            Ok(stat) if !stat.contains(") Z ") => std::thread::sleep(std::time::Duration::from_millis(10)),
            _ => return,
        }
    }
    panic!("process {child_pid} outlived the command that ran it");
}
