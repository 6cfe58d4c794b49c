//! A regular file to be stored, opened so that nothing blocks and nothing acts.

use crate::system::{DirectoryStack, Failure, read_xattrs};
use crate::system::{Stamp, data_extents, failed, kind_of, metadata_of, open_for_reading, open_top, read_exactly_at};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use samite_model::hash::Sha256;
use samite_model::tree::{Metadata, TreePath};
use samite_model::{Error, Result};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// So many times a file that changes while it is read is read again.
const ATTEMPTS: usize = 3;

/// What changes whenever a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// The inode's number.
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// When its content changed last, in nanoseconds since 1970.
    pub mtime: i64,
    /// When anything of it changed last, in nanoseconds since 1970.
    pub ctime: i64,
}

impl From<Stamp> for FileStamp {
    fn from(stamp: Stamp) -> Self {
        let Stamp { inode, size, mtime, ctime } = stamp;
        Self { inode, size, mtime, ctime }
    }
}

/// A regular file that is open.
pub struct FileSource {
    file: OwnedFd,
    path: PathBuf,
}

/// A part of a file.
pub(super) enum Stretch {
    Hole(u64),
    Data(Range<u64>),
}

impl FileSource {
    /// Opens a file that a person named: symbolic links are followed.
    ///
    /// # Errors
    /// `not_found`, `denied` or `unavailable` naming the path; `invalid` (`not_a_file`) when it is no regular file.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = openat(CWD, path, flags, Mode::empty())
            .map_err(|errno| samite_host::files::io_error("open", path, errno.into()))?;
        Self::regular(file, path.to_owned())
    }

    /// Opens a file of a workspace: no symbolic link is followed on the way, so that nothing outside is read.
    ///
    /// # Errors
    /// As [`FileSource::open`].
    pub fn open_beneath(top: &Path, path: &TreePath) -> Result<Self> {
        let opened = open_top(top)?;
        let mut stack = DirectoryStack::new(opened.as_fd());
        let parent = path.parent().unwrap_or_default();
        let directory = stack.open(&parent).map_err(|errno| failed("open", top, path, errno))?;
        let file = open_for_reading(directory, path.name()).map_err(|errno| failed("open", top, path, errno))?;
        Self::regular(file, top.join(path.to_string()))
    }

    fn regular(file: OwnedFd, path: PathBuf) -> Result<Self> {
        let source = Self { file, path };
        let stat = fstat(&source.file).map_err(|errno| source.failed(errno.into()))?;
        if kind_of(&stat) == FileType::RegularFile {
            Ok(source)
        } else {
            Err(Error::invalid("not_a_file", format!("{} is no regular file", source.path.display()))
                .hint("name a file; of a directory, its files or an archive of it"))
        }
    }

    /// The error for what reading it answered.
    pub(super) fn failed(&self, source: std::io::Error) -> Error {
        samite_host::files::io_error("read", &self.path, source)
    }

    /// What it looks like now.
    ///
    /// # Errors
    /// `unavailable` when the operating system does not say.
    pub fn stamp(&self) -> Result<FileStamp> {
        let stat = fstat(&self.file).map_err(|errno| self.failed(errno.into()))?;
        Ok(Stamp::of(&stat).into())
    }

    pub(super) fn metadata(&self) -> Result<Metadata> {
        let stat = fstat(&self.file).map_err(|errno| self.failed(errno.into()))?;
        let mut metadata = metadata_of(&stat);
        metadata.xattrs = match read_xattrs(self.file.as_fd()) {
            Ok(xattrs) => xattrs,
            Err(errno) => match Failure::from(errno) {
                Failure::Gone => Vec::new(),
                Failure::Unreadable(errno) => return Err(self.failed(errno.into())),
            },
        };
        Ok(metadata)
    }

    /// The SHA-256 of its bytes, as it was for as long as it took to read them.
    ///
    /// # Errors
    /// `conflict` (`file_changing`) when it did not stay the same; `unavailable` when it cannot be read.
    pub fn sha256(&self) -> Result<(String, FileStamp)> {
        self.read_quietly(|source| {
            let mut hash = Sha256::default();
            let mut reader = source.range(0..u64::MAX);
            let mut bytes = vec![0; 1 << 20];
            loop {
                let got = reader.read(&mut bytes).map_err(|error| source.failed(error))?;
                if got == 0 {
                    return Ok(hash.finish());
                }
                hash.update(bytes.get(..got).unwrap_or_default());
            }
        })
    }

    /// Reads it, again where it changed meanwhile.
    pub(super) fn read_quietly<T>(&self, mut read: impl FnMut(&Self) -> Result<T>) -> Result<(T, FileStamp)> {
        for _ in 0..ATTEMPTS {
            let before = self.stamp()?;
            let done = read(self)?;
            if self.stamp()? == before {
                return Ok((done, before));
            }
        }
        Err(Error::conflict("file_changing", format!("{} changes while it is read", self.path.display()))
            .hint("wait until it is written, then try again"))
    }

    /// Its stretches of data and of nothing.
    pub(super) fn pieces(&self) -> Result<Vec<Stretch>> {
        let size = self.stamp()?.size;
        let extents = data_extents(&self.file, size).map_err(|errno| self.failed(errno.into()))?;
        let mut pieces = Vec::new();
        let mut at = 0;
        for extent in extents {
            if extent.start > at {
                pieces.push(Stretch::Hole(extent.start - at));
            }
            at = extent.end;
            pieces.push(Stretch::Data(extent));
        }
        if size > at {
            pieces.push(Stretch::Hole(size - at));
        }
        Ok(pieces)
    }

    /// A reader of a range of it.
    pub(super) fn range(&self, range: Range<u64>) -> impl Read + '_ {
        Reading { source: self, at: range.start, end: range.end }
    }
}

struct Reading<'a> {
    source: &'a FileSource,
    at: u64,
    end: u64,
}

impl Read for Reading<'_> {
    fn read(&mut self, place: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX).min(place.len());
        let got = read_exactly_at(&self.source.file, self.at, place.get_mut(..left).unwrap_or_default())?;
        self.at += got as u64;
        Ok(got)
    }
}
