//! Reading the files that a scan wants read: one thread feeds, several read, hash, compress and seal, and the calling
//! thread takes the results in the order of the files. All queues are bounded, so memory is.

mod chunker;
mod feed;
mod read;
mod work;

pub(crate) use chunker::{Chunker, LARGEST};

use crate::scan::{FileRef, Scanned, Special, State};
use crate::screen::FoundChunk;
use crate::store::Store;
use crate::system::Stamp;
use feed::feed;
use rustix::fd::OwnedFd;
use samite_keys::Domain;
use samite_model::tree::{Body, Content, EntryType, Metadata, Segment};
use samite_model::{BlockId, Observer, PackId, Pseudonym, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use work::{Worker, work};

/// Larger files are cut into chunks by their content.
pub(crate) const SMALL_FILE: u64 = 1 << 20;
/// So many bytes of files go to a worker at once.
const BATCH_BYTES: u64 = 2 << 20;
/// So many files go to a worker at once.
const BATCH_FILES: usize = 64;
/// So many times a file that changes while it is read is read again.
const ATTEMPTS: u32 = 3;

/// What was found in a file.
#[derive(Debug)]
pub(crate) enum Outcome {
    Read(Box<ReadFile>),
    Gone,
    Unreadable(rustix::io::Errno),
    /// It has grown and must be cut into chunks.
    Grown(Stamp),
}

#[derive(Debug)]
pub(crate) struct ReadFile {
    pub(crate) metadata: Metadata,
    pub(crate) stamp: Stamp,
    pub(crate) segments: Vec<Segment>,
    pub(crate) torn: bool,
    /// What was found in those of its chunks that are new.
    pub(crate) found: Vec<FoundChunk>,
}

/// A stretch of a large file.
pub(crate) enum Piece {
    Hole(u64),
    /// A chunk, as a range of bytes that stand around it.
    Data(Vec<u8>, Range<usize>),
}

pub(crate) enum Job {
    /// Small files, to be opened and read by the worker.
    Small(Vec<FileRef>),
    /// The beginning of a large file, which also ends an attempt at it that was torn.
    Begin(FileRef),
    /// The next pieces of it.
    Pieces(FileRef, Vec<Piece>),
    /// Its end.
    End(FileRef, Outcome),
}

/// What a worker made of a job.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) files: Vec<(FileRef, Outcome)>,
    pub(crate) begin: Option<FileRef>,
    pub(crate) pieces: Option<(FileRef, Vec<Segment>, Vec<FoundChunk>)>,
    /// Blocks that the index does not know, sealed.
    pub(crate) new: Vec<(BlockId, Domain, Vec<u8>)>,
    /// Packs in which known blocks were found.
    pub(crate) packs: Vec<PackId>,
}

/// What to do with content.
pub(crate) trait Take {
    /// Whether blocks are to be stored, or only named.
    fn stores(&self) -> bool;
    /// Takes a new block. Called in the order of files.
    fn block(&mut self, id: BlockId, domain: Domain, sealed: &[u8]) -> Result<()>;
    /// Learns of a pack that holds known blocks.
    fn found_in(&mut self, pack: PackId);
    /// Is called after each job, whether anything new was in it or not.
    fn go_on(&mut self) -> Result<()>;
}

/// Only names content.
pub(crate) struct NameOnly;

impl Take for NameOnly {
    fn stores(&self) -> bool {
        false
    }

    fn block(&mut self, _id: BlockId, _domain: Domain, _sealed: &[u8]) -> Result<()> {
        Ok(())
    }

    fn found_in(&mut self, _pack: PackId) {}

    fn go_on(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Blocks that this snapshot has stored or is storing, so that each is sealed once.
pub(crate) type Claimed = Mutex<HashSet<BlockId>>;

/// Up to so many bytes a file is small.
const SMALL: u64 = 1 << 20;

/// Reads everything that is to be read and puts what was found into the scan; chunks are named for trees of `owner`.
///
/// # Errors
/// Those of the index, the keys, and `take`; `unavailable` (`stopped`) when the observer asks for it.
pub(crate) fn read_all(
    store: &Store,
    owner: Pseudonym,
    top: &OwnedFd,
    scanned: &mut Scanned,
    claimed: &Claimed,
    take: &mut (dyn Take + '_),
    observer: &Observer,
) -> Result<()> {
    loop {
        let files = scanned.to_read();
        if files.is_empty() {
            return Ok(());
        }
        let outcomes = read_files((store, owner), top, scanned, &files, claimed, take, observer)?;
        for (file, outcome) in outcomes {
            settle(scanned, file, outcome);
        }
    }
}

fn read_files(
    (store, owner): (&Store, Pseudonym),
    top: &OwnedFd,
    scanned: &Scanned,
    files: &[FileRef],
    claimed: &Claimed,
    take: &mut (dyn Take + '_),
    observer: &Observer,
) -> Result<Vec<(FileRef, Outcome)>> {
    let workers = workers(scanned, files);
    let chunker = Chunker::new(store.sealing.chunk_seed()?);
    let stores = take.stores();
    std::thread::scope(|scope| {
        let (jobs, waiting) = sync_channel::<(u64, Job)>(workers * 2);
        let (done, results) = sync_channel::<(u64, Result<Done>)>(workers * 2);
        // Receivers are owned by those who use them, so that whoever ends first lets the others end.
        let waiting = std::sync::Arc::new(Mutex::new(waiting));
        let looks = stores && store.screening.screen.is_some() || store.screening.separates;
        scope.spawn(move || feed(top, scanned, files, chunker, looks, &jobs));
        for _ in 0..workers {
            let (waiting, done) = (std::sync::Arc::clone(&waiting), done.clone());
            scope.spawn(move || work(&mut Worker::new(store, owner, top, scanned, claimed, stores), &waiting, &done));
        }
        drop((done, waiting));
        let mut taking =
            Taking { take, next: 0, early: BTreeMap::new(), segments: HashMap::new(), outcomes: Vec::new() };
        for (number, result) in results {
            observer.go_on()?;
            taking.early.insert(number, result?);
            taking.go_on()?;
            observer.tell("reading files", taking.outcomes.len() as u64, Some(files.len() as u64));
        }
        Ok(taking.outcomes)
    })
}

/// How many read at once: no more than there are small files, each of which one reads whole.
fn workers(scanned: &Scanned, files: &[FileRef]) -> usize {
    let most = std::thread::available_parallelism().map_or(2, usize::from).clamp(1, 8);
    let is_small = |file: &FileRef| {
        let found = scanned.directories.get(file.directory).and_then(|found| found.items.get(file.item));
        found.is_some_and(|item| item.stamp.size <= SMALL)
    };
    if files.len() < most && files.iter().all(is_small) { files.len().max(1) } else { most }
}

/// Results in the order of the jobs.
struct Taking<'a> {
    take: &'a mut dyn Take,
    next: u64,
    early: BTreeMap<u64, Done>,
    segments: HashMap<FileRef, (Vec<Segment>, Vec<FoundChunk>)>,
    outcomes: Vec<(FileRef, Outcome)>,
}

impl Taking<'_> {
    fn go_on(&mut self) -> Result<()> {
        while let Some(done) = self.early.remove(&self.next) {
            self.next += 1;
            for pack in done.packs {
                self.take.found_in(pack);
            }
            for (id, domain, sealed) in done.new {
                self.take.block(id, domain, &sealed)?;
            }
            if let Some(file) = done.begin {
                self.segments.insert(file, Default::default());
            }
            if let Some((file, mut segments, mut found)) = done.pieces {
                let so_far = self.segments.entry(file).or_default();
                so_far.0.append(&mut segments);
                so_far.1.append(&mut found);
            }
            for (file, mut outcome) in done.files {
                if let (Outcome::Read(read), Some(segments)) = (&mut outcome, self.segments.remove(&file)) {
                    (read.segments, read.found) = segments;
                }
                self.outcomes.push((file, outcome));
            }
            self.take.go_on()?;
        }
        Ok(())
    }
}

fn settle(scanned: &mut Scanned, file: FileRef, outcome: Outcome) {
    let path = scanned.path(file);
    let report = &mut scanned.report;
    let Some(item) = scanned.directories.get_mut(file.directory).and_then(|found| found.items.get_mut(file.item))
    else {
        return;
    };
    item.state = State::Known;
    match outcome {
        Outcome::Read(read) => {
            let size: u64 = read.segments.iter().map(Segment::length).sum();
            report.bytes = (report.bytes + size).saturating_sub(item.stamp.size);
            report.read_files += 1;
            report.read_bytes += size;
            let link = item.entry.metadata.link;
            item.entry.metadata = Metadata { link, torn: read.torn, ..read.metadata };
            item.stamp = read.stamp;
            item.entry.content = Content::File { size, body: Body::Segments(read.segments) };
            if !read.found.is_empty() {
                report.found.retain(|found| found.path != path);
                report.found.extend(read.found);
            }
            if read.torn {
                report.torn.push(path);
            }
        }
        Outcome::Gone => {
            item.state = State::Gone;
            report.files = report.files.saturating_sub(1);
        }
        Outcome::Unreadable(errno) => {
            item.entry.content = Content::Unread(EntryType::File);
            report.unreadable.push(Special { path, what: errno.to_string() });
        }
        Outcome::Grown(stamp) => {
            item.stamp = stamp;
            item.state = State::ToRead;
        }
    }
}
