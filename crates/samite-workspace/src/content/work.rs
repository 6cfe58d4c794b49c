//! The threads that read, hash, compress and seal.

use super::{Claimed, Done, Job, Outcome, Piece, read};
use crate::scan::{FileRef, Scanned};
use crate::screen::{Chunk, FoundChunk};
use crate::store::Store;
use crate::system::{DirectoryStack, Failure};
use rustix::fd::{AsFd, OwnedFd};
use samite_ledger::BlockPlace;
use samite_model::tree::{Segment, block_type};
use samite_model::{BlockId, Pseudonym, Result};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Mutex, PoisonError};

pub(super) struct Worker<'a> {
    store: &'a Store,
    owner: Pseudonym,
    scanned: &'a Scanned,
    stack: DirectoryStack<'a>,
    claimed: &'a Claimed,
    stores: bool,
    buffer: Vec<u8>,
}

/// Does jobs until there are none, or nobody takes the results.
pub(super) fn work(
    worker: &mut Worker<'_>,
    jobs: &Mutex<Receiver<(u64, Job)>>,
    done: &SyncSender<(u64, Result<Done>)>,
) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, job)) = next else { return };
        let result = worker.job(job);
        let failed = result.is_err();
        if done.send((number, result)).is_err() || failed {
            return;
        }
    }
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        store: &'a Store,
        owner: Pseudonym,
        top: &'a OwnedFd,
        scanned: &'a Scanned,
        claimed: &'a Claimed,
        stores: bool,
    ) -> Self {
        Self { store, owner, scanned, stack: DirectoryStack::new(top.as_fd()), claimed, stores, buffer: Vec::new() }
    }

    fn job(&mut self, job: Job) -> Result<Done> {
        match job {
            Job::Small(files) => self.small(&files),
            Job::Begin(file) => Ok(Done { begin: Some(file), ..Done::default() }),
            Job::Pieces(file, pieces) => self.pieces(file, &pieces),
            Job::End(file, outcome) => Ok(Done { files: vec![(file, outcome)], ..Done::default() }),
        }
    }

    fn small(&mut self, files: &[FileRef]) -> Result<Done> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let mut done = Done::default();
        let mut places: Vec<(usize, Range<usize>)> = Vec::new();
        for file in files {
            let Some(directory) = self.scanned.directories.get(file.directory) else { continue };
            let Some(item) = directory.items.get(file.item) else { continue };
            let start = buffer.len();
            let outcome = match self.stack.open(&directory.path) {
                Ok(opened) => read::small(opened, &item.entry.name, &mut buffer),
                Err(errno) => Failure::from(errno).into(),
            };
            if matches!(outcome, Outcome::Read(_)) && buffer.len() > start {
                places.push((done.files.len(), start..buffer.len()));
            }
            done.files.push((*file, outcome));
        }
        let whole = |range: &Range<usize>| buffer.get(range.clone()).unwrap_or_default();
        let mut chunks: Vec<Chunk<'_>> =
            places.iter().map(|(_, range)| Chunk::new(whole(range), 0..range.len())).collect();
        self.store.name_chunks(self.owner, &mut chunks)?;
        self.seal_new(&mut chunks, &mut done)?;
        for ((at, _), chunk) in places.iter().zip(chunks) {
            if let Some((file, Outcome::Read(read))) = done.files.get_mut(*at) {
                read.segments.push(Segment::Chunk { id: chunk.id, length: chunk.length() });
                read.found.extend(chunk.taken(&self.scanned.path(*file)));
            }
        }
        self.buffer = buffer;
        Ok(done)
    }

    fn pieces(&mut self, file: FileRef, pieces: &[Piece]) -> Result<Done> {
        let mut done = Done::default();
        let mut chunks: Vec<Chunk<'_>> = Vec::new();
        for piece in pieces {
            if let Piece::Data(bytes, range) = piece {
                chunks.push(Chunk::new(bytes, range.clone()));
            }
        }
        self.store.name_chunks(self.owner, &mut chunks)?;
        self.seal_new(&mut chunks, &mut done)?;
        let mut chunks = chunks.into_iter();
        let (mut segments, mut found): (Vec<Segment>, Vec<FoundChunk>) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Hole(length) => segments.push(Segment::Hole { length: *length }),
                Piece::Data(..) => {
                    if let Some(chunk) = chunks.next() {
                        segments.push(Segment::Chunk { id: chunk.id, length: chunk.length() });
                        found.extend(chunk.taken(&self.scanned.path(file)));
                    }
                }
            }
        }
        done.pieces = Some((file, segments, found));
        Ok(done)
    }

    /// Seals those chunks that neither the index nor this snapshot has.
    fn seal_new(&self, chunks: &mut [Chunk<'_>], done: &mut Done) -> Result<()> {
        if !self.stores || chunks.is_empty() {
            return Ok(());
        }
        let (fresh, again): (Vec<&mut Chunk<'_>>, Vec<&mut Chunk<'_>>) = {
            let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
            chunks.iter_mut().partition(|chunk| claimed.insert(chunk.id))
        };
        // What is in a block is told once.
        again.into_iter().for_each(Chunk::tell_nothing);
        let ids: Vec<BlockId> = fresh.iter().map(|chunk| chunk.id).collect();
        let mut known = Vec::new();
        for (chunk, place) in fresh.into_iter().zip(self.store.find(&ids)?) {
            if let Some(place) = place {
                chunk.tell_nothing();
                known.push(chunk.id);
                if let BlockPlace::Pack { pack, .. } = place {
                    done.packs.push(pack);
                }
                continue;
            }
            self.store.look_at_new(chunk);
            let (id, domain) = (chunk.id, chunk.domain);
            let sealed = self.store.sealing.seal_block(domain, id, block_type::CHUNK, chunk.bytes())?;
            done.new.push((id, domain, sealed));
        }
        if !known.is_empty() {
            // What the index has is not this snapshot's: it must still be there at the end.
            let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
            for id in known {
                claimed.remove(&id);
            }
        }
        done.packs.sort_unstable();
        done.packs.dedup();
        Ok(())
    }
}
