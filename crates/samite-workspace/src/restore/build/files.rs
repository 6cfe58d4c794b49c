//! Writing files out of packs, with all cores.

use crate::content::CHUNKS;
use crate::restore::file::{create, set_open};
use crate::restore::source::Source;
use crate::restore::temporary::Temporary;
use crate::scan::Special;
use crate::store::Store;
use crate::system::{DirectoryStack, Stamp, write_all};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::ftruncate;
use samite_model::tree::{Entry, Segment, TreePath};
use samite_model::{BlockId, Result};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// So many bytes of files are written by one thread in one go.
const BATCH_BYTES: u64 = 2 << 20;
/// So many files are.
const BATCH_FILES: usize = 128;

/// A file to be written.
pub(super) struct NewFile {
    pub(super) path: TreePath,
    /// Where it is built.
    pub(super) temporary: TreePath,
    pub(super) entry: Entry,
    pub(super) segments: Vec<Segment>,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Written {
    pub(super) stamps: HashMap<TreePath, Stamp>,
    pub(super) failed: Vec<Special>,
    pub(super) cloned_files: u64,
    pub(super) cloned_bytes: u64,
    pub(super) copied_files: u64,
    pub(super) copied_bytes: u64,
}

/// Writes all files.
///
/// # Errors
/// `unavailable` when the disk is full, `corrupt` when a block cannot be read.
pub(super) fn write_files(
    store: &Store,
    temporary: &Temporary<'_>,
    files: &[NewFile],
    source: Option<&Source>,
) -> Result<Written> {
    let batches = batches(files);
    let next = AtomicUsize::new(0);
    let result = Mutex::new(Ok(Written::default()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(1, 8).min(batches.len().max(1));
    let run = || {
        let mut writer = Writer {
            store,
            temporary,
            source,
            stack: DirectoryStack::new(temporary.directory.as_fd()),
            written: Written::default(),
        };
        let mut outcome = Ok(());
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            outcome = writer.batch(files.get(batch.clone()).unwrap_or_default());
            if outcome.is_err() {
                // The others need not go on.
                next.store(batches.len(), Ordering::Relaxed);
                break;
            }
        }
        let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
        match (&mut *result, outcome) {
            (Ok(all), Ok(())) => all.add(writer.written),
            (place @ Ok(_), Err(error)) => *place = Err(error),
            (Err(_), _) => {}
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
    result.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn batches(files: &[NewFile]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, file) in files.iter().enumerate() {
        bytes += file.entry.content.size();
        if bytes >= BATCH_BYTES || at + 1 - start >= BATCH_FILES {
            batches.push(start..at + 1);
            (start, bytes) = (at + 1, 0);
        }
    }
    if start < files.len() {
        batches.push(start..files.len());
    }
    batches
}

impl Written {
    fn add(&mut self, other: Self) {
        if self.stamps.is_empty() {
            self.stamps = other.stamps;
        } else {
            self.stamps.extend(other.stamps);
        }
        self.failed.extend(other.failed);
        self.cloned_files += other.cloned_files;
        self.cloned_bytes += other.cloned_bytes;
        self.copied_files += other.copied_files;
        self.copied_bytes += other.copied_bytes;
    }
}

struct Writer<'a> {
    store: &'a Store,
    temporary: &'a Temporary<'a>,
    source: Option<&'a Source>,
    stack: DirectoryStack<'a>,
    written: Written,
}

/// A file that is being written.
struct Open {
    file: OwnedFd,
    /// How many chunks are still to come.
    chunks: usize,
}

impl Writer<'_> {
    fn batch(&mut self, files: &[NewFile]) -> Result<()> {
        let mut chunks: Vec<BlockId> = Vec::new();
        let mut places: Vec<(usize, u64)> = Vec::new();
        let mut open: Vec<Option<Open>> = Vec::with_capacity(files.len());
        for (number, file) in files.iter().enumerate() {
            let mut at = 0;
            let before = chunks.len();
            for segment in &file.segments {
                if let Segment::Chunk { id, .. } = segment {
                    chunks.push(*id);
                    places.push((number, at));
                }
                at += segment.length();
            }
            let count = chunks.len() - before;
            open.push(None);
            // A file with one chunk is made when its chunk comes; others are open from now on.
            if count != 1 || self.source.is_some() {
                let opened = self.create(file)?;
                if self.source.is_some_and(|source| source.clone_into(&opened, &file.path, &file.entry.content)) {
                    chunks.truncate(before);
                    places.truncate(before);
                    self.written.cloned_files += 1;
                    self.written.cloned_bytes += file.entry.content.size();
                    self.finish(file, &opened, false)?;
                } else if count == 0 {
                    self.finish(file, &opened, true)?;
                } else if let Some(place) = open.last_mut() {
                    *place = Some(Open { file: opened, chunks: count });
                }
            }
        }
        let store = self.store;
        store.read_sealed(&chunks, &mut |at, sealed| {
            let (Some(id), Some((number, offset))) = (chunks.get(at), places.get(at)) else { return Ok(()) };
            let (Some(file), Some(place)) = (files.get(*number), open.get_mut(*number)) else { return Ok(()) };
            let opened = sealed.and_then(|sealed| store.sealing.open_block(CHUNKS, *id, sealed));
            let bytes = opened.map_err(|error| store.naming(*id, error).context(format!("restoring {}", file.path)))?;
            let mut current = match place.take() {
                Some(open) => open,
                None => Open { file: self.create(file)?, chunks: 1 },
            };
            write_all(&current.file, *offset, &bytes)
                .map_err(|errno| self.temporary.failed(&format!("write {} in", file.path), errno))?;
            current.chunks -= 1;
            if current.chunks == 0 {
                self.finish(file, &current.file, true)
            } else {
                *place = Some(current);
                Ok(())
            }
        })
    }

    fn create(&mut self, file: &NewFile) -> Result<OwnedFd> {
        let parent = file.temporary.parent().unwrap_or_default();
        let opened = self.stack.open(&parent);
        opened
            .and_then(|directory| create(directory, file.temporary.name(), file.entry.metadata.mode))
            .map_err(|errno| self.temporary.failed(&format!("make {} in", file.path), errno))
    }

    fn finish(&mut self, file: &NewFile, opened: &OwnedFd, copied: bool) -> Result<()> {
        let fail = |errno| self.temporary.failed(&format!("finish {} in", file.path), errno);
        let size = file.entry.content.size();
        if copied {
            self.written.copied_files += 1;
            self.written.copied_bytes += size;
            if matches!(file.segments.last(), Some(Segment::Hole { .. })) {
                ftruncate(opened, size).map_err(fail)?;
            }
        }
        let (stamp, refused) = set_open(opened, &file.entry.metadata, true).map_err(fail)?;
        if let Some(errno) = refused {
            self.written.failed.push(Special { path: file.path.clone(), what: errno.to_string() });
        }
        self.written.stamps.insert(file.path.clone(), stamp);
        Ok(())
    }
}
