//! Tiles and bundles as they come into being, from the entries.

use super::bundle::bundle_push;
use super::reader::tile_hashes;
use super::{FULL, SPAN, TileKind, TilePath, TileSource, bundle_entries};
use crate::merkle::{Frontier, Hash, complete_root, leaf_hash};
use samite_model::{Error, Result};
use std::collections::VecDeque;

/// A file of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileFile {
    /// What it is called.
    pub path: TilePath,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// The right edge of a log: what its files that are not full have in them. It is all that is needed to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    size: u64,
    bundle: Vec<u8>,
    levels: Vec<Vec<Hash>>,
}

impl Edge {
    /// How many entries the log has.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Reads the edge of a log of this size from its files, and the frontier that follows from them. What was changed in them
    /// shows in the frontier's root.
    ///
    /// # Errors
    /// `corrupt` (`bad_tile`, `bad_bundle`) when the files do not belong together; what the source answers.
    pub fn read(source: &mut dyn TileSource, size: u64) -> Result<(Self, Frontier)> {
        let mut edge = Self { size, ..Self::default() };
        let mut level = 0_u8;
        while let Some(there) = size.checked_shr(SPAN * u32::from(level)).filter(|there| *there > 0) {
            let width = u16::try_from(there % u64::from(FULL)).unwrap_or(FULL);
            let path = TilePath { kind: TileKind::Hashes(level), index: there / u64::from(FULL), width };
            let hashes = if width == 0 { Vec::new() } else { tile_hashes(path, &source.read(path)?)? };
            edge.levels.push(hashes);
            level += 1;
        }
        let hashes = edge.levels.first().map(Vec::as_slice).unwrap_or_default();
        if !hashes.is_empty() {
            let width = u16::try_from(hashes.len()).unwrap_or(FULL);
            let path = TilePath { kind: TileKind::Entries, index: size / u64::from(FULL), width };
            let bytes = source.read(path)?;
            let entries = bundle_entries(&bytes).map_err(|error| error.context(path))?;
            // A wider bundle than asked for begins with the same entries.
            if entries.len() < hashes.len() || entries.iter().zip(hashes).any(|(entry, hash)| leaf_hash(entry) != *hash)
            {
                let what = format!("{path} does not have the entries of its tile");
                return Err(Error::corrupt("bad_bundle", what));
            }
            for entry in entries.iter().take(hashes.len()) {
                bundle_push(&mut edge.bundle, entry)?;
            }
        }
        let frontier = edge.frontier();
        Ok((edge, frontier))
    }

    /// The frontier of the log: the largest subtrees are on the highest level.
    fn frontier(&self) -> Frontier {
        let mut frontier = Frontier::new();
        for (level, hashes) in self.levels.iter().enumerate().rev() {
            let height = SPAN * u32::try_from(level).unwrap_or(u32::MAX);
            for hash in hashes {
                frontier.push_complete(*hash, height);
            }
        }
        frontier
    }
}

/// Makes the files of a log from its entries, each as soon as it is full, and those that are not full at the end. It holds one
/// bundle and one tile a level.
pub struct TileStream<I> {
    entries: Option<I>,
    began: u64,
    edge: Edge,
    ready: VecDeque<TileFile>,
}

impl<I: Iterator<Item = Result<Vec<u8>>>> TileStream<I> {
    /// The files that a log has after these entries and did not have at the edge, which is the default one for a new log.
    pub fn new(edge: Edge, entries: I) -> Self {
        Self { entries: Some(entries), began: edge.size, edge, ready: VecDeque::new() }
    }

    /// The files of a log that begins later than its first entry: of what is before, only the roots of full bundles are there. Its
    /// nodes are among the files, the bundles and tiles of leaves are not.
    pub fn after(bundles: &[Hash], entries: I) -> Self {
        let mut stream = Self::new(Edge::default(), entries);
        for root in bundles {
            stream.edge.size += u64::from(FULL);
            stream.take_hash(1, *root);
        }
        stream
    }

    /// The frontier after all entries that were taken so far; that of the whole log when the stream has ended.
    pub fn frontier(&self) -> Frontier {
        self.edge.frontier()
    }

    fn take(&mut self, entry: &[u8]) -> Result<()> {
        bundle_push(&mut self.edge.bundle, entry)?;
        self.edge.size += 1;
        if self.edge.size.is_multiple_of(u64::from(FULL)) {
            let bytes = std::mem::take(&mut self.edge.bundle);
            self.ready.push_back(file(TileKind::Entries, self.edge.size, FULL, bytes));
        }
        self.take_hash(0, leaf_hash(entry));
        Ok(())
    }

    fn take_hash(&mut self, level: u8, hash: Hash) {
        let (mut level, mut hash) = (level, hash);
        // Each tile that is full is one hash of the level above.
        while let Some(above) = self.push(level, hash) {
            (level, hash) = (level + 1, above);
        }
    }

    /// Puts a hash on a level of tiles: the root of its tile when that is full now.
    fn push(&mut self, level: u8, hash: Hash) -> Option<Hash> {
        let place = usize::from(level);
        if self.edge.levels.len() <= place {
            self.edge.levels.resize(place + 1, Vec::new());
        }
        let hashes = self.edge.levels.get_mut(place)?;
        hashes.push(hash);
        if hashes.len() < usize::from(FULL) {
            return None;
        }
        let hashes = std::mem::take(hashes);
        self.ready.push_back(file(TileKind::Hashes(level), self.edge.size, FULL, tile_bytes(&hashes)));
        complete_root(&hashes)
    }

    /// The files that are not full, and have more in them than at the beginning.
    fn end(&mut self) {
        self.entries = None;
        let size = self.edge.size;
        for (level, hashes) in (0_u8..).zip(&self.edge.levels) {
            let grown = size >> (SPAN * u32::from(level)) > self.began >> (SPAN * u32::from(level));
            let width = u16::try_from(hashes.len()).unwrap_or(FULL);
            if !grown || width == 0 {
                continue;
            }
            if level == 0 {
                self.ready.push_back(file(TileKind::Entries, size, width, self.edge.bundle.clone()));
            }
            self.ready.push_back(file(TileKind::Hashes(level), size, width, tile_bytes(hashes)));
        }
    }
}

/// The last file of a kind of a log of this size.
fn file(kind: TileKind, size: u64, width: u16, bytes: Vec<u8>) -> TileFile {
    let level = match kind {
        TileKind::Hashes(level) => u32::from(level),
        TileKind::Entries => 0,
    };
    let there = size >> (SPAN * level);
    TileFile { path: TilePath { kind, index: there.saturating_sub(width.into()) / u64::from(FULL), width }, bytes }
}

fn tile_bytes(hashes: &[Hash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| hash.0).collect()
}

impl<I: Iterator<Item = Result<Vec<u8>>>> Iterator for TileStream<I> {
    type Item = Result<TileFile>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(file) = self.ready.pop_front() {
                return Some(Ok(file));
            }
            let Some(entry) = self.entries.as_mut()?.next() else {
                self.end();
                continue;
            };
            let taken = entry.and_then(|entry| self.take(&entry));
            if let Err(error) = taken {
                self.entries = None;
                return Some(Err(error));
            }
        }
    }
}
