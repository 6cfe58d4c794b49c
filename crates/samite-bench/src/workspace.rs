//! Snapshots and restores of a workspace: the stages that samite-workspace measures, each a process of its own, and
//! restic where it is installed.

use crate::Bench;
use crate::store::bytes_below;
use crate::table::{Row, Table, Target};
use crate::turns::{count, median};
use samite_host::files;
use samite_model::{Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::unavailable("no_workspace", format!("workspace: {what}")).because(error)
}

/// What the runs of a stage took.
#[derive(Default)]
struct Stage {
    cpu: Vec<f64>,
    wall: Vec<f64>,
    mebibytes: f64,
}

/// The workspace to measure: the one that was named, or one that is made in a scratch directory.
pub(crate) fn workspace(bench: &Bench, scratch: &Path) -> Result<PathBuf> {
    if let Some(workspace) = &bench.workspace {
        return Ok(workspace.clone());
    }
    if !bench.make_workspace {
        let why = "workspace: none was given; give --workspace DIR or --make-workspace";
        return Err(Error::not_found("no_workspace", why));
    }
    let made = scratch.join("made");
    run(Command::new("bash").arg(bench.shared("tools/build_workspace.sh")?).arg(&made), "it cannot be made")?;
    Ok(made.join("W1"))
}

/// Copies a directory with all that it holds.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    run(Command::new("cp").arg("-a").arg(from).arg(to), "it cannot be copied").map(|_| ())
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let directory = bench.directory()?;
    let workspace = workspace(bench, directory.path())?;
    let scratch = directory.path().join("scratch");
    let text = run(
        Command::new("cargo")
            .args(["run", "--release", "--quiet", "-p", "samite-workspace", "--example", "measure", "--"])
            .arg(&workspace)
            .arg(&scratch)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")),
        "its stages cannot be measured",
    )?;
    let stages = stages(&text);
    let runs = |name: &str| {
        let missing = || Error::unavailable("no_workspace", format!("workspace: no stage {name} in {text:?}"));
        stages.get(name).ok_or_else(missing)
    };
    let stage = |name: &str| runs(name).map(|stage| median(&mut stage.cpu.clone()));
    let passed = |name: &str| runs(name).map(|stage| median(&mut stage.wall.clone()));
    let mut compare = |name: &str, ours: f64, other: f64, unit: &str, target: f64| {
        table.row(&Row { name, ours, other, unit, ratio: ours / other, target: Target::AtMost(target) });
    };
    let (walk, first) = (stage("walk")?, stage("first")?);
    compare("workspace, unchanged / a stat walk", stage("unchanged")?, walk, "CPU s", 2.0);
    compare("workspace, ten files changed / a stat walk", stage("ten")?, walk, "CPU s", 2.2);
    // The floor decompresses nothing and uses one core; a restore uses all that there are. So both are shown: how long a
    // person waits for the one and the other, and what it costs.
    compare("workspace, restore / create, write, set times", passed("restore")?, passed("floor")?, "s", 1.4);
    compare("workspace, restore / create, write, set times", stage("restore")?, stage("floor")?, "CPU s", 1.4);
    let ours = stages.iter().filter(|(name, _)| !matches!(name.as_str(), "walk" | "floor"));
    let peak = ours.map(|(_, stage)| stage.mebibytes).fold(0.0, f64::max);
    compare("workspace, memory at most / 200 MiB", peak, 200.0, "MiB", 1.0);
    let repository = directory.path().join("restic");
    match restic(&workspace, &repository) {
        Err(error) => table.skip(&format!("workspace against restic: {error}")),
        Ok(cpu) => {
            let stored = ["ledger.db", "packs"].iter().map(|name| bytes_in(&scratch.join(name)));
            let ours = stored.sum::<Result<u64>>()?;
            compare("workspace, first snapshot / restic", first, cpu, "CPU s", 0.45);
            compare("workspace, store / restic", count(ours) / 1e6, count(bytes_below(&repository)?) / 1e6, "MB", 1.05);
        }
    }
    Ok(())
}

fn bytes_in(path: &Path) -> Result<u64> {
    let metadata = path.metadata().map_err(|error| files::io_error("look at", path, error))?;
    if metadata.is_dir() { bytes_below(path) } else { Ok(metadata.len()) }
}

fn run(command: &mut Command, what: &'static str) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().map_err(failed(what))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::unavailable("no_workspace", format!("workspace: {what}: {}", output.status)))
}

/// Lines of `NAME CPU CPU s WALL s PEAK MiB`, one a run.
fn stages(text: &str) -> HashMap<String, Stage> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, cpu, "CPU", "s", wall, "s", mebibytes, "MiB", ..] = words.as_slice() else { return None };
        let number = |word: &str| word.parse::<f64>().ok();
        Some(((*name).to_owned(), number(cpu)?, number(wall)?, number(mebibytes)?))
    };
    let mut stages: HashMap<String, Stage> = HashMap::new();
    for (name, cpu, wall, mebibytes) in text.lines().filter_map(line) {
        let stage = stages.entry(name).or_default();
        stage.cpu.push(cpu);
        stage.wall.push(wall);
        stage.mebibytes = stage.mebibytes.max(mebibytes);
    }
    stages
}

/// CPU seconds of restic's first backup.
fn restic(workspace: &Path, repository: &Path) -> Result<f64> {
    let script = "command -v restic > /dev/null || { echo none; exit 0; }; \
        export RESTIC_PASSWORD=bench RESTIC_CACHE_DIR=\"$2.cache\"; restic init -q -r \"$2\" || exit 1; \
        TIMEFORMAT='%U %S'; { time restic backup -q -r \"$2\" \"$1\" 2> /dev/null; } 2>&1";
    let script = Command::new("bash").args(["-c", script, "bash"]).arg(workspace).arg(repository).output();
    let output = script.map_err(failed("there is no bash"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let times: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match times.as_slice() {
        [user, system] => Ok(user + system),
        _ => Err(Error::unavailable("no_restic", "restic is not installed, or does not run")),
    }
}
