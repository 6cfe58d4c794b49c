//! Files that are read in parts.

use super::io_error;
use samite_model::Result;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// A file that is read in parts, from any thread.
#[derive(Debug)]
pub struct RangeFile {
    file: File,
    path: PathBuf,
}

impl RangeFile {
    /// Opens a file.
    ///
    /// # Errors
    /// `not_found`, `denied` or `unavailable`, naming the path.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().read(true).open(path).map_err(|source| io_error("open", path, source))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// The file's length in bytes.
    ///
    /// # Errors
    /// `unavailable`, naming the path.
    pub fn length(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|source| io_error("look at", &self.path, source))?.len())
    }

    /// Appends the bytes of a range to `bytes`: fewer when the file ends before the range does.
    ///
    /// # Errors
    /// `unavailable`, naming the path.
    pub fn read_at(&self, offset: u64, length: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let start = bytes.len();
        bytes.resize(start.saturating_add(length), 0);
        let got = self.fill_at(offset, bytes.get_mut(start..).unwrap_or_default())?;
        bytes.truncate(start + got);
        Ok(())
    }

    /// Fills a place with the bytes of a range and returns how many came: fewer when the file ends before it is full.
    ///
    /// # Errors
    /// `unavailable`, naming the path.
    pub fn fill_at(&self, offset: u64, place: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while let Some(rest) = place.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(io_error("read", &self.path, source)),
            }
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_with_the_file() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        crate::files::write_atomic(&path, b"0123456789", 0o600).unwrap();
        let file = RangeFile::open(&path).unwrap();
        let mut bytes = b"x".to_vec();
        file.read_at(3, 4, &mut bytes).unwrap();
        assert_eq!(bytes, b"x3456");
        file.read_at(8, 4, &mut bytes).unwrap();
        assert_eq!(bytes, b"x345689");
        assert_eq!(file.length().unwrap(), 10);
    }
}
