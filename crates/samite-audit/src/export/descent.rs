//! From a signed tree head down to the entries: what is above is known to be right, and what is below is held against it.

use super::folder::{FolderTiles, HEAD_FILE};
use super::leftovers::{Expected, count};
use super::verify::Verification;
use crate::merkle::{Frontier, Hash, complete_root, leaf_hash};
use crate::tile::{FULL, SPAN, TileKind, TilePath, bundle_entries, tile_hashes};
use crate::tree_head::TreeHead;
use samite_model::Result;
use std::ops::Range;
use std::path::Path;

/// Hashes of one level of tiles; what cannot be known is none.
type Known = Vec<Option<Hash>>;

pub(super) struct Descent<'a> {
    tiles: FolderTiles,
    head: &'a TreeHead,
    /// The entries that must be there.
    wanted: Range<u64>,
    /// Whether nothing else is read.
    only: bool,
    found: Verification,
    expected: Expected,
}

impl<'a> Descent<'a> {
    pub(super) fn new(folder: &Path, head: &'a TreeHead, wanted: Range<u64>, only: bool, found: Verification) -> Self {
        Self { tiles: FolderTiles::new(folder), head, wanted, only, found, expected: Expected::new() }
    }

    /// What was found, and which files the log has.
    pub(super) fn end(self) -> (Verification, Expected) {
        (self.found, self.expected)
    }

    pub(super) fn run(&mut self, entry: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        // Each level has as many full tiles as the level above has hashes; the topmost one has none.
        let mut above = Known::new();
        for (level, edge) in self.edge()?.into_iter().rev() {
            let mut known = Known::new();
            for (index, said) in (0..).zip(above) {
                let path = TilePath { kind: TileKind::Hashes(level), index, width: FULL };
                if self.only && !self.is_wanted(path) {
                    known.extend((level > 0).then_some([None; FULL as usize]).into_iter().flatten());
                    continue;
                }
                let hashes = self.full(path, said)?;
                self.go_on(path, hashes, &mut known, entry)?;
            }
            if !edge.is_empty() {
                let path = self.edge_path(level);
                self.go_on(path, edge, &mut known, entry)?;
            }
            above = known;
        }
        Ok(())
    }

    /// Looks at the entries of a tile of leaves; keeps the hashes of others for the level below.
    fn go_on(
        &mut self,
        path: TilePath,
        hashes: Known,
        known: &mut Known,
        entry: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if path.level() == 0 {
            return self.bundle(TilePath { kind: TileKind::Entries, ..path }, &hashes, entry);
        }
        known.extend(hashes);
        Ok(())
    }

    /// How many hashes a level has.
    fn there(&self, level: u8) -> u64 {
        self.head.size >> (SPAN * u32::from(level))
    }

    /// The last tile of a level, when that is not full; its width is 0 when all are.
    fn edge_path(&self, level: u8) -> TilePath {
        let (there, full) = (self.there(level), u64::from(FULL));
        let width = u16::try_from(there % full).unwrap_or_default();
        TilePath { kind: TileKind::Hashes(level), index: there / full, width }
    }

    /// The hashes of each level's tile that is not full, which make the root. Where they do not, what is below them tells which of
    /// them was changed.
    fn edge(&mut self) -> Result<Vec<(u8, Known)>> {
        let levels: Vec<u8> = (0..u8::MAX).take_while(|level| *level < 8 && self.there(*level) > 0).collect();
        let mut stored = Vec::new();
        for level in &levels {
            let path = self.edge_path(*level);
            stored.push(if path.width == 0 { Some(Vec::new()) } else { self.tile(path)? });
        }
        let root_is_right = |chosen: &[Option<&Vec<Hash>>]| root(chosen) == Some(self.head.root);
        let all: Vec<Option<&Vec<Hash>>> = stored.iter().map(Option::as_ref).collect();
        if root_is_right(&all) {
            return Ok(levels.into_iter().zip(stored.into_iter().map(known)).collect());
        }
        let below: Vec<Option<Vec<Hash>>> = levels.iter().map(|level| self.below(self.edge_path(*level))).collect();
        // As few files as possible were changed.
        let mut choices: Vec<u32> = (1..1 << levels.len()).collect();
        choices.sort_by_key(|choice| choice.count_ones());
        for choice in choices {
            let from_below = |place: usize| choice >> place & 1 == 1;
            let places = stored.iter().zip(&below).enumerate();
            let chosen: Vec<Option<&Vec<Hash>>> = places
                .map(|(place, (stored, below))| if from_below(place) { below } else { stored }.as_ref())
                .collect();
            if !root_is_right(&chosen) {
                continue;
            }
            let chosen: Vec<Known> = chosen.into_iter().map(|hashes| known(hashes.cloned())).collect();
            for ((level, stored), right) in levels.iter().zip(&stored).zip(&chosen) {
                if let Some(stored) = stored {
                    self.differ(self.edge_path(*level), stored, right);
                }
            }
            return Ok(levels.into_iter().zip(chosen).collect());
        }
        // Where something is missing, that was found already.
        if stored.iter().all(Option::is_some) {
            let (size, says) = (self.head.size, self.head.root.to_base64());
            let has = root(&all).map_or_else(String::new, Hash::to_base64);
            let what = format!("the log's {size} entries have the root {has}, and the tree head says {says}");
            self.found.find(&HEAD_FILE, None, what);
        }
        // Nothing vouches for what there is, and so for nothing below.
        let unknown = |level: u8| (level, vec![None; self.edge_path(level).width.into()]);
        Ok(levels.into_iter().map(unknown).collect())
    }

    /// The hashes of a full tile whose root the level above knows.
    fn full(&mut self, path: TilePath, said: Option<Hash>) -> Result<Known> {
        let tile = self.tile(path)?;
        if said.is_none() {
            // What nothing above vouches for is nobody's, whatever lies there.
            return Ok(vec![None; FULL.into()]);
        }
        if let Some(tile) = &tile
            && complete_root(tile) == said
        {
            return Ok(known(Some(tile.clone())));
        }
        let below = self.below(path).filter(|below| complete_root(below) == said);
        let right = below.map_or_else(|| vec![None; FULL.into()], |below| known(Some(below)));
        match tile {
            Some(tile) if right.iter().all(Option::is_some) => self.differ(path, &tile, &right),
            Some(_) => {
                self.found.find(&path, Some(path.first_leaf()), "does not have the root that the tile above says");
            }
            // That it is missing was found, where it must be there.
            None => {}
        }
        Ok(right)
    }

    /// Says where a tile has other hashes than the right ones.
    fn differ(&mut self, path: TilePath, tile: &[Hash], right: &Known) {
        for ((place, hash), right) in (path.first()..).zip(tile).zip(right) {
            if right.is_some_and(|right| right != *hash) {
                let index = place << (SPAN * u32::from(path.level()));
                let what = if path.level() == 0 {
                    "has another hash than its entry"
                } else {
                    "has another hash than what is below it"
                };
                self.found.find(&path, Some(index), what);
            }
        }
    }

    /// The hashes that a tile must have by what is below it, if that is whole. What is wrong there is found later.
    fn below(&self, path: TilePath) -> Option<Vec<Hash>> {
        let read = |path: TilePath| {
            let bytes = self.tiles.exact(path).ok().flatten()?;
            (count(path, &bytes) == Some(path.width.into())).then_some(bytes)
        };
        let Some(level) = path.level().checked_sub(1) else {
            let bundle = read(TilePath { kind: TileKind::Entries, ..path })?;
            return Some(bundle_entries(&bundle).ok()?.into_iter().map(leaf_hash).collect());
        };
        let tiles = path.first()..path.first() + u64::from(path.width);
        let tiles = tiles.map(|index| TilePath { kind: TileKind::Hashes(level), index, width: FULL });
        tiles.map(|tile| complete_root(&tile_hashes(tile, &read(tile)?).ok()?)).collect()
    }

    /// The bytes of a file, and what it is called: of one that is not full and is gone, the full one does. When there is none, or
    /// it has not as much in it as its name says, that is a finding.
    fn read(&mut self, path: TilePath) -> Result<Option<Vec<u8>>> {
        self.expected.insert((path.kind, path.index), path.width);
        let mut tried = self.tiles.exact(path).map(|bytes| bytes.map(|bytes| (path, bytes)));
        if let Ok(None) = tried {
            let full = TilePath { width: FULL, ..path };
            tried = self.tiles.exact(full).map(|bytes| bytes.map(|bytes| (full, bytes)));
        }
        let (what, read) = match tried {
            Ok(Some((path, bytes))) => {
                self.found.files += 1;
                self.found.bytes += bytes.len() as u64;
                match (count(path, &bytes), path.kind) {
                    (Some(has), _) if has == usize::from(path.width) => (String::new(), Some(bytes)),
                    (Some(has), kind) => {
                        let noun = if kind == TileKind::Entries { "entries" } else { "hashes" };
                        (format!("has {has} {noun}, and not {}", path.width), None)
                    }
                    (None, TileKind::Entries) => ("is cut off in an entry, or has too many".to_owned(), None),
                    (None, TileKind::Hashes(_)) => (format!("has {} bytes, which are no hashes", bytes.len()), None),
                }
            }
            Ok(None) if !self.is_wanted(path) => return Ok(None),
            Ok(None) => ("is missing".to_owned(), None),
            Err(error) if error.code() == "bad_tile" => ("is no regular file".to_owned(), None),
            Err(error) => return Err(error),
        };
        if read.is_none() {
            self.found.find(&path, Some(path.first_leaf()), what);
        }
        Ok(read)
    }

    /// Whether a file must be there. What is not full makes the root, whichever entries are asked for.
    fn is_wanted(&self, path: TilePath) -> bool {
        let leaves = path.leaves();
        let makes_the_root = !path.is_full() && path.kind != TileKind::Entries;
        makes_the_root || (leaves.start < self.wanted.end && self.wanted.start < leaves.end)
    }

    fn tile(&mut self, path: TilePath) -> Result<Option<Vec<Hash>>> {
        let Some(bytes) = self.read(path)? else { return Ok(None) };
        tile_hashes(path, &bytes).map(Some)
    }

    /// Hashes a bundle's entries and holds them against the hashes of its tile.
    fn bundle(
        &mut self,
        path: TilePath,
        hashes: &Known,
        entry: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.only && !self.is_wanted(path) {
            return Ok(());
        }
        let Some(bytes) = self.read(path)? else { return Ok(()) };
        for ((index, bytes), hash) in (path.first()..).zip(bundle_entries(&bytes)?).zip(hashes) {
            match hash {
                Some(hash) if leaf_hash(bytes) == *hash => {
                    self.found.entries += 1;
                    entry(index, bytes)?;
                }
                Some(_) => self.found.find(&path, Some(index), "the entry was changed"),
                // What it should be is not known any more, and why was found above.
                None => {}
            }
        }
        Ok(())
    }
}

fn known(hashes: Option<Vec<Hash>>) -> Known {
    hashes.into_iter().flatten().map(Some).collect()
}

/// The root that follows from the hashes of each level that are in no full tile.
fn root(levels: &[Option<&Vec<Hash>>]) -> Option<Hash> {
    let mut frontier = Frontier::new();
    for (level, hashes) in levels.iter().enumerate().rev() {
        let height = SPAN * u32::try_from(level).ok()?;
        for hash in (*hashes)? {
            frontier.push_complete(*hash, height);
        }
    }
    Some(frontier.root())
}
