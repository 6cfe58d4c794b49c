//! Commands under a supervisor, and every way to kill the two.
#![expect(clippy::disallowed_methods, reason = "what a command wrote is looked at directly")]

use samite_host::process::{Identity, Liveness};
use samite_host::supervise::{
    Capture, Cgroup, End, Exit, Finished, Recorded, Standing, SuperviseOptions, Supervised, end_or_find, find,
    sign_of_life, spawn,
};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// The program that knows how to be a supervisor: the example beside this test.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("examples/supervised");
    assert!(path.exists(), "{} is not built: cargo build -p samite-host --examples", path.display());
    path
}

fn shell(script: &str) -> Vec<OsString> {
    ["sh", "-c", script].iter().map(OsString::from).collect()
}

fn options(script: &str, dir: &Path) -> SuperviseOptions {
    SuperviseOptions::new(program(), shell(script), dir)
}

fn run(options: SuperviseOptions) -> Finished {
    let mut supervised = spawn(options).unwrap();
    supervised.go().unwrap();
    supervised.wait().unwrap()
}

fn exit_of(finished: &Finished) -> Exit {
    match &finished.end {
        End::Ended { exit, .. } => *exit,
        other => panic!("{other:?}: {}", String::from_utf8_lossy(&finished.stderr.first)),
    }
}

/// Waits for something that must come to pass.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..4000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("never: {what}");
}

/// A script that leaves a process in each place to hide, each writing its pid to a file in the current directory.
const HIDERS: &str = r#"
    echo $$ > command
    sh -c 'echo $$ > child; exec sleep 600' &
    setsid sh -c 'echo $$ > leader; sleep 600 & echo $! > follower; exec sleep 600' &
    ( setsid sh -c '( setsid sh -c "echo \$\$ > daemon; exec sleep 600" & ) ; exit' & )
    while [ ! -s child ] || [ ! -s leader ] || [ ! -s follower ] || [ ! -s daemon ]; do sleep 0.01; done
    touch hidden
    exec sleep 600
"#;

fn identities(dir: &Path) -> Vec<Identity> {
    until("everybody is hidden", || dir.join("hidden").exists());
    ["command", "child", "leader", "follower", "daemon"]
        .iter()
        .map(|name| {
            let pid = fs::read_to_string(dir.join(name)).unwrap().trim().parse().unwrap();
            samite_host::process::of(pid).unwrap_or_else(|error| panic!("{name}: {error}"))
        })
        .collect()
}

fn all_gone(identities: &[Identity]) -> bool {
    identities.iter().all(|identity| identity.liveness() == Liveness::Gone)
}

/// The example as a parent of its own, which can be killed.
struct Parent {
    child: Child,
    recorded: Recorded,
}

impl Parent {
    fn start(dir: &Path, cgroup: bool, script: &str) -> Self {
        let mut command = Command::new(program());
        if !cgroup {
            command.arg("--no-cgroup");
        }
        command.arg("--life").arg(dir.join("life")).args(shell(script)).current_dir(dir);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let hex = line.trim().strip_prefix("recorded ").unwrap();
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        Self { child, recorded: Recorded::decode(&bytes).unwrap() }
    }

    fn go(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

fn stop(pid: u32) {
    assert!(Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_parent_killed_before_the_go_has_no_effect() {
    for cgroup in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut parent = Parent::start(dir.path(), cgroup, "touch effect");
        assert!(matches!(find(&parent.recorded).unwrap(), Standing::StillRunning(found) if found.len() == 1));
        parent.kill();
        until("the supervisor ends", || parent.recorded.supervisor.liveness() == Liveness::Gone);
        assert!(!dir.path().join("effect").exists());
        assert_eq!(end_or_find(&parent.recorded, PATIENCE).unwrap(), Standing::Ended);
        assert!(parent.recorded.cgroup.is_none_or(|group| !group.exists()));
    }
}

#[test]
fn a_parent_killed_during_takes_every_descendant_along() {
    for cgroup in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut parent = Parent::start(dir.path(), cgroup, HIDERS);
        parent.go();
        let hidden = identities(dir.path());
        parent.kill();
        until("all are gone", || all_gone(&hidden));
        until("the supervisor ends", || parent.recorded.supervisor.liveness() == Liveness::Gone);
        assert_eq!(find(&parent.recorded).unwrap(), Standing::Ended);
        let sign = sign_of_life(&dir.path().join("life")).unwrap().unwrap();
        assert!(matches!(sign.ended, Some((Exit::Signal(9), _))), "{sign:?}");
        assert_eq!(sign.command, Some(hidden[0]));
    }
}

#[test]
fn a_storm_of_forks_is_ended_to_the_last() {
    // Whoever leaves its session, forks and exits is the hardest to see.
    let storm = "while :; do (setsid sh -c 'sleep 600 & sleep 600' &); sh -c 'sleep 600 & sleep 600 & wait' & sleep 0.001; done";
    for round in 0..12 {
        let dir = tempfile::tempdir().unwrap();
        let mut parent = Parent::start(dir.path(), round % 2 == 1, storm);
        parent.go();
        let enough = 3 * (round + 1);
        until(
            "the storm is on",
            || matches!(find(&parent.recorded).unwrap(), Standing::StillRunning(found) if found.len() > enough),
        );
        parent.kill();
        until("the supervisor ends", || parent.recorded.supervisor.liveness() == Liveness::Gone);
        assert_eq!(find(&parent.recorded).unwrap(), Standing::Ended, "round {round}");
        assert!(parent.recorded.cgroup.is_none_or(|group| !group.exists()));
    }
}

#[test]
fn a_process_group_killed_as_a_whole_takes_every_descendant_along() {
    let dir = tempfile::tempdir().unwrap();
    let mut parent = Parent::start(dir.path(), false, HIDERS);
    parent.go();
    let hidden = identities(dir.path());
    let group = format!("-{}", parent.child.id());
    assert!(Command::new("kill").args(["-9", "--", &group]).status().unwrap().success());
    parent.child.wait().unwrap();
    until("all are gone", || all_gone(&hidden));
}

#[test]
fn a_supervisor_killed_alone_leaves_nothing_that_is_not_found_and_ended() {
    for cgroup in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut parent = Parent::start(dir.path(), cgroup, HIDERS);
        parent.go();
        let hidden = identities(dir.path());
        // A stopped parent sees nothing of its supervisor's death: nobody is left to end anything.
        stop(parent.child.id());
        kill(parent.recorded.supervisor.pid);
        parent.kill();
        until("the kernel ends the command", || hidden[0].liveness() == Liveness::Gone);
        let recorded = parent.recorded.clone().with_sign_of_life(&dir.path().join("life"));
        assert_eq!(end_or_find(&recorded, PATIENCE).unwrap(), Standing::EndedNow);
        assert_eq!(end_or_find(&recorded, PATIENCE).unwrap(), Standing::Ended);
        assert!(all_gone(&hidden));
        assert!(recorded.cgroup.is_none_or(|group| !group.exists()));
    }
}

#[test]
fn a_living_parent_ends_what_a_killed_supervisor_left_and_tells_that_it_does_not_know() {
    let dir = tempfile::tempdir().unwrap();
    let mut supervised = spawn(options(HIDERS, dir.path())).unwrap();
    let recorded = supervised.recorded().clone();
    supervised.go().unwrap();
    let hidden = identities(dir.path());
    kill(recorded.supervisor.pid);
    assert_eq!(supervised.wait().unwrap().end, End::SupervisorLost);
    assert!(all_gone(&hidden));
}

#[test]
fn a_stopped_supervisor_is_ended_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut parent = Parent::start(dir.path(), false, HIDERS);
    parent.go();
    let hidden = identities(dir.path());
    stop(parent.recorded.supervisor.pid);
    parent.kill();
    assert!(matches!(find(&parent.recorded).unwrap(), Standing::StillRunning(found) if found.len() >= hidden.len()));
    assert_eq!(end_or_find(&parent.recorded, PATIENCE).unwrap(), Standing::EndedNow);
    assert_eq!(end_or_find(&parent.recorded, PATIENCE).unwrap(), Standing::Ended);
    assert!(all_gone(&hidden));
}

#[test]
fn what_a_command_leaves_behind_is_ended_with_it() {
    for cgroup in [Cgroup::No, Cgroup::Auto] {
        let dir = tempfile::tempdir().unwrap();
        let script = "setsid sh -c 'echo $$ > daemon; exec sleep 600' & while [ ! -s daemon ]; do sleep 0.01; done";
        let finished = run(SuperviseOptions { cgroup, ..options(script, dir.path()) });
        assert!(
            matches!(finished.end, End::Ended { exit: Exit::Code(0), left_behind: 1, .. }),
            "{cgroup:?} {:?}",
            finished.end
        );
        let pid: u32 = fs::read_to_string(dir.path().join("daemon")).unwrap().trim().parse().unwrap();
        // Dead it is; its entry goes once somebody has reaped it.
        until("it is reaped", || !Path::new(&format!("/proc/{pid}")).exists());
    }
}

#[test]
fn statuses_and_signals_are_told_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    for (script, right) in [
        ("exit 0", Exit::Code(0)),
        ("exit 1", Exit::Code(1)),
        ("exit 255", Exit::Code(255)),
        ("kill -9 $$", Exit::Signal(9)),
        ("kill -TERM $$", Exit::Signal(15)),
        ("kill -SEGV $$", Exit::Signal(11)),
    ] {
        assert_eq!(exit_of(&run(options(script, dir.path()))), right, "{script}");
    }
    // A directory on the path that may not be searched would make it "cannot be run".
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let missing = run(SuperviseOptions { argv: vec!["no-such-program-here".into()], env, ..options("", dir.path()) });
    assert_eq!(exit_of(&missing), Exit::Code(127));
    let words = String::from_utf8(missing.stderr.first).unwrap();
    assert!(words.starts_with("samite: cannot run no-such-program-here: No such file"), "{words}");
    let directory = run(SuperviseOptions { argv: vec![dir.path().into()], ..options("", dir.path()) });
    assert_eq!(exit_of(&directory), Exit::Code(126));
    let nowhere = run(options("true", &dir.path().join("missing")));
    assert!(matches!(nowhere.end, End::NotStarted(_)), "{:?}", nowhere.end);
    assert_eq!(spawn(SuperviseOptions { argv: vec![], ..options("", dir.path()) }).unwrap_err().code(), "no_command");
}

#[test]
fn a_command_sees_its_directory_its_environment_and_an_empty_input() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options("pwd; echo \"$SAMITE_IDEMPOTENCY_KEY\"; cat; echo oops >&2", dir.path());
    options.env.push(("SAMITE_IDEMPOTENCY_KEY".into(), "key with blanks".into()));
    let finished = run(options);
    let right = format!("{}\nkey with blanks\n", fs::canonicalize(dir.path()).unwrap().display());
    assert_eq!(String::from_utf8(finished.stdout.whole().unwrap()).unwrap(), right);
    assert_eq!(finished.stderr.whole().unwrap(), b"oops\n");
    assert!(finished.stdout.complete && finished.stderr.complete);
}

#[test]
fn a_hundred_megabytes_of_output_are_bounded_in_memory_and_whole_in_the_file() {
    const SIZE: u64 = 100_000_000;
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(&format!("echo begin; head -c {} /dev/zero; echo end", SIZE - 10), dir.path());
    options.stdout.spill = Some(tempfile::tempfile().unwrap());
    let mut finished = run(options);
    assert_eq!(exit_of(&finished), Exit::Code(0));
    let Capture { keep_first, keep_last, .. } = Capture::default();
    assert_eq!((finished.stdout.first.len(), finished.stdout.last.len()), (keep_first, keep_last));
    assert_eq!((finished.stdout.total, finished.stdout.spilled), (SIZE, SIZE));
    assert!(finished.stdout.first.starts_with(b"begin\n\0"));
    assert!(finished.stdout.last.ends_with(b"\0end\n"));
    assert_eq!(finished.stdout.spill_error, None);
    let mut file = finished.stdout.spill.take().unwrap();
    assert_eq!(file.metadata().unwrap().len(), SIZE);
    file.seek(SeekFrom::End(-4)).unwrap();
    let mut end = String::new();
    file.read_to_string(&mut end).unwrap();
    assert_eq!(end, "end\n");
    // The most memory this process ever had.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap()
        .parse()
        .unwrap();
    assert!(peak < 60_000, "{peak} KiB");
}

#[test]
fn the_sign_of_life_is_renewed_while_the_command_runs() {
    let dir = tempfile::tempdir().unwrap();
    let life = dir.path().join("life");
    let mut options = options("until [ -e enough ]; do sleep 0.01; done", dir.path());
    options.sign_of_life = Some(life.clone());
    let mut supervised: Supervised = spawn(options).unwrap();
    supervised.go().unwrap();
    until("the command is told", || sign_of_life(&life).unwrap().unwrap().command.is_some());
    let first = sign_of_life(&life).unwrap().unwrap();
    assert_eq!(first.command.unwrap().liveness(), Liveness::Alive);
    until("it is renewed", || sign_of_life(&life).unwrap().unwrap().renewed > first.renewed);
    let second = sign_of_life(&life).unwrap().unwrap();
    assert_eq!((second.command, second.ended), (first.command, None));
    until("it is renewed again", || sign_of_life(&life).unwrap().unwrap().renewed > second.renewed);
    fs::write(dir.path().join("enough"), "").unwrap();
    assert_eq!(exit_of(&supervised.wait().unwrap()), Exit::Code(0));
    assert!(matches!(sign_of_life(&life).unwrap().unwrap().ended, Some((Exit::Code(0), _))));
    assert_eq!(sign_of_life(&dir.path().join("none")).unwrap(), None);
}

#[test]
fn a_command_can_be_stopped_and_a_dropped_one_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut supervised = spawn(options("touch up; sleep 600", dir.path())).unwrap();
    let stopper = supervised.stopper().unwrap();
    supervised.go().unwrap();
    until("it is up", || dir.path().join("up").exists());
    stopper.stop();
    assert_eq!(exit_of(&supervised.wait().unwrap()), Exit::Signal(15));

    fs::remove_file(dir.path().join("up")).unwrap();
    let stubborn = "trap '' TERM; touch up; while :; do sleep 600; done";
    let mut supervised = spawn(options(stubborn, dir.path())).unwrap();
    let stopper = supervised.stopper().unwrap();
    supervised.go().unwrap();
    until("it is up", || dir.path().join("up").exists());
    stopper.stop();
    assert_eq!(exit_of(&supervised.wait().unwrap()), Exit::Signal(9));

    let dropped = tempfile::tempdir().unwrap();
    let mut supervised = spawn(options(HIDERS, dropped.path())).unwrap();
    supervised.go().unwrap();
    let hidden = identities(dropped.path());
    drop(supervised);
    assert!(all_gone(&hidden));
}

#[test]
fn a_control_group_that_must_be_is_made_or_the_start_fails() {
    let dir = tempfile::tempdir().unwrap();
    match spawn(SuperviseOptions { cgroup: Cgroup::Yes, ..options("cat /proc/self/cgroup", dir.path()) }) {
        Ok(mut supervised) => {
            let group = supervised.recorded().cgroup.clone().unwrap();
            supervised.go().unwrap();
            let finished = supervised.wait().unwrap();
            let groups = String::from_utf8(finished.stdout.whole().unwrap()).unwrap();
            let name = group.file_name().unwrap().to_str().unwrap();
            assert!(groups.lines().any(|line| line.starts_with("0::") && line.ends_with(name)), "{groups}");
            assert!(!group.exists());
        }
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            assert_eq!(error.code(), "no_cgroup");
        }
    }
}

#[test]
fn a_program_that_is_no_supervisor_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for program in ["/bin/true", "/nonexistent"] {
        let error = spawn(SuperviseOptions { program: program.into(), ..options("true", dir.path()) }).unwrap_err();
        assert_eq!(error.code(), "supervisor_failed", "{error}");
    }
}
