//! What the tour shows, chapter by chapter.

use super::stage::Stage;
use crate::printer::words::short_id;
use rustix::process::{Pid, Signal, kill_process_group};
use samite_model::{Error, Result};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// The session that the tour is about, and where its agent works.
struct Scene {
    session: String,
    repository: PathBuf,
    remote: PathBuf,
    /// The seq of the first checkpoint.
    beginning: u64,
}

/// All of it.
pub(super) fn all(stage: &mut Stage) -> Result<()> {
    let scene = prepare(stage)?;
    crash(stage, &scene)?;
    recover(stage, &scene)?;
    forks(stage, &scene)?;
    rewind(stage, &scene)?;
    verify(stage)
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn seq(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

fn list(value: &Value, pointer: &str) -> Vec<Value> {
    value.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn failed(doing: &str, path: &Path, error: std::io::Error) -> Error {
    samite_host::files::io_error(doing, path, error)
}

fn prepare(stage: &mut Stage) -> Result<Scene> {
    stage.chapter("A git repository, a remote and a session")?;
    let (repository, remote) = (stage.path("repository"), stage.path("remote.git"));
    for directory in [&repository, &remote] {
        std::fs::create_dir(directory).map_err(|error| failed("make the directory", directory, error))?;
    }
    stage.git(&remote, &["init", "-q", "--bare", "-b", "main"])?;
    stage.git(&repository, &["init", "-q", "-b", "main"])?;
    stage.git(&repository, &["remote", "add", "origin", &remote.to_string_lossy()])?;
    samite_host::files::write_atomic(&repository.join("readme.txt"), b"A repository for a tour.\n", 0o644)?;
    stage.git(&repository, &["add", "readme.txt"])?;
    stage.git(&repository, &["commit", "-q", "-m", "Begin"])?;
    stage.git(&repository, &["push", "-q", "origin", "main"])?;
    let out = stage.run(&["session", "new", "--name", "greet the world"])?;
    // Any unique beginning of an id will do.
    let session = short_id(out.trim());
    stage.run(&["workspace", "attach", &session, &repository.to_string_lossy()])?;
    stage.run(&["append", &session, "--text", "Please add a greeting, commit it and push it."])?;
    stage.run(&["checkpoint", &session, "--label", "the beginning"])?;
    let beginning = seq(&stage.ask(&["session", "show", &session])?, "/head");
    Ok(Scene { session, repository, remote, beginning })
}

/// Starts the agent in a process group of its own.
fn start_agent(stage: &Stage, target: &str, directory: &Path, plan: &str) -> Result<Child> {
    stage
        .samite(&["__agent", target, &directory.to_string_lossy(), plan])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| Error::unavailable("tour_failed", format!("cannot start the agent: {error}")).because(error))
}

/// Waits for the agent and shows what it said.
fn end_agent(stage: &Stage, agent: Child) -> Result<bool> {
    let output = agent
        .wait_with_output()
        .map_err(|error| Error::unavailable("tour_failed", format!("lost the agent: {error}")).because(error))?;
    stage.show(&String::from_utf8_lossy(&output.stderr))?;
    Ok(output.status.success())
}

fn crash(stage: &mut Stage, scene: &Scene) -> Result<()> {
    stage.chapter("An agent works, and is killed between `git commit` and its record")?;
    // The hook runs after the commit exists and before git returns: the worst moment to die, held open.
    let hooks = scene.repository.join(".git/hooks");
    let (hook, marker) = (hooks.join("post-commit"), stage.path("committed"));
    samite_host::files::create_private_dir(&hooks)?;
    let script = format!("#!/bin/sh\necho > '{}'\nexec sleep 60\n", marker.display());
    samite_host::files::write_atomic(&hook, script.as_bytes(), 0o755)?;
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755))
        .map_err(|error| failed("change the mode of", &hook, error))?;
    let mut agent = start_agent(stage, &scene.session, &scene.repository, "greet")?;
    let patience = Duration::from_secs(20);
    let step = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    while !marker.exists() && waited < patience && matches!(agent.try_wait(), Ok(None)) {
        std::thread::sleep(step);
        waited += step;
    }
    let came_there = marker.exists();
    if let Some(group) = i32::try_from(agent.id()).ok().and_then(Pid::from_raw) {
        kill_process_group(group, Signal::KILL)
            .map_err(|error| Error::unavailable("tour_failed", format!("cannot kill the agent: {error}")))?;
    }
    let ended_well = end_agent(stage, agent)?;
    stage.tell("(SIGKILL to the agent and its samite, after the commit and before its record)")?;
    samite_host::files::remove(&hook)?;
    stage.check("the commit is there", came_there && stage.commits(&scene.repository)? == 2)?;
    stage.check("the agent is dead", !ended_well)?;
    let steps = stage.ask(&["step", "list", &scene.session, "--open"])?;
    let open = steps.pointer("/steps").and_then(Value::as_array).map_or(0, Vec::len);
    stage.check(
        "its record is not: one step has started and has no outcome",
        open == 1 && text(&steps, "/steps/0/tool") == "git commit",
    )
}

fn recover(stage: &mut Stage, scene: &Scene) -> Result<()> {
    stage.chapter("A new agent goes on. Its model words the commit anew: another id, another message")?;
    stage.run(&["recover", &scene.session, "--plan"])?;
    let agent = start_agent(stage, &scene.session, &scene.repository, "greet-again")?;
    let went_on = end_agent(stage, agent)?;
    stage.check("the agent came to its end", went_on)?;
    stage.check("there is no second commit", stage.commits(&scene.repository)? == 2)?;
    let message = stage.git(&scene.repository, &["log", "-1", "--format=%s", "main"])?;
    stage.check("the commit is the first agent's", message == "Greet the world")?;
    stage.check("it is pushed, once", stage.commits(&scene.remote)? == 2)?;
    stage.run(&["step", "list", &scene.session])?;
    let steps = stage.ask(&["step", "list", &scene.session])?;
    let steps = list(&steps, "/steps");
    let commit = steps.iter().find(|step| text(step, "/tool") == "git commit").cloned().unwrap_or_default();
    stage.check(
        "the probe settled the doubt: the repository was looked at",
        text(&commit, "/state") == "completed" && text(&commit, "/outcome/settled_by") == "probe",
    )?;
    stage.check(
        "nothing is in doubt any more",
        steps.iter().all(|step| !matches!(text(step, "/state").as_str(), "started" | "in_doubt")),
    )
}

fn forks(stage: &mut Stage, scene: &Scene) -> Result<()> {
    stage.chapter("A checkpoint, and two forks of it at work at once, each in a directory of its own")?;
    stage.run(&["checkpoint", &scene.session, "--label", "greeted"])?;
    let mut works = Vec::new();
    for name in ["formal", "short"] {
        let directory = stage.path(name);
        stage.run(&["fork", &scene.session, "--name", name, "--into", &directory.to_string_lossy()])?;
        let branches = stage.ask(&["branch", "list", &scene.session])?;
        let branch = list(&branches, "/branches").iter().rfind(|branch| text(branch, "/name") == name).cloned();
        let branch = short_id(&text(&branch.unwrap_or_default(), "/id"));
        works.push((name, directory, format!("{}:{branch}", scene.session)));
    }
    let agents = works
        .iter()
        .map(|(name, directory, branch)| start_agent(stage, branch, directory, name))
        .collect::<Result<Vec<_>>>()?;
    for (agent, (name, ..)) in agents.into_iter().zip(&works) {
        let went_on = end_agent(stage, agent)?;
        stage.check(&format!("the agent on the branch {name} came to its end"), went_on)?;
    }
    let greeting = |directory: &Path| {
        let bytes = samite_host::files::read_if_exists(&directory.join("greeting.txt"));
        bytes.map(|bytes| String::from_utf8_lossy(&bytes.unwrap_or_default()).trim_end().to_owned())
    };
    for ((_, directory, branch), expected) in works.iter().zip(["Good day to you, world", "Hi"]) {
        stage.ask(&["checkpoint", branch])?;
        let (said, commits) = (greeting(directory)?, stage.commits(directory)?);
        stage.check(&format!("one says {said:?}, with a commit of its own"), said == expected && commits == 3)?;
    }
    let (said, commits) = (greeting(&scene.repository)?, stage.commits(&scene.repository)?);
    stage.check("the first workspace is as it was", said == "Hello, world" && commits == 2)?;
    let (Some((.., one)), Some((.., other))) = (works.first(), works.last()) else { return Ok(()) };
    let differs = stage.ask(&["diff", one, other])?;
    let differs = list(&differs, "/changes").iter().any(|change| text(change, "/path") == "greeting.txt");
    stage.check("`samite diff` tells the two apart", differs)
}

fn rewind(stage: &mut Stage, scene: &Scene) -> Result<()> {
    stage.chapter("Back to the beginning. What happened outside cannot be taken back, and is listed")?;
    let mine = scene.repository.join("mine.txt");
    samite_host::files::write_atomic(&mine, b"A file of yours that no checkpoint has.\n", 0o644)?;
    let was = text(&stage.ask(&["session", "show", &scene.session])?, "/branch");
    let said = stage.run(&["rewind", &format!("{}@{}", scene.session, scene.beginning)])?;
    stage.check(
        "the push is named as an effect that stays",
        said.contains("git:origin/main") && said.contains("stays"),
    )?;
    stage.check("the remote still has it", stage.commits(&scene.remote)? == 2)?;
    let there = |name: &str| samite_host::files::exists(&scene.repository.join(name));
    let put_back = !there("greeting.txt")? && stage.commits(&scene.repository)? == 1;
    stage.check("the workspace is as at the beginning: no greeting, one commit", put_back)?;
    stage.check("your own file is still there", there("mine.txt")?)?;
    stage.git(&scene.repository, &["fsck", "--strict"])?;
    let branches = stage.ask(&["branch", "list", &scene.session])?;
    let left = list(&branches, "/branches")
        .iter()
        .any(|branch| text(branch, "/id") == was && seq(branch, "/head") > scene.beginning);
    stage.check("the line that was left is still there, whole", left)?;
    stage.run(&["session", "tree", &scene.session]).map(|_| ())
}

fn verify(stage: &mut Stage) -> Result<()> {
    stage.chapter("Every entry is verified")?;
    stage.run(&["verify"])?;
    let verified = stage.ask(&["verify"])?;
    let ok = verified.pointer("/ok").and_then(Value::as_bool).unwrap_or_default();
    stage.check(&format!("{} entries are intact", seq(&verified, "/entries")), ok && seq(&verified, "/entries") > 20)
}
