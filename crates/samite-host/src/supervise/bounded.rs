//! A small command that is asked something: bounded in time and output, and gone afterwards with all its group.

use super::monotonic;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// What to ask, and the bounds.
#[derive(Clone, Copy, Debug)]
pub struct Bounded<'a> {
    /// Program and arguments.
    pub argv: &'a [OsString],
    /// Where it runs; none means here.
    pub cwd: Option<&'a Path>,
    /// Variables added to this process's environment.
    pub env: &'a [(&'a str, &'a OsStr)],
    /// Variables of this process's environment that it does not get, beside those that hold the master key.
    pub without: &'a [&'a str],
    /// How many bytes of each output are kept; the rest is read and dropped.
    pub output_limit: usize,
    /// After this time it is killed, with its process group.
    pub time_limit: Duration,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedOutcome {
    /// Its exit status; none when a signal ended it, or the time limit did.
    pub status: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
}

/// Runs a command with an empty input and waits for its end, or for the end of its time.
///
/// # Errors
/// When it cannot be started.
pub fn run_bounded(bounded: &Bounded<'_>) -> io::Result<BoundedOutcome> {
    let (program, arguments) =
        bounded.argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command"))?;
    let mut command = Command::new(program);
    command.args(arguments).envs(bounded.env.iter().copied()).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in bounded.without.iter().chain(&super::SECRETS) {
        command.env_remove(name);
    }
    if let Some(cwd) = bounded.cwd {
        command.current_dir(cwd);
    }
    let mut child = command.spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let deadline = monotonic() + bounded.time_limit;
    let (sender, outputs) = mpsc::channel();
    let readers = [child.stdout.take().map(Either::Out), child.stderr.take().map(Either::Err)];
    for reader in readers.into_iter().flatten() {
        let (sender, limit) = (sender.clone(), bounded.output_limit);
        std::thread::spawn(move || sender.send(reader.read(limit)).ok());
    }
    drop(sender);
    let mut outcome = BoundedOutcome { status: None, timed_out: false, stdout: Vec::new(), stderr: Vec::new() };
    let kill = || {
        if let Some(group) = group {
            kill_process_group(group, Signal::KILL).ok();
        }
    };
    // The outputs usually end with the command, but a command may close them, or leave somebody behind who does not.
    loop {
        let left = deadline.saturating_duration_since(monotonic());
        match outputs.recv_timeout(left) {
            Ok((true, bytes)) => outcome.stdout = bytes,
            Ok((false, bytes)) => outcome.stderr = bytes,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                outcome.timed_out = true;
                kill();
                break;
            }
        }
    }
    while !outcome.timed_out {
        if let Some(status) = child.try_wait()? {
            outcome.status = status.code();
            break;
        }
        if monotonic() >= deadline {
            outcome.timed_out = true;
            kill();
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    if outcome.timed_out {
        child.wait()?;
    }
    Ok(outcome)
}

enum Either {
    Out(std::process::ChildStdout),
    Err(std::process::ChildStderr),
}

impl Either {
    /// Reads to the end and keeps the beginning.
    fn read(self, limit: usize) -> (bool, Vec<u8>) {
        match self {
            Self::Out(pipe) => (true, keep(pipe, limit)),
            Self::Err(pipe) => (false, keep(pipe, limit)),
        }
    }
}

fn keep(mut pipe: impl Read, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    pipe.by_ref().take(limit as u64).read_to_end(&mut bytes).ok();
    io::copy(&mut pipe, &mut io::sink()).ok();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, milliseconds: u64) -> BoundedOutcome {
        let argv: Vec<OsString> = ["sh", "-c", script].iter().map(OsString::from).collect();
        run_bounded(&Bounded {
            argv: &argv,
            cwd: Some(Path::new("/")),
            env: &[("ASKED", OsStr::new("yes")), ("REMOVED", OsStr::new("no"))],
            without: &["REMOVED"],
            output_limit: 100,
            time_limit: Duration::from_millis(milliseconds),
        })
        .unwrap()
    }

    #[test]
    fn status_outputs_directory_and_environment() {
        let outcome = shell("pwd; echo $ASKED$REMOVED >&2; exit 3", 60_000);
        assert_eq!((outcome.status, outcome.timed_out), (Some(3), false));
        assert_eq!((outcome.stdout.as_slice(), outcome.stderr.as_slice()), (&b"/\n"[..], &b"yes\n"[..]));
    }

    #[test]
    fn a_flood_is_cut_and_does_not_block() {
        let outcome = shell("head -c 10000000 /dev/zero; exit 4", 60_000);
        assert_eq!((outcome.status, outcome.stdout.len()), (Some(4), 100));
    }

    #[test]
    fn time_ends_whatever_it_does_with_its_outputs() {
        for script in ["sleep 600", "exec >&- 2>&-; sleep 600", "sleep 600 & sleep 600"] {
            let outcome = shell(script, 50);
            assert!(outcome.timed_out, "{script}");
            assert_eq!(outcome.status, None);
        }
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let argv = [OsString::from("/nonexistent/program")];
        let bounded = Bounded {
            argv: &argv,
            cwd: None,
            env: &[],
            without: &[],
            output_limit: 1,
            time_limit: Duration::from_secs(1),
        };
        assert_eq!(run_bounded(&bounded).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
