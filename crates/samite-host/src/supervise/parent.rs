//! The parent's side: starting a supervisor, letting it go, and waiting for the outcome.

use super::capture::{Collected, Echo, collect};
use super::wire::{self, Go, Message};
use super::{Capture, Cgroup, Exit, GROUP, Output, Recorded, SECRETS, SUPERVISE, cgroup, end_or_find, spawner};
use crate::process;
use samite_model::{Error, Result};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a supervisor has to say that it is ready, and outputs have to end after everything that wrote them.
const PATIENCE: Duration = Duration::from_secs(10);

/// What to run, and how.
#[derive(Debug)]
pub struct SuperviseOptions {
    /// The program whose `main` calls [`super::dispatch`] first: the samite binary.
    pub program: PathBuf,
    /// The command and its arguments; the command is looked up in the `PATH` of its environment.
    pub argv: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables added to this process's environment, or put in place of its own. The command gets the rest of it, without
    /// what holds the master key.
    pub env: Vec<(OsString, OsString)>,
    /// What to do with its standard output. Its standard input is empty.
    pub stdout: Capture,
    /// What to do with its standard error.
    pub stderr: Capture,
    /// The file whose modification time says when it was last seen running.
    pub sign_of_life: Option<PathBuf>,
    /// Whether it gets a control group.
    pub cgroup: Cgroup,
}

impl SuperviseOptions {
    /// A command in a directory, with every option at its default.
    pub fn new(program: impl Into<PathBuf>, argv: Vec<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            argv,
            cwd: cwd.into(),
            env: Vec::new(),
            stdout: Capture::default(),
            stderr: Capture::default(),
            sign_of_life: None,
            cgroup: Cgroup::Auto,
        }
    }
}

/// A supervisor that waits for the go, or runs its command. Dropping it ends the command.
#[derive(Debug)]
pub struct Supervised {
    recorded: Recorded,
    socket: UnixStream,
    child: Option<Child>,
    go: Option<Go>,
    outputs: [Reading; 2],
}

/// An output that is being read.
struct Reading {
    collected: Arc<Mutex<Collected>>,
    ended: Receiver<()>,
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reading")
    }
}

/// How a supervised command ended.
#[derive(Debug)]
pub struct Finished {
    /// What became of it.
    pub end: End,
    /// Its standard output.
    pub stdout: Output,
    /// Its standard error.
    pub stderr: Output,
}

/// What became of a supervised command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It ended, and nothing of it runs any more.
    Ended {
        /// How.
        exit: Exit,
        /// How long it ran.
        duration: Duration,
        /// How many processes it left behind, which were ended after a second to do so themselves.
        left_behind: u32,
    },
    /// It was not started, so it had no effect; in words, why.
    NotStarted(String),
    /// Its supervisor died first. Nothing of it that can be found runs any more, and how far it came is not known: the
    /// step is in doubt.
    SupervisorLost,
}

/// Starts a supervisor, which does nothing before [`Supervised::go`]. When this returns, what it answers as
/// [`Supervised::recorded`] is to be made durable.
///
/// # Errors
/// `invalid` for an empty command or a zero byte in it, `unavailable` when the supervisor cannot be started or a
/// control group that must be cannot.
pub fn spawn(options: SuperviseOptions) -> Result<Supervised> {
    if options.argv.first().is_none_or(|program| program.is_empty()) {
        return Err(Error::invalid("no_command", "there is no command to run").hint("give it after --"));
    }
    let failed = |what: &str, error: io::Error| {
        Error::unavailable("supervisor_failed", format!("the command's supervisor {what}: {error}")).because(error)
    };
    if let Some(path) = &options.sign_of_life {
        let file = std::fs::OpenOptions::new().create(true).write(true).truncate(true).open(path);
        file.map_err(|error| failed(&format!("cannot write its sign of life {}", path.display()), error))?;
    }
    let (socket, theirs) = UnixStream::pair().map_err(|error| failed("gets no socket", error))?;
    let mut command = Command::new(&options.program);
    command.arg(SUPERVISE).arg(std::process::id().to_string());
    command.arg(if options.cgroup == Cgroup::No { "" } else { GROUP }).current_dir("/");
    command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in SECRETS {
        command.env_remove(name);
    }
    let mut child = spawner::spawn(command)
        .map_err(|error| failed(&format!("cannot be started from {}", options.program.display()), error))?;
    let outputs = [
        read(child.stdout.take(), options.stdout, Echo::Stdout),
        read(child.stderr.take(), options.stderr, Echo::Stderr),
    ];
    let mut supervised = Supervised {
        recorded: Recorded { supervisor: process::of(child.id())?, command: None, cgroup: None },
        socket,
        child: Some(child),
        go: None,
        outputs,
    };
    match supervised.expect_ready() {
        Ok((None, why)) if options.cgroup == Cgroup::Yes => {
            let message = format!("no control group can be made for the command: {why}");
            let hint = "let samite decide, or run it as a systemd user unit";
            return Err(Error::unavailable("no_cgroup", message).hint(hint));
        }
        Ok((group, _)) => supervised.recorded.cgroup = group,
        Err(error) => {
            // Whatever that program is, it does not know its part.
            supervised.child.as_mut().map(Child::kill);
            return Err(failed("did not get ready", error));
        }
    }
    let secret = |name: &OsString| SECRETS.iter().any(|secret| name == secret);
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| !secret(name)).collect();
    env.extend(options.env);
    supervised.go = Some(Go { argv: options.argv, env, cwd: options.cwd, sign_of_life: options.sign_of_life });
    Ok(supervised)
}

fn read(from: Option<impl io::Read + Send + 'static>, capture: Capture, echo: Echo) -> Reading {
    let collected = Arc::new(Mutex::new(Collected::new(capture)));
    let (sender, ended) = mpsc::channel();
    let shared = Arc::clone(&collected);
    std::thread::spawn(move || {
        if let Some(from) = from {
            collect(from, &shared, echo);
        }
        sender.send(()).ok();
    });
    Reading { collected, ended }
}

impl Supervised {
    /// What must be durable before [`Supervised::go`].
    pub const fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// Sets a variable of the command's environment, until [`Supervised::go`].
    pub fn set_variable(&mut self, name: &str, value: &str) {
        if let Some(go) = &mut self.go {
            go.env.retain(|(known, _)| known != name);
            go.env.push((name.into(), value.into()));
        }
    }

    /// Lets the supervisor start the command. A second call does nothing.
    ///
    /// # Errors
    /// `unavailable` when the supervisor is gone or the command line is too long: nothing was started then.
    pub fn go(&mut self) -> Result<()> {
        let Some(go) = self.go.take() else { return Ok(()) };
        wire::send(&self.socket, &Message::Go(go)).map_err(|error| {
            Error::unavailable("supervisor_failed", format!("the command's supervisor cannot be reached: {error}"))
                .because(error)
        })
    }

    /// Something that can ask the command to stop while [`Supervised::wait`] waits for it.
    ///
    /// # Errors
    /// `unavailable` when this process has no file descriptor left.
    pub fn stopper(&self) -> Result<Stopper> {
        self.socket.try_clone().map(Stopper).map_err(|error| {
            Error::unavailable("no_descriptor", format!("the supervisor's socket cannot be shared: {error}"))
        })
    }

    /// Waits until the command and all that descends from it have ended, however long that takes.
    ///
    /// # Errors
    /// `invalid` (`not_gone`) when [`Supervised::go`] was never called.
    pub fn wait(mut self) -> Result<Finished> {
        if self.go.is_some() {
            return Err(Error::invalid("not_gone", "the command was never let go"));
        }
        let end = loop {
            match wire::receive(&self.socket) {
                Ok(Some(Message::Ended { exit, duration, left_behind })) => {
                    break End::Ended { exit, duration, left_behind };
                }
                Ok(Some(Message::NotStarted(why))) => break End::NotStarted(why),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break End::SupervisorLost,
            }
        };
        if end == End::SupervisorLost {
            end_or_find(&self.recorded, PATIENCE)?;
        }
        self.reap();
        let [stdout, stderr] = &self.outputs;
        Ok(Finished { end, stdout: stdout.take(), stderr: stderr.take() })
    }

    /// The control group of a supervisor that is ready, or why it has none.
    fn expect_ready(&self) -> io::Result<(Option<PathBuf>, String)> {
        self.socket.set_read_timeout(Some(PATIENCE))?;
        let message = wire::receive(&self.socket)?;
        self.socket.set_read_timeout(None)?;
        match message {
            Some(Message::Ready { cgroup, no_cgroup }) => Ok((cgroup, no_cgroup)),
            _ => Err(io::Error::other("it ended")),
        }
    }

    fn reap(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.wait().ok();
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // The supervisor takes a closed socket for the death of its parent.
        self.socket.shutdown(std::net::Shutdown::Both).ok();
        self.reap();
        if let Some(group) = &self.recorded.cgroup {
            cgroup::remove(group);
        }
    }
}

impl Reading {
    fn take(&self) -> Output {
        // Everything that could write has ended; only a process that nobody could find may keep the pipe open.
        self.ended.recv_timeout(PATIENCE).ok();
        self.collected.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Asks a supervised command to stop.
#[derive(Debug)]
pub struct Stopper(UnixStream);

impl Stopper {
    /// Sends SIGTERM to everything of the command, and SIGKILL a second later to what is left. Does not wait.
    pub fn stop(&self) {
        wire::send(&self.0, &Message::Stop).ok();
    }
}
