//! Writing files out of packs, with all cores.

use crate::restore::file::{create, set_open};
use crate::restore::source::Source;
use crate::restore::temporary::Temporary;
use crate::scan::Special;
use crate::store::Store;
use crate::system::{DirectoryStack, Stamp, write_all};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::ftruncate;
use samite_ledger::BlockPlace;
use samite_model::tree::{Entry, Segment, TreePath};
use samite_model::{BlockId, Observer, Pseudonym, Result};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// So many bytes of files are written by one thread in one go.
const BATCH_BYTES: u64 = 2 << 20;
/// So many files are.
const BATCH_FILES: usize = 128;
/// So many chunks are looked up at once: some megabytes of places.
const SLAB_CHUNKS: usize = 1 << 16;

/// A file to be written.
pub(super) struct NewFile<'a> {
    /// The number of the action that makes it.
    pub(super) number: usize,
    pub(super) path: &'a TreePath,
    /// Where it is built.
    pub(super) temporary: TreePath,
    pub(super) entry: &'a Entry,
    pub(super) segments: Cow<'a, [Segment]>,
}

impl NewFile<'_> {
    fn chunks(&self) -> impl Iterator<Item = BlockId> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Chunk { id, .. } => Some(*id),
            Segment::Hole { .. } => None,
        })
    }
}

/// What came of it.
#[derive(Default)]
pub(super) struct Written {
    /// By the numbers of their actions.
    pub(super) stamps: Vec<(usize, Stamp)>,
    pub(super) failed: Vec<Special>,
    pub(super) cloned_files: u64,
    pub(super) cloned_bytes: u64,
    pub(super) copied_files: u64,
    pub(super) copied_bytes: u64,
}

/// How many of all files are written.
struct Ready<'a> {
    observer: &'a Observer,
    done: AtomicUsize,
    whole: usize,
}

impl Ready<'_> {
    fn add(&self, files: usize) {
        let done = self.done.fetch_add(files, Ordering::Relaxed) + files;
        self.observer.tell("writing files", done as u64, Some(self.whole as u64));
    }
}

/// Writes all files.
///
/// # Errors
/// `unavailable` when the disk is full, `corrupt` when a block cannot be read.
pub(super) fn write_files(
    store: &Store,
    owner: Pseudonym,
    temporary: &Temporary<'_>,
    files: &[NewFile<'_>],
    source: Option<&Source>,
    observer: &Observer,
) -> Result<Written> {
    let ready = Ready { observer, done: AtomicUsize::new(0), whole: files.len() };
    let mut written = Written::default();
    let mut rest = files;
    while !rest.is_empty() {
        let mut chunks = 0;
        let fits = |file: &&NewFile<'_>| {
            chunks += file.segments.len();
            chunks <= SLAB_CHUNKS
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (slab, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        written.add(write_slab(store, owner, temporary, slab, source, &ready)?);
        rest = after;
    }
    Ok(written)
}

/// Writes files whose chunks are looked up all at once.
fn write_slab(
    store: &Store,
    owner: Pseudonym,
    temporary: &Temporary<'_>,
    files: &[NewFile<'_>],
    source: Option<&Source>,
    ready: &Ready<'_>,
) -> Result<Written> {
    // Of files that may be cloned, only what is not is looked up, batch by batch.
    let places = match source {
        Some(_) => None,
        None => Some(store.find_many(&files.iter().flat_map(NewFile::chunks).collect::<Vec<_>>())?),
    };
    let places = places.as_deref();
    let batches = batches(files);
    let next = AtomicUsize::new(0);
    let result = Mutex::new(Ok(Written::default()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(1, 8).min(batches.len().max(1));
    let run = || {
        let mut writer = Writer {
            store,
            owner,
            temporary,
            source,
            stack: DirectoryStack::new(temporary.directory.as_fd()),
            written: Written::default(),
        };
        let mut outcome = Ok(());
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let places = places.map(|places| places.get(batch.chunks.clone()).unwrap_or_default());
            outcome = writer.batch(files.get(batch.files.clone()).unwrap_or_default(), places);
            if outcome.is_err() {
                // The others need not go on.
                next.store(batches.len(), Ordering::Relaxed);
                break;
            }
            ready.add(batch.files.len());
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

/// What one thread writes in one go.
struct Batch {
    files: Range<usize>,
    /// Which of all the files' chunks are theirs.
    chunks: Range<usize>,
}

fn batches(files: &[NewFile<'_>]) -> Vec<Batch> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    let (mut first_chunk, mut chunks) = (0, 0);
    for (at, file) in files.iter().enumerate() {
        bytes += file.entry.content.size();
        chunks += file.chunks().count();
        if bytes >= BATCH_BYTES || at + 1 - start >= BATCH_FILES || at + 1 == files.len() {
            batches.push(Batch { files: start..at + 1, chunks: first_chunk..chunks });
            (start, bytes, first_chunk) = (at + 1, 0, chunks);
        }
    }
    batches
}

impl Written {
    fn add(&mut self, other: Self) {
        self.stamps.extend(other.stamps);
        self.failed.extend(other.failed);
        self.cloned_files += other.cloned_files;
        self.cloned_bytes += other.cloned_bytes;
        self.copied_files += other.copied_files;
        self.copied_bytes += other.copied_bytes;
    }
}

struct Writer<'a> {
    store: &'a Store,
    owner: Pseudonym,
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
    fn batch(&mut self, files: &[NewFile<'_>], found: Option<&[Option<BlockPlace>]>) -> Result<()> {
        let mut chunks: Vec<BlockId> = Vec::new();
        let mut places: Vec<(usize, u64)> = Vec::new();
        let mut open: Vec<Option<Open>> = Vec::with_capacity(files.len());
        for (number, file) in files.iter().enumerate() {
            let mut at = 0;
            let before = chunks.len();
            for segment in file.segments.iter() {
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
                let cloned = self.source.map(|source| source.clone_into(&opened, file.path, &file.entry.content));
                let fail = |errno| self.temporary.failed(&format!("clone {} in", file.path), errno);
                if cloned.transpose().map_err(fail)? == Some(true) {
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
        let (store, owner) = (self.store, self.owner);
        let mut each = |at: usize, sealed: Result<&[u8]>| {
            let (Some(id), Some((number, offset))) = (chunks.get(at), places.get(at)) else { return Ok(()) };
            let (Some(file), Some(place)) = (files.get(*number), open.get_mut(*number)) else { return Ok(()) };
            let mut written = Ok(());
            sealed
                .and_then(|sealed| {
                    let domain = store.sealing.chunk_domain(owner, sealed);
                    store.sealing.with_block(domain, *id, sealed, &mut |plaintext| {
                        written = self.write(file, place, *offset, plaintext);
                    })
                })
                .map_err(|error| store.naming(*id, error).context(format!("restoring {}", file.path)))?;
            written
        };
        match found {
            Some(found) => store.read_placed(&chunks, found, &mut each),
            None => store.read_sealed(&chunks, &mut each),
        }
    }

    /// Writes a chunk to its place in a file, which is made when it is not open yet, and finished when it has all.
    fn write(&mut self, file: &NewFile<'_>, place: &mut Option<Open>, offset: u64, plaintext: &[u8]) -> Result<()> {
        let mut current = match place.take() {
            Some(open) => open,
            None => Open { file: self.create(file)?, chunks: 1 },
        };
        write_all(&current.file, offset, plaintext)
            .map_err(|errno| self.temporary.failed(&format!("write {} in", file.path), errno))?;
        current.chunks -= 1;
        if current.chunks > 0 {
            *place = Some(current);
            return Ok(());
        }
        self.finish(file, &current.file, true)
    }

    fn create(&mut self, file: &NewFile<'_>) -> Result<OwnedFd> {
        let parent = file.temporary.parent().unwrap_or_default();
        let opened = self.stack.open(&parent);
        opened
            .and_then(|directory| create(directory, file.temporary.name(), file.entry.metadata.mode))
            .map_err(|errno| self.temporary.failed(&format!("make {} in", file.path), errno))
    }

    fn finish(&mut self, file: &NewFile<'_>, opened: &OwnedFd, copied: bool) -> Result<()> {
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
        self.written.stamps.push((file.number, stamp));
        Ok(())
    }
}
