//! Calls that may be the act of another step, in other words.

use crate::support::{Did, Place, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn wait_for(path: &Path) {
    while !fs::metadata(path).is_ok_and(|found| found.len() > 0) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Cuts a step off once its effect is there.
fn cut_off(place: &Place, arguments: &[&str], effect: &str) {
    let mut child = place.command(arguments).spawn().unwrap();
    wait_for(&place.path().join(effect));
    child.kill().unwrap();
    child.wait().unwrap();
}

fn lines(place: &Place, name: &str) -> usize {
    fs::read_to_string(place.path().join(name)).map_or(0, |text| text.lines().count())
}

/// The answer of a call that was not run.
fn other(did: &Did, instead_of: &str) -> Value {
    assert_eq!(did.status, 9, "{did:?}");
    let answer: Value = serde_json::from_str(&did.out).unwrap();
    assert_eq!((answer["answer"].as_str(), answer["not_run"].as_str()), (Some("other"), Some(instead_of)));
    answer
}

#[test]
fn a_call_in_other_words_is_not_run_however_often_it_is_repeated() {
    let place = Place::new();
    let id = place.session();
    let declared = ["--effect", "observable", "--probe", "file:sent.txt"];
    let call = |key: &'static str, script: &'static str, more: &[&'static str]| {
        let mut arguments = vec!["step", "run", "--key", key];
        arguments.extend(declared);
        arguments.extend(more);
        let mut arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
        arguments.insert(2, id.clone());
        arguments.extend(["--", "sh", "-c", script].map(str::to_owned));
        arguments
    };
    let run = |arguments: &[String]| place.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let json = |arguments: &[String]| place.json(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let first = call("k1", "echo sent >> sent.txt; sleep 60", &[]);
    cut_off(&place, &first.iter().map(String::as_str).collect::<Vec<_>>(), "sent.txt");
    // The model words it anew: another key, another text. A script then repeats it blindly.
    let reworded = call("k2", "echo sent >> sent.txt", &[]);
    let settled = other(&json(&reworded), "k2");
    assert_eq!((text(&settled, "/key"), text(&settled, "/outcome/settled_by")), ("k1".into(), "probe".into()));
    assert_eq!(text(&settled, "/settled/decision"), "completed");
    for more in [&[] as &[&str], &["--retry"]] {
        let again = other(&json(&call("k2", "echo sent >> sent.txt", more)), "k2");
        assert_eq!((&again["outcome"], &again["settled"]), (&settled["outcome"], &Value::Null));
    }
    // Nothing on standard output passes for the output of the step that was asked for.
    let said = run(&reworded);
    assert_eq!((said.status, said.out.as_str()), (9, ""));
    assert!(
        said.err.contains("step k2 was not run, and this is not its outcome") && said.err.contains("--anyway"),
        "{}",
        said.err
    );
    assert_eq!(lines(&place, "sent.txt"), 1);
    // A fork inherits the answer, and recovery has nothing to ask.
    let fork = text(&place.json(&["fork", &id]).json(), "/id");
    let mut on_fork = reworded.clone();
    on_fork[2] = format!("{id}:{fork}");
    other(&json(&on_fork), "k2");
    assert_eq!(place.json(&["recover", &id]).json()["clear"], true);
    // The caller knows that it is another act.
    let anyway = call("k2", "echo sent >> sent.txt", &["--anyway"]);
    assert_eq!(text(&json(&anyway).json(), "/answer"), "ran");
    assert_eq!(lines(&place, "sent.txt"), 2);
    for arguments in [&anyway, &reworded] {
        assert_eq!(text(&json(arguments).json(), "/answer"), "replayed");
    }
    assert_eq!(lines(&place, "sent.txt"), 2);
    let steps = place.json(&["step", "list", &id]).json();
    let states: Vec<(String, u64, String)> = steps["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (text(step, "/key"), step["attempt"].as_u64().unwrap(), text(step, "/state")))
        .collect();
    let expected = [("k1", 1, "completed"), ("k2", 1, "failed"), ("k2", 2, "completed")];
    assert_eq!(states, expected.map(|(key, attempt, state)| (key.to_owned(), attempt, state.to_owned())));
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
    assert_eq!(place.json(&["verify", "--rebuild"]).json()["ok"], true);
    other(&json(&on_fork), "k2");
}

#[test]
fn a_call_that_is_known_to_be_another_act_runs_once_the_doubt_is_settled() {
    let place = Place::new();
    let id = place.session();
    let probe = ["--tool", "mail", "--effect", "observable", "--probe", "file:one.txt"];
    let first = [&["step", "run", &id, "--key", "k1"][..], &probe, &["--", "sh", "-c", "echo x > one.txt; sleep 60"]];
    cut_off(&place, &first.concat(), "one.txt");
    let second =
        ["step", "run", &id, "--key", "k2", "--tool", "mail", "--anyway", "--", "sh", "-c", "echo y > two.txt"];
    let answer = place.json(&second).json();
    assert_eq!((text(&answer, "/answer"), text(&answer, "/settled/key")), ("ran".into(), "k1".into()));
    assert_eq!(lines(&place, "two.txt"), 1);
}

#[test]
fn a_keyed_step_is_run_again_under_its_own_key_and_the_call_that_asked_is_not() {
    let place = Place::new();
    let id = place.session();
    let declared = ["--tool", "pay", "--effect", "keyed"];
    let script = "echo $SAMITE_IDEMPOTENCY_KEY >> keys.txt; test $(wc -l < keys.txt) -ge 2 || sleep 60";
    let first = [&["step", "run", &id, "--key", "k1"][..], &declared, &["--", "sh", "-c", script]].concat();
    cut_off(&place, &first, "keys.txt");
    let reworded = [&["step", "run", &id, "--key", "k2"][..], &declared];
    let reworded = [&reworded.concat()[..], &["--", "sh", "-c", "echo $SAMITE_IDEMPOTENCY_KEY >> keys.txt"]].concat();
    for _ in 0..3 {
        let answer = other(&place.json(&reworded), "k2");
        assert_eq!((text(&answer, "/key"), text(&answer, "/outcome/kind")), ("k1".into(), "completed".into()));
    }
    let keys = fs::read_to_string(place.path().join("keys.txt")).unwrap();
    let keys: Vec<&str> = keys.lines().collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1], "the outside knows it by one key");
}

#[test]
fn a_failure_runs_again_once_that_is_asked_for() {
    let place = Place::new();
    let id = place.session();
    let script = "echo $SAMITE_IDEMPOTENCY_KEY >> keys.txt; test $(wc -l < keys.txt) -ge 3";
    let run = |retry: &[&str]| {
        let arguments = [&["step", "run", &id, "--key", "k"][..], retry, &["--", "sh", "-c", script]].concat();
        place.run(&arguments).status
    };
    assert_eq!((run(&[]), run(&[]), lines(&place, "keys.txt")), (1, 1, 1), "a failure is replayed");
    assert_eq!((run(&["--anyway"]), lines(&place, "keys.txt")), (1, 1));
    assert_eq!((run(&["--retry"]), lines(&place, "keys.txt")), (1, 2));
    assert_eq!((run(&[]), lines(&place, "keys.txt")), (0, 3), "it may run again since");
    assert_eq!((run(&["--retry"]), lines(&place, "keys.txt")), (0, 3), "what is done is replayed");
    let keys = fs::read_to_string(place.path().join("keys.txt")).unwrap();
    assert!(keys.lines().all(|key| key == keys.lines().next().unwrap()), "{keys}");
}

#[test]
fn a_call_that_waited_for_a_person_runs_only_when_the_other_did_not_happen() {
    for (decision, status) in [("--happened", 9), ("--abandon", 9), ("--did-not", 0)] {
        let place = Place::new();
        let id = place.session();
        let script = "echo x >> one.txt; sleep 60";
        cut_off(&place, &["step", "run", &id, "--key", "k1", "--", "sh", "-c", script], "one.txt");
        let reworded = ["step", "run", &id, "--key", "k2", "--", "sh", "-c", "echo x >> two.txt"];
        for _ in 0..2 {
            assert_eq!(place.json(&reworded).error(4)["code"], "step_in_doubt");
        }
        place.run(&["step", "resolve", &id, "k1", decision]).ok();
        // A script that only waited for the doubt to be gone repeats its call.
        for _ in 0..2 {
            assert_eq!(place.json(&reworded).status, status, "{decision}");
            assert_eq!(lines(&place, "two.txt"), usize::from(status == 0), "{decision}");
        }
        let steps = place.json(&["step", "list", &id, "--open"]).json();
        assert_eq!(steps["steps"], Value::Array(Vec::new()));
        assert_eq!(place.json(&["verify"]).json()["ok"], true);
    }
}

/// What is cut off: a step in doubt, and a call in other words that brings the doubt up.
fn doubted(effect: &'static [&'static str]) -> (Place, String, Vec<String>) {
    let place = Place::new();
    let id = place.session();
    let call = |key: &str, script: &str| {
        let head = ["step", "run", &id, "--key", key, "--tool", "mail"];
        let all = [&head[..], effect, &["--", "sh", "-c", script]].concat();
        all.into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    let first = call("k1", "echo sent >> sent.txt; sleep 60");
    cut_off(&place, &first.iter().map(String::as_str).collect::<Vec<_>>(), "sent.txt");
    let reworded = call("k2", "echo sent >> sent.txt");
    (place, id, reworded)
}

#[test]
fn a_call_in_other_words_that_is_killed_anywhere_does_not_run_when_it_is_repeated() {
    let observable: &[&str] = &["--effect", "observable", "--probe", "file:sent.txt"];
    for effect in [observable, &[]] {
        let run = |place: &Place, call: &[String], variables: &[(&str, &str)]| {
            let mut command = place.command(&call.iter().map(String::as_str).collect::<Vec<_>>());
            command.envs(variables.iter().copied()).output().unwrap().status.code()
        };
        let (place, _, reworded) = doubted(effect);
        let trace = place.path().join("trace.txt");
        let asked = run(&place, &reworded, &[("SAMITE_KILL_TRACE", trace.to_str().unwrap())]);
        assert_eq!(asked, Some(if effect.is_empty() { 4 } else { 9 }));
        let Ok(passed) = fs::read_to_string(&trace) else {
            eprintln!("SKIPPED: the command is built without kill points");
            return;
        };
        let mut times = std::collections::HashMap::new();
        let mut killed = 0;
        for point in passed.lines() {
            let time = times.entry(point).or_insert(0);
            *time += 1;
            // After each commit, and around each part of a step.
            if point != "ledger.after_commit" && !point.starts_with("step.") {
                continue;
            }
            let (place, id, reworded) = doubted(effect);
            killed +=
                usize::from(run(&place, &reworded, &[("SAMITE_KILL_POINT", &format!("{point}:{time}"))]).is_none());
            if effect.is_empty() {
                assert_eq!(run(&place, &reworded, &[]), Some(4), "{point}:{time}");
                place.run(&["step", "resolve", &id, "k1", "--happened"]).ok();
            }
            for _ in 0..2 {
                assert_eq!(run(&place, &reworded, &[]), Some(9), "{point}:{time}");
            }
            assert_eq!(lines(&place, "sent.txt"), 1, "{point}:{time}");
        }
        assert!(killed >= 4, "{killed} were killed");
    }
}
