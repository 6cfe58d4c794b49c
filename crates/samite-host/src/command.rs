//! A command that is run to its end, within bounds.

use samite_model::{Error, Result};
use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// What to run and how much to put up with.
#[derive(Debug)]
pub struct BoundedCommand<'a> {
    /// The program, found as a shell would.
    pub program: &'a OsString,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// What it gets to read.
    pub input: &'a [u8],
    /// More output than this, in bytes, is an error.
    pub output_limit: usize,
    /// It is killed after this time.
    pub time_limit: Duration,
}

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The exit status; `None` after a signal.
    pub status: Option<i32>,
    /// What it wrote to its standard output.
    pub output: Vec<u8>,
    /// The first 4096 bytes of what it wrote to its standard error.
    pub errors: Vec<u8>,
}

/// Runs a command and waits for its end.
///
/// # Errors
/// `unavailable`: `command_failed` when it cannot be started, `command_timeout` when it was killed for taking too
/// long, `command_output` when it wrote too much.
pub fn run(command: &BoundedCommand<'_>) -> Result<CommandOutcome> {
    let name = command.program.to_string_lossy().into_owned();
    let mut child = Command::new(command.program)
        .args(command.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| {
            Error::unavailable("command_failed", format!("cannot run {name}: {source}")).because(source)
        })?;
    let input = child.stdin.take().map(|mut pipe| {
        let bytes = zeroize_on_drop(command.input);
        // A command that does not read its input is no error.
        std::thread::spawn(move || pipe.write_all(&bytes).ok())
    });
    let (output_limit, errors_limit) = (command.output_limit, 4096);
    let output = child.stdout.take().map(|pipe| collect(pipe, output_limit));
    let errors = child.stderr.take().map(|pipe| collect(pipe, errors_limit));
    let timeout = || {
        let seconds = command.time_limit.as_secs();
        Error::unavailable("command_timeout", format!("{name} did not end within {seconds} s"))
    };
    let ended = |what: Option<mpsc::Receiver<Vec<u8>>>| match what {
        Some(receiver) => receiver.recv_timeout(command.time_limit).ok(),
        None => Some(Vec::new()),
    };
    let Some(output) = ended(output) else {
        // Killing it closes its ends of the pipes; whoever inherited them does not keep us.
        let _ = child.kill();
        let _ = child.wait();
        return Err(timeout());
    };
    if output.len() > output_limit {
        let _ = child.kill();
        let _ = child.wait();
        return Err(Error::unavailable("command_output", format!("{name} wrote more than {output_limit} bytes")));
    }
    let errors = ended(errors).unwrap_or_default();
    let status = wait(&mut child, command.time_limit)
        .map_err(|source| Error::unavailable("command_failed", format!("lost {name}: {source}")).because(source))?;
    let Some(status) = status else { return Err(timeout()) };
    if let Some(input) = input {
        let _ = input.join();
    }
    Ok(CommandOutcome { status: status.code(), output, errors })
}

/// Waits for a process that has closed its output, which it may do long before it ends; `None` when it was killed.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    const PAUSE: Duration = Duration::from_millis(2);
    let mut waited = Duration::ZERO;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if waited >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
}

fn zeroize_on_drop(bytes: &[u8]) -> zeroize::Zeroizing<Vec<u8>> {
    zeroize::Zeroizing::new(bytes.to_vec())
}

/// Reads to the end, or to one byte beyond the limit, in a thread of its own.
fn collect(pipe: impl Read + Send + 'static, limit: usize) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut pipe = pipe;
        let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let _ = pipe.by_ref().take(bound).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, input: &[u8], milliseconds: u64) -> Result<CommandOutcome> {
        run(&BoundedCommand {
            program: &OsString::from("sh"),
            arguments: &[OsString::from("-c"), OsString::from(script)],
            input,
            output_limit: 100,
            time_limit: Duration::from_millis(milliseconds),
        })
    }

    #[test]
    fn input_output_and_status_are_carried() {
        let outcome = shell("cat; echo oops >&2; exit 3", b"words", 60_000).unwrap();
        assert_eq!(outcome, CommandOutcome { status: Some(3), output: b"words".to_vec(), errors: b"oops\n".to_vec() });
        assert_eq!(shell("exit 0", &vec![7; 1 << 20], 60_000).unwrap().status, Some(0));
    }

    #[test]
    fn bounds_hold() {
        assert_eq!(shell("exec sleep 600", b"", 50).unwrap_err().code(), "command_timeout");
        let closed = shell("exec >&- 2>&-; exec sleep 600", b"", 50);
        assert_eq!(closed.unwrap_err().code(), "command_timeout");
        assert_eq!(shell("yes", b"", 60_000).unwrap_err().code(), "command_output");
        let missing = run(&BoundedCommand {
            program: &OsString::from("/nonexistent/program"),
            arguments: &[],
            input: b"",
            output_limit: 1,
            time_limit: Duration::from_secs(1),
        });
        assert_eq!(missing.unwrap_err().code(), "command_failed");
    }
}
