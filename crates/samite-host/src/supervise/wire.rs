//! What parent and supervisor say to each other over their socket.

use super::Exit;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

/// A command line and its environment are limited by the kernel to a fraction of this.
const LONGEST: usize = 64 << 20;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Supervisor: it is in its own session and reaps its descendants.
    Ready {
        /// The control group that it made.
        cgroup: Option<PathBuf>,
        /// Why it made none although it was to, in words.
        no_cgroup: String,
    },
    /// Parent: its identity is durable; start the command.
    Go(Go),
    /// Supervisor: the command could not be started.
    NotStarted(String),
    /// Supervisor: everything has ended.
    Ended {
        /// How the command ended.
        exit: Exit,
        /// How long it ran.
        duration: Duration,
        /// How many processes it had left behind, which were ended.
        left_behind: u32,
    },
    /// Parent: end the command.
    Stop,
}

/// What to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Go {
    pub(super) argv: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: PathBuf,
    pub(super) sign_of_life: Option<PathBuf>,
}

const READY: u8 = 1;
const GO: u8 = 2;
const NOT_STARTED: u8 = 3;
const ENDED: u8 = 4;
const STOP: u8 = 5;

/// Sends a message.
pub(super) fn send(mut to: impl Write, message: &Message) -> io::Result<()> {
    let path =
        |path: &Option<PathBuf>| path.as_ref().map(|path| path.as_os_str().as_bytes().to_vec()).unwrap_or_default();
    let (tag, fields): (u8, Vec<Vec<u8>>) = match message {
        Message::Ready { cgroup, no_cgroup } => (READY, vec![path(cgroup), no_cgroup.clone().into_bytes()]),
        Message::Stop => (STOP, vec![]),
        Message::NotStarted(why) => (NOT_STARTED, vec![why.clone().into_bytes()]),
        Message::Ended { exit, duration, left_behind } => {
            let (kind, value) = match exit {
                Exit::Code(code) => (0, *code),
                Exit::Signal(signal) => (1, *signal),
            };
            let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            let fields = [i64::from(kind), i64::from(value), nanoseconds.cast_signed(), i64::from(*left_behind)];
            (ENDED, fields.iter().map(|field| field.to_le_bytes().to_vec()).collect())
        }
        Message::Go(go) => {
            let mut fields = vec![
                go.cwd.as_os_str().as_bytes().to_vec(),
                path(&go.sign_of_life),
                (go.argv.len() as u64).to_le_bytes().to_vec(),
            ];
            fields.extend(go.argv.iter().map(|argument| argument.as_bytes().to_vec()));
            for (name, value) in &go.env {
                fields.push(name.as_bytes().to_vec());
                fields.push(value.as_bytes().to_vec());
            }
            (GO, fields)
        }
    };
    let mut body = Vec::new();
    for field in fields {
        body.extend(length(field.len())?);
        body.extend(field);
    }
    if body.len() > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "command line and environment are too long"));
    }
    let mut frame = vec![tag];
    frame.extend(length(body.len())?);
    frame.extend(body);
    to.write_all(&frame)?;
    to.flush()
}

/// Receives a message; none when the other side is gone.
pub(super) fn receive(mut from: impl Read) -> io::Result<Option<Message>> {
    let mut head = [0; 5];
    match from.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let [tag, a, b, c, d] = head;
    let size = u32::from_le_bytes([a, b, c, d]) as usize;
    if size > LONGEST {
        return Err(garbled());
    }
    let mut body = vec![0; size];
    from.read_exact(&mut body)?;
    let mut fields = Vec::new();
    let mut rest = body.as_slice();
    while let Some((size, after)) = rest.split_first_chunk::<4>() {
        let (field, after) = after.split_at_checked(u32::from_le_bytes(*size) as usize).ok_or_else(garbled)?;
        fields.push(field.to_vec());
        rest = after;
    }
    parse(tag, fields).ok_or_else(garbled).map(Some)
}

fn parse(tag: u8, fields: Vec<Vec<u8>>) -> Option<Message> {
    let mut fields = fields.into_iter();
    let some = |path: PathBuf| (!path.as_os_str().is_empty()).then_some(path);
    Some(match tag {
        READY => Message::Ready {
            cgroup: some(OsString::from_vec(fields.next()?).into()),
            no_cgroup: String::from_utf8_lossy(&fields.next()?).into_owned(),
        },
        STOP => Message::Stop,
        NOT_STARTED => Message::NotStarted(String::from_utf8_lossy(&fields.next()?).into_owned()),
        ENDED => {
            let mut number = || Some(i64::from_le_bytes(fields.next()?.try_into().ok()?));
            let (kind, value) = (number()?, i32::try_from(number()?).ok()?);
            let duration = Duration::from_nanos(number()?.cast_unsigned());
            let left_behind = u32::try_from(number()?).ok()?;
            let exit = if kind == 0 { Exit::Code(value) } else { Exit::Signal(value) };
            Message::Ended { exit, duration, left_behind }
        }
        GO => {
            let mut path = || Some(PathBuf::from(OsString::from_vec(fields.next()?)));
            let (cwd, sign_of_life) = (path()?, path()?);
            let count = usize::try_from(u64::from_le_bytes(fields.next()?.try_into().ok()?)).ok()?;
            let argv: Vec<OsString> = fields.by_ref().take(count).map(OsString::from_vec).collect();
            let mut env = Vec::new();
            while let Some(name) = fields.next() {
                env.push((OsString::from_vec(name), OsString::from_vec(fields.next()?)));
            }
            Message::Go(Go { argv, env, cwd, sign_of_life: some(sign_of_life) })
        }
        _ => return None,
    })
}

fn length(size: usize) -> io::Result<[u8; 4]> {
    u32::try_from(size).map(u32::to_le_bytes).map_err(|_| garbled())
}

fn garbled() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the message between samite and its supervisor is garbled")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(message: &Message) {
        let mut bytes = Vec::new();
        send(&mut bytes, message).unwrap();
        assert_eq!(receive(bytes.as_slice()).unwrap().as_ref(), Some(message));
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        for cgroup in [None, Some(PathBuf::from("/sys/fs/cgroup/samite-1-2"))] {
            round_trip(&Message::Ready { cgroup, no_cgroup: "not ours".to_owned() });
        }
        round_trip(&Message::Stop);
        round_trip(&Message::NotStarted("no such directory".to_owned()));
        for exit in [Exit::Code(0), Exit::Code(255), Exit::Signal(9)] {
            round_trip(&Message::Ended { exit, duration: Duration::from_nanos(123_456_789), left_behind: 3 });
        }
        assert_eq!(receive([].as_slice()).unwrap(), None);
    }

    proptest! {
        #[test]
        fn any_command_arrives(
            argv in proptest::collection::vec(proptest::collection::vec(1u8.., 0..9), 1..5),
            env in proptest::collection::vec((proptest::collection::vec(1u8.., 1..9), proptest::collection::vec(1u8.., 0..9)), 0..5),
            life in proptest::option::of("/[a-z]{1,9}"),
        ) {
            round_trip(&Message::Go(Go {
                argv: argv.into_iter().map(OsString::from_vec).collect(),
                env: env.into_iter().map(|(a, b)| (OsString::from_vec(a), OsString::from_vec(b))).collect(),
                cwd: "/work".into(),
                sign_of_life: life.map(PathBuf::from),
            }));
        }

        #[test]
        fn garbage_is_an_error_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            drop(receive(bytes.as_slice()));
        }
    }
}
