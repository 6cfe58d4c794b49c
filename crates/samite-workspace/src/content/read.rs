//! Reading one file, and telling whether it changed meanwhile.

use super::{ATTEMPTS, Outcome, ReadFile, SMALL_FILE};
use crate::system::{Failure, Stamp, kind_of, metadata_of, open_for_reading, read_to_end_of, read_xattrs};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Stat, fstat};
use samite_model::tree::Metadata;

/// A file that was opened and is still a regular one.
pub(super) fn open(directory: BorrowedFd<'_>, name: &[u8]) -> Result<(OwnedFd, Stat), Failure> {
    let file = open_for_reading(directory, name)?;
    let stat = fstat(&file)?;
    if kind_of(&stat) == FileType::RegularFile { Ok((file, stat)) } else { Err(Failure::Gone) }
}

/// The metadata of an open file.
pub(super) fn metadata(file: &OwnedFd, stat: &Stat) -> Result<Metadata, Failure> {
    let mut metadata = metadata_of(stat);
    metadata.xattrs = read_xattrs(file.as_fd())?;
    Ok(metadata)
}

/// Reads a small file to the end of `bytes`. One that changes while it is read is read again; at last it is taken as
/// it came.
pub(super) fn small(directory: BorrowedFd<'_>, name: &[u8], bytes: &mut Vec<u8>) -> Outcome {
    let start = bytes.len();
    match read_small(directory, name, bytes) {
        Ok(outcome) => outcome,
        Err(failure) => {
            bytes.truncate(start);
            failure.into()
        }
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Gone => Self::Gone,
            Failure::Unreadable(errno) => Self::Unreadable(errno),
        }
    }
}

fn read_small(directory: BorrowedFd<'_>, name: &[u8], bytes: &mut Vec<u8>) -> Result<Outcome, Failure> {
    let began = bytes.len();
    let limit = usize::try_from(SMALL_FILE).unwrap_or(usize::MAX);
    let mut attempt = 0;
    loop {
        attempt += 1;
        bytes.truncate(began);
        let (file, opened) = open(directory, name)?;
        let before = Stamp::of(&opened);
        if before.size > SMALL_FILE {
            return Ok(Outcome::Grown(before));
        }
        let expected = usize::try_from(before.size).unwrap_or(limit);
        read_to_end_of(&file, expected, limit + 1, bytes)?;
        let read = bytes.len() - began;
        let after_stat = fstat(&file)?;
        let after = Stamp::of(&after_stat);
        if read > limit {
            bytes.truncate(began);
            return Ok(Outcome::Grown(after));
        }
        let torn = before != after || read as u64 != after.size;
        if !torn || attempt >= ATTEMPTS {
            let metadata = metadata(&file, &after_stat)?;
            return Ok(Outcome::Read(Box::new(ReadFile {
                metadata,
                stamp: after,
                segments: Vec::new(),
                torn,
                found: Vec::new(),
            })));
        }
    }
}
