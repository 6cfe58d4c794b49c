//! Looking at files that are not samite's: bounded in time and size, and never stuck in a fifo.

use ring::digest::{Context, SHA256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A regular file, with the SHA-256 of its content in lower-case hexadecimal digits and its length in bytes.
    File {
        /// The SHA-256.
        sha256: String,
        /// The length.
        size: u64,
    },
    /// A directory.
    Directory,
    /// Something that has no content to compare: a device, a fifo, a socket.
    Special,
}

/// Runs something that may get stuck, in a thread of its own; none when it took longer than the limit. What got stuck
/// stays behind, and sees the flag that it is given go up.
pub fn within<T: Send + 'static>(limit: Duration, what: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> Option<T> {
    let given_up = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let flag = Arc::clone(&given_up);
    std::thread::spawn(move || sender.send(what(&flag)).ok());
    let answer = receiver.recv_timeout(limit).ok();
    given_up.store(true, Ordering::Relaxed);
    answer
}

/// Watches over something that may get stuck on its own thread: once the limit has passed, `late` is called on another one,
/// and should end the process. Without another thread, nothing watches.
pub fn watch(limit: Duration, late: impl FnOnce() + Send + 'static) -> Watch {
    let shared = Arc::new((Mutex::new(Watched::Going), Condvar::new()));
    let theirs = Arc::clone(&shared);
    let watching = move || {
        let (state, changed) = &*theirs;
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let going = |state: &mut Watched| *state == Watched::Going;
        let (mut state, _) = changed.wait_timeout_while(state, limit, going).unwrap_or_else(PoisonError::into_inner);
        if *state == Watched::Going {
            *state = Watched::Late;
            drop(state);
            late();
        }
    };
    std::thread::Builder::new().name("watch".into()).spawn(watching).ok();
    Watch { shared }
}

/// Something that is watched; see [`watch`].
#[derive(Debug)]
pub struct Watch {
    shared: Arc<(Mutex<Watched>, Condvar)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Watched {
    Going,
    Done,
    Late,
}

impl Watch {
    /// It is done. Where that is too late, this does not return: `late` has the word.
    pub fn done(self) {
        let (state, changed) = &*self.shared;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state == Watched::Going {
            *state = Watched::Done;
            changed.notify_all();
            return;
        }
        drop(state);
        loop {
            std::thread::park();
        }
    }
}

/// What is at a path, following symbolic links, with the content's hash.
///
/// # Errors
/// Of kind `TimedOut` after the limit; else what the operating system answers, for anything but absence.
pub fn at(path: &Path, limit: Duration) -> io::Result<Found> {
    let path = path.to_owned();
    within(limit, move |given_up| hash(&path, given_up)).unwrap_or_else(|| {
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", limit.as_secs_f32())))
    })
}

fn hash(path: &Path, given_up: &AtomicBool) -> io::Result<Found> {
    let Some(mut file) = open_regular(path)? else {
        return Ok(match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Found::Directory,
            Ok(_) => Found::Special,
            Err(error) if is_absence(&error) => Found::Nothing,
            Err(error) => return Err(error),
        });
    };
    let (mut context, mut buffer, mut size) = (Context::new(&SHA256), vec![0; 256 << 10], 0u64);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 || given_up.load(Ordering::Relaxed) {
            break;
        }
        size += read as u64;
        context.update(buffer.get(..read).unwrap_or_default());
    }
    let digest = context.finish();
    let sha256 = digest.as_ref().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    Ok(Found::File { sha256, size })
}

/// The beginning or the end of a regular file, at most `limit` bytes, with the file's length; none when there is no
/// regular file of that name. A symbolic link as the last part of the path is not followed.
///
/// # Errors
/// What the operating system answers, for anything but absence.
pub fn part(path: &Path, limit: u64, from_end: bool) -> io::Result<Option<(Vec<u8>, u64)>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    }
    let Some(mut file) = open_regular(path)? else { return Ok(None) };
    let size = file.metadata()?.len();
    if from_end && size > limit {
        file.seek(SeekFrom::Start(size - limit))?;
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Some((bytes, size)))
}

/// A file that we may run, and what tells whether it is still the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path without symbolic links.
    pub file: PathBuf,
    /// When it was changed, in nanoseconds since 1970.
    pub modified: i64,
    /// Its length in bytes.
    pub size: u64,
    /// Its number in its file system.
    pub inode: u64,
}

/// The program that a path leads to; none when there is none that we may run.
pub fn program(path: &Path) -> Option<Program> {
    let file = path.canonicalize().ok()?;
    let metadata = std::fs::metadata(&file).ok()?;
    let runs = metadata.is_file() && metadata.permissions().mode() & 0o111 != 0;
    runs.then(|| Program {
        file,
        modified: metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()),
        size: metadata.len(),
        inode: metadata.ino(),
    })
}

fn open_regular(path: &Path) -> io::Result<Option<File>> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => std::fs::OpenOptions::new().read(true).open(path).map(Some),
        Ok(_) => Ok(None),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_mins(1);

    fn write(path: &Path, bytes: &[u8]) {
        std::io::Write::write_all(
            &mut File::options().create(true).write(true).truncate(true).open(path).unwrap(),
            bytes,
        )
        .unwrap();
    }

    #[test]
    fn each_kind_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        assert_eq!(at(&path, LIMIT).unwrap(), Found::Nothing);
        assert_eq!(at(&path.join("below"), LIMIT).unwrap(), Found::Nothing);
        write(&path, b"abc");
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(at(&path, LIMIT).unwrap(), Found::File { sha256: abc.to_owned(), size: 3 });
        assert_eq!(at(&path.join("below"), LIMIT).unwrap(), Found::Nothing);
        assert_eq!(at(dir.path(), LIMIT).unwrap(), Found::Directory);
        // A fifo that nobody writes to would hold a reader for ever.
        let fifo = dir.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert_eq!(at(&fifo, LIMIT).unwrap(), Found::Special);
        assert_eq!(part(&fifo, 9, false).unwrap(), None);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(at(&link, LIMIT).unwrap(), Found::File { size: 3, .. }));
        assert_eq!(part(&link, 9, false).unwrap(), None);
    }

    #[test]
    fn both_ends_of_a_file_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        assert_eq!(part(&path, 4, false).unwrap(), None);
        write(&path, b"0123456789");
        assert_eq!(part(&path, 4, false).unwrap(), Some((b"0123".to_vec(), 10)));
        assert_eq!(part(&path, 4, true).unwrap(), Some((b"6789".to_vec(), 10)));
        assert_eq!(part(&path, 40, true).unwrap(), Some((b"0123456789".to_vec(), 10)));
    }

    #[test]
    fn a_program_is_known_by_what_a_link_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("file");
        write(&path, b"#!/bin/sh\n");
        assert_eq!(program(&path), None, "nobody may run it");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("file", &link).unwrap();
        let found = program(&link).unwrap();
        assert_eq!((&found.file, found.size), (&path, 10));
        assert_eq!(program(&path).unwrap(), found);
        // One with the same size and time in its place is another.
        let time = std::fs::metadata(&path).unwrap().modified().unwrap();
        let other = dir.path().join("other");
        write(&other, b"#!/bin/ksh");
        std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).unwrap();
        File::options().write(true).open(&other).unwrap().set_modified(time).unwrap();
        std::process::Command::new("mv").args([&other, &path]).status().unwrap();
        let now = program(&link).unwrap();
        assert_eq!((now.size, now.modified), (found.size, found.modified));
        assert_ne!(now.inode, found.inode);
        assert_eq!(program(dir.path()), None);
        assert_eq!(program(&dir.path().join("nothing")), None);
    }

    #[test]
    fn what_is_late_is_told_and_what_is_done_is_not() {
        let (sender, receiver) = mpsc::channel();
        let late = sender.clone();
        let stuck = watch(Duration::from_millis(1), move || late.send("late").unwrap());
        assert_eq!(receiver.recv_timeout(LIMIT), Ok("late"));
        drop(stuck);
        watch(LIMIT, move || sender.send("never").unwrap()).done();
        assert!(receiver.recv_timeout(LIMIT).is_err(), "the other side is gone without a word");
    }

    #[test]
    fn what_is_stuck_is_left_behind() {
        let answer = within(Duration::from_millis(1), |given_up| {
            while !given_up.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        });
        assert_eq!(answer, None);
        assert_eq!(within(LIMIT, |_| 7), Some(7));
    }
}
