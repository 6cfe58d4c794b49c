//! Calls that may be the act of another step, in other words.

use crate::support::{Did, Place, text, wait_for};
use serde_json::Value;
use std::fs;

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
    place.cut_off(&first.iter().map(String::as_str).collect::<Vec<_>>(), "sent.txt");
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
    place.cut_off(&first.concat(), "one.txt");
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
    place.cut_off(&first, "keys.txt");
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
        place.cut_off(&["step", "run", &id, "--key", "k1", "--", "sh", "-c", script], "one.txt");
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
    place.cut_off(&first.iter().map(String::as_str).collect::<Vec<_>>(), "sent.txt");
    let reworded = call("k2", "echo sent >> sent.txt");
    (place, id, reworded)
}

#[test]
fn a_call_in_other_words_that_is_killed_anywhere_does_not_run_when_it_is_repeated() {
    let observable: &[&str] = &["--effect", "observable", "--probe", "file:sent.txt"];
    for (effect, recovered) in [(observable, false), (&[][..], false), (observable, true)] {
        let doubted = || {
            let doubted = doubted(effect);
            if recovered {
                assert_eq!(doubted.0.json(&["recover", &doubted.1]).json()["clear"], true);
            }
            doubted
        };
        let run = |place: &Place, call: &[String], variables: &[(&str, &str)]| {
            let mut command = place.command(&call.iter().map(String::as_str).collect::<Vec<_>>());
            command.envs(variables.iter().copied()).output().unwrap().status.code()
        };
        let (place, _, reworded) = doubted();
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
            let (place, id, reworded) = doubted();
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
        assert!(killed >= 3, "{killed} were killed");
    }
}

/// The Nth call of a script whose calls all belong to one tool. It waits after its effect when the file `hold` names it.
fn in_script(id: &str, number: usize, declared: &[String], act: &str) -> Vec<String> {
    let key = format!("pay-{number}");
    let script = format!("{act}; if grep -qx {number} ../hold; then echo . > ../held; sleep 60; fi");
    let head = ["step", "run", id, "--key", &key, "--tool", "pay", "--cwd", "work"].map(str::to_owned);
    let command = ["--", "sh", "-c", &script, "sh", &number.to_string()].map(str::to_owned);
    [&head[..], declared, &command].concat()
}

#[test]
fn a_script_that_starts_again_from_the_top_does_nothing_twice() {
    let keyed = "grep -q $SAMITE_IDEMPOTENCY_KEY log.txt || echo $SAMITE_IDEMPOTENCY_KEY $1 >> log.txt";
    let effects = [
        ("idempotent", "grep -qx $1 log.txt || echo $1 >> log.txt"),
        ("keyed", keyed),
        ("contained", "echo $1 >> log.txt"),
        ("observable", "echo $1 >> log.txt"),
        ("opaque", "echo $1 >> log.txt"),
    ];
    for (effect, act) in effects {
        for cut in 0..3 {
            let place = Place::new();
            let id = place.session();
            place.attach_work(&id);
            let log = place.path().join("work/log.txt");
            fs::write(&log, "").unwrap();
            let call = |number: usize| {
                let mut declared = vec!["--effect".to_owned(), effect.to_owned()];
                if effect == "observable" {
                    let probe = format!("command:grep -qx {number} {}", log.display());
                    declared.extend(["--probe".to_owned(), probe]);
                }
                in_script(&id, number, &declared, act)
            };
            let words = |call: &[String]| call.iter().map(String::as_str).collect::<Vec<_>>().join("\u{1f}");
            let run = |call: &[String]| place.json(&call.iter().map(String::as_str).collect::<Vec<_>>());
            fs::write(place.path().join("hold"), format!("{cut}\n")).unwrap();
            for number in 0..cut {
                assert_eq!(text(&run(&call(number)).json(), "/answer"), "ran");
            }
            place.cut_off(&call(cut).iter().map(String::as_str).collect::<Vec<_>>(), "held");
            fs::write(place.path().join("hold"), "").unwrap();
            for number in 0..3 {
                let call = call(number);
                let mut did = run(&call);
                if effect == "opaque" && number == cut {
                    assert_eq!(did.error(4)["code"], "step_in_doubt", "{}", words(&call));
                    place.run(&["step", "resolve", &id, &format!("pay-{cut}"), "--happened"]).ok();
                    did = run(&call);
                }
                let answer = did.json();
                let replays = number < cut || number == cut && matches!(effect, "observable" | "opaque");
                assert_eq!(text(&answer, "/answer"), if replays { "replayed" } else { "ran" }, "{}", words(&call));
                assert_eq!(text(&answer, "/key"), format!("pay-{number}"));
            }
            let log = fs::read_to_string(&log).unwrap();
            let done: Vec<&str> = log.lines().filter_map(|line| line.rsplit(' ').next()).collect();
            assert_eq!(done, ["0", "1", "2"], "{effect}, cut off in {cut}");
            assert_eq!(place.json(&["verify", "--rebuild"]).json()["ok"], true);
        }
    }
}

#[test]
fn what_is_done_is_not_done_again_after_a_doubt_about_another_is_settled() {
    let place = Place::new();
    let id = place.session();
    let call = |key: &'static str, effect: &'static str| {
        let script = format!("echo paid >> {effect}; test {key} != pay-2 || sleep 60");
        let head = ["step", "run", &id, "--key", key, "--tool", "pay", "--", "sh", "-c"];
        head.iter().map(|word| (*word).to_owned()).chain([script]).collect::<Vec<String>>()
    };
    let json = |call: &[String]| place.json(&call.iter().map(String::as_str).collect::<Vec<_>>());
    let (one, two) = (call("pay-1", "one.txt"), call("pay-2", "two.txt"));
    json(&one).json();
    place.cut_off(&two.iter().map(String::as_str).collect::<Vec<_>>(), "two.txt");
    for _ in 0..2 {
        assert_eq!(text(&json(&one).json(), "/answer"), "replayed");
        // Nor does a call under a key that was used for another command get past its mistake.
        let other = ["step", "run", &id, "--key", "pay-1", "--tool", "pay", "--", "true"];
        assert_eq!(place.json(&other).error(4)["code"], "step_mismatch");
        assert_eq!(json(&two).error(4)["code"], "step_in_doubt");
    }
    place.run(&["step", "resolve", &id, "pay-2", "--did-not"]).ok();
    for more in [&[] as &[&str], &["--retry"], &["--anyway"]] {
        let mut again = one.clone();
        again.splice(3..3, more.iter().map(|word| (*word).to_owned()));
        assert_eq!(text(&json(&again).json(), "/answer"), "replayed");
    }
    assert_eq!(lines(&place, "one.txt"), 1);
}

#[test]
fn a_refusal_for_one_step_lets_no_call_past_another() {
    let place = Place::new();
    let id = place.session();
    let head = |key: &'static str| vec!["step", "run", &id, "--key", key, "--tool", "mail"];
    let opaque = [&head("k1")[..], &["--", "sh", "-c", "echo x >> one.txt; sleep 60"]].concat();
    place.cut_off(&opaque, "one.txt");
    let reworded = [&head("k2")[..], &["--", "sh", "-c", "echo x >> two.txt"]].concat();
    assert_eq!(place.json(&reworded).error(4)["code"], "step_in_doubt");
    place.run(&["step", "resolve", &id, "k1", "--did-not"]).ok();
    let probe = ["--effect", "observable", "--probe", "file:three.txt"];
    let third = [&head("k3")[..], &probe, &["--", "sh", "-c", "echo x >> three.txt; sleep 60"]].concat();
    place.cut_off(&third, "three.txt");
    for _ in 0..3 {
        assert_eq!(text(&other(&place.json(&reworded), "k2"), "/key"), "k3");
    }
    let steps = place.json(&["step", "list", &id]).json();
    let last = steps["steps"].as_array().unwrap().last().unwrap();
    assert_eq!((text(last, "/key"), text(last, "/outcome/may_be/key")), ("k2".into(), "k3".into()));
    assert_eq!(lines(&place, "two.txt"), 0);
}

#[test]
fn a_call_in_other_words_after_recovery_is_not_run() {
    let observable: &[&str] = &["--effect", "observable", "--probe", "file:sent.txt"];
    let run = |place: &Place, call: &[String]| place.json(&call.iter().map(String::as_str).collect::<Vec<_>>());
    for (effect, asked) in [(observable, false), (&[][..], false), (&[][..], true)] {
        let (place, id, reworded) = doubted(effect);
        let named = |key: &str, more: &[&str]| {
            let mut call = reworded.clone();
            key.clone_into(&mut call[4]);
            call.splice(5..5, more.iter().map(|word| (*word).to_owned()));
            call
        };
        if asked {
            assert_eq!(run(&place, &reworded).error(4)["code"], "step_in_doubt");
        }
        if effect.is_empty() {
            assert_eq!(text(&place.json(&["recover", &id]).json(), "/steps/0/decision"), "ask");
            place.run(&["step", "resolve", &id, "k1", "--happened"]).ok();
        } else {
            assert_eq!(text(&place.json(&["recover", &id]).json(), "/steps/0/decision"), "completed");
        }
        let fork = format!("{id}:{}", text(&place.json(&["fork", &id]).json(), "/id"));
        let said = place.run(&["read", &fork, "--kind", "steps_inherited"]).ok();
        assert!(said.contains("  1 step settled, of which no caller has been told: the step of seq 1  "), "{said}");
        for _ in 0..2 {
            let answer = other(&run(&place, &reworded), "k2");
            assert_eq!((text(&answer, "/key"), text(&answer, "/outcome/kind")), ("k1".into(), "completed".into()));
        }
        assert_eq!(lines(&place, "sent.txt"), 1);
        // The model was told: what it says next is another act. So is what it says that it is.
        assert_eq!(text(&run(&place, &named("k3", &[])).json(), "/answer"), "ran");
        assert_eq!(text(&run(&place, &named("k2", &["--anyway"])).json(), "/answer"), "ran");
        assert_eq!(lines(&place, "sent.txt"), 3);
        let mut on_fork = reworded.clone();
        on_fork[2].clone_from(&fork);
        other(&run(&place, &on_fork), "k2");
        assert_eq!(place.json(&["verify"]).json()["ok"], true);
        assert_eq!(place.json(&["verify", "--rebuild"]).json()["ok"], true);
    }
}

#[test]
fn a_recovered_step_whose_own_call_comes_or_that_is_said_to_be_another_keeps_nothing_from_running() {
    let effect = &["--effect", "observable", "--probe", "file:sent.txt"];
    for anyway in [false, true] {
        let (place, id, mut reworded) = doubted(effect);
        assert_eq!(place.json(&["recover", &id]).json()["clear"], true);
        if anyway {
            reworded.insert(5, "--anyway".to_owned());
        } else {
            let mut own = reworded.clone();
            "k1".clone_into(&mut own[4]);
            *own.last_mut().unwrap() = "echo sent >> sent.txt; sleep 60".to_owned();
            assert_eq!(
                text(&place.json(&own.iter().map(String::as_str).collect::<Vec<_>>()).json(), "/answer"),
                "replayed"
            );
        }
        for key in ["k2", "k3"] {
            key.clone_into(&mut reworded[4]);
            reworded.retain(|word| key == "k2" || word != "--anyway");
            let answer = place.json(&reworded.iter().map(String::as_str).collect::<Vec<_>>()).json();
            assert_eq!(text(&answer, "/answer"), "ran", "{anyway} {key}");
        }
    }
}

#[test]
fn an_output_that_looks_like_a_refusal_is_an_output() {
    let place = Place::new();
    let id = place.session();
    let call = ["step", "run", &id, "--key", "k1", "--", "sh", "-c", "echo x >> one.txt; sleep 60"];
    place.cut_off(&call, "one.txt");
    fs::write(place.path().join("output"), r#"{"not_run": {"key": "k0"}}"#).unwrap();
    place.run(&["step", "resolve", &id, "k1", "--happened", "--output", "output"]).ok();
    let answer = place.json(&call).json();
    assert_eq!(
        (text(&answer, "/answer"), text(&answer, "/outcome/output/not_run/key")),
        ("replayed".into(), "k0".into())
    );
}

#[test]
fn a_call_is_not_run_although_another_process_settled_the_doubt_meanwhile() {
    // What the other says may be what this one saw, or something else.
    for same in [true, false] {
        let place = Place::new();
        let id = place.session();
        let pid = std::process::id().to_string();
        let writer = ["--writer", "harness", "--writer-pid", &pid];
        let probe =
            "command:sh -c 'test -e one.txt || exit 1; echo . >> looked; until test -e go; do sleep 0.02; done'";
        let declared = ["--tool", "mail", "--effect", "observable", "--probe", probe];
        let call = |key: &'static str, script: &'static str| {
            [&writer[..], &["step", "run", &id, "--key", key], &declared, &["--", "sh", "-c", script]].concat()
        };
        place.cut_off(&call("k1", "echo x >> one.txt; sleep 60"), "one.txt");
        let reworded = call("k2", "echo x >> two.txt");
        let mut waiting = vec![place.command(&[&["--json"], &reworded[..]].concat()).spawn().unwrap()];
        wait_for(&place.path().join("looked"));
        if same {
            // Both look, and both see it.
            waiting.push(place.command(&[&writer[..], &["--json", "recover", &id]].concat()).spawn().unwrap());
            while lines(&place, "looked") < 2 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        } else {
            place.run(&[&writer[..], &["step", "resolve", &id, "k1", "--happened"]].concat()).ok();
        }
        fs::write(place.path().join("go"), "").unwrap();
        let ended: Vec<Option<i32>> = waiting.iter_mut().map(|child| child.wait().unwrap().code()).collect();
        assert_eq!(ended[0], Some(9), "{same}: {ended:?}");
        for _ in 0..2 {
            other(&place.json(&reworded), "k2");
        }
        assert_eq!(lines(&place, "two.txt"), 0, "{same}");
    }
}
