//! Commands as steps.

use crate::support::{Place, Redactor, text, wait_for};

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
    // The effect has happened once the file is there.
    place.cut_off(&["step", "run", &id, "--key", "k", "--", "sh", "-c", script], "effects.txt");
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
    let lost = recovered["steps"][0]["processes"].as_array().unwrap();
    let parts: Vec<String> = lost.iter().take(3).map(|process| text(process, "/part")).collect();
    assert_eq!(parts, ["runner", "supervisor", "command"]);
    assert!(lost.iter().take(2).all(|process| process["fate"] == "ended"), "{lost:?}");
    assert!(["ended", "killed"].contains(&lost[2]["fate"].as_str().unwrap()), "{lost:?}");
    assert_eq!(lost[2]["command"], serde_json::json!(["sh", "-c", script]));
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
    place.cut_off(&["step", "run", &id, "--key", "k", "--", "sh", "-c", script], "child.txt");
    let child_pid = place.read("child.txt").unwrap().trim().to_owned();
    let stat = std::path::PathBuf::from(format!("/proc/{child_pid}/stat"));
    for _ in 0..1000 {
        match std::fs::read_to_string(&stat) {
            Ok(stat) if !stat.contains(") Z ") => std::thread::sleep(std::time::Duration::from_millis(10)),
            _ => return,
        }
    }
    panic!("process {child_pid} outlived the command that ran it");
}

/// A command that leaves an effect behind and is killed with its samite, for a writer that goes on; then another samite
/// of the same writer.
fn the_same_writer_goes_on_after_its_samite_was_killed(writer: &[(&str, String)]) {
    let place = Place::new();
    let id = place.session();
    let command = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.envs(writer.iter().map(|(name, value)| (*name, value.as_str())));
        command
    };
    let script = "echo sent >> sent.txt; sleep 60";
    let run = ["step", "run", &id, "--key", "k1", "--tool", "mail", "--", "sh", "-c", script];
    let mut child = command(&run).spawn().unwrap();
    wait_for(&place.path().join("sent.txt"));
    // While it runs it is busy for its own key, and no doubt.
    let busy = command(&run).output().unwrap();
    assert_eq!(busy.status.code(), Some(4));
    let before = command(&["--json", "recover", &id]).output().unwrap();
    let before: serde_json::Value = serde_json::from_slice(&before.stdout).unwrap();
    assert_eq!((&before["clear"], before["steps"].as_array().map(Vec::len)), (&true.into(), Some(0)));
    child.kill().unwrap();
    child.wait().unwrap();
    let steps: serde_json::Value =
        serde_json::from_slice(&command(&["--json", "step", "list", &id]).output().unwrap().stdout).unwrap();
    assert_eq!(text(&steps, "/steps/0/state"), "in_doubt");
    let reworded = "echo sent again >> sent.txt";
    let again = ["--json", "step", "run", &id, "--key", "k2", "--tool", "mail", "--", "sh", "-c", reworded];
    let again = command(&again).output().unwrap();
    assert_eq!(again.status.code(), Some(4), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stderr).contains("step_in_doubt"), "{again:?}");
    assert_eq!(std::fs::read_to_string(place.path().join("sent.txt")).unwrap(), "sent\n");
    let recovered = command(&["--json", "recover", &id]).output().unwrap();
    let recovered: serde_json::Value = serde_json::from_slice(&recovered.stdout).unwrap();
    assert_eq!((&recovered["clear"], text(&recovered, "/steps/0/step/key")), (&false.into(), "k1".to_owned()));
    assert!(command(&["step", "resolve", &id, "k1", "--happened"]).status().unwrap().success());
    let after = command(&["--json", "recover", &id]).output().unwrap();
    let after: serde_json::Value = serde_json::from_slice(&after.stdout).unwrap();
    assert_eq!(after["clear"], true);
}

#[test]
fn a_named_writer_does_not_repeat_what_its_killed_samite_did() {
    the_same_writer_goes_on_after_its_samite_was_killed(&[("SAMITE_WRITER", "w".to_owned())]);
}

#[test]
fn a_writer_with_a_living_process_does_not_repeat_what_its_killed_samite_did() {
    let process = std::process::id().to_string();
    let writer = [("SAMITE_WRITER", "w".to_owned()), ("SAMITE_WRITER_PID", process)];
    the_same_writer_goes_on_after_its_samite_was_killed(&writer);
}

/// A step that runs although the harness that it runs for has died: its key, session and command.
struct Orphan {
    place: Place,
    id: String,
    samite: std::process::Child,
}

impl Orphan {
    fn new() -> Self {
        let place = Place::new();
        let id = place.session();
        place.say(&id, "go");
        let mut harness = std::process::Command::new("sleep").arg("300").spawn().unwrap();
        let script = "echo $$ > pid.txt; mv pid.txt runs.txt; echo effect >> effects.txt; sleep 300";
        let run = ["step", "run", &id, "--key", "k", "--effect", "idempotent", "--", "sh", "-c", script];
        let mut command = place.command(&run);
        command.env("SAMITE_WRITER", "w").env("SAMITE_WRITER_PID", harness.id().to_string());
        let samite = command.spawn().unwrap();
        wait_for(&place.path().join("effects.txt"));
        harness.kill().unwrap();
        harness.wait().unwrap();
        Self { place, id, samite }
    }

    fn still_runs(&self) -> bool {
        let pid = std::fs::read_to_string(self.place.path().join("runs.txt")).unwrap();
        std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        self.samite.kill().ok();
        self.samite.wait().ok();
    }
}

#[test]
fn a_fork_does_not_run_what_still_runs_on_the_branch_that_it_left() {
    let orphan = Orphan::new();
    let fork = orphan.place.json(&["fork", &orphan.id]).json();
    let branch = text(&fork, "/id");
    let at = format!("{}:{branch}", orphan.id);
    let script = "echo $$ > pid.txt; mv pid.txt runs.txt; echo effect >> effects.txt; sleep 300";
    let run = ["step", "run", &at, "--key", "k", "--effect", "idempotent", "--", "sh", "-c", script];
    let error = orphan.place.json(&run).error(4);
    assert!(error.to_string().contains("still at it"), "{error}");
    let recovered = orphan.place.json(&["recover", &at]).json();
    assert_eq!((&recovered["clear"], text(&recovered, "/steps/0/decision")), (&false.into(), "busy".to_owned()));
    assert!(orphan.still_runs(), "a fork ends nothing of the branch that it left");
    assert_eq!(std::fs::read_to_string(orphan.place.path().join("effects.txt")).unwrap(), "effect\n");
}

#[test]
fn a_plan_of_recovery_ends_nothing() {
    let orphan = Orphan::new();
    let plan = orphan.place.json(&["recover", &orphan.id, "--plan"]).json();
    assert_eq!(text(&plan, "/steps/0/decision"), "busy");
    assert!(orphan.still_runs());
    let pid: u32 = std::fs::read_to_string(orphan.place.path().join("runs.txt")).unwrap().trim().parse().unwrap();
    let fates = |answer: &serde_json::Value| -> Vec<(String, String)> {
        let processes = answer["steps"][0]["processes"].as_array().unwrap();
        processes.iter().map(|process| (text(process, "/part"), text(process, "/fate"))).collect()
    };
    let all =
        |fate: &str| ["supervisor", "command", "descendant"].map(|part| (part.to_owned(), fate.to_owned())).to_vec();
    let runner = ("runner".to_owned(), "running".to_owned());
    assert_eq!((&fates(&plan)[0], &fates(&plan)[1..]), (&runner, &all("running")[..]));
    assert_eq!(plan["steps"][0]["processes"][0]["pid"], orphan.samite.id());
    assert_eq!(plan["steps"][0]["processes"][2]["pid"], pid);
    assert_eq!(plan["steps"][0]["processes"][2]["command"][1], "-c");
    let said = orphan.place.run(&["recover", &orphan.id, "--plan"]).ok();
    assert!(said.contains(&format!("its command, process {pid} (sh -c echo $$ > pid.txt;")), "{said}");
    let recovered = orphan.place.json(&["recover", &orphan.id]).json();
    assert_eq!(fates(&recovered)[1..], all("killed"));
    assert_eq!((&recovered["clear"], text(&recovered, "/steps/0/decision")), (&true.into(), "run_again".to_owned()));
    assert!(!orphan.still_runs());
}

#[test]
fn neither_a_command_nor_a_probe_sees_the_master_key() {
    let place = Place::new();
    let key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    let run = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env_remove("SAMITE_MASTER_FILE").env("SAMITE_MASTER_KEY", key);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let session: serde_json::Value = serde_json::from_str(&run(&["--json", "session", "new"])).unwrap();
    let id = text(&session, "/id");
    std::fs::write(place.path().join("probe.sh"), "env > probe.txt; cat /proc/$PPID/comm; exit 1").unwrap();
    let probe = ["--effect", "observable", "--probe", "command:sh probe.sh"];
    let mut arguments = vec!["step", "run", &id, "--key", "k"];
    arguments.extend(probe);
    arguments.extend(["--", "sh", "-c", "env; tr '\\0' '\\n' < /proc/$PPID/environ"]);
    let command = run(&arguments);
    let probe = std::fs::read_to_string(place.path().join("probe.txt")).unwrap();
    for seen in [&command, &probe] {
        assert!(seen.contains("SAMITE_STORE="), "{seen}");
        assert!(!seen.contains("SAMITE_MASTER") && !seen.contains(key), "{seen}");
    }
    let lives = place.store().join("tenants/local/lives");
    assert_eq!(std::fs::read_dir(lives).unwrap().count(), 0, "a step with an outcome leaves no sign of life");
}

#[test]
fn a_workspace_probe_sees_whether_the_workspace_changed() {
    for (effect, runs_again) in [("sleep 60", true), ("echo new > work/new.txt; sleep 60", false)] {
        let place = Place::new();
        let id = place.session();
        place.attach_work(&id);
        std::fs::write(place.path().join("work/a.txt"), "a").unwrap();
        let script = format!("echo x >> started.txt; test $(wc -l < started.txt) -ge 2 || {{ {effect}; }}");
        let run = [
            "--json",
            "step",
            "run",
            &id,
            "--key",
            "k",
            "--effect",
            "observable",
            "--probe",
            "workspace",
            "--",
            "sh",
            "-c",
            &script,
        ];
        place.cut_off(&run, if runs_again { "started.txt" } else { "work/new.txt" });
        let again = place.run(&run);
        assert_eq!(again.status, if runs_again { 0 } else { 4 }, "{again:?}");
    }
}

#[test]
fn an_outcome_is_recorded_although_its_long_output_cannot_be_kept() {
    let place = Place::new();
    let id = place.session();
    // What a command puts out goes into packs when it is long, and this one leaves no place for them.
    let packs = place.store().join("tenants/local/packs");
    let script = "echo begin; head -c 3000000 /dev/urandom | base64 -w 0; echo x >> ran.txt; rm -r \"$0\"; : > \"$0\"";
    let packs_argument = packs.display().to_string();
    let run = ["step", "run", &id, "--key", "k", "--", "sh", "-c", script, &packs_argument];
    assert_eq!(place.run(&run).ok().len(), 4_000_006);
    std::fs::remove_file(&packs).unwrap();
    std::fs::create_dir(&packs).unwrap();
    let steps = place.json(&["step", "list", &id]).json();
    assert_eq!(text(&steps, "/steps/0/state"), "completed");
    let output = steps.pointer("/steps/0/outcome/output/stdout").unwrap();
    assert_eq!((output["entry"].as_u64(), output["bytes"].as_u64()), (None, Some(4_000_006)));
    assert!(text(output, "/text").starts_with("begin\n"));
    place.run(&run).ok();
    assert_eq!(std::fs::read_to_string(place.path().join("ran.txt")).unwrap(), "x\n");
}

#[test]
fn a_command_that_does_not_start_says_so() {
    let place = Place::new();
    let id = place.session();
    let outcome = place.run(&["step", "run", &id, "--key", "k", "--cwd", "nowhere", "--", "true"]);
    assert_eq!(outcome.status, 127);
    assert!(outcome.err.contains("not started"), "{}", outcome.err);
}

#[test]
fn a_contained_step_needs_a_workspace_before_it_starts() {
    let place = Place::new();
    let id = place.session();
    let run = ["step", "run", &id, "--key", "k", "--effect", "contained", "--", "sh", "-c", "echo x > ran.txt"];
    assert_eq!(place.json(&run).error(2)["code"], "no_workspace");
    assert!(!place.path().join("ran.txt").exists());
    assert!(place.json(&["step", "list", &id]).json()["steps"].as_array().unwrap().is_empty());
}
