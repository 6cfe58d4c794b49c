//! Which process: a number alone is used again, so the time of its start and the boot belong to it.

use crate::files;
use samite_model::{Error, Result};
use std::path::{Path, PathBuf};

/// The bytes of an encoded identity.
pub const IDENTITY_SIZE: usize = 36;

/// A process, told from every other one, past and future, of any machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the boot.
    pub start_time: u64,
    /// The boot of the machine.
    pub boot_id: [u8; 16],
    /// The namespace that the number counts in; another container has another one.
    pub namespace: u64,
}

/// What can be said of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It has ended (or waits as a zombie to be reaped, and does nothing any more).
    Gone,
    /// It ran before this boot or on another machine.
    OtherBoot,
    /// It cannot be seen from here: it belongs to another container, or /proc does not answer.
    Unknown,
}

/// This process.
///
/// # Errors
/// `unavailable` when /proc does not say.
pub fn current() -> Result<Identity> {
    of(std::process::id())
}

/// The process that has this number now.
///
/// # Errors
/// `not_found` (`no_process`) when there is none.
pub fn of(pid: u32) -> Result<Identity> {
    let (_, start_time) =
        stat(pid)?.ok_or_else(|| Error::not_found("no_process", format!("there is no process {pid}")))?;
    Ok(Identity { pid, start_time, boot_id: boot_id()?, namespace: namespace()? })
}

impl Identity {
    /// Whether it still runs. Only [`Liveness::Gone`] and [`Liveness::OtherBoot`] say that it does not.
    pub fn liveness(&self) -> Liveness {
        self.look().unwrap_or(Liveness::Unknown)
    }

    fn look(&self) -> Result<Liveness> {
        if self.boot_id != boot_id()? {
            return Ok(Liveness::OtherBoot);
        }
        if self.namespace != namespace()? {
            return Ok(Liveness::Unknown);
        }
        Ok(match stat(self.pid)? {
            Some((state, start)) if start == self.start_time && !matches!(state, b'Z' | b'X' | b'x') => Liveness::Alive,
            _ => Liveness::Gone,
        })
    }

    /// pid (4) ‖ start time (8) ‖ boot id (16) ‖ namespace (8), big-endian.
    pub fn encode(&self) -> [u8; IDENTITY_SIZE] {
        let mut bytes = [0; IDENTITY_SIZE];
        let (pid, rest) = bytes.split_at_mut(4);
        let (start, rest) = rest.split_at_mut(8);
        let (boot, space) = rest.split_at_mut(16);
        pid.copy_from_slice(&self.pid.to_be_bytes());
        start.copy_from_slice(&self.start_time.to_be_bytes());
        boot.copy_from_slice(&self.boot_id);
        space.copy_from_slice(&self.namespace.to_be_bytes());
        bytes
    }

    /// Reads what [`Identity::encode`] wrote.
    ///
    /// # Errors
    /// `corrupt` when the length is another one.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let parts = || {
            let (pid, rest) = bytes.split_first_chunk()?;
            let (start, rest) = rest.split_first_chunk()?;
            let (boot_id, rest) = rest.split_first_chunk()?;
            let space = rest.try_into().ok()?;
            Some(Self {
                pid: u32::from_be_bytes(*pid),
                start_time: u64::from_be_bytes(*start),
                boot_id: *boot_id,
                namespace: u64::from_be_bytes(space),
            })
        };
        parts().ok_or_else(|| {
            Error::corrupt("bad_process", format!("a stored process has {} bytes, not {IDENTITY_SIZE}", bytes.len()))
        })
    }
}

/// Shells and programs that only start another: a command that a program asks for often runs below one of them.
const STARTERS: [&[u8]; 11] =
    [b"sh", b"bash", b"dash", b"zsh", b"ksh", b"ash", b"mksh", b"busybox", b"env", b"timeout", b"setsid"];

/// How many parents are followed.
const PARENTS: usize = 16;

/// The program that had this process started: the nearest of its parents that is no shell and does not only start another.
/// None when that cannot be told, or is the first process of the machine or container.
pub fn starter() -> Option<Identity> {
    let mut pid = std::process::id();
    for _ in 0..PARENTS {
        pid = parse_parent(&files::read(&PathBuf::from(format!("/proc/{pid}/stat"))).ok()?)?;
        if pid <= 1 {
            return None;
        }
        let text = files::read(&PathBuf::from(format!("/proc/{pid}/stat"))).ok()?;
        if !parse_name(&text).is_some_and(|name| STARTERS.contains(&name)) {
            return of(pid).ok();
        }
    }
    None
}

/// The name of the command, in parentheses.
fn parse_name(text: &[u8]) -> Option<&[u8]> {
    let start = text.iter().position(|byte| *byte == b'(')?;
    let end = text.iter().rposition(|byte| *byte == b')')?;
    text.get(start + 1..end)
}

/// The number of the parent (field 4).
fn parse_parent(text: &[u8]) -> Option<u32> {
    let end = text.iter().rposition(|byte| *byte == b')')?;
    std::str::from_utf8(text.get(end + 1..)?).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// State and start time of a process, if it exists.
fn stat(pid: u32) -> Result<Option<(u8, u64)>> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    let text = match files::read(&path) {
        Ok(text) => text,
        // A process that ends while its file is read answers ESRCH.
        Err(error) if error.code() == "no_file" || !path.exists() => return Ok(None),
        Err(error) => return Err(error),
    };
    parse_stat(&text)
        .map(Some)
        .ok_or_else(|| Error::unavailable("bad_proc", format!("cannot understand {}", path.display())))
}

/// The state and the start time (field 22). The command's name, in parentheses, may itself hold spaces and
/// parentheses; after the last closing one, the fields are numbers.
fn parse_stat(text: &[u8]) -> Option<(u8, u64)> {
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    // The state is field 3; 18 fields lie between it and field 22.
    let start = fields.nth(18)?.parse().ok()?;
    Some((state, start))
}

fn boot_id() -> Result<[u8; 16]> {
    let text = files::read(Path::new("/proc/sys/kernel/random/boot_id"))?;
    parse_boot_id(&text).ok_or_else(|| Error::unavailable("bad_proc", "cannot understand the machine's boot id"))
}

fn parse_boot_id(text: &[u8]) -> Option<[u8; 16]> {
    let text = std::str::from_utf8(text).ok()?.trim().replace('-', "");
    u128::from_str_radix(&text, 16).ok().filter(|_| text.len() == 32).map(u128::to_be_bytes)
}

fn namespace() -> Result<u64> {
    let path = Path::new("/proc/self/ns/pid");
    let target = path.read_link().map_err(|source| files::io_error("read", path, source))?;
    let text = target.to_string_lossy();
    text.trim_start_matches("pid:[")
        .trim_end_matches(']')
        .parse()
        .map_err(|_| Error::unavailable("bad_proc", format!("cannot understand the process namespace {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_spaces_and_parentheses() {
        let text =
            b"42 (a) b (c) S 1 42 42 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 987654 1000 200 18446744073709551615";
        assert_eq!(parse_stat(text), Some((b'S', 987_654)));
        assert_eq!((parse_name(text), parse_parent(text)), (Some(&b"a) b (c"[..]), Some(1)));
        assert_eq!(parse_stat(b"42 (torn"), None);
        assert_eq!(parse_stat(b"42 (torn) S 1 2"), None);
    }

    #[test]
    fn a_boot_id_has_sixteen_bytes() {
        let id = parse_boot_id(b"00112233-4455-6677-8899-aabbccddeeff\n").unwrap();
        assert_eq!((id[0], id[1], id[15]), (0x00, 0x11, 0xff));
        assert_eq!(parse_boot_id(b"001122"), None);
    }

    #[test]
    fn this_process_lives_and_another_start_does_not() {
        let me = current().unwrap();
        assert_eq!(me.liveness(), Liveness::Alive);
        assert_eq!(Identity::decode(&me.encode()).unwrap(), me);
        assert!(Identity::decode(&me.encode()[1..]).is_err());
        let earlier = Identity { start_time: me.start_time + 1, ..me };
        assert_eq!(earlier.liveness(), Liveness::Gone);
        let elsewhere = Identity { namespace: 1, ..me };
        assert_eq!(elsewhere.liveness(), Liveness::Unknown);
        let before = Identity { boot_id: [0; 16], ..me };
        assert_eq!(before.liveness(), Liveness::OtherBoot);
    }

    #[test]
    fn the_starter_is_a_living_process_that_is_no_shell() {
        // Whoever runs the tests; in a container that may be its first process, and then there is none to tell.
        if let Some(starter) = starter() {
            assert_eq!(starter.liveness(), Liveness::Alive);
            assert_ne!(starter.pid, std::process::id());
        }
    }

    #[test]
    fn an_ended_process_is_gone_even_before_it_is_reaped() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let identity = of(child.id()).unwrap();
        assert_eq!(identity.liveness(), Liveness::Alive);
        child.kill().unwrap();
        while identity.liveness() == Liveness::Alive {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(identity.liveness(), Liveness::Gone);
        assert_eq!(of(child.id()).unwrap_err().code(), "no_process");
    }
}
