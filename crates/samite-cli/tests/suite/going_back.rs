//! Going back in the sessions of CLI agents: whose a change is, what a crash left, which branch a directory is of, and that what is
//! shown first is what is done.

use crate::support::{Place, SAMITE, hints, text};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Command;

/// An agent that works in `work` and tells its hooks.
struct Agent {
    place: Place,
    harness: &'static str,
}

impl Agent {
    fn new(harness: &'static str) -> Self {
        let place = Place::new();
        fs::create_dir_all(place.path().join("work")).unwrap();
        fs::create_dir_all(place.path().join("projects/-work")).unwrap();
        fs::write(place.path().join("projects/-work/s.jsonl"), "").unwrap();
        Self { place, harness }
    }

    fn work(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("work")
    }

    fn write(&self, name: &str, words: &str) {
        fs::write(self.work().join(name), words).unwrap();
    }

    fn file(&self, name: &str) -> Option<String> {
        self.place.read(&format!("work/{name}"))
    }

    fn event(&self, name: &str, fields: &Value) -> Value {
        let mut event = json!({"hook_event_name": name, "session_id": "s", "cwd": self.work(),
            "transcript_path": self.place.path().join("projects/-work/s.jsonl")});
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        event
    }

    fn tell(&self, name: &str, fields: &Value) {
        let event = self.event(name, fields).to_string();
        assert_eq!(self.place.run_with_input(&["--json", "hook", self.harness], event.as_bytes()).status, 0);
    }

    fn prompt(&self, words: &str) {
        self.tell("UserPromptSubmit", &json!({ "prompt": words }));
    }

    fn call(&self, id: &str, tool: &str, file: &str, does: impl FnOnce()) {
        let call = json!({"tool_name": tool, "tool_use_id": id, "tool_input": {"file_path": self.work().join(file)}});
        self.tell("PreToolUse", &call);
        does();
        let mut call = call;
        call["tool_response"] = json!({"ok": true});
        self.tell("PostToolUse", &call);
    }

    fn stop(&self) {
        self.tell("Stop", &json!({"last_assistant_message": "done"}));
    }

    fn run(&self, arguments: &[&str]) -> crate::support::Did {
        let mut command = self.place.command(arguments);
        crate::support::Did::new(&command.current_dir(self.work()).output().unwrap())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[&["--json"][..], arguments].concat()).json()
    }

    /// The seq of the only step of a tool, and that of its outcome.
    fn step(&self, key: &str) -> (u64, u64) {
        let steps = self.json(&["step", "list", "."]);
        let step = steps["steps"].as_array().unwrap().iter().find(|step| step["key"] == key).unwrap();
        (step["seq"].as_u64().unwrap(), step["outcome"]["seq"].as_u64().unwrap())
    }

    /// A turn in which the agent edits `f`.
    fn first_turn(&self) -> (u64, u64) {
        for (name, words) in [("f", "0\n"), ("x.txt", "x\n"), ("doc.md", "doc\n")] {
            self.write(name, words);
        }
        self.tell("SessionStart", &json!({"source": "startup"}));
        self.prompt("one");
        self.call("u1", "Edit", "f", || self.write("f", "1\n"));
        self.stop();
        self.step("u1")
    }

    /// The events of a turn that its process does not survive, told by a process that is no shell to samite.
    fn dies_after(&self, events: &[Value], script: &str) {
        let harness = self.place.path().join("harness");
        fs::copy("/bin/bash", &harness).unwrap();
        let mut all = String::from("cd work\n");
        for (at, event) in events.iter().enumerate() {
            fs::write(self.place.path().join(format!("{at}.json")), event.to_string()).unwrap();
            all.push_str(&format!("{SAMITE} hook {} < ../{at}.json || exit 1\n", self.harness));
        }
        all.push_str(script);
        all.push_str("\nkill -KILL $$\n");
        let run = self.place.command(&[]);
        let mut command = Command::new(&harness);
        command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let status = command.arg("-c").arg(&all).current_dir(self.place.path()).status().unwrap();
        assert_eq!(status.signal(), Some(9), "{status:?}");
    }

    fn verify(&self) {
        self.run(&["verify"]).ok();
        assert_eq!(self.json(&["verify", "--rebuild"])["stale_views"], json!([]));
    }
}

/// What is kept, by path, with the reason.
fn kept(answer: &Value, pointer: &str) -> Vec<String> {
    let kept = answer.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("{answer}"));
    kept.iter().map(|kept| format!("{} {}", text(kept, "/path"), text(kept, "/reason"))).collect()
}

#[test]
fn what_a_person_moved_and_removed_between_turns_stays_so_and_is_said_to_be_theirs() {
    let agent = Agent::new("claude-code");
    let (_, first) = agent.first_turn();
    fs::remove_file(agent.work().join("x.txt")).unwrap();
    fs::rename(agent.work().join("doc.md"), agent.work().join("doc2.md")).unwrap();
    agent.write("f", "1\nmine\n");
    fs::create_dir(agent.work().join("d")).unwrap();
    agent.write("d/mine", "mine\n");
    agent.prompt("two");
    agent.call("u2", "Write", "d/agents", || {
        agent.write("d/agents", "agent\n");
        agent.write("f", "1\nmine\nagent\n");
    });
    agent.stop();
    let right =
        ["d persons", "d/mine persons", "doc.md removed", "doc2.md persons", "f persons_and_steps", "x.txt removed"];
    let at = format!("@{first}");
    let plan = agent.json(&["rewind", &at, "--plan"]);
    assert_eq!(kept(&plan, "/kept"), right);
    assert_eq!(plan["actions"], json!([{"action": "remove", "path": "d/agents"}]));
    let page = agent.run(&["rewind", &at, "--plan"]).ok();
    assert!(page.contains("f (yours, then a step's: kept whole)") && page.contains("doc2.md (yours)"), "{page}");
    assert!(page.contains("x.txt (removed since)") && !page.contains("another session"), "{page}");
    let back = agent.json(&["rewind", &at]);
    assert_eq!(kept(&back, "/workspace/report/kept"), right);
    let files = ["f", "x.txt", "doc.md", "doc2.md", "d/mine", "d/agents"].map(|name| agent.file(name));
    let is =
        ["1\nmine\nagent\n", "", "", "doc\n", "mine\n", ""].map(|words| (!words.is_empty()).then(|| words.to_owned()));
    assert_eq!(files, is);
    // Whoever does want them back says so.
    agent.json(&["workspace", "restore", &format!(".{at}"), "--within", "x.txt", "--force"]);
    assert_eq!(agent.file("x.txt").as_deref(), Some("x\n"));
    agent.verify();
}

#[test]
fn a_change_is_another_sessions_only_where_another_session_made_it() {
    let place = Place::new();
    let [one, two] = [place.session(), place.session()];
    place.attach_work(&one);
    place.run(&["workspace", "attach", &two, "work"]).ok();
    let write = |name: &str, words: &str| fs::write(place.path().join("work").join(name), words).unwrap();
    let taken = |id: &str| place.json(&["checkpoint", id, "--no-environment"]).json()["seq"].as_u64().unwrap();
    for name in ["theirs", "both", "gone"] {
        write(name, "0\n");
    }
    let first = taken(&one);
    write("theirs", "1\n");
    write("both", "1\n");
    fs::remove_file(place.path().join("work/gone")).unwrap();
    taken(&two);
    write("both", "2\n");
    write("own", "2\n");
    taken(&one);
    let plan = place.json(&["rewind", &format!("{one}@{first}"), "--plan"]).json();
    assert_eq!(kept(&plan, "/kept"), ["both others_and_steps", "gone removed", "theirs others"]);
    assert_eq!(plan["actions"][0]["path"], "own", "{plan}");
    // Between two trees of the other session it was at work, and whose a change is cannot be told.
    taken(&two);
    let plan = place.json(&["rewind", &format!("{one}@{first}"), "--plan"]).json();
    assert_eq!(kept(&plan, "/kept"), ["both perhaps_others", "gone removed", "own perhaps_others", "theirs others"]);
}

#[test]
fn a_fork_into_a_directory_is_resumed_there_wherever_its_position_lies() {
    let record = |uuid: &str, kind: &str, directory: &PathBuf, words: Value| {
        json!({"type": kind, "uuid": uuid, "parentUuid": null, "cwd": directory, "sessionId": "s",
            "timestamp": "2026-11-30T08:00:00Z", "message": {"role": kind, "content": words}})
    };
    for harness in ["claude-code", "gemini-cli"] {
        let agent = Agent::new(harness);
        if harness == "claude-code" {
            let lines = format!("{}\n", record("a", "user", &agent.work(), json!("one")));
            fs::write(agent.place.path().join("projects/-work/s.jsonl"), lines).unwrap();
        }
        let (prompt, stop) = if harness == "gemini-cli" {
            ("BeforeAgent", ("AfterAgent", "prompt_response"))
        } else {
            ("UserPromptSubmit", ("Stop", "last_assistant_message"))
        };
        let turn = |words: &str| {
            agent.tell(prompt, &json!({ "prompt": words, "timestamp": words }));
            agent.tell(stop.0, &json!({stop.1: "done", "prompt": words, "timestamp": words}));
        };
        agent.tell("SessionStart", &json!({"source": "startup"}));
        turn("one");
        let head = agent.json(&["session", "show", "."])["head"].as_u64().unwrap();
        let at = format!("@{head}");
        turn("two");
        agent.json(&["rewind", &at]);
        // On the line that was left, whose directory is another branch's now.
        let fork = agent.json(&["fork", &at, "--into", "../second"]);
        let second = agent.place.path().canonicalize().unwrap().join("second").display().to_string();
        let resumed = &fork["transcript"];
        assert_eq!(text(resumed, "/directory"), second, "{harness}: {fork}");
        let path = text(resumed, "/path");
        assert!(!path.contains("/-work/"), "{harness}: {path}");
        let words = fs::read_to_string(&path).unwrap();
        // What a call was made with stays what it was.
        let directory = format!("\"cwd\":\"{}", agent.work().display());
        assert!(!words.contains(&directory), "{harness}: {words}");
        if harness == "claude-code" {
            let name: String = second.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            assert!(path.contains(&name), "{path}");
            assert_eq!(serde_json::from_str::<Value>(words.lines().next().unwrap()).unwrap()["cwd"], second.as_str());
        }
        // And a fork of that fork, which nobody worked in yet.
        let third = format!("{}:{}@{head}", text(&fork, "/session"), text(&fork, "/id"));
        let third = agent.json(&["fork", &third, "--into", "../third"]);
        assert!(text(&third, "/transcript/directory").ends_with("/third"), "{harness}: {third}");
        // A rewind stays where it is.
        let back = agent.json(&["rewind", &at]);
        assert_eq!(text(&back, "/transcript/directory"), agent.work().display().to_string());
    }
}

#[test]
fn a_rewind_after_a_crash_puts_back_what_recovery_would_and_names_what_is_in_doubt() {
    let agent = Agent::new("claude-code");
    let (_, first) = agent.first_turn();
    let edit = json!({"tool_name": "Edit", "tool_use_id": "u2", "tool_input": {"file_path": agent.work().join("f")}});
    let push = json!({"tool_name": "Bash", "tool_use_id": "u3", "tool_input": {"command": "git push"}});
    let events = [
        agent.event("UserPromptSubmit", &json!({"prompt": "two"})),
        agent.event("PreToolUse", &edit),
        agent.event("PreToolUse", &push),
    ];
    agent.dies_after(&events, "echo half > f; rm x.txt; echo new > n");
    let at = format!("@{first}");
    let plan = agent.json(&["rewind", &at, "--plan"]);
    let actions: Vec<String> = plan["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", text(one, "/action"), text(one, "/path")))
        .collect();
    // The step is about `f` alone: what is beside it stays as it is.
    assert_eq!(actions, ["replace f"], "{plan}");
    assert_eq!(kept(&plan, "/kept"), ["n unknown", "x.txt removed"]);
    let back = agent.json(&["rewind", &at]);
    assert_eq!((agent.file("f").as_deref(), &back["workspace"]["torn"]), (Some("1\n"), &json!(["f"])), "{back}");
    let doubts = |answer: &Value| -> Vec<String> {
        let left = answer["left_in_doubt"].as_array().unwrap();
        assert!(left.iter().all(|one| one["branch"] == back["previous"]), "{answer}");
        left.iter().map(|one| format!("{} {}", text(one, "/step/key"), text(one, "/step/state"))).collect()
    };
    assert_eq!(doubts(&back), ["u2 in_doubt", "u3 in_doubt"]);
    assert_eq!(text(&back, "/left_behind/0/step/state"), "in_doubt");
    // What was there before is kept.
    let safety = format!("{}@{}", text(&back, "/session"), back["workspace"]["safety"]["seq"]);
    assert_eq!(agent.run(&["workspace", "cat", &safety, "f"]).ok(), "half\n");
    let recovery = agent.json(&["recover", "."]);
    assert_eq!((doubts(&recovery).len(), &recovery["clear"]), (2, &json!(true)));
    let left = format!("{}:{}", &text(&back, "/session")[..12], &text(&back, "/previous")[..12]);
    let page = agent.run(&["recover", "."]).ok();
    assert!(page.contains(&format!("samite recover {left}")) && !page.contains("running"), "{page}");
    // Going back once more hides nothing, and what is settled is not named any more.
    let again = agent.json(&["rewind", "@1"]);
    assert_eq!(again["left_in_doubt"].as_array().unwrap().len(), 2, "{again}");
    agent.run(&["step", "resolve", &left, "u3", "--did-not"]).ok();
    assert_eq!(doubts(&agent.json(&["recover", "."])), ["u2 in_doubt"]);
    agent.verify();
}

#[test]
fn what_a_person_changed_after_a_crash_is_kept_by_a_rewind() {
    let agent = Agent::new("claude-code");
    let (_, first) = agent.first_turn();
    let edit = json!({"tool_name": "Edit", "tool_use_id": "u2", "tool_input": {"file_path": agent.work().join("f")}});
    let events = [agent.event("UserPromptSubmit", &json!({"prompt": "two"})), agent.event("PreToolUse", &edit)];
    agent.dies_after(&events, "echo half > f");
    // Changes within a second of the start are the step's.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    agent.write("f", "repaired\n");
    let at = format!("@{first}");
    assert_eq!(kept(&agent.json(&["rewind", &at, "--plan"]), "/kept"), ["f changed"]);
    let back = agent.json(&["rewind", &at]);
    assert_eq!((agent.file("f").as_deref(), back["workspace"].get("torn")), (Some("repaired\n"), None));
}

#[test]
fn a_recovery_says_how_to_get_back_what_it_put_back() {
    let agent = Agent::new("claude-code");
    agent.first_turn();
    let edit = json!({"tool_name": "Edit", "tool_use_id": "u2", "tool_input": {"file_path": agent.work().join("f")}});
    let events = [agent.event("UserPromptSubmit", &json!({"prompt": "two"})), agent.event("PreToolUse", &edit)];
    agent.dies_after(&events, "echo repaired > f");
    let page = agent.run(&["recover", "."]).ok();
    assert_eq!(agent.file("f").as_deref(), Some("1\n"));
    let command = page
        .lines()
        .find_map(|line| line.trim().strip_prefix("samite workspace cat "))
        .unwrap_or_else(|| panic!("{page}"));
    let words: Vec<&str> = ["workspace", "cat"].into_iter().chain(command.split(' ')).collect();
    assert_eq!(agent.run(&words).ok(), "repaired\n");
    // What an earlier checkpoint has needs no saving.
    let edit = json!({"tool_name": "Edit", "tool_use_id": "u3", "tool_input": {"file_path": agent.work().join("f")}});
    let events = [agent.event("UserPromptSubmit", &json!({"prompt": "three"})), agent.event("PreToolUse", &edit)];
    agent.dies_after(&events, "echo 0 > f");
    let recovery = agent.json(&["recover", "."]);
    let settled = &recovery["steps"][0]["settlement"];
    assert_eq!((&settled["put_back"], &settled["replaced"]), (&json!(["f"]), &json!([])), "{recovery}");
}

#[test]
fn the_line_that_was_left_is_used_again_with_its_files_and_nobody_is_said_to_have_changed_them() {
    let agent = Agent::new("claude-code");
    agent.first_turn();
    agent.prompt("two");
    agent.call("u2", "Edit", "f", || agent.write("f", "2\n"));
    agent.stop();
    let back = agent.json(&["rewind", "@1"]);
    assert_eq!(agent.file("f").as_deref(), Some("0\n"));
    let left = format!(".:{}", text(&back, "/previous"));
    let by_person = || {
        let log = agent.run(&["log", "."]).ok();
        log.lines().any(|line| line.contains(" you ") && line.contains("changed"))
    };
    // Without its files: they are as the other branch left them, and no person's.
    let page = agent.run(&["branch", "use", &left]).ok();
    assert!(page.contains("samite workspace restore"), "{page}");
    assert_eq!(agent.file("f").as_deref(), Some("0\n"));
    agent.prompt("three");
    agent.stop();
    assert!(!by_person(), "{}", agent.run(&["log", "."]).ok());
    assert_eq!(kept(&agent.json(&["rewind", "@1", "--plan"]), "/kept"), Vec::<String>::new());
    // With them.
    let back = agent.json(&["rewind", "@1"]);
    agent.run(&["branch", "use", &format!(".:{}", text(&back, "/previous"))]).ok();
    let (_, second) = agent.step("u2");
    agent.run(&["workspace", "restore", &format!(".@{second}")]).ok();
    assert_eq!(agent.file("f").as_deref(), Some("2\n"));
    agent.prompt("four");
    assert!(!by_person(), "{}", agent.run(&["log", "."]).ok());
    agent.stop();
    // What a person does change is theirs.
    agent.write("f", "mine\n");
    agent.prompt("five");
    assert!(by_person(), "{}", agent.run(&["log", "."]).ok());
    agent.verify();
}

#[test]
fn before_any_checkpoint_a_rewind_moves_the_branch_alone_as_its_plan_says() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "one");
    let at = format!("{id}@1");
    for arguments in [&["rewind", &at, "--plan"][..], &["rewind", &at]] {
        assert_eq!(place.json(arguments).json()["files_stay"], "no_workspace");
    }
    place.attach_work(&id);
    fs::write(place.path().join("work/f"), "1\n").unwrap();
    place.json(&["checkpoint", &id, "--no-environment"]).json();
    fs::write(place.path().join("work/f"), "2\n").unwrap();
    let plan = place.json(&["rewind", &at, "--plan"]).json();
    assert_eq!(
        (&plan["files_stay"], &plan["actions"], &plan["kept"]),
        (&json!("no_checkpoint"), &json!([]), &json!([]))
    );
    let back = place.json(&["rewind", &at]).json();
    assert_eq!((&back["files_stay"], &back["workspace"]), (&json!("no_checkpoint"), &Value::Null));
    assert_eq!(place.read("work/f").as_deref(), Some("2\n"));
    for arguments in [&["rewind", &at, "--plan"][..], &["rewind", &at]] {
        let page = place.run(arguments).ok();
        assert!(page.contains("there is no checkpoint up to seq 1, so the files in"), "{page}");
    }
    // A position on the line that was left is planned as it is carried out.
    let left = format!("{id}:{}@2", text(&back, "/previous"));
    let plan = place.json(&["rewind", &left, "--plan"]).json();
    let back = place.json(&["rewind", &left]).json();
    assert_eq!(kept(&plan, "/kept"), kept(&back, "/workspace/report/kept"));
}

#[test]
fn the_line_of_a_call_means_before_it_and_its_checkpoint_is_told_as_the_log_tells_it() {
    let agent = Agent::new("claude-code");
    let (start, end) = agent.first_turn();
    let fork = agent.json(&["fork", &format!("@{start}")]);
    assert_eq!((fork["at"]["seq"].as_u64(), &fork["in_doubt"]), (Some(start - 1), &json!([])), "{fork}");
    assert_eq!((fork["before"]["named"].as_u64(), text(&fork, "/before/step/key")), (Some(start), "u1".to_owned()));
    assert_eq!(fork["transcript"]["unknown_calls"], json!([]));
    let page = agent.run(&["rewind", &format!("@{start}"), "--plan"]).ok();
    let words =
        format!("seq {start} is where Edit (u1) began, so this is seq {}, before it; with it: {end}", start - 1);
    assert!(page.contains(&words), "{page}");
    let log = agent.run(&["log"]).ok();
    assert!(log.contains(&format!("● {end}")), "{log}");
    let page = agent.run(&["fork", &format!("@{end}"), "--into", "../second"]).ok();
    assert!(page.contains(&format!("is as at seq {end} (its checkpoint: seq {})", end - 1)), "{page}");
    agent.prompt("two");
    agent.call("u2", "Edit", "f", || agent.write("f", "2\n"));
    agent.tell("SessionEnd", &json!({}));
    let recovery = agent.json(&["recover", "."]);
    let last = &recovery["workspace"]["last"];
    let (_, end) = agent.step("u2");
    assert_eq!((last["seq"].as_u64(), last["rewind_to"].as_u64()), (Some(end - 1), Some(end)), "{recovery}");
    assert!(agent.run(&["recover", "."]).ok().contains(&format!("seq {} (in the log: {end})", end - 1)));
}

#[test]
fn while_a_turn_runs_a_person_is_told_to_wait_for_its_end() {
    let agent = Agent::new("claude-code");
    agent.first_turn();
    agent.prompt("two");
    let did = agent.run(&["--json", "rewind", "@1"]);
    let error = did.error(4);
    assert_eq!(error["code"], "lease_held");
    assert!(text(&error, "/message").starts_with("a turn of claude-code runs"), "{error}");
    let hints = hints(&error);
    assert!(hints.contains("wait until the turn has ended") && !hints.contains("or end it"), "{error}");
    let error = agent.run(&["--json", "checkpoint", "."]).error(4);
    assert!(text(&error, "/message").starts_with("a turn of claude-code runs"), "{error}");
    agent.stop();
    agent.json(&["rewind", "@1"]);
}
