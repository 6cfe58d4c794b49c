//! A small file that several processes append to, and one of them rewrites now and then. It is never synced.

use crate::files::{PATIENCE, PRIVATE_FILE, io_error, lock_within};
use samite_model::Result;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A file of appended records. What is appended survives the process, not necessarily the machine.
#[derive(Debug)]
pub struct SharedLog {
    path: PathBuf,
    file: File,
}

/// A [`SharedLog`] that no other process appends to, or rewrites, meanwhile.
#[derive(Debug)]
pub struct LockedLog<'log> {
    log: &'log mut SharedLog,
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(PRIVATE_FILE).open(path)
}

impl SharedLog {
    /// Opens the file, or makes it, readable by its user alone.
    ///
    /// # Errors
    /// As [`crate::files`]: `unavailable` (`read_only`, `disk_full`) or `denied` where it cannot be written.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let file = open(&path).map_err(|error| io_error("open", &path, error))?;
        Ok(Self { path, file })
    }

    /// Appends all or nothing. When this returns, other processes see the bytes; a machine that loses power may not.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.hold()?;
        let written = self.file.metadata().and_then(|before| {
            self.file.write_all(bytes).inspect_err(|_| {
                // A part of a record would be in the way of the next; that it cannot be taken back is no new failure.
                let _ = self.file.set_len(before.len());
            })
        });
        self.release();
        written.map_err(|error| io_error("append to", &self.path, error))
    }

    /// Locks the file against other processes until the value is dropped; waits for those that hold it.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be locked.
    pub fn lock(&mut self) -> Result<LockedLog<'_>> {
        self.hold()?;
        Ok(LockedLog { log: self })
    }

    /// Locks the file that the path names now: a rewrite puts another in its place.
    fn hold(&mut self) -> Result<()> {
        loop {
            lock_within(&self.file, &self.path, PATIENCE)?;
            let ours = self.file.metadata().map_err(|error| io_error("look at", &self.path, error))?;
            match std::fs::metadata(&self.path) {
                Ok(named) if named.ino() == ours.ino() && named.dev() == ours.dev() => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(io_error("look at", &self.path, error)),
            }
            self.file = open(&self.path).map_err(|error| io_error("open", &self.path, error))?;
        }
    }

    fn release(&self) {
        // An unlock of a lock that is held does not fail; closing the file would end it too.
        let _ = self.file.unlock();
    }
}

impl LockedLog<'_> {
    /// All bytes of the file.
    ///
    /// # Errors
    /// `unavailable` when it cannot be read.
    pub fn read(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = &mut self.log.file;
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
        read.map_err(|error| io_error("read", &self.log.path, error))?;
        Ok(bytes)
    }

    /// Puts a file with these bytes in its place: another process sees the old bytes or the new ones, never a part.
    ///
    /// # Errors
    /// `unavailable` when it cannot be written; the old bytes are then still there.
    #[expect(clippy::disallowed_methods, reason = "this is the file that the others take")]
    pub fn replace(self, bytes: &[u8]) -> Result<()> {
        let mut name = self.log.path.clone().into_os_string();
        name.push(".new");
        let new = PathBuf::from(name);
        let written = OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE_FILE).open(&new);
        let written = written.and_then(|mut file| file.write_all(bytes));
        written.map_err(|error| io_error("write", &new, error))?;
        crate::kill_point("shared_log.before_rename");
        std::fs::rename(&new, &self.log.path).map_err(|error| io_error("replace", &self.log.path, error))
    }
}

impl Drop for LockedLog<'_> {
    fn drop(&mut self) {
        self.log.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{read, remove};

    #[test]
    fn a_rewrite_is_seen_by_whoever_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (mut one, mut other) = (SharedLog::open(&path).unwrap(), SharedLog::open(&path).unwrap());
        one.append(b"a").unwrap();
        other.append(b"b").unwrap();
        let mut locked = one.lock().unwrap();
        assert_eq!(locked.read().unwrap(), b"ab");
        locked.replace(b"c").unwrap();
        other.append(b"d").unwrap();
        one.append(b"e").unwrap();
        assert_eq!(read(&path).unwrap(), b"cde");
    }

    #[test]
    fn a_file_that_was_removed_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = SharedLog::open(&path).unwrap();
        remove(&path).unwrap();
        log.append(b"a").unwrap();
        assert_eq!(read(&path).unwrap(), b"a");
    }
}
