//! The supervisor's process: it outlives its parent by as long as it takes to end the command.

use super::life::Signing;
use super::wire::{self, Go, Message};
use super::{EXEC, Exit, GROUP, MARK, SIGN_OF_LIFE_EVERY, cgroup, monotonic, table};
use crate::process::{self, Identity};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, set_child_subreaper, set_parent_process_death_signal, setsid, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How long what a command left behind, or a command that is asked to stop, has to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// What can happen to a supervisor.
enum Event {
    /// A child ended.
    Child,
    /// It is told to end everything: by a signal, or because its parent is gone.
    Lost,
    /// Its parent says something.
    Said(Message),
}

/// Arguments: the parent's pid, and whether there is to be a control group. The socket to the parent is the standard
/// input.
pub(super) fn main(arguments: &[OsString]) -> ExitCode {
    // Every failure here is before the go, so nothing was done; the parent sees the socket close.
    let [parent, wants_group] = arguments else { return ExitCode::FAILURE };
    let mut group = None;
    let done = supervise(&parent.to_string_lossy(), wants_group == GROUP, &mut group);
    // Whoever made it removes it; recovery does when the supervisor was killed.
    if let Some(group) = &group {
        cgroup::remove(group);
    }
    done.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn supervise(parent: &str, wants_group: bool, group: &mut Option<PathBuf>) -> io::Result<()> {
    let signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD])?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // A parent that died before the line above sends no signal.
    if getppid().map(|pid| pid.as_raw_nonzero().get().to_string()).as_deref() != Some(parent) {
        return Ok(());
    }
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let events = listen(signals, socket.try_clone()?)?;
    let mut no_group = String::new();
    if wants_group {
        match make_group() {
            Ok(made) => *group = Some(made),
            Err(error) => no_group = error.to_string(),
        }
    }
    wire::send(&socket, &Message::Ready { cgroup: group.clone(), no_cgroup: no_group })?;
    let go = loop {
        match events.recv() {
            Ok(Event::Said(Message::Go(go))) => break go,
            Ok(Event::Child) => {}
            _ => return Ok(()),
        }
    };
    let mut signing = Signing::open(go.sign_of_life.as_deref());
    signing.renew();
    let started = monotonic();
    let group = group.as_deref();
    let command = match start(&go, group) {
        Ok(command) => command,
        Err(error) => return wire::send(&socket, &Message::NotStarted(error.to_string())),
    };
    if let Ok(identity) = process::of(command.as_raw_nonzero().get().cast_unsigned()) {
        signing.started(&identity);
    }
    let (exit, patient) = attend(command, &events, &signing, group);
    let duration = monotonic() - started;
    signing.ended(exit, duration);
    let left_behind = end_descendants(group, if patient { GRACE } else { Duration::ZERO }, &events, &signing);
    wire::send(&socket, &Message::Ended { exit, duration, left_behind })
}

fn make_group() -> io::Result<PathBuf> {
    let own = current()?;
    cgroup::make(&format!("samite-{}-{}", own.pid, own.start_time))
}

fn current() -> io::Result<Identity> {
    process::current().map_err(|error| io::Error::other(error.to_string()))
}

/// Turns signals and the parent's words into one sequence of events.
fn listen(mut signals: Signals, socket: UnixStream) -> io::Result<Receiver<Event>> {
    let (sender, events) = mpsc::channel();
    let from_signals: Sender<Event> = sender.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let event = if signal == SIGCHLD { Event::Child } else { Event::Lost };
            if from_signals.send(event).is_err() {
                return;
            }
        }
    })?;
    std::thread::Builder::new().name("parent".into()).spawn(move || {
        while let Ok(Some(message)) = wire::receive(&socket) {
            if sender.send(Event::Said(message)).is_err() {
                return;
            }
        }
        sender.send(Event::Lost).ok();
    })?;
    Ok(events)
}

/// Starts the command from this, the main thread, which lasts: the command's death signal follows it.
fn start(go: &Go, group: Option<&Path>) -> io::Result<Pid> {
    let own = current()?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(EXEC).arg(own.pid.to_string());
    command.arg(group.unwrap_or(Path::new("")));
    command.args(&go.argv).current_dir(&go.cwd).env_clear();
    command.envs(go.env.iter().map(|(name, value)| (name, value)));
    command.env(MARK, super::mark_value(&own)).stdin(Stdio::null());
    let child = command.spawn()?;
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other("the command has no pid"))
}

/// Waits until the command has ended. Also says whether what it leaves behind may take its time to end.
fn attend(command: Pid, events: &Receiver<Event>, signing: &Signing, group: Option<&Path>) -> (Exit, bool) {
    let (mut patient, mut deadline) = (true, None);
    let mut renewed = monotonic();
    loop {
        if let Some(exit) = reap(command) {
            signing.renew();
            return (exit, patient);
        }
        let wait = if patient && deadline.is_none() { SIGN_OF_LIFE_EVERY } else { Duration::from_millis(10) };
        match events.recv_timeout(wait) {
            Ok(Event::Said(Message::Stop)) if deadline.is_none() => {
                deadline = Some(monotonic() + GRACE);
                signal_descendants(Signal::TERM);
            }
            Ok(Event::Lost) | Err(RecvTimeoutError::Disconnected) => patient = false,
            Ok(Event::Child | Event::Said(_)) | Err(RecvTimeoutError::Timeout) => {}
        }
        if !patient || deadline.is_some_and(|deadline| monotonic() >= deadline) {
            kill_descendants(group);
        }
        if monotonic() - renewed >= SIGN_OF_LIFE_EVERY {
            signing.renew();
            renewed = monotonic();
        }
    }
}

/// Reaps whatever has ended; how the command ended, if it is among them.
fn reap(command: Pid) -> Option<Exit> {
    let mut found = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == command {
            found = Some(match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Exit::Code(code),
                (None, signal) => Exit::Signal(signal.unwrap_or(0)),
            });
        }
    }
    found
}

/// Reaps whatever has ended; whether there are children left.
fn reap_all() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Ends every descendant and returns how many there were. Comes back only when none is left.
fn end_descendants(group: Option<&Path>, grace: Duration, events: &Receiver<Event>, signing: &Signing) -> u32 {
    let mut seen = HashSet::new();
    let deadline = monotonic() + grace;
    let (mut asked, mut killing) = (false, grace.is_zero());
    let mut pause = Duration::from_millis(1);
    loop {
        // Every orphan below becomes our child, so who has no child has no descendant. The process table cannot tell
        // that: whoever forks and exits while it is read is missed, with the child.
        if !reap_all() {
            return u32::try_from(seen.len()).unwrap_or(u32::MAX);
        }
        let rows = descendants();
        seen.extend(rows.iter().map(|row| (row.pid, row.start_time)));
        killing = killing || monotonic() >= deadline;
        if killing {
            kill_descendants(group);
        } else if !asked {
            asked = true;
            signal_descendants(Signal::TERM);
        }
        // A parent that dies in the meantime ends the patience.
        killing = killing || matches!(events.recv_timeout(pause), Ok(Event::Lost));
        pause = (pause * 2).min(Duration::from_millis(50));
        signing.renew();
    }
}

fn descendants() -> Vec<table::Row> {
    let mut rows = table::descendants(&table::all().unwrap_or_default(), &[std::process::id()]);
    rows.retain(|row| !row.has_ended());
    rows
}

fn signal_descendants(signal: Signal) {
    for row in descendants() {
        row.signal(signal);
    }
}

fn kill_descendants(group: Option<&Path>) {
    if let Some(group) = group {
        cgroup::kill(group).ok();
    }
    signal_descendants(Signal::KILL);
}
