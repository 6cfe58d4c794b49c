//! Files that only grow.

use super::{PRIVATE_FILE, io_error};
use samite_model::Result;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A file that is written at its end.
#[derive(Debug)]
pub struct AppendFile {
    file: File,
    path: PathBuf,
    length: u64,
}

impl AppendFile {
    /// Makes a new file (0600). Its name is durable when this returns.
    ///
    /// # Errors
    /// `conflict` (`file_exists`), `not_found` when the directory is missing, `denied` or `unavailable`.
    pub fn create(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(PRIVATE_FILE)
            .open(path)
            .map_err(|source| io_error("make", path, source))?;
        super::sync_dir(path.parent().unwrap_or(Path::new(".")))?;
        Ok(Self { file, path: path.to_owned(), length: 0 })
    }

    /// Opens a file that exists, to go on at its end.
    ///
    /// # Errors
    /// `not_found`, `denied` or `unavailable`, naming the path.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |source| io_error("open", path, source);
        let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Ok(Self { file, path: path.to_owned(), length })
    }

    /// Writes at the end and returns where the bytes begin. They are durable after [`AppendFile::sync`].
    ///
    /// # Errors
    /// `unavailable`, after which the end of the file is unknown: give it up.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        self.file.write_all(bytes).map_err(|source| io_error("write", &self.path, source))?;
        let start = self.length;
        self.length += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(start)
    }

    /// The file's length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// When this returns, all that was appended is durable.
    ///
    /// # Errors
    /// `unavailable`, after which it is unknown what is durable: give the file up.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|source| io_error("sync", &self.path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_each_other() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        let mut file = AppendFile::create(&path).unwrap();
        assert_eq!(file.append(b"one").unwrap(), 0);
        assert_eq!(file.append(b"two").unwrap(), 3);
        file.sync().unwrap();
        assert_eq!(AppendFile::create(&path).unwrap_err().code(), "file_exists");
        let mut again = AppendFile::open(&path).unwrap();
        assert_eq!((again.length(), again.append(b"three").unwrap()), (6, 6));
        assert_eq!(crate::files::read(&path).unwrap(), b"onetwothree");
    }
}
