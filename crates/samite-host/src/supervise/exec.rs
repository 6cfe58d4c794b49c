//! What becomes the command: it ties its life to the supervisor's, then runs the command in its place.

use super::cgroup;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// What the shell answers for a command that is not there, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const CANNOT_RUN: u8 = 126;

/// Arguments: the supervisor's pid, the control group or nothing, the command.
pub(super) fn main(arguments: &[OsString]) -> ExitCode {
    let [supervisor, group, program, rest @ ..] = arguments else {
        return fail("samite: __exec is for samite's supervisor", CANNOT_RUN);
    };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return fail(&format!("samite: cannot tie the command to its supervisor: {error}"), CANNOT_RUN);
    }
    // A supervisor that died before the line above sends no signal.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get().to_string());
    if parent.as_deref() != supervisor.to_str() {
        return ExitCode::from(CANNOT_RUN);
    }
    if !group.is_empty()
        && let Err(error) = cgroup::join(Path::new(group))
    {
        return fail(&format!("samite: cannot enter the control group {}: {error}", group.display()), CANNOT_RUN);
    }
    let error = Command::new(program).args(rest).exec();
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
    fail(&format!("samite: cannot run {}: {error}", program.display()), code)
}

fn fail(message: &str, code: u8) -> ExitCode {
    writeln!(io::stderr(), "{message}").ok();
    ExitCode::from(code)
}
