//! The sign of life: a file whose modification time says when a command was last seen running. Never synced: it is
//! about the death of processes, not of the machine.

use super::Exit;
use super::recorded::{identity_from_hex, identity_to_hex};
use crate::process::Identity;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

/// How often a running command's sign of life is renewed.
pub const SIGN_OF_LIFE_EVERY: Duration = Duration::from_millis(500);

/// What a sign of life tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignOfLife {
    /// When it was last renewed, in nanoseconds since 1970 by the file system's clock.
    pub renewed: i64,
    /// The command, once it was started.
    pub command: Option<Identity>,
    /// How it ended and how long it ran, when its supervisor lived to see it. This is evidence, and no record: nobody
    /// synced it.
    pub ended: Option<(Exit, Duration)>,
}

/// Reads a sign of life; none when there is no such file.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn sign_of_life(path: &Path) -> io::Result<Option<SignOfLife>> {
    let file = match OpenOptions::new().read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let status = rustix::fs::fstat(&file)?;
    let renewed =
        status.st_mtime.saturating_mul(1_000_000_000).saturating_add(i64::try_from(status.st_mtime_nsec).unwrap_or(0));
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text)?;
    let mut found = SignOfLife { renewed, ..SignOfLife::default() };
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["command", identity] => found.command = identity_from_hex(identity),
            ["ended", kind, value, nanoseconds] => {
                if let (Ok(value), Ok(nanoseconds)) = (value.parse(), nanoseconds.parse()) {
                    let exit = if *kind == "signal" { Exit::Signal(value) } else { Exit::Code(value) };
                    found.ended = Some((exit, Duration::from_nanos(nanoseconds)));
                }
            }
            _ => {}
        }
    }
    Ok(Some(found))
}

/// The side that renews it. A sign that cannot be given (a full disk) must not end the command, so nothing here fails.
pub(super) struct Signing(Option<File>);

impl Signing {
    /// Opens the file, which the parent has made.
    pub(super) fn open(path: Option<&Path>) -> Self {
        Self(path.and_then(|path| OpenOptions::new().append(true).create(true).open(path).ok()))
    }

    /// Renews it.
    pub(super) fn renew(&self) {
        if let Some(file) = &self.0 {
            let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
            let unchanged = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
            futimens(file, &Timestamps { last_access: unchanged, last_modification: now }).ok();
        }
    }

    /// Notes which process the command is.
    pub(super) fn started(&mut self, command: &Identity) {
        self.line(&format!("command {}\n", identity_to_hex(command)));
    }

    /// Notes how it ended.
    pub(super) fn ended(&mut self, exit: Exit, duration: Duration) {
        let (kind, value) = match exit {
            Exit::Code(code) => ("code", code),
            Exit::Signal(signal) => ("signal", signal),
        };
        self.line(&format!("ended {kind} {value} {}\n", duration.as_nanos()));
    }

    fn line(&mut self, line: &str) {
        if let Some(file) = &mut self.0 {
            file.write_all(line.as_bytes()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_lines_of_a_sign_of_life() {
        let document = include_str!("../../../../docs/formats.md");
        let page = document.split("```life\n").nth(1).unwrap().split("```").next().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let command = Identity { pid: 1, start_time: 77, boot_id: [3; 16], namespace: 9 };
        let mut signing = Signing::open(Some(file.path()));
        signing.started(&command);
        signing.ended(Exit::Code(3), Duration::from_millis(1500));
        assert_eq!(crate::files::read(file.path()).unwrap(), page.as_bytes());
        let sign = sign_of_life(file.path()).unwrap().unwrap();
        assert_eq!(sign.command, Some(command));
        assert_eq!(sign.ended, Some((Exit::Code(3), Duration::from_millis(1500))));
    }
}
