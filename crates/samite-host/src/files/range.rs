//! Files that are read in parts.

use super::io_error;
use samite_model::Result;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
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

    /// The device and inode.
    pub(super) fn identity(&self) -> Result<(u64, u64)> {
        let metadata = self.file.metadata().map_err(|source| io_error("look at", &self.path, source))?;
        Ok((metadata.dev(), metadata.ino()))
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
        let mut place = *b"xxxx";
        assert_eq!(file.fill_at(3, &mut place).unwrap(), 4);
        assert_eq!(&place, b"3456");
        assert_eq!(file.fill_at(8, &mut place).unwrap(), 2);
        assert_eq!(&place, b"8956");
        assert_eq!(file.length().unwrap(), 10);
    }
}
