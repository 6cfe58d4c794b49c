//! What a hook of a CLI agent takes, beyond the syncs and the walk that it needs, against starting the binary alone.

use crate::Bench;
use crate::table::{Row, Table, Target};
use crate::turns::seconds;
use samite_host::files;
use samite_model::{Error, Result};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How many turns are measured.
const ROUNDS: usize = 60;

/// How many turns go before, so that nothing is the first of its kind.
const WARM: usize = 5;

/// How many files the project has.
const FILES: usize = 400;

/// An event of a turn: its name in the table, how often it syncs, and whether it walks through the project.
struct Kind {
    name: &'static str,
    syncs: usize,
    walks: bool,
}

const KINDS: [Kind; 6] = [
    Kind { name: "prompt", syncs: 2, walks: true },
    Kind { name: "start of a reading tool", syncs: 1, walks: false },
    Kind { name: "end of a reading tool", syncs: 1, walks: false },
    Kind { name: "start of a file tool", syncs: 1, walks: true },
    Kind { name: "end of a file tool", syncs: 1, walks: true },
    Kind { name: "turn end", syncs: 3, walks: true },
];

/// The program that is measured: the one beside this.
fn program() -> Result<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("samite")));
    beside.filter(|path| path.exists()).ok_or_else(|| {
        Error::not_found("no_program", "there is no samite beside this program")
            .hint("build it as this was built: `cargo build --release -p samite-cli`")
    })
}

/// The events of one turn, of the tools that the kinds name.
fn events(project: &Path, turn: usize) -> Vec<Value> {
    let event = |name: &str, fields: Value| {
        let mut event = json!({"session_id": "bench", "turn_id": turn.to_string(), "cwd": project});
        if let (Some(all), Value::Object(fields)) = (event.as_object_mut(), fields) {
            all.insert("hook_event_name".to_owned(), name.into());
            all.extend(fields);
        }
        event
    };
    let read = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": format!("r{turn}"), "tool_response": "a\n"});
    let write = json!({"tool_name": "Write", "tool_input": {"file_path": project.join("changed")},
        "tool_use_id": format!("w{turn}"), "tool_response": {"ok": true}});
    vec![
        event("UserPromptSubmit", json!({"prompt": "please do this and that"})),
        event("PreToolUse", read.clone()),
        event("PostToolUse", read),
        event("PreToolUse", write.clone()),
        event("PostToolUse", write),
        event("Stop", json!({"last_assistant_message": "done"})),
    ]
}

/// The scratch place: a project, a store, and the environment of the command.
struct Place {
    directory: tempfile::TempDir,
    program: PathBuf,
}

impl Place {
    fn new(bench: &Bench) -> Result<Self> {
        let place = Self { directory: bench.directory()?, program: program()? };
        for number in 0..FILES {
            let directory = place.project().join(format!("{}", number % 20));
            files::create_private_dir(&directory)?;
            files::write_atomic(&directory.join(format!("{number}")), format!("{number}\n").as_bytes(), 0o644)?;
        }
        Ok(place)
    }

    fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    fn run(&self, arguments: &[&str], input: &str) -> Result<()> {
        let failed = |error: std::io::Error| files::io_error("run", &self.program, error);
        let mut command = Command::new(&self.program);
        command.args(arguments).env("SAMITE_STORE", self.directory.path().join("store"));
        command.env("SAMITE_MASTER_FILE", self.directory.path().join("master.key"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(failed)?;
        if let Some(mut to) = child.stdin.take() {
            to.write_all(input.as_bytes()).map_err(failed)?;
        }
        let output = child.wait_with_output().map_err(failed)?;
        if output.status.success() && (output.stderr.is_empty() || arguments.first() == Some(&"init")) {
            return Ok(());
        }
        Err(Error::internal("hook_failed", format!("a hook said {}", String::from_utf8_lossy(&output.stderr))))
    }
}

/// The 95th of a hundred.
fn late(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() * 95).div_ceil(100).saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let place = Place::new(bench)?;
    let log = place.directory.path().join("log");
    let mut synced = files::AppendFile::create(&log)?;
    let mut versions = Vec::new();
    let mut beyond: Vec<Vec<f64>> = KINDS.iter().map(|_| Vec::new()).collect();
    // Makes the store, whose first words would be taken for a failure.
    let first = json!({"session_id": "bench", "hook_event_name": "SessionStart", "cwd": place.project()});
    place.run(&["hook", "codex"], &first.to_string()).ok();
    for turn in 0..WARM + ROUNDS {
        for (at, event) in events(&place.project(), turn).iter().enumerate() {
            if at == 4 {
                files::write_atomic(&place.project().join("changed"), format!("{turn}\n").as_bytes(), 0o644)?;
            }
            let input = event.to_string();
            let version = seconds(|| place.run(&["--version"], ""))?;
            let hook = seconds(|| place.run(&["hook", "codex"], &input))?;
            let walk = seconds(|| crate::rewind::walk_all(&place.project()))?;
            let sync = seconds(|| {
                synced.append(&[7; 4096])?;
                synced.sync()
            })?;
            if turn < WARM {
                continue;
            }
            versions.push(version);
            if let (Some(kind), Some(beyond)) = (KINDS.get(at), beyond.get_mut(at)) {
                let walked = if kind.walks { walk } else { 0.0 };
                beyond.push(hook - walked - sync * crate::turns::count(i64::try_from(kind.syncs).unwrap_or(i64::MAX)));
            }
        }
    }
    let other = late(&mut versions) * 1000.0;
    for (kind, beyond) in KINDS.iter().zip(&mut beyond) {
        let ours = late(beyond) * 1000.0;
        let name = format!("hook, {} ({} sync{})", kind.name, kind.syncs, if kind.walks { ", walk" } else { "" });
        let target = Target::AtMost(2.0);
        table.row(&Row { name: &name, ours, other, unit: "ms p95", ratio: ours / other, target });
    }
    Ok(())
}
