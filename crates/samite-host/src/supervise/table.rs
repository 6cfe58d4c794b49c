//! The processes of this machine, as `/proc` shows them.

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) start_time: u64,
    state: u8,
}

impl Row {
    /// Whether it has ended, though its parent has not asked for its status.
    pub(crate) const fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Sends a signal to this very process, and to no later one with its pid.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return };
        match pidfd_open(pid, PidfdFlags::empty()) {
            // The descriptor pins the process; only then is it certain whose start time is read.
            Ok(descriptor) => {
                if row(self.pid).is_some_and(|now| now.start_time == self.start_time) {
                    pidfd_send_signal(&descriptor, signal).ok();
                }
            }
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
                if row(self.pid).is_some_and(|now| now.start_time == self.start_time) {
                    kill_process(pid, signal).ok();
                }
            }
            Err(_) => {}
        }
    }
}

/// Reads a file of `/proc` or of a cgroup.
pub(crate) fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::OpenOptions::new().read(true).open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The process with this pid.
pub(crate) fn row(pid: u32) -> Option<Row> {
    parse(&read(&format!("/proc/{pid}/stat")).ok()?)
}

/// Every process that can be seen. A process that forks and exits while the table is read shows neither itself nor its
/// child, so the list is read again until it brings nobody new, or that has happened often enough: on a busy machine
/// somebody always is.
///
/// # Errors
/// When `/proc` cannot be listed.
pub(crate) fn all() -> io::Result<Vec<Row>> {
    const ROUNDS: usize = 8;
    let (mut rows, mut seen) = (Vec::new(), HashSet::new());
    for _ in 0..ROUNDS {
        let before = seen.len();
        for entry in std::fs::read_dir("/proc")? {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if seen.insert(pid) {
                rows.extend(row(pid));
            }
        }
        if seen.len() == before {
            break;
        }
    }
    Ok(rows)
}

/// The processes among `rows` that descend from one of `roots`, without these.
pub(crate) fn descendants(rows: &[Row], roots: &[u32]) -> Vec<Row> {
    let mut children: HashMap<u32, Vec<Row>> = HashMap::new();
    for row in rows {
        children.entry(row.parent).or_default().push(*row);
    }
    let (mut found, mut seen, mut waiting) = (Vec::new(), HashSet::new(), roots.to_vec());
    seen.extend(roots.iter().copied());
    while let Some(parent) = waiting.pop() {
        for row in children.get(&parent).into_iter().flatten() {
            if seen.insert(row.pid) {
                found.push(*row);
                waiting.push(row.pid);
            }
        }
    }
    found
}

/// A line of `/proc/PID/stat`: `pid (name) state parent group session …`; the name may hold blanks and brackets.
fn parse(stat: &[u8]) -> Option<Row> {
    let text = String::from_utf8_lossy(stat);
    let pid = text.split(' ').next()?.parse().ok()?;
    let (_, after) = text.rsplit_once(')')?;
    let mut fields = after.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    // The start time is the 22nd field of the line, so the 18th after the parent.
    let start_time = fields.nth(17)?.parse().ok()?;
    Some(Row { pid, parent, start_time, state })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_brackets_is_no_trap() {
        let line = b"42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 10 18446744073709551615\n";
        assert_eq!(parse(line), Some(Row { pid: 42, parent: 7, start_time: 98765, state: b'S' }));
        assert_eq!(parse(b"42 (half"), None);
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_cycles_end() {
        let row = |pid, parent| Row { pid, parent, start_time: 1, state: b'S' };
        let rows = [row(1, 0), row(2, 1), row(3, 2), row(4, 3), row(5, 1), row(6, 7), row(7, 6)];
        let mut pids: Vec<u32> = descendants(&rows, &[2]).iter().map(|row| row.pid).collect();
        pids.sort_unstable();
        assert_eq!(pids, [3, 4]);
        assert_eq!(descendants(&rows, &[6]).len(), 1);
        assert!(descendants(&rows, &[4]).is_empty());
    }
}
