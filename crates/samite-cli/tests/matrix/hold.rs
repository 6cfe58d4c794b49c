//! Doing something until it comes to a point, holding it there, and killing whom the cell says.

use crate::cell::{Point, Victim};
use crate::place::{Did, Place, programs};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::cell::Cell as Shared;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long something may take to come to its point.
const PATIENCE: Duration = Duration::from_mins(1);

/// How something is cut off; without a point it is only traced.
pub(crate) struct Cut {
    pub(crate) at: Option<(Point, Victim)>,
    /// How often it was.
    pub(crate) kills: Shared<usize>,
    /// The points that were passed, when it was only traced.
    pub(crate) passed: Shared<Vec<String>>,
}

impl Cut {
    pub(crate) fn new(at: Option<(Point, Victim)>) -> Self {
        Self { at, kills: Shared::new(0), passed: Shared::new(Vec::new()) }
    }

    /// Runs the command with these arguments and cuts it off. The answer is that of a samite that lived on.
    pub(crate) fn run(&self, place: &Place, arguments: &[&str]) -> Option<Did> {
        self.run_command(place, place.command(arguments))
    }

    /// As [`Cut::run`], for any program that has samite in it.
    pub(crate) fn run_command(&self, place: &Place, command: Command) -> Option<Did> {
        match &self.at {
            None => Some(self.trace(place, command)),
            Some((point, victim)) => {
                let (killed, did) = cut_off(place, command, point, *victim);
                self.kills.set(self.kills.get() + usize::from(killed));
                did
            }
        }
    }

    fn trace(&self, place: &Place, mut command: Command) -> Did {
        let trace = place.path().join("trace");
        let output = command.env("SAMITE_KILL_TRACE", &trace).output().unwrap();
        let did = Did {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        // A merge that waits for decisions ends with the status of a conflict.
        let waits = did.status == 4 && did.out.contains("\"state\":\"open\"");
        assert!(did.status == 0 || waits, "it fails without a kill: {did:?}");
        self.passed.set(place.read("trace").lines().map(str::to_owned).collect());
        did
    }
}

/// Cuts a command off at a point. Whether it came there, and its answer when the victim was not the one who answers.
pub(crate) fn cut_off(place: &Place, command: Command, point: &Point, victim: Victim) -> (bool, Option<Did>) {
    let [held, out, err] = ["held", "out", "err"].map(|name| place.path().join(name));
    let _ = fs::remove_file(&held);
    let mut command = if victim == Victim::Group { in_company(&command) } else { command };
    match point {
        Point::Named(name, times) => {
            command.env("SAMITE_KILL_POINT", format!("{name}:{times}")).env("SAMITE_KILL_HOLD", &held);
        }
        Point::Gate(name) => {
            command.env("WORLD_GATE", name).env("WORLD_HELD", &held);
        }
    }
    command.process_group(0).stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    if !comes_to(place, &mut child, &held, point) {
        return (false, None);
    }
    if matches!(point, Point::Named(..)) {
        // Who comes to it says so first and stops then: nobody dies on the way there.
        let held: u32 = fs::read_to_string(&held).unwrap().trim().parse().unwrap();
        until(|| is_stopped(held));
    }
    let samite = if victim == Victim::Group { children(child.id())[0] } else { child.id() };
    let supervisor = || {
        let is_supervisor = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.windows(11).any(|window| window == b"__supervise")
        };
        children(samite).into_iter().find(is_supervisor).unwrap_or_else(|| panic!("no supervisor at {point:?}"))
    };
    // Who must be gone before anybody looks: one who was killed inside a system call still ends it, a commit too.
    let mut dying = vec![samite];
    match victim {
        Victim::Samite => kill(samite, Signal::KILL),
        Victim::Group => kill_process_group(pid(child.id()), Signal::KILL).unwrap(),
        Victim::Both => {
            let supervisor = supervisor();
            kill(samite, Signal::KILL);
            kill(supervisor, Signal::KILL);
            dying.push(supervisor);
        }
        Victim::Supervisor => {
            dying = vec![supervisor()];
            kill(dying[0], Signal::KILL);
            if matches!(point, Point::Named(..)) {
                kill(samite, Signal::CONT);
            }
        }
    }
    let status = child.wait().unwrap();
    until(|| dying.iter().all(|number| is_gone(*number)));
    let did = Did { status: status.code().unwrap_or(-1), out: place.read("out"), err: place.read("err") };
    (true, (victim == Victim::Supervisor).then_some(did))
}

/// The command with a caller in its process group.
fn in_company(command: &Command) -> Command {
    let mut caller = Command::new("sh");
    caller.args(["-c", "\"$@\"; exit $?", "caller"]).arg(command.get_program()).args(command.get_args()).env_clear();
    caller.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        caller.current_dir(directory);
    }
    caller
}

/// How a panic begins whose command did its work without coming to its point.
pub(crate) const MISSED: &str = "it was done";

/// Whether it came to its point and is held there. The only one that may be missed is that of files beside the ledger:
/// whether a cache is worth writing depends on how fast the machine is.
fn comes_to(place: &Place, child: &mut Child, held: &Path, point: &Point) -> bool {
    let mut waited = Duration::ZERO;
    while !fs::read_to_string(held).is_ok_and(|text| text.ends_with('\n')) {
        if let Some(status) = child.try_wait().unwrap() {
            if status.success() && point.may_be_missed() {
                return false;
            }
            let why = if status.success() { MISSED } else { "it ended" };
            panic!("{why} ({status}) before {point:?}: {}{}", place.read("out"), place.read("err"));
        }
        if waited > PATIENCE {
            let _ = kill_process_group(pid(child.id()), Signal::KILL);
            panic!("it did not come to {point:?}: {}{}", place.read("out"), place.read("err"));
        }
        let step = Duration::from_millis(2);
        std::thread::sleep(step);
        waited += step;
    }
    true
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).unwrap()).unwrap()
}

fn kill(number: u32, signal: Signal) {
    // Who died of another's death is dead as well.
    let _ = kill_process(pid(number), signal);
}

/// The state and the parent in a process's line of the table.
fn stat(number: u32) -> Option<(char, u32)> {
    let line = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let mut words = line.rsplit_once(") ")?.1.split(' ');
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

fn is_stopped(number: u32) -> bool {
    stat(number).is_none_or(|(state, _)| matches!(state, 'T' | 'Z'))
}

/// Whether nothing of it runs any more; the first thread of a process may be dead before the others are.
fn is_gone(number: u32) -> bool {
    stat(number).is_none_or(|(state, _)| state == 'Z')
        && fs::read_dir(format!("/proc/{number}/task")).map_or(0, Iterator::count) <= 1
}

/// Waits for what comes soon.
#[track_caller]
fn until(holds: impl Fn() -> bool) {
    let mut waited = Duration::ZERO;
    while !holds() {
        assert!(waited < PATIENCE, "who was killed or stopped is neither");
        let step = Duration::from_millis(1);
        std::thread::sleep(step);
        waited += step;
    }
}

fn children(parent: u32) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|number| stat(*number).is_some_and(|(_, of)| of == parent)).collect()
}

/// Whether the command under test has its points.
pub(crate) fn has_points() -> bool {
    let place = Place::new();
    let trace = place.path().join("trace");
    place.command(&["session", "new"]).env("SAMITE_KILL_TRACE", &trace).output().unwrap();
    trace.exists() && programs().samite.exists()
}
