//! Running a command so that it cannot outlive whoever answers for it.
//!
//! A small supervisor stands between samite and the command. It leads a session of its own, adopts every orphan among
//! its descendants, and dies with its parent; it starts the command only after the parent has made its identity
//! durable, so a parent that dies before has done nothing. When the parent dies, however hard, the supervisor ends
//! everything that descends from it: through a control group where the machine lets us have one, else by walking the
//! process table until nobody is left. When the supervisor itself is killed, the command gets SIGKILL from the kernel,
//! and [`end_or_find`] finds the rest.
//!
//! There is no unsafe code: the supervisor, and what becomes the command, are this same program started again with a
//! hidden first argument, which [`dispatch`] answers.

mod bounded;
mod capture;
mod cgroup;
mod exec;
mod life;
mod parent;
mod recorded;
mod spawner;
mod supervisor;
mod table;
mod wire;

pub use bounded::{Bounded, BoundedOutcome, Overflow, run_bounded};
pub use capture::{Capture, KEEP, Output};
pub use cgroup::Cgroup;
pub use life::{SIGN_OF_LIFE_EVERY, SignOfLife, sign_of_life};
pub use parent::{End, Finished, Stopper, SuperviseOptions, Supervised, spawn};
pub use recorded::{Recorded, Standing, end_or_find, find};

use crate::process::Identity;
use std::process::ExitCode;
use std::time::Instant;

/// The hidden first argument of a supervisor.
const SUPERVISE: &str = "__supervise";
/// A supervisor's argument when it is to make a control group.
const GROUP: &str = "cgroup";
/// The hidden first argument of what becomes the command.
const EXEC: &str = "__exec";
/// The variable that marks everything a supervisor started.
const MARK: &str = "SAMITE_SUPERVISOR";

/// Variables that hold the master key, or tell how to get it. Nothing that this process starts needs them: with the key,
/// a command could read all that is kept.
const SECRETS: [&str; 2] = ["SAMITE_MASTER_KEY", "SAMITE_MASTER_COMMAND"];

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// With this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Runs this process as a supervisor or as what becomes a command, when its first argument says so. A program that
/// supervises calls this before anything else in `main`, while it has one thread, and returns the status it gets.
pub fn dispatch() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let role = arguments.next()?;
    let rest: Vec<_> = arguments.collect();
    if role == SUPERVISE {
        Some(supervisor::main(&rest))
    } else if role == EXEC {
        Some(exec::main(&rest))
    } else {
        None
    }
}

/// What a supervisor puts into the environment of what it starts.
fn mark_value(supervisor: &Identity) -> String {
    recorded::identity_to_hex(supervisor)
}

/// The variable as it stands in an environment.
fn mark(supervisor: &Identity) -> String {
    format!("{MARK}={}", mark_value(supervisor))
}

/// The mark in the environment of a process, when it has one and we may look.
fn token_of(pid: u32) -> Option<Vec<u8>> {
    let environment = table::read(&format!("/proc/{pid}/environ")).ok()?;
    let starts = format!("{MARK}=");
    environment.split(|byte| *byte == 0).find(|variable| variable.starts_with(starts.as_bytes())).map(<[u8]>::to_vec)
}

#[expect(clippy::disallowed_methods, reason = "how long a command ran, and when to look again; never stored as a time")]
fn monotonic() -> Instant {
    Instant::now()
}
