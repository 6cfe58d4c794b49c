//! The bundled agent of the tour: a small harness around a scripted model. It does what a real harness does: it asks
//! its model what to do, records the answer before acting on it, and runs each tool call through `samite step run`.

use crate::surface::{Surface, program};
use clap::{Args, ValueEnum};
use samite_model::{Error, Result};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// The tour's agent
#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// The session or branch that it works on
    session: String,
    /// The directory that it works in
    directory: PathBuf,
    /// What its model has in mind
    #[arg(value_enum)]
    plan: Plan,
}

/// What the scripted model has in mind. Asked again, it words the same thing anew, as models do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Plan {
    /// Write a greeting, commit it and push it.
    Greet,
    /// The same, in other words: asked again after a crash.
    GreetAgain,
    /// Make the greeting formal.
    Formal,
    /// Make the greeting short.
    Short,
}

/// A tool call of the model.
struct Call {
    key: &'static str,
    tool: &'static str,
    /// How `samite step run` is told about it.
    declared: &'static [&'static str],
    command: &'static [&'static str],
}

const COMMITS: &[&str] = &["--effect", "observable", "--probe", "git:.#refs/heads/main"];
const PUSHES: &[&str] =
    &["--effect", "observable", "--touches", "git:origin/main", "--probe", "git:.@origin#refs/heads/main=HEAD"];
const WRITES: &[&str] = &["--effect", "contained", "--within", "greeting.txt"];
const ADDS: &[&str] = &["--effect", "idempotent"];

impl Plan {
    fn calls(self) -> &'static [Call] {
        match self {
            Self::Greet => &[
                Call {
                    key: "call-1",
                    tool: "write",
                    declared: WRITES,
                    command: &["sh", "-c", "echo 'Hello, world' > greeting.txt"],
                },
                Call { key: "call-2", tool: "git add", declared: ADDS, command: &["git", "add", "greeting.txt"] },
                Call {
                    key: "call-3",
                    tool: "git commit",
                    declared: COMMITS,
                    command: &["git", "commit", "-q", "-m", "Greet the world"],
                },
                Call {
                    key: "call-4",
                    tool: "git push",
                    declared: PUSHES,
                    command: &["git", "push", "-q", "origin", "main"],
                },
            ],
            Self::GreetAgain => &[
                Call {
                    key: "again-1",
                    tool: "git commit",
                    declared: COMMITS,
                    command: &["git", "commit", "-q", "--allow-empty", "-m", "Add a friendly greeting"],
                },
                Call {
                    key: "again-2",
                    tool: "git push",
                    declared: PUSHES,
                    command: &["git", "push", "-q", "origin", "main"],
                },
            ],
            Self::Formal => &[
                Call {
                    key: "formal-1",
                    tool: "write",
                    declared: WRITES,
                    command: &["sh", "-c", "echo 'Good day to you, world' > greeting.txt"],
                },
                Call {
                    key: "formal-2",
                    tool: "git commit",
                    declared: COMMITS,
                    command: &["git", "commit", "-q", "-a", "-m", "Greet formally"],
                },
            ],
            Self::Short => &[
                Call {
                    key: "short-1",
                    tool: "write",
                    declared: WRITES,
                    command: &["sh", "-c", "echo 'Hi' > greeting.txt"],
                },
                Call {
                    key: "short-2",
                    tool: "git commit",
                    declared: COMMITS,
                    command: &["git", "commit", "-q", "-a", "-m", "Greet briefly"],
                },
            ],
        }
    }
}

impl Agent {
    /// Works through the plan.
    pub(crate) fn run(self, surface: &Surface) -> Result<ExitCode> {
        let program = program()?;
        for call in self.plan.calls() {
            let response = json!({
                "role": "assistant",
                "tool_use": { "id": call.key, "name": call.tool, "input": { "command": call.command } },
            });
            let mut record = self.samite(&program);
            record.args(["append", &self.session, "--kind", "model_response", "--dedupe", call.key]);
            ask(record, &response.to_string())?;
            let mut step = self.samite(&program);
            step.args(["step", "run", &self.session, "--key", call.key, "--tool", call.tool]);
            step.args(call.declared).arg("--").args(call.command);
            let answer = ask(step, "")?;
            let did = match answer.pointer("/answer").and_then(Value::as_str) {
                Some("ran") => "done",
                Some("replayed") => "was done before",
                Some("other") => "not run: it had happened already, in other words",
                _ => "?",
            };
            surface.printer.note(&format!("agent: {} ({}): {did}", call.tool, call.command.join(" ")));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// This program, as a harness calls it: all its calls are one writer, which lives as long as this process.
    fn samite(&self, program: &PathBuf) -> Command {
        let mut command = Command::new(program);
        let pid = std::process::id().to_string();
        command.current_dir(&self.directory).args(["--json", "--writer", "tour-agent", "--writer-pid", &pid]);
        command
    }
}

/// Runs a command with something to read, and returns its JSON answer.
fn ask(mut command: Command, input: &str) -> Result<Value> {
    let failed = |what: String| Error::unavailable("agent_failed", what);
    let run = || -> std::io::Result<std::process::Output> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            // A command that does not read its input is no error.
            let _ = pipe.write_all(input.as_bytes());
        }
        child.wait_with_output()
    };
    let output = { run }().map_err(|error| failed(format!("cannot run samite: {error}")))?;
    // 9: it was not run, because another step turned out to be the same act; the answer is there.
    if !matches!(output.status.code(), Some(0 | 9)) {
        return Err(failed(format!("samite said: {}", String::from_utf8_lossy(&output.stderr).trim_end())));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(format!("samite answered no JSON: {error}")))
}
