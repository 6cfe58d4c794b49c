//! The thread that gives out jobs: small files by name, large ones as chunks that it reads and cuts itself.

use super::chunker::{Chunker, LARGEST};
use super::{ATTEMPTS, BATCH_BYTES, BATCH_FILES, FileRef, Job, Outcome, Piece, ReadFile, SMALL_FILE, read};
use crate::scan::Scanned;
use crate::screen::CONTEXT;
use crate::system::{DirectoryStack, Failure, Stamp, data_extents, read_exactly_at};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::fstat;
use std::ops::Range;
use std::sync::mpsc::SyncSender;

/// Whoever took the results has stopped.
struct Stopped;

struct Feeder<'a> {
    jobs: &'a SyncSender<(u64, Job)>,
    number: u64,
    chunker: Chunker,
    /// Whether chunks go with what stands around them.
    looks: bool,
    buffer: Vec<u8>,
}

/// Gives out jobs for all files, in order, until there are none or nobody takes them.
pub(super) fn feed(
    top: &OwnedFd,
    scanned: &Scanned,
    files: &[FileRef],
    chunker: Chunker,
    looks: bool,
    jobs: &SyncSender<(u64, Job)>,
) {
    let mut feeder = Feeder { jobs, number: 0, chunker, looks, buffer: Vec::new() };
    // An error means that nobody takes jobs any more.
    let _ = feeder.all(top, scanned, files);
}

impl Feeder<'_> {
    fn send(&mut self, job: Job) -> Result<(), Stopped> {
        let number = self.number;
        self.number += 1;
        self.jobs.send((number, job)).map_err(|_| Stopped)
    }

    fn all(&mut self, top: &OwnedFd, scanned: &Scanned, files: &[FileRef]) -> Result<(), Stopped> {
        let mut stack = DirectoryStack::new(top.as_fd());
        let mut batch = Vec::new();
        let mut bytes = 0;
        for file in files {
            let Some(item) = scanned.item(*file) else { continue };
            if item.stamp.size > SMALL_FILE || item.sparse {
                if !batch.is_empty() {
                    self.send(Job::Small(std::mem::take(&mut batch)))?;
                    bytes = 0;
                }
                let Some(directory) = scanned.directories.get(file.directory) else { continue };
                match stack.open(&directory.path) {
                    Ok(directory) => self.large(directory, &item.entry.name, *file)?,
                    Err(errno) => self.send(Job::End(*file, Failure::from(errno).into()))?,
                }
                continue;
            }
            batch.push(*file);
            bytes += item.stamp.size;
            if bytes >= BATCH_BYTES || batch.len() >= BATCH_FILES {
                self.send(Job::Small(std::mem::take(&mut batch)))?;
                bytes = 0;
            }
        }
        if batch.is_empty() { Ok(()) } else { self.send(Job::Small(batch)) }
    }

    fn large(&mut self, directory: rustix::fd::BorrowedFd<'_>, name: &[u8], file: FileRef) -> Result<(), Stopped> {
        for attempt in 1.. {
            self.send(Job::Begin(file))?;
            let outcome = match read::open(directory, name) {
                Ok((opened, stat)) => {
                    let before = Stamp::of(&stat);
                    match self.pieces(&opened, file, before.size)? {
                        Ok(()) => end(&opened, &before),
                        Err(failure) => Err(failure),
                    }
                }
                Err(failure) => Err(failure),
            };
            match outcome {
                Ok(read) if read.torn && attempt < ATTEMPTS => {}
                Ok(read) => return self.send(Job::End(file, Outcome::Read(Box::new(read)))),
                Err(failure) => return self.send(Job::End(file, failure.into())),
            }
        }
        Ok(())
    }

    /// Sends what is in a file. The outer error means that nobody takes it any more.
    fn pieces(&mut self, opened: &OwnedFd, file: FileRef, size: u64) -> Result<Result<(), Failure>, Stopped> {
        let extents = match data_extents(opened, size) {
            Ok(extents) => extents,
            Err(errno) => return Ok(Err(errno.into())),
        };
        let mut at = 0;
        for extent in extents {
            if extent.start > at {
                self.send(Job::Pieces(file, vec![Piece::Hole(extent.start - at)]))?;
            }
            at = extent.end;
            if let Err(failure) = self.extent(opened, file, extent)? {
                return Ok(Err(failure));
            }
        }
        if size > at {
            self.send(Job::Pieces(file, vec![Piece::Hole(size - at)]))?;
        }
        Ok(Ok(()))
    }

    fn extent(&mut self, opened: &OwnedFd, file: FileRef, extent: Range<u64>) -> Result<Result<(), Failure>, Stopped> {
        let mut at = extent.start;
        self.buffer.clear();
        let around = if self.looks { CONTEXT } else { 0 };
        let mut before: Vec<u8> = Vec::new();
        loop {
            let left = usize::try_from(extent.end - at).unwrap_or(usize::MAX);
            let room = left.min((2 * LARGEST).saturating_sub(self.buffer.len()));
            let kept = self.buffer.len();
            self.buffer.resize(kept + room, 0);
            let got = match read_exactly_at(opened, at, self.buffer.get_mut(kept..).unwrap_or_default()) {
                Ok(got) => got,
                Err(errno) => return Ok(Err(errno.into())),
            };
            self.buffer.truncate(kept + got);
            at += got as u64;
            let last = got < room || at >= extent.end;
            let mut start = 0;
            for length in self.chunker.cut(&self.buffer, last) {
                let end = start + length;
                // A chunk without what comes after it waits for that: it is cut in the same place then.
                if !last && self.buffer.len() < end + around {
                    break;
                }
                let from = before.len();
                let mut bytes = std::mem::take(&mut before);
                let until = self.buffer.len().min(end + around);
                bytes.extend_from_slice(self.buffer.get(start..until).unwrap_or_default());
                let tail = self.buffer.get(end.saturating_sub(around).max(start)..end);
                before.extend_from_slice(tail.unwrap_or_default());
                start = end;
                self.send(Job::Pieces(file, vec![Piece::Data(bytes, from..from + length)]))?;
            }
            self.buffer.drain(..start);
            if last {
                return Ok(Ok(()));
            }
        }
    }
}

/// What a file is at the end, and whether it changed since the beginning.
fn end(opened: &OwnedFd, before: &Stamp) -> Result<ReadFile, Failure> {
    let stat = fstat(opened)?;
    let after = Stamp::of(&stat);
    let metadata = read::metadata(opened, &stat)?;
    Ok(ReadFile { metadata, stamp: after, segments: Vec::new(), torn: after != *before, found: Vec::new() })
}
