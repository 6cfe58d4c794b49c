//! Regular files.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, SeekFrom, openat, seek};
use rustix::io::{Errno, pread, pwrite, read};
use std::ops::Range;

/// Opens a file to read it; never waits, whatever it has become.
pub(crate) fn open_for_reading(directory: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    openat(directory, name, flags, Mode::empty())
}

/// Appends everything up to the end of the file, at most `limit` bytes.
pub(crate) fn read_to_end_of(file: &OwnedFd, expected: usize, limit: usize, bytes: &mut Vec<u8>) -> Result<(), Errno> {
    let start = bytes.len();
    // One byte more than expected, so that the end is seen without growing.
    let mut room = expected.saturating_add(1).min(limit);
    loop {
        let at = bytes.len();
        bytes.resize(at + room, 0);
        let got = loop {
            match read(file, bytes.get_mut(at..).unwrap_or_default()) {
                Err(Errno::INTR) => {}
                other => break other?,
            }
        };
        bytes.truncate(at + got);
        let total = bytes.len() - start;
        if got == 0 || total >= limit {
            return Ok(());
        }
        // A short read is usually the end of the file: a byte more is enough to see it.
        room = if got < room { 1_usize.max(room - got) } else { (64 << 10).min(limit - total) };
    }
}

/// Reads a range; fewer bytes when the file ends before it does.
pub(crate) fn read_exactly_at(file: &OwnedFd, offset: u64, place: &mut [u8]) -> Result<usize, Errno> {
    let mut done = 0;
    while let Some(rest) = place.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match pread(file, rest, offset + done as u64) {
            Ok(0) => break,
            Ok(got) => done += got,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(done)
}

/// Writes all bytes at an offset.
pub(crate) fn write_all(file: &OwnedFd, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match pwrite(file.as_fd(), rest, offset + done as u64) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// The stretches of a file that hold data; a file system without holes says that all of it does.
pub(crate) fn data_extents(file: &OwnedFd, size: u64) -> Result<Vec<Range<u64>>, Errno> {
    let mut extents = Vec::new();
    let mut at = 0;
    while at < size {
        let start = match seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(std::iter::once(0..size).collect()),
            Err(errno) => return Err(errno),
        };
        if start >= size {
            break;
        }
        let end = seek(file, SeekFrom::Hole(start))?.min(size);
        extents.push(start..end);
        at = end;
    }
    Ok(extents)
}
