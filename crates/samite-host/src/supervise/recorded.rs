//! Finding and ending what a lost writer left running.

use super::{cgroup, sign_of_life, table, token_of};
use crate::process::{self, Identity, Liveness};
use rustix::process::Signal;
use samite_model::{Error, Result};
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is durable about a supervised command before it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The supervisor. It leads the session that the command starts in, so its pid is the session's id.
    pub supervisor: Identity,
    /// The command, when its sign of life tells (see [`Recorded::with_sign_of_life`]).
    pub command: Option<Identity>,
    /// The command's control group.
    pub cgroup: Option<PathBuf>,
}

/// Whether anything of a supervised command still runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// These processes do.
    StillRunning(Vec<Identity>),
    /// Nothing does, and nothing did when the look began.
    Ended,
    /// Nothing does any more: what still ran was ended just now, so the command was at it until now.
    EndedNow,
    /// It ran in an earlier boot of this machine, or on another machine: nothing of it runs here.
    OtherBoot,
    /// It ran in another container of this machine, or `/proc` does not answer: it cannot be seen from here.
    Unseen,
}

impl Recorded {
    /// Adds what the sign of life knows of the command.
    #[must_use]
    pub fn with_sign_of_life(mut self, path: &Path) -> Self {
        if let Ok(Some(sign)) = sign_of_life(path) {
            self.command = sign.command.or(self.command);
        }
        self
    }

    /// The bytes to store: the supervisor's identity ‖ 1 and the command's identity, or 0 ‖ the control group's path.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.supervisor.encode().to_vec();
        bytes.push(u8::from(self.command.is_some()));
        if let Some(command) = &self.command {
            bytes.extend(command.encode());
        }
        if let Some(group) = &self.cgroup {
            bytes.extend(group.as_os_str().as_bytes());
        }
        bytes
    }

    /// Reads what [`Recorded::encode`] wrote.
    ///
    /// # Errors
    /// `corrupt` when it is too short.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let short = || Error::corrupt("bad_process", "a stored supervisor is cut off");
        let (supervisor, rest) = bytes.split_at_checked(process::IDENTITY_SIZE).ok_or_else(short)?;
        let supervisor = Identity::decode(supervisor)?;
        let (with_command, rest) = rest.split_first().ok_or_else(short)?;
        let (command, rest) = if *with_command == 0 {
            (None, rest)
        } else {
            let (command, rest) = rest.split_at_checked(process::IDENTITY_SIZE).ok_or_else(short)?;
            (Some(Identity::decode(command)?), rest)
        };
        let cgroup = (!rest.is_empty()).then(|| PathBuf::from(OsString::from_vec(rest.to_vec())));
        Ok(Self { supervisor, command, cgroup })
    }
}

/// Looks what of a supervised command still runs. Found are the supervisor, the command, everything in its control
/// group, every process whose environment carries the supervisor's mark, and the descendants of all these. Without a
/// control group, a process that dropped its environment, left its parents and outlived its supervisor is not found.
///
/// # Errors
/// `unavailable` when the process table cannot be read.
pub fn find(recorded: &Recorded) -> Result<Standing> {
    match recorded.supervisor.liveness() {
        Liveness::OtherBoot => return Ok(Standing::OtherBoot),
        Liveness::Unknown => return Ok(Standing::Unseen),
        Liveness::Alive | Liveness::Gone => {}
    }
    let rows = survivors(recorded)?;
    if rows.is_empty() {
        return Ok(Standing::Ended);
    }
    let identity = |row: &table::Row| Identity { pid: row.pid, start_time: row.start_time, ..recorded.supervisor };
    Ok(Standing::StillRunning(rows.iter().map(identity).collect()))
}

/// Ends what of a supervised command still runs, and waits until it has: first by asking its supervisor, which ends all
/// that descends from it, then by SIGKILL. To be called when the writer is known to be lost; a living one would lose
/// its command. When this returns [`Standing::Ended`] or [`Standing::EndedNow`], nothing of the command runs and its
/// control group is removed; [`Standing::StillRunning`] means that `patience` ran out.
///
/// # Errors
/// `unavailable` when the process table cannot be read.
pub fn end_or_find(recorded: &Recorded, patience: Duration) -> Result<Standing> {
    const STEP: Duration = Duration::from_millis(10);
    let asking = Duration::from_secs(1).min(patience / 2);
    let mut waited = Duration::ZERO;
    loop {
        let standing = find(recorded)?;
        if !matches!(standing, Standing::StillRunning(_)) {
            if let (Standing::Ended, Some(group)) = (&standing, &recorded.cgroup) {
                cgroup::remove(group);
            }
            let had_to_end = standing == Standing::Ended && !waited.is_zero();
            return Ok(if had_to_end { Standing::EndedNow } else { standing });
        }
        if waited >= patience {
            return Ok(standing);
        }
        let supervised = recorded.supervisor.liveness() == Liveness::Alive;
        if supervised && waited < asking {
            if waited.is_zero() {
                signal(&recorded.supervisor, Signal::TERM);
            }
        } else {
            if let Some(group) = &recorded.cgroup {
                cgroup::kill(group).ok();
            }
            for row in survivors(recorded)? {
                row.signal(Signal::KILL);
            }
        }
        std::thread::sleep(STEP);
        waited += STEP;
    }
}

fn signal(to: &Identity, signal: Signal) {
    if let Some(row) = table::row(to.pid).filter(|row| row.start_time == to.start_time) {
        row.signal(signal);
    }
}

fn survivors(recorded: &Recorded) -> Result<Vec<table::Row>> {
    let rows = table::all().map_err(|error| {
        Error::unavailable("no_proc", format!("the process table cannot be read: {error}")).because(error)
    })?;
    let known: Vec<&Identity> = [Some(&recorded.supervisor), recorded.command.as_ref()].into_iter().flatten().collect();
    let group: HashSet<u32> = recorded.cgroup.iter().flat_map(|group| cgroup::members(group)).collect();
    let mark = super::mark(&recorded.supervisor);
    let mut roots: Vec<table::Row> = Vec::new();
    for row in &rows {
        let is_known = known.iter().any(|identity| (identity.pid, identity.start_time) == (row.pid, row.start_time));
        // Nothing that started before the supervisor can be of it.
        let is_later = row.start_time >= recorded.supervisor.start_time;
        if is_known || (is_later && (group.contains(&row.pid) || token_of(row.pid).as_deref() == Some(mark.as_bytes())))
        {
            roots.push(*row);
        }
    }
    let pids: Vec<u32> = roots.iter().filter(|row| !row.has_ended()).map(|row| row.pid).collect();
    roots.extend(table::descendants(&rows, &pids));
    roots.retain(|row| !row.has_ended() && row.pid != std::process::id());
    Ok(roots)
}

pub(super) fn identity_to_hex(identity: &Identity) -> String {
    identity.encode().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

pub(super) fn identity_from_hex(hex: &str) -> Option<Identity> {
    let bytes: Option<Vec<u8>> = hex
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()))
        .collect();
    Identity::decode(&bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(pid: u32) -> Identity {
        Identity { pid, start_time: 77, boot_id: [3; 16], namespace: 9 }
    }

    #[test]
    fn what_is_stored_comes_back() {
        for command in [None, Some(identity(2))] {
            for cgroup in [None, Some(PathBuf::from("/sys/fs/cgroup/samite-1-77"))] {
                let recorded = Recorded { supervisor: identity(1), command, cgroup };
                assert_eq!(Recorded::decode(&recorded.encode()).unwrap(), recorded);
            }
        }
        assert!(Recorded::decode(&[0; 36]).is_err());
        assert!(Recorded::decode(&[1; 50]).is_err());
        assert_eq!(identity_from_hex(&identity_to_hex(&identity(5))), Some(identity(5)));
        assert_eq!(identity_from_hex("0g"), None);
    }

    /// The vector of docs/formats.md with this name, as hexadecimal digits.
    fn vector(name: &str) -> String {
        let document = include_str!("../../../../docs/formats.md");
        let after = document.split(&format!("```vector {name}\n")).nth(1).unwrap();
        after.split("```").next().unwrap().chars().filter(char::is_ascii_hexdigit).collect()
    }

    #[test]
    fn the_page_has_the_bytes_of_a_process_and_of_a_supervised_command() {
        assert_eq!(identity_to_hex(&identity(1)), vector("process"));
        let cgroup = Some(PathBuf::from("/sys/fs/cgroup/s"));
        let recorded = Recorded { supervisor: identity(1), command: Some(identity(2)), cgroup };
        let hex = recorded.encode().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        assert_eq!(hex, vector("supervised"));
    }

    #[test]
    fn another_boot_and_another_container_are_told() {
        let here = process::current().unwrap();
        let recorded = |supervisor| Recorded { supervisor, command: None, cgroup: None };
        let other = recorded(Identity { boot_id: [0; 16], ..here });
        assert_eq!(end_or_find(&other, Duration::ZERO).unwrap(), Standing::OtherBoot);
        let elsewhere = recorded(Identity { namespace: 1, ..here });
        assert_eq!(end_or_find(&elsewhere, Duration::ZERO).unwrap(), Standing::Unseen);
        let ended = recorded(Identity { start_time: here.start_time + 1, ..here });
        assert_eq!(find(&ended).unwrap(), Standing::Ended);
    }
}
