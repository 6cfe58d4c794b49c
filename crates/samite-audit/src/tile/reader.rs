//! Reading the hashes of a tree from its tiles.

use super::{FULL, SPAN, TileKind, TilePath};
use crate::merkle::{Hash, HashReader, Node, complete_root};
use samite_model::{Error, Result};
use std::collections::BTreeMap;

/// Where tiles and bundles are.
pub trait TileSource {
    /// The bytes of a tile or bundle; when only a wider one is there, those of that one will do.
    ///
    /// # Errors
    /// `not_found` when there is none; what reading it answers.
    fn read(&mut self, path: TilePath) -> Result<Vec<u8>>;
}

/// Tiles and bundles in memory.
pub type Tiles = BTreeMap<TilePath, Vec<u8>>;

impl TileSource for Tiles {
    fn read(&mut self, path: TilePath) -> Result<Vec<u8>> {
        let missing = || Error::not_found("no_tile", format!("{path} is missing"));
        self.get(&path).cloned().ok_or_else(missing)
    }
}

/// Reads hashes of a log of a certain size from its tiles, each tile once. What it answers is as good as the tiles: whoever does
/// not trust these verifies what was made of it against a signed tree head.
pub struct TileReader<'a> {
    size: u64,
    source: &'a mut dyn TileSource,
    read: BTreeMap<TilePath, Vec<Hash>>,
}

impl<'a> TileReader<'a> {
    /// A reader of the log's tiles as of this size.
    pub fn new(size: u64, source: &'a mut dyn TileSource) -> Self {
        Self { size, source, read: BTreeMap::new() }
    }

    /// The hashes of the tile that has this one of a level of tiles, and the place of it there.
    fn tile(&mut self, level: u8, first: u64) -> Result<&[Hash]> {
        let full = u64::from(FULL);
        let index = first / full;
        let there = self.size >> (SPAN * u32::from(level));
        let width = u16::try_from((there - index * full).min(full)).unwrap_or(FULL);
        let path = TilePath { kind: TileKind::Hashes(level), index, width };
        let hashes = match self.read.entry(path) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(tile_hashes(path, &self.source.read(path)?)?)
            }
        };
        Ok(hashes)
    }
}

/// The hashes of a tile; a wider one than asked for is cut to it.
///
/// # Errors
/// `corrupt` (`bad_tile`) when there are too few, or not a whole number of them.
pub(crate) fn tile_hashes(path: TilePath, bytes: &[u8]) -> Result<Vec<Hash>> {
    let (hashes, rest) = bytes.as_chunks::<{ Hash::SIZE }>();
    let wanted = usize::from(path.width);
    if !rest.is_empty() || hashes.len() < wanted || hashes.len() > usize::from(FULL) {
        let what = format!("{path} has {} bytes, and not {}", bytes.len(), wanted * Hash::SIZE);
        return Err(Error::corrupt("bad_tile", what));
    }
    Ok(hashes.iter().take(wanted).map(|bytes| Hash(*bytes)).collect())
}

impl HashReader for TileReader<'_> {
    fn read(&mut self, node: Node) -> Result<Hash> {
        let missing = || Error::not_found("no_leaf", format!("the tree has no {node:?}"));
        let (level, within) = (node.height / SPAN, node.height % SPAN);
        let end = node.index.checked_add(1).and_then(|next| next.checked_mul(1_u64.checked_shl(node.height)?));
        if end.is_none_or(|end| end > self.size) {
            return Err(missing());
        }
        let level = u8::try_from(level).map_err(|_| missing())?;
        let first = node.index << within;
        let place = usize::try_from(first % u64::from(FULL)).map_err(|_| missing())?;
        let hashes = self.tile(level, first)?;
        hashes.get(place..place + (1 << within)).and_then(complete_root).ok_or_else(missing)
    }
}
