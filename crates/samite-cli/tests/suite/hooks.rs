//! `samite hook`: what CLI agents tell becomes sessions that can be read, rewound, forked and recovered.

use crate::mount::Mount;
use crate::support::{Did, Place, SAMITE, hints, text};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An agent that works on a git repository and tells its hooks.
struct Agent {
    place: Place,
    harness: &'static str,
    session: String,
    /// Where the store is, when it is not where it usually is.
    store: Option<PathBuf>,
}

impl Agent {
    fn new(harness: &'static str) -> Self {
        let place = Place::new();
        let agent = Self { place, harness, session: "01a22870-f5a6".to_owned(), store: None };
        fs::create_dir_all(agent.place.path().join("project")).unwrap();
        fs::create_dir_all(agent.place.path().join("remote.git")).unwrap();
        agent.shell_in("remote.git", "git init -q --bare -b main .");
        agent.shell(
            "git init -q -b main . && git config user.email a@example.com && git config user.name a && \
             printf 'def add(a, b):\\n    return a - b\\n' > calc.py && git add . && git commit -qm init && \
             git remote add origin ../remote.git && git push -q origin main",
        );
        agent
    }

    fn project(&self) -> PathBuf {
        self.place.path().join("project")
    }

    fn write(&self, path: &str, content: &str) {
        fs::write(self.project().join(path), content).unwrap();
    }

    fn file(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.project().join(path)).ok()
    }

    fn shell(&self, command: &str) -> String {
        self.shell_in("project", command)
    }

    fn shell_in(&self, directory: &str, command: &str) -> String {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.place.path().join(directory));
        let output = shell.env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", self.place.path()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// An event as the agent writes it.
    fn event(&self, name: &str, fields: &Value) -> Value {
        let mut event = json!({"session_id": self.session, "hook_event_name": name, "cwd": self.project(),
            "transcript_path": self.place.path().join("gone.jsonl")});
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        event
    }

    fn hook(&self, event: &Value) -> Did {
        self.place.run_with_input(&self.at_store(&["--json", "hook", self.harness]), event.to_string().as_bytes())
    }

    /// Arguments, with the store where it is named.
    fn at_store<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let store = self.store.iter().flat_map(|store| ["--store", store.to_str().unwrap()]);
        store.chain(arguments.iter().copied()).collect()
    }

    /// Tells an event, which is recorded without a word.
    #[track_caller]
    fn tell(&self, name: &str, fields: &Value) -> Value {
        let did = self.hook(&self.event(name, fields));
        assert_eq!(did.status, 0, "{did:?}");
        did.json()
    }

    /// A call of a shell: its start, the command itself, and its end.
    fn bash(&self, id: &str, command: &str) {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id});
        self.tell("PreToolUse", &call);
        let output = self.shell(command);
        let mut call = call;
        call["tool_response"] = output.into();
        self.tell("PostToolUse", &call);
    }

    fn prompt(&self, words: &str) {
        self.tell("UserPromptSubmit", &json!({ "prompt": words }));
    }

    fn stop(&self, words: &str) {
        self.tell("Stop", &json!({ "last_assistant_message": words }));
    }

    /// The session that the agent's own became.
    fn id(&self) -> String {
        let sessions = self.place.json(&self.at_store(&["session", "list"])).json();
        text(&sessions["sessions"][0], "/id")
    }

    fn entries(&self) -> Vec<Value> {
        self.place.json(&self.at_store(&["read", &self.id()])).lines()
    }

    /// The kinds of the entries, each with the label, key or text that tells it.
    fn log(&self) -> Vec<String> {
        let name = |entry: &Value| {
            let payload = &entry["payload"];
            let word = |name: &str| payload[name].as_str().map(str::to_owned);
            let text = payload.as_str().map(str::to_owned);
            text.or_else(|| word("label"))
                .or_else(|| word("key"))
                .or_else(|| word("hook_event_name"))
                .unwrap_or_default()
        };
        self.entries()
            .iter()
            .map(|entry| format!("{} {}", text(entry, "/kind"), name(entry)).trim().to_owned())
            .collect()
    }

    fn steps(&self) -> Vec<Value> {
        self.place.json(&["step", "list", &self.id()]).json()["steps"].as_array().unwrap().clone()
    }

    fn verify(&self) {
        self.place.run(&self.at_store(&["verify"])).ok();
        let rebuilt = self.place.json(&self.at_store(&["verify", "--rebuild"])).json();
        assert_eq!(rebuilt["stale_views"], json!([]), "{rebuilt}");
    }
}

/// The recorded streams beside the repository.
fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let found = std::env::var_os("SAMITE_SHARED").map_or(beside, PathBuf::from).join("data");
    if found.is_dir() {
        return Some(found);
    }
    eprintln!("SKIPPED: the recorded streams of CLI agents are not there ({})", found.display());
    None
}

/// Tells a recorded stream, doing what its calls did, each event `times` times.
fn replay(agent: &Agent, stream: &Path, times: usize) -> usize {
    let recorded = fs::read_to_string(stream).unwrap();
    let mut count = 0;
    for line in recorded.lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["cwd"] = agent.project().to_str().unwrap().into();
        if matches!(event["hook_event_name"].as_str(), Some("PostToolUse" | "AfterTool")) {
            agent.shell(event["tool_input"]["command"].as_str().unwrap());
        }
        for _ in 0..times {
            let did = agent.hook(&event);
            assert_eq!(did.status, 0, "{did:?}");
        }
        count += 1;
    }
    count
}

fn effects(steps: &[Value]) -> Vec<String> {
    let word = |step: &Value| {
        let touches: Vec<&str> = step["touches"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        format!("{} {} {}", text(step, "/effect/class"), text(step, "/state"), touches.join(" ")).trim().to_owned()
    };
    steps.iter().map(word).collect()
}

#[test]
fn a_recorded_stream_of_codex_is_a_session_however_often_it_is_told() {
    let Some(data) = shared() else { return };
    for times in [1, 2] {
        let agent = Agent::new("codex");
        assert_eq!(replay(&agent, &data.join("codex/hooks-real.jsonl"), times), 15);
        assert_eq!(
            agent.log(),
            [
                "tree session start",
                "event SessionStart",
                "message Fix add() in calc.py, test, commit and push",
                "step_started call_1",
                "step_completed",
                "step_started call_2",
                "tree after step call_2",
                "step_completed",
                "step_started call_3",
                "tree after step call_3",
                "step_completed",
                "step_started call_4",
                "tree after step call_4",
                "step_completed",
                "step_started call_5",
                "tree after step call_5",
                "step_completed",
                "step_started call_6",
                "step_completed",
                "message add() returned a difference; it now returns the sum. Committed and pushed.",
                "tree",
                "turn_ended",
            ],
            "told {times} times"
        );
        assert_eq!(
            effects(&agent.steps()),
            [
                "idempotent completed",
                "opaque completed",
                "opaque completed",
                "contained completed",
                "observable completed git:origin/main",
                "idempotent completed",
            ]
        );
        agent.verify();
    }
}

#[test]
fn a_recorded_stream_of_gemini_is_a_session_however_often_it_is_told() {
    let Some(data) = shared() else { return };
    for times in [1, 2] {
        let agent = Agent::new("gemini-cli");
        assert_eq!(replay(&agent, &data.join("gemini/hooks-real.jsonl"), times), 22);
        let kinds: Vec<String> = agent.entries().iter().map(|entry| text(entry, "/kind")).collect();
        let count = |kind: &str| kinds.iter().filter(|known| *known == kind).count();
        assert_eq!(
            [count("message"), count("model_response"), count("step_started"), count("event"), count("tree")],
            [2, 5, 4, 2, 4],
            "told {times} times: {kinds:?}"
        );
        assert_eq!(
            effects(&agent.steps()),
            ["idempotent completed", "contained completed", "contained completed", "idempotent failed"]
        );
        assert_eq!(agent.file("notes.txt").as_deref(), Some("v2\n"));
        agent.verify();
    }
}

#[test]
fn what_an_agent_reads_from_its_hook_is_what_it_expects() {
    for (harness, right) in [("claude-code", ""), ("codex", ""), ("gemini-cli", "{}\n")] {
        let agent = Agent::new(harness);
        for name in ["SessionStart", "AnEventOfTomorrow"] {
            let event = agent.event(name, &json!({}));
            let did = agent.place.run_with_input(&["hook", harness], event.to_string().as_bytes());
            assert_eq!((did.status, did.out.as_str()), (0, right), "{harness}: {did:?}");
        }
    }
}

#[test]
fn going_back_takes_back_what_shells_changed_and_keeps_what_the_person_did() {
    let agent = Agent::new("codex");
    agent.write(".gitignore", "*.log\n");
    agent.tell("SessionStart", &json!({"source": "startup"}));
    agent.prompt("first");
    agent.bash("1", "sed -i s/-/+/ calc.py; python3 --version >/dev/null; mkdir -p out; echo 1 > out/report; true");
    agent.stop("done");
    let id = agent.id();
    let seq = agent.entries().len();
    // The person, between the turns.
    agent.write("mine.txt", "by hand\n");
    agent.write("notes.log", "ignored\n");
    agent.write("README", "a person's\n");
    agent.prompt("second");
    agent.bash("2", "rm out/report && echo 2 > out/other; echo worse > calc.py; echo build > build.log");
    agent.bash("3", "git add -A; git commit -qm second");
    agent.stop("done again");
    let did = agent.place.json(&["rewind", &format!("{id}@{seq}")]);
    let back = did.json();
    assert_eq!(agent.file("calc.py").as_deref(), Some("def add(a, b):\n    return a + b\n"), "{back}");
    assert_eq!(agent.file("out/report").as_deref(), Some("1\n"));
    assert_eq!(agent.file("out/other"), None);
    assert_eq!(agent.file("build.log"), None);
    for (path, right) in [("mine.txt", "by hand\n"), ("notes.log", "ignored\n"), ("README", "a person's\n")] {
        assert_eq!(agent.file(path).as_deref(), Some(right), "{path}");
        assert!(back.to_string().contains(path), "{path} is listed: {back}");
    }
    // The commit is gone with its repository's state, and the old line stays.
    assert_eq!(agent.shell("git log --format=%s"), "init\n");
    let tree = agent.place.json(&["session", "tree", &id]).json();
    assert!(tree.to_string().matches("\"branch\"").count() >= 2, "{tree}");
    // The agent goes on, on the branch that is current now.
    agent.prompt("third");
    let log = agent.log();
    assert!(log.contains(&"message third".to_owned()) && !log.contains(&"message second".to_owned()), "{log:?}");
    agent.verify();
}

#[test]
fn events_out_of_order_and_doubled_do_no_harm() {
    let agent = Agent::new("claude-code");
    let call = |id: &str| json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": id});
    let done = |id: &str| {
        let mut call = call(id);
        call["tool_response"] = json!({"stdout": "a", "interrupted": false});
        call
    };
    // An outcome without a start, its start after it, and the outcome again.
    agent.tell("PostToolUse", &done("late"));
    let head = agent.entries().len();
    agent.tell("PreToolUse", &call("late"));
    agent.tell("PostToolUse", &done("late"));
    assert_eq!(agent.entries().len(), head);
    assert!(agent.entries().iter().any(|entry| entry["payload"]["output"]["start_not_seen"] == json!(true)));
    // A turn that ends before its call.
    agent.prompt("go");
    agent.prompt("go");
    agent.tell("PreToolUse", &call("open"));
    agent.stop("done");
    agent.stop("done");
    agent.tell("PostToolUse", &done("open"));
    // A person who says the same again.
    agent.prompt("go");
    let log = agent.log();
    assert_eq!(log.iter().filter(|entry| *entry == "message go").count(), 2, "{log:?}");
    assert_eq!(log.iter().filter(|entry| *entry == "message done").count(), 1, "{log:?}");
    assert_eq!(effects(&agent.steps()), ["idempotent completed", "idempotent completed"]);
    // A key with another input is kept, and is no step.
    let mut other = call("open");
    other["tool_input"] = json!({"command": "make"});
    let did = agent.hook(&agent.event("PreToolUse", &other));
    assert!(did.status == 0 && did.err.contains("used"), "{did:?}");
    assert_eq!(agent.log().last().unwrap(), "event PreToolUse");
    agent.verify();
}

/// Runs a command in the project, and tells events, in a process of the agent that is then killed.
fn killed(agent: &Agent, command: &str, events: &[Value]) {
    // A program that is no shell to samite, under which the hooks run until it is killed.
    let harness = agent.place.path().join("harness");
    fs::copy("/bin/bash", &harness).unwrap();
    let mut script = format!("cd project && {command}\n");
    for (at, event) in events.iter().enumerate() {
        fs::write(agent.place.path().join(format!("{at}.json")), event.to_string()).unwrap();
        script.push_str(&format!("{SAMITE} hook {} < ../{at}.json || exit 1\n", agent.harness));
    }
    script.push_str("kill -KILL $$\n");
    let run = agent.place.command(&[]);
    let mut command = Command::new(&harness);
    command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.arg("-c").arg(&script).current_dir(agent.place.path());
    let status = command.status().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{status:?}");
}

#[test]
fn an_outcome_is_of_the_call_that_the_same_process_of_the_agent_made() {
    let agent = Agent::new("gemini-cli");
    let number = std::cell::Cell::new(0);
    let event = |name: &str, fields: Value| {
        number.set(number.get() + 1);
        let mut event = agent.event(name, &fields);
        event["timestamp"] = format!("2026-11-29T17:57:{:02}.549Z", number.get()).into();
        event
    };
    let call = |name: &str| {
        let input = json!({"command": "git push origin HEAD:main"});
        let mut call = json!({"tool_name": "run_shell_command", "tool_input": input});
        if name == "AfterTool" {
            call["tool_response"] = json!({"llmContent": "pushed"});
        }
        event(name, call)
    };
    let states = || -> Vec<String> { agent.steps().iter().map(|step| text(step, "/state")).collect() };
    killed(&agent, ":", &[event("BeforeAgent", json!({"prompt": "push it"})), call("BeforeTool")]);
    assert_eq!(states(), ["in_doubt"]);
    // An outcome whose start could not be recorded is of a call of this process too.
    agent.hook(&event("BeforeAgent", json!({"prompt": "again"})));
    agent.hook(&call("AfterTool"));
    assert_eq!(states(), ["in_doubt", "completed"]);
    // The same call, told twice at its end.
    agent.hook(&call("BeforeTool"));
    let after = call("AfterTool");
    agent.hook(&after);
    agent.hook(&after);
    assert_eq!(states(), ["in_doubt", "completed", "completed"]);
    // A call that a person refused is over with its turn, unless its outcome comes after all.
    agent.hook(&call("BeforeTool"));
    agent.hook(&event("AfterAgent", json!({"prompt": "again", "prompt_response": "ok"})));
    agent.hook(&event("BeforeAgent", json!({"prompt": "once more"})));
    agent.hook(&call("BeforeTool"));
    agent.hook(&call("AfterTool"));
    assert_eq!(states()[2..], ["completed", "started", "completed"]);
    agent.hook(&call("AfterTool"));
    assert_eq!(states()[2..], ["completed"; 3]);
    // Calls at once end in the order in which they began.
    agent.hook(&call("BeforeTool"));
    agent.hook(&call("BeforeTool"));
    agent.hook(&call("AfterTool"));
    assert_eq!(states()[5..], ["completed", "started"]);
    assert_eq!(states()[0], "in_doubt");
    agent.verify();
}

#[test]
fn what_is_told_twice_is_recorded_once_although_a_secret_in_it_was_replaced() {
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    for capture in ["full", "decisions"] {
        let agent = Agent::new("gemini-cli");
        agent.place.run(&["session", "new"]).ok();
        agent.place.run(&["capture", "set", capture]).ok();
        let call = json!({"tool_name": "run_shell_command", "tool_input": {"command": "env"}});
        let words = json!({"prompt": format!("log in with {secret} <thinking>as ever</thinking>")});
        let mut after = call.clone();
        after["tool_response"] = json!({"llmContent": format!("TOKEN={secret}")});
        for (name, fields) in [("BeforeAgent", &words), ("BeforeTool", &call), ("AfterTool", &after)] {
            let told = agent.event(name, fields);
            agent.hook(&told);
            if name != "BeforeTool" {
                agent.hook(&told);
            }
        }
        let sessions = agent.place.json(&["session", "list"]).json();
        let of_agent = |session: &&Value| session["name"] != Value::Null || session["source"] != Value::Null;
        let id = text(sessions["sessions"].as_array().unwrap().iter().find(of_agent).unwrap(), "/id");
        let entries = agent.place.json(&["read", &id]).lines();
        let kinds: Vec<String> =
            entries.iter().map(|entry| text(entry, "/kind")).filter(|kind| kind != "tree").collect();
        assert_eq!(kinds, ["message", "step_started", "step_completed"], "{capture}: {entries:?}");
        assert!(!format!("{entries:?}").contains(secret));
    }
}

#[test]
fn calls_of_a_harness_that_is_gone_are_in_doubt_and_recovered() {
    let agent = Agent::new("codex");
    let call = |id: &str, command: &str| {
        agent.event("PreToolUse", &json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id}))
    };
    let events = [
        agent.event("UserPromptSubmit", &json!({"prompt": "go"})),
        call("commit", "git commit -qam x"),
        call("push", "git push -q origin main"),
        call("make", "make"),
        call("ls", "ls"),
    ];
    killed(&agent, "echo changed > calc.py && git commit -qam work && git push -q origin main", &events);
    let id = agent.id();
    assert_eq!(
        effects(&agent.steps()),
        ["contained in_doubt", "observable in_doubt git:origin/main", "opaque in_doubt", "idempotent in_doubt"]
    );
    let recovery = agent.place.json(&["recover", &id]).json();
    let decisions: Vec<String> = recovery["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|doubt| format!("{} {}", text(doubt, "/step/key"), text(doubt, "/decision")))
        .collect();
    assert_eq!(decisions[2..], ["make ask", "ls run_again"], "{recovery}");
    assert_eq!(recovery["clear"], json!(false), "{recovery}");
    // The next process of the agent goes on at once.
    agent.prompt("again");
    agent.bash("next", "ls");
    agent.verify();
}

#[test]
fn while_a_turn_runs_the_branch_is_the_agents_and_after_it_the_persons() {
    let agent = Agent::new("claude-code");
    agent.prompt("go");
    let id = agent.id();
    let error = agent.place.json(&["rewind", &format!("{id}@1")]).error(4);
    assert_eq!(error["code"], "lease_held");
    assert!(hints(&error).contains("take over"), "{error}");
    // Somebody who cannot wait fences the agent, whose next event goes to the branch that is current then.
    agent.write("calc.py", "half\n");
    agent.place.json(&["--take-over", "rewind", &format!("{id}@1")]).json();
    agent.stop("done");
    agent.place.json(&["rewind", &format!("{id}@1")]).json();
    agent.verify();
}

#[test]
fn sub_agents_are_child_sessions_whose_work_is_taken_back_with_the_parents() {
    let agent = Agent::new("claude-code");
    agent.prompt("go");
    let seq = agent.entries().len();
    let of = |mut fields: Value| {
        fields["agent_id"] = "a7".into();
        fields["agent_type"] = "Explore".into();
        fields
    };
    let write = |path: &str| json!({"tool_name": "Write", "tool_input": {"file_path": agent.project().join(path)}, "tool_use_id": format!("w {path}")});
    agent.tell("SubagentStart", &of(json!({})));
    let child = agent.tell("PreToolUse", &of(write("deep.txt")));
    agent.write("deep.txt", "by the sub-agent\n");
    agent.tell("PostToolUse", &of(write("deep.txt")));
    // At the same time, the parent.
    agent.tell("PreToolUse", &write("own.txt"));
    agent.write("own.txt", "by the agent\n");
    agent.tell("PostToolUse", &write("own.txt"));
    agent.tell("SubagentStop", &of(json!({"last_assistant_message": "found it"})));
    agent.stop("done");
    let id = agent.id();
    assert_ne!(text(&child, "/id"), id);
    let shown = agent.place.json(&["session", "show", &text(&child, "/id")]).json();
    assert_eq!(text(&shown, "/parent/session"), id, "{shown}");
    let words = agent.place.run(&["read", &text(&child, "/id"), "--kind", "message"]).ok();
    assert!(words.contains("found it"), "{words}");
    agent.place.json(&["rewind", &format!("{id}@{seq}")]).json();
    assert_eq!((agent.file("deep.txt"), agent.file("own.txt")), (None, None));
    agent.verify();
}

/// How many events a file beside the store has.
fn noted(spool: &Path) -> usize {
    fs::read_to_string(spool).unwrap().lines().filter(|line| !line.is_empty()).count()
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_a_turn_is_no_trouble_to_the_agent() {
    let mut agent = Agent::new("codex");
    let disk = agent.place.path().join("disk");
    let Some(_mounted) = Mount::new(&["-t", "tmpfs", "-o", "size=24m", "tmpfs"], &disk) else { return };
    agent.store = Some(disk.join("store"));
    let spool = disk.join("store.unrecorded");
    agent.prompt("go");
    agent.bash("1", "echo 1 > a.txt");
    // Whatever it is that fills the disk, the store and what lies beside it have no room left.
    let mut filler = fs::File::create(disk.join("filler")).unwrap();
    while filler.write_all(&[7; 4096]).is_ok() {}
    drop(filler);
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "echo 2 > a.txt"}, "tool_use_id": "2"});
    let mut missed = 0;
    for (name, event) in [("PreToolUse", &call), ("PostToolUse", &call), ("Stop", &json!({}))] {
        let did = agent.hook(&agent.event(name, event));
        assert_eq!(did.status, 0, "{did:?}");
        missed += usize::from(did.err.contains("not recorded"));
    }
    assert!(missed > 0 && noted(&spool) == missed, "{missed} and {}", noted(&spool));
    fs::remove_file(disk.join("filler")).unwrap();
    agent.prompt("again");
    assert_eq!(noted(&spool), 0);
    let read = agent.entries();
    let told = read.iter().filter(|entry| entry["attributes"]["unrecorded"] == json!(true)).count();
    assert_eq!(told, missed);
    assert!(read.iter().any(|entry| entry["payload"] == "again"));
    agent.verify();
}

#[test]
fn what_cannot_be_recorded_is_noted_and_recorded_later() {
    let agent = Agent::new("codex");
    let spool = agent.place.path().join("store.unrecorded");
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "1"});
    agent.tell("PreToolUse", &call);
    // The store is away for a while.
    let (store, away) = (agent.place.store(), agent.place.path().join("away"));
    fs::rename(&store, &away).unwrap();
    fs::write(&store, "not a directory").unwrap();
    let did = agent.hook(&agent.event("PostToolUse", &call));
    assert!(did.status == 0 && did.err.contains("not recorded"), "{did:?}");
    let did = agent.place.run_with_input(&["hook", "codex"], b"{torn");
    assert!(did.status == 0 && did.err.contains("is no JSON"), "{did:?}");
    assert_eq!(noted(&spool), 1);
    fs::remove_file(&store).unwrap();
    fs::rename(&away, &store).unwrap();
    agent.stop("done");
    assert_eq!(noted(&spool), 0);
    assert_eq!(effects(&agent.steps()), ["idempotent completed"]);
    let noted: Vec<Value> =
        agent.entries().into_iter().filter(|entry| entry["attributes"]["unrecorded"] == json!(true)).collect();
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert_eq!(noted[0]["payload"]["name"], "PostToolUse");
    agent.verify();
}

#[test]
fn only_a_policy_that_says_so_blocks_an_agent() {
    let agent = Agent::new("codex");
    let call =
        agent.event("PreToolUse", &json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "1"}));
    let policy = agent.place.path().join("hooks.toml");
    let hook = |event: &Value| {
        let mut command = agent.place.command(&["hook", "codex"]);
        command.env("SAMITE_HOOKS_POLICY", &policy);
        let input = agent.place.path().join("event.json");
        fs::write(&input, event.to_string()).unwrap();
        command.stdin(fs::File::open(input).unwrap());
        Did::new(&command.output().unwrap())
    };
    fs::write(&policy, "block = perhaps").unwrap();
    let did = hook(&agent.event("SessionStart", &json!({})));
    assert!(did.status == 0 && did.err.contains("policy for hooks cannot be used"), "{did:?}");
    let blocks = "block = true\ntime_limit_seconds = 60\n[tools]\nBash = \"shell\"\n[commands]\nmake = \"opaque\"\n";
    fs::write(&policy, blocks).unwrap();
    let store = agent.place.store();
    fs::rename(&store, agent.place.path().join("away")).unwrap();
    fs::write(&store, "").unwrap();
    let did = hook(&call);
    assert!(did.status == 2 && did.err.contains("so it is not made"), "{did:?}");
    fs::write(&policy, blocks.replace("true", "false")).unwrap();
    assert_eq!(hook(&call).status, 0);
    // A mistake in the command itself is no refusal either.
    assert_eq!(agent.place.run(&["hook", "emacs"]).status, 1);
}

#[test]
fn an_output_of_a_hundred_megabytes_is_kept_whole() {
    let agent = Agent::new("claude-code");
    let mut call = json!({"tool_name": "Bash", "tool_input": {"command": "yes"}, "tool_use_id": "1"});
    agent.tell("PreToolUse", &call);
    let long = "0123456789abcdef".repeat(100 * 65_536);
    call["tool_response"] = json!({ "stdout": long });
    let answer = agent.tell("PostToolUse", &call);
    assert!(answer["seq"].is_u64(), "{answer}");
    let id = agent.id();
    let ended = agent.place.json(&["read", &id, "--kind", "step_completed", "--headers"]).lines();
    assert!(ended[0]["bytes"].as_u64().unwrap() > 100 << 20, "{ended:?}");
    agent.place.run(&["verify"]).ok();
}

/// The entries of a kind.
fn of_kind(agent: &Agent, kind: &str) -> Vec<Value> {
    agent.entries().into_iter().filter(|entry| entry["kind"] == kind).collect()
}

#[test]
fn a_turn_ends_as_any_turn_does_and_once() {
    let agent = Agent::new("claude-code");
    let transcript = agent.place.path().join("transcript.jsonl");
    agent.prompt("go");
    let id = agent.id();
    agent.place.run(&["session", "set", &id, "--deliver", "dist/**"]).ok();
    fs::create_dir_all(agent.project().join("dist")).unwrap();
    agent.bash("1", "echo 1 > dist/report.txt");
    fs::write(&transcript, "{\"type\":\"user\"}\n").unwrap();
    let mut stop = agent.event("Stop", &json!({"last_assistant_message": "done"}));
    stop["transcript_path"] = transcript.to_str().unwrap().into();
    for _ in 0..2 {
        let did = agent.hook(&stop);
        assert!(did.status == 0 && did.err.is_empty(), "{did:?}");
    }
    let log = agent.log();
    for once in ["message done", "turn_ended"] {
        assert_eq!(log.iter().filter(|entry| *entry == once).count(), 1, "{log:?}");
    }
    assert_eq!(of_kind(&agent, "artifact_published").len(), 1, "{log:?}");
    // The checkpoint is in the commit of the turn's end.
    let ended = &of_kind(&agent, "turn_ended")[0];
    let tree = of_kind(&agent, "tree").pop().unwrap();
    assert_eq!(tree["seq"].as_u64().unwrap() + 1, ended["seq"].as_u64().unwrap());
    assert_eq!(ended["payload"]["tree"], tree["payload"]["root"]);
    let checkpoints = agent.place.json(&["checkpoint", "list", &id]).json();
    assert_eq!(checkpoints["checkpoints"].as_array().unwrap().last().unwrap()["cause"], "turn_end", "{checkpoints}");
    agent.verify();
}

#[test]
fn a_session_without_files_ends_its_turns_too() {
    let agent = Agent::new("codex");
    let mut prompt = agent.event("UserPromptSubmit", &json!({"prompt": "go"}));
    prompt["cwd"] = agent.place.path().join("nowhere").to_str().unwrap().into();
    let did = agent.hook(&prompt);
    assert!(did.status == 0 && did.err.contains("no workspace is attached"), "{did:?}");
    let mut stop = agent.event("Stop", &json!({"last_assistant_message": "done"}));
    stop["cwd"] = prompt["cwd"].clone();
    agent.hook(&stop).ok();
    assert_eq!(agent.log().last().unwrap(), "turn_ended");
}

#[test]
fn what_a_person_says_again_is_said_again() {
    let agent = Agent::new("claude-code");
    for _ in 0..2 {
        agent.prompt("continue");
        agent.prompt("continue");
        agent.stop("done");
        agent.stop("done");
    }
    let words: Vec<Value> = of_kind(&agent, "message").into_iter().map(|entry| entry["payload"].clone()).collect();
    assert_eq!(words, ["continue", "done", "continue", "done"]);
    assert_eq!(of_kind(&agent, "turn_ended").len(), 2);
}

#[test]
fn a_call_that_was_never_made_leaves_a_persons_files_theirs() {
    let agent = Agent::new("claude-code");
    agent.prompt("go");
    // The person refuses it, and no hook tells.
    agent
        .tell("PreToolUse", &json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "refused"}));
    agent.stop("not allowed");
    let (id, seq) = (agent.id(), agent.entries().len());
    agent.write("mine.txt", "by hand\n");
    agent.prompt("again");
    agent.bash("2", "echo 2 > made.txt");
    agent.stop("done");
    let back = agent.place.json(&["rewind", &format!("{id}@{seq}")]).json();
    assert_eq!(agent.file("mine.txt").as_deref(), Some("by hand\n"), "{back}");
    assert_eq!(agent.file("made.txt"), None);
}

#[test]
fn what_happens_between_two_turns_keeps_no_branch_from_its_person() {
    let agent = Agent::new("claude-code");
    agent.tell("SessionStart", &json!({"source": "startup"}));
    let id = agent.id();
    agent.place.json(&["rewind", &format!("{id}@1")]).json();
    agent.prompt("go");
    agent.stop("done");
    agent.tell("Notification", &json!({"message": "waits for you"}));
    agent.place.json(&["rewind", &format!("{id}@1")]).json();
}

#[test]
fn what_one_session_missed_and_another_recorded_is_no_hold_on_it() {
    let mut agent = Agent::new("codex");
    agent.prompt("go");
    agent.stop("done");
    let first = agent.id();
    let (store, away) = (agent.place.store(), agent.place.path().join("away"));
    fs::rename(&store, &away).unwrap();
    fs::write(&store, "not a directory").unwrap();
    assert_eq!(agent.hook(&agent.event("Notification", &json!({"message": "missed"}))).status, 0);
    fs::remove_file(&store).unwrap();
    fs::rename(&away, &store).unwrap();
    agent.session = "another".to_owned();
    agent.prompt("begin");
    assert_eq!(noted(&agent.place.path().join("store.unrecorded")), 0);
    let read = agent.place.json(&["read", &first]).lines();
    assert_eq!(read.last().unwrap()["attributes"]["unrecorded"], json!(true), "{read:?}");
    agent.place.json(&["rewind", &format!("{first}@1")]).json();
}

#[test]
fn the_ledgers_log_stays_short_although_nothing_but_hooks_uses_it() {
    let agent = Agent::new("codex");
    let words = |number: u32| {
        let noise = (0..4000_u32).map(|at| (at.wrapping_mul(number * 2 + 1) ^ (at >> 3)).wrapping_mul(2_654_435_761));
        noise.map(|word| word.to_string()).collect::<String>()
    };
    let log = agent.place.store().join("tenants/local/ledger.db-wal");
    let mut longest = 0;
    for number in 0..90 {
        agent.tell("Notification", &json!({"message": words(number)}));
        longest = longest.max(fs::metadata(&log).unwrap().len());
    }
    assert!(longest < 2 << 20, "{longest}");
}

impl Agent {
    /// A command that a person gives in the project.
    fn here(&self, arguments: &[&str]) -> Did {
        Did::new(&self.place.command(arguments).current_dir(self.project()).output().unwrap())
    }
}

#[test]
fn a_log_shows_turns_and_positions_to_go_back_to_without_naming_a_session() {
    let agent = Agent::new("codex");
    agent.place.session();
    assert_eq!(agent.here(&["--json", "log"]).error(3)["code"], "no_session_here");
    agent.tell("SessionStart", &json!({"source": "startup"}));
    agent.prompt("fix \u{1b}[31madd()\nand more");
    agent.bash("1", "sed -i s/-/+/ calc.py");
    agent.bash("2", "cat calc.py");
    agent.stop("It adds now.");
    agent.write("mine.txt", "by hand\n");
    agent.prompt("break it");
    agent.bash("3", "echo worse > calc.py; git commit -qam worse");
    agent.tell("PreToolUse", &json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "4"}));
    agent.stop("Broken.");
    let log = agent.here(&["--json", "log"]).json();
    let id = text(&log, "/session");
    let turns = log["turns"].as_array().unwrap();
    let told = |turn: &Value, list: &str, fields: &[&str]| -> Vec<String> {
        let row = |row: &Value| fields.iter().map(|field| row[*field].to_string()).collect::<Vec<_>>().join(" ");
        turn[list].as_array().unwrap().iter().map(row).collect()
    };
    let ended: Vec<bool> = turns.iter().map(|turn| turn["ended"].as_bool().unwrap()).collect();
    assert_eq!(ended, [true, true], "{log:#}");
    assert_eq!(
        told(&turns[0], "said", &["role", "line"]),
        ["\"user\" \"fix \\u001b[31madd()\"", "\"assistant\" \"It adds now.\""]
    );
    assert_eq!(
        told(&turns[0], "steps", &["tool", "what", "effect", "state"]),
        [
            "\"sed\" \"sed -i s/-/+/ calc.py\" \"contained\" \"completed\"",
            "\"cat\" \"cat calc.py\" \"idempotent\" \"completed\""
        ]
    );
    assert_eq!(told(&turns[1], "steps", &["what", "state"])[1], "\"make\" \"in_doubt\"");
    // What the person changed is theirs, and beside what the calls changed.
    let mine = turns[1]["checkpoints"].as_array().unwrap().iter();
    let mine: Vec<&Value> = mine.filter(|tree| tree["label"] == "before a prompt").collect();
    assert_eq!(
        told(&json!({"changes": mine[0]["changes"]}), "changes", &["path", "change"]),
        ["\"mine.txt\" \"added\""]
    );
    let page = agent.here(&["log"]).ok();
    for line in
        ["● ", "changed calc.py", "you", "changed mine.txt", "changed .git, calc.py", "opaque IN DOUBT", "turn 2"]
    {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
    assert!(page.contains("fix \\u{1b}[31madd()") && !page.contains('\u{1b}'), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    // Back to the end of the first turn, by the position that the log has for it, from a directory below.
    let end = turns[0]["last"].as_u64().unwrap();
    assert_eq!(turns[0]["checkpoints"].as_array().unwrap().last().unwrap()["rewind_to"], end);
    fs::create_dir(agent.project().join("below")).unwrap();
    let mut rewind = agent.place.command(&["--json", "rewind", &format!("@{end}")]);
    let back = Did::new(&rewind.current_dir(agent.project().join("below")).output().unwrap()).json();
    assert_eq!(agent.file("calc.py").as_deref(), Some("def add(a, b):\n    return a + b\n"), "{back}");
    assert_eq!(agent.file("mine.txt").as_deref(), Some("by hand\n"));
    let log = agent.here(&["--json", "log", "."]).json();
    let left = &log["other_lines"][0];
    assert_eq!((left["at"].as_u64(), &left["reason"]), (Some(end), &Value::Null), "{log:#}");
    assert_eq!(text(left, "/branch"), text(&back, "/previous"));
    let page = agent.here(&["log", "--turns", "1"]).ok();
    assert!(page.contains("left behind") && page.contains("1 earlier turn left out"), "{page}");
    // A second directory is the fork's, and a fork of it too.
    agent.here(&["fork", &format!("@{end}"), "--into", "../second"]).ok();
    let mut there = agent.place.command(&["--json", "log"]);
    let second = Did::new(&there.current_dir(agent.place.path().join("second")).output().unwrap()).json();
    assert_eq!((text(&second, "/session"), &second["current"]), (id, &json!(false)), "{second:#}");
}
