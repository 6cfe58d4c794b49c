//! Locks between processes.

use super::{PRIVATE_FILE, io_error};
use samite_model::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An exclusive lock on a file, which is made (0600) when it does not exist. It ends when this is dropped or the
/// process ends, however it ends. It excludes other processes and other `FileLock`s of this one.
///
/// The file may hold a few bytes of its own, such as the identity of what it guards.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

/// How long to wait for a lock that another process keeps: one that is stopped would keep it for ever.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Takes a file's lock, waiting for others at most so long.
pub(crate) fn lock_within(file: &File, path: &Path, patience: Duration) -> Result<()> {
    let mut waited = Duration::ZERO;
    let mut pause = Duration::from_micros(50);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(source)) => return Err(io_error("lock", path, source)),
            Err(TryLockError::WouldBlock) if waited >= patience => {
                return Err(Error::unavailable(
                    "file_locked",
                    format!(
                        "another process keeps the lock on {} for more than {} s",
                        path.display(),
                        patience.as_secs()
                    ),
                )
                .hint(format!("find it with `fuser {}`; let it go on, or end it", path.display())));
            }
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(pause);
                waited += pause;
                pause = (pause * 2).min(Duration::from_millis(20));
            }
        }
    }
}

impl FileLock {
    /// Waits for the lock, at most a minute.
    ///
    /// # Errors
    /// `not_found` when the directory is missing, `denied` or `unavailable`, naming the path; `unavailable`
    /// (`file_locked`) when another process keeps it.
    pub fn acquire(path: &Path) -> Result<Self> {
        let file = open(path)?;
        lock_within(&file, path, PATIENCE)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Takes the lock unless another has it, which is `None`.
    ///
    /// # Errors
    /// As [`FileLock::acquire`].
    pub fn try_acquire(path: &Path) -> Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file, path: path.to_owned() })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(io_error("lock", path, source)),
        }
    }

    /// The bytes in the lock's file.
    ///
    /// # Errors
    /// `unavailable`, naming the path.
    pub fn contents(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (|| {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.read_to_end(&mut bytes)
        })()
        .map_err(|source| io_error("read", &self.path, source))?;
        Ok(bytes)
    }

    /// Replaces the bytes in the lock's file, not atomically. When this returns, they are durable.
    ///
    /// # Errors
    /// `unavailable`, naming the path.
    pub fn set_contents(&mut self, bytes: &[u8]) -> Result<()> {
        (|| -> io::Result<()> {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(bytes)?;
            self.file.set_len(bytes.len().try_into().unwrap_or(0))?;
            self.file.sync_all()
        })()
        .map_err(|source| io_error("write", &self.path, source))?;
        super::sync_dir(self.path.parent().unwrap_or(Path::new(".")))
    }
}

fn open(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE_FILE)
        .open(path)
        .map_err(|source| io_error("open the lock", path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_holds_it() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("lock");
        let mut first = FileLock::acquire(&path).unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        first.set_contents(b"longer words").unwrap();
        first.set_contents(b"words").unwrap();
        drop(first);
        let mut second = FileLock::try_acquire(&path).unwrap().unwrap();
        assert_eq!(second.contents().unwrap(), b"words");
    }

    #[test]
    fn a_waiter_gets_it_when_it_is_dropped() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("lock");
        let first = FileLock::acquire(&path).unwrap();
        let waiter = std::thread::spawn({
            let path = path.clone();
            move || FileLock::acquire(&path).map(drop).is_ok()
        });
        drop(first);
        assert!(waiter.join().unwrap());
    }

    #[test]
    fn a_lock_that_another_keeps_is_waited_for_and_then_named() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("lock");
        let kept = FileLock::acquire(&path).unwrap();
        let second = open(&path).unwrap();
        let error = lock_within(&second, &path, Duration::from_millis(5)).unwrap_err();
        assert_eq!(error.code(), "file_locked");
        drop(kept);
        lock_within(&second, &path, Duration::from_millis(5)).unwrap();
    }
}
