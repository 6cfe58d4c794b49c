//! The threads that read, hash, compress and seal.

use super::{CHUNKS, Claimed, Done, Job, Outcome, Piece, read};
use crate::scan::{FileRef, Scanned};
use crate::store::Store;
use crate::system::{DirectoryStack, Failure};
use rustix::fd::{AsFd, OwnedFd};
use samite_ledger::BlockPlace;
use samite_model::tree::{Segment, block_type};
use samite_model::{BlockId, Result};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Mutex, PoisonError};

pub(super) struct Worker<'a> {
    store: &'a Store,
    scanned: &'a Scanned,
    stack: DirectoryStack<'a>,
    claimed: &'a Claimed,
    stores: bool,
    buffer: Vec<u8>,
}

/// A chunk in a worker's hands: its id and its bytes.
type Chunk<'a> = (BlockId, &'a [u8]);

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
        top: &'a OwnedFd,
        scanned: &'a Scanned,
        claimed: &'a Claimed,
        stores: bool,
    ) -> Self {
        Self { store, scanned, stack: DirectoryStack::new(top.as_fd()), claimed, stores, buffer: Vec::new() }
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
        let mut chunks: Vec<(BlockId, Range<usize>)> = Vec::new();
        for file in files {
            let Some(directory) = self.scanned.directories.get(file.directory) else { continue };
            let Some(item) = directory.items.get(file.item) else { continue };
            let start = buffer.len();
            let mut outcome = match self.stack.open(&directory.path) {
                Ok(opened) => read::small(opened, &item.entry.name, &mut buffer),
                Err(errno) => Failure::from(errno).into(),
            };
            if let Outcome::Read(read) = &mut outcome
                && buffer.len() > start
            {
                let bytes = buffer.get(start..).unwrap_or_default();
                let id = self.store.sealing.block_id(CHUNKS, block_type::CHUNK, bytes)?;
                read.segments.push(Segment::Chunk { id, length: bytes.len() as u64 });
                chunks.push((id, start..buffer.len()));
            }
            done.files.push((*file, outcome));
        }
        let chunks: Vec<Chunk<'_>> =
            chunks.into_iter().map(|(id, range)| (id, buffer.get(range).unwrap_or_default())).collect();
        self.seal_new(&chunks, &mut done)?;
        self.buffer = buffer;
        Ok(done)
    }

    fn pieces(&mut self, file: FileRef, pieces: &[Piece]) -> Result<Done> {
        let mut done = Done::default();
        let mut segments = Vec::new();
        let mut chunks: Vec<Chunk<'_>> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Hole(length) => segments.push(Segment::Hole { length: *length }),
                Piece::Data(bytes) => {
                    let id = self.store.sealing.block_id(CHUNKS, block_type::CHUNK, bytes)?;
                    segments.push(Segment::Chunk { id, length: bytes.len() as u64 });
                    chunks.push((id, bytes));
                }
            }
        }
        self.seal_new(&chunks, &mut done)?;
        done.pieces = Some((file, segments));
        Ok(done)
    }

    /// Seals those chunks that neither the index nor this snapshot has.
    fn seal_new(&self, chunks: &[Chunk<'_>], done: &mut Done) -> Result<()> {
        if !self.stores || chunks.is_empty() {
            return Ok(());
        }
        let fresh: Vec<Chunk<'_>> = {
            let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
            chunks.iter().copied().filter(|(id, _)| claimed.insert(*id)).collect()
        };
        let ids: Vec<BlockId> = fresh.iter().map(|(id, _)| *id).collect();
        let mut known = Vec::new();
        for ((id, bytes), place) in fresh.into_iter().zip(self.store.find(&ids)?) {
            match place {
                Some(place) => {
                    known.push(id);
                    if let BlockPlace::Pack { pack, .. } = place {
                        done.packs.push(pack);
                    }
                }
                None => done.new.push((id, self.store.sealing.seal_block(CHUNKS, id, block_type::CHUNK, bytes)?)),
            }
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
