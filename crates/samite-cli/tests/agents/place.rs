//! A project under git with a remote, an agent's own directory, and a store.

use crate::did::{Did, set_apart, text};
use crate::model::{Model, Turn};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agent {
    Codex,
    Gemini,
}

impl Agent {
    fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Gemini => "gemini-cli",
        }
    }

    /// The command that starts it; none where it is not installed or cannot run here.
    fn program(self) -> Option<Vec<PathBuf>> {
        let modules = std::env::var_os("SAMITE_TEST_AGENTS")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/agents"), PathBuf::from);
        let modules = modules.join("node_modules");
        match self {
            // The program itself, and not the script that starts it: what is killed is the agent.
            Self::Codex => {
                let packages = fs::read_dir(modules.join("@openai")).ok()?.flatten();
                let vendors = packages.filter_map(|package| fs::read_dir(package.path().join("vendor")).ok());
                let found = vendors.flatten().flatten().map(|vendor| vendor.path().join("bin/codex"));
                found.into_iter().find(|program| program.is_file()).map(|program| vec![program])
            }
            Self::Gemini => {
                let script = modules.join("@google/gemini-cli/bundle/gemini.js");
                let version = Command::new("node").arg("--version").output().ok()?;
                let version = String::from_utf8_lossy(&version.stdout).into_owned();
                let major: u32 = version.trim_start_matches('v').split('.').next()?.parse().ok()?;
                (script.is_file() && major >= 20).then(|| vec![PathBuf::from("node"), script])
            }
        }
    }
}

/// A project, an agent and a store.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    agent: Agent,
    program: Vec<PathBuf>,
    pub(crate) model: Model,
}

impl Place {
    /// A project whose agent has samite's hooks; none where the agent is not installed, which is said.
    pub(crate) fn new(agent: Agent) -> Option<Self> {
        let Some(program) = agent.program() else {
            println!(
                "SKIPPED: {} is not installed for tests; ./test installs it with npm, for node 20 or later",
                agent.name()
            );
            return None;
        };
        let place = Self { directory: tempfile::tempdir().unwrap(), agent, program, model: Model::start() };
        for name in ["home/.codex", "home/.gemini", "work"] {
            fs::create_dir_all(place.path(name)).unwrap();
        }
        place.git_project();
        let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
        fs::write(place.path("home/.gemini/settings.json"), settings.to_string()).unwrap();
        place.samite(&["--json", "init", agent.name(), "--user", "--yes"]).json();
        Some(place)
    }

    /// A repository with a remote that counts pushes, and that keeps one waiting while there is a file `hold`.
    fn git_project(&self) {
        self.sh("git init -q --bare -b main origin.git");
        let hook = "#!/bin/sh\necho push >> ../pushes\n[ -e ../hold ] && sleep 60\nexit 0\n";
        let path = self.path("origin.git/hooks/post-receive");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, hook).unwrap();
        self.sh("chmod +x origin.git/hooks/post-receive");
        self.sh("cd work && git init -q -b main && git config user.email a@example.com && git config user.name A \
             && printf 'def add(a, b):\\n    return a - b\\n' > calc.py && echo 'ignored*' > .gitignore \
             && echo secret > ignored.txt && git add calc.py .gitignore && git commit -qm init \
             && git remote add origin ../origin.git && git push -q origin main && echo loose > untracked.txt");
        fs::remove_file(self.path("pushes")).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// Runs a shell's command in the place.
    pub(crate) fn sh(&self, command: &str) {
        let mut shell = Command::new("sh");
        set_apart(&mut shell, &self.path(""));
        let status = shell.args(["-c", command]).current_dir(self.path("")).status().unwrap();
        assert!(status.success(), "{command}");
    }

    /// How often something was pushed since the project was made.
    pub(crate) fn pushes(&self) -> usize {
        fs::read_to_string(self.path("pushes")).map_or(0, |pushes| pushes.lines().count())
    }

    /// samite, in the project.
    pub(crate) fn samite_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_samite"));
        self.environment(&mut command);
        command.args(arguments).current_dir(self.path("work"));
        command
    }

    pub(crate) fn samite(&self, arguments: &[&str]) -> Did {
        Did::new(&self.samite_command(arguments).output().unwrap())
    }

    /// What samite answers with `--json`, when it ends well.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.samite(&[&["--json"], arguments].concat()).json()
    }

    fn environment(&self, command: &mut Command) {
        set_apart(command, &self.path(""));
        command
            .env("CODEX_HOME", self.path("home/.codex"))
            .env("SAMITE_HOOKS_POLICY", self.path("hooks.toml"))
            .env("OPENAI_API_KEY", "x")
            .env("GEMINI_API_KEY", "x")
            .env("GOOGLE_GEMINI_BASE_URL", format!("http://127.0.0.1:{}", self.model.port))
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .env("NO_COLOR", "1");
    }

    /// The agent with a prompt, in a directory of the place, going on with a session of its own where one is named.
    pub(crate) fn agent(&self, directory: &str, session: Option<&str>, prompt: &str) -> Command {
        let mut command = Command::new(&self.program[0]);
        self.environment(&mut command);
        command.args(&self.program[1..]).current_dir(self.path(directory));
        match self.agent {
            Agent::Codex => {
                let provider = format!(
                    "model_providers.local={{name=\"local\",base_url=\"http://127.0.0.1:{}/v1\",wire_api=\"responses\",\
                     env_key=\"OPENAI_API_KEY\"}}",
                    self.model.port
                );
                command
                    .args(["exec", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"])
                    .args(["-c", "model_provider=local", "-m", "scripted", "-c", &provider]);
                command.args(session.map(|session| ["resume", session]).into_iter().flatten()).arg(prompt);
            }
            Agent::Gemini => {
                command.args(["--yolo", "-m", "gemini-2.5-flash"]);
                command.args(session.map(|session| ["--resume", session]).into_iter().flatten()).args(["-p", prompt]);
            }
        }
        command
    }

    /// The agent works on a prompt, with the model following a script.
    #[track_caller]
    pub(crate) fn work(&self, session: Option<&str>, prompt: &str, script: &[Turn]) {
        self.work_in("work", session, prompt, script);
    }

    /// As [`Place::work`], in another directory.
    #[track_caller]
    pub(crate) fn work_in(&self, directory: &str, session: Option<&str>, prompt: &str, script: &[Turn]) {
        self.model.play(script);
        let did = Did::new(&self.agent(directory, session, prompt).output().unwrap());
        assert_eq!(did.status, 0, "{did:?}");
    }

    /// The agent begins to work, and is killed with all that it started once something is so.
    pub(crate) fn cut_off(&self, prompt: &str, script: &[Turn], sign: impl Fn() -> bool) {
        self.model.play(script);
        let mut command = self.agent("work", None, prompt);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        for _ in 0..6_000 {
            if sign() {
                kill(&mut child);
                return;
            }
            assert!(child.try_wait().unwrap().is_none(), "the agent ended by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(&mut child);
        panic!("what the agent was to be killed at does not come");
    }

    /// The one session in the store.
    pub(crate) fn session(&self) -> String {
        let listed = self.samite(&["--json", "session", "list"]).json();
        let sessions = listed["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), 1, "{listed}");
        text(&sessions[0], "/id")
    }

    /// The entries of a branch.
    pub(crate) fn entries(&self, at: &str) -> Vec<Value> {
        let did = self.samite(&["--json", "read", at]);
        assert_eq!(did.status, 0, "{did:?}");
        did.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The seqs of a branch's entries of a kind.
    pub(crate) fn seqs(&self, at: &str, kind: &str) -> Vec<u64> {
        let entries = self.entries(at);
        entries.iter().filter(|entry| entry["kind"] == kind).map(|entry| entry["seq"].as_u64().unwrap()).collect()
    }

    /// The harness's own id of the session that a branch is.
    pub(crate) fn own_session(&self, at: &str) -> String {
        text(&self.json(&["session", "transcript", at]), "/session")
    }

    /// What the model was asked last: of each message or call its kind and its words.
    pub(crate) fn asked(&self) -> Vec<String> {
        let request = self.model.last();
        let asked = match self.agent {
            Agent::Codex => asked_by_codex(&request),
            Agent::Gemini => asked_by_gemini(&request),
        };
        asked.into_iter().map(|line| line.trim().to_owned()).collect()
    }
}

/// What Codex asked, without the instructions and the context that it sends ahead.
fn asked_by_codex(request: &Value) -> Vec<String> {
    let items = request["input"].as_array().unwrap();
    let words = |item: &Value| match item["type"].as_str().unwrap() {
        "message" => {
            let said = item["content"][0]["text"].as_str().unwrap();
            let is_own = item["role"] != "developer" && !said.starts_with('<');
            is_own.then(|| format!("{}: {said}", item["role"].as_str().unwrap()))
        }
        "function_call" => {
            let arguments: Value = serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
            Some(format!("call: {}", arguments["cmd"].as_str().unwrap()))
        }
        _ => {
            let output = item["output"].as_str().unwrap();
            Some(format!("result: {}", output.split("Output:\n").last().unwrap().trim()))
        }
    };
    items.iter().filter_map(words).collect()
}

/// What Gemini asked, without the context that it sends ahead.
fn asked_by_gemini(request: &Value) -> Vec<String> {
    let contents = request["contents"].as_array().unwrap();
    let parts = contents.iter().flat_map(|content| {
        let role = content["role"].as_str().unwrap().to_owned();
        content["parts"].as_array().unwrap().iter().map(move |part| (role.clone(), part))
    });
    let words = |(role, part): (String, &Value)| {
        if let Some(command) = part["functionCall"]["args"]["command"].as_str() {
            return Some(format!("call: {command}"));
        }
        let response = &part["functionResponse"]["response"];
        if let Some(result) = response["output"].as_str().or(response["error"].as_str()) {
            let output = result.lines().find_map(|line| line.strip_prefix("Output: ")).unwrap_or(result);
            return Some(format!("result: {output}"));
        }
        let said = part["text"].as_str()?;
        (!said.starts_with('<')).then(|| format!("{role}: {said}"))
    };
    parts.filter_map(words).collect()
}

/// Kills a process with everything that it started, the youngest last: what is killed can start nothing more.
fn kill(child: &mut Child) {
    let mut all = vec![child.id()];
    let mut next = 0;
    while next < all.len() {
        signal(all[next], "-STOP");
        let tasks = fs::read_dir(format!("/proc/{}/task", all[next])).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        next += 1;
    }
    for pid in &all {
        signal(*pid, "-KILL");
    }
    child.wait().unwrap();
    // A large one is a while in ending, and until then it holds what it holds.
    for pid in all {
        while is_there(pid) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether a process has not ended; one that nobody waited for has.
fn is_there(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

fn signal(pid: u32, name: &str) {
    Command::new("kill").args([name, &pid.to_string()]).stderr(Stdio::null()).status().unwrap();
}
