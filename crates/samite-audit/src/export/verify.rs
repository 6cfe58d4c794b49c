//! Verifying a log in a folder with its public key alone: every entry is hashed, every tile is held against what is below it, and
//! the root against the signed tree head.

use super::folder::{FolderTiles, HEAD_FILE, read_head};
use super::leftovers::{Expected, count, leftovers};
use crate::merkle::{Frontier, Hash, complete_root, leaf_hash};
use crate::note::VerifierKey;
use crate::tile::{FULL, SPAN, TileKind, TilePath, TileReader, TileSource as _, bundle_entries, tile_hashes};
use crate::tree_head::{OpenedTreeHead, TreeHead};
use samite_model::{Error, Result};
use std::path::Path;

/// The most findings that are kept; how many there are is counted all the same.
pub const MOST_FINDINGS: usize = 100;

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, relative to the folder.
    pub file: String,
    /// The index of the first entry that it is about, where it is about some.
    pub index: Option<u64>,
    /// What is wrong with it.
    pub what: String,
}

/// What came of verifying a log in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The tree head and its witnesses; none when it is not the log's.
    pub opened: Option<OpenedTreeHead>,
    /// How many entries were hashed.
    pub entries: u64,
    /// How many files were read.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// What is wrong, at most [`MOST_FINDINGS`] of it.
    pub findings: Vec<Finding>,
    /// How much is wrong.
    pub wrong: u64,
    /// Files below `tile` that are none of this tree head: later ones of an export that was cut off, or not of a log.
    pub others: u64,
}

impl Verification {
    /// Whether the whole log is as its key signed it.
    pub const fn is_right(&self) -> bool {
        self.opened.is_some() && self.wrong == 0
    }

    pub(super) fn find(&mut self, file: &impl ToString, index: Option<u64>, what: impl Into<String>) {
        self.wrong += 1;
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(Finding { file: file.to_string(), index, what: what.into() });
        }
    }
}

/// Verifies a log in a folder. `entry` is given each entry that has the hash that its tile says, with its index, in
/// order; what is wrong above shows at the end.
///
/// # Errors
/// What reading the folder answers, such as `denied`, and what `entry` answers. What is wrong with the log is in the answer.
pub fn verify(
    folder: &Path,
    log: &VerifierKey,
    witnesses: &[VerifierKey],
    entry: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<Verification> {
    let mut found = Verification::default();
    let Some(signed) = read_head(folder)? else {
        found.find(&HEAD_FILE, None, "is missing");
        return Ok(found);
    };
    found.files += 1;
    found.bytes += signed.len() as u64;
    let opened = match TreeHead::open(&signed, log, witnesses) {
        Ok(opened) => opened,
        Err(error) => {
            found.find(&HEAD_FILE, None, error.message());
            return Ok(found);
        }
    };
    let head = opened.head.clone();
    found.opened = Some(opened);
    let mut pass = Pass { tiles: FolderTiles::new(folder), size: head.size, found, expected: Expected::new() };
    let mut below = pass.entries(entry)?;
    let mut peaks = vec![below.partial.take()];
    let mut level = 1;
    while head.size >> (SPAN * u32::from(level)) > 0 {
        below = pass.level(level, below)?;
        peaks.push(below.partial.take());
        level += 1;
    }
    let Pass { mut found, expected, .. } = pass;
    match root(&peaks) {
        Some(root) if root == head.root => {}
        // Where files are missing, that was found already.
        None if found.wrong > 0 => {}
        other => {
            let has = other.map_or_else(|| "no root".to_owned(), |root| format!("the root {}", root.to_base64()));
            let what =
                format!("the log's {} entries have {has}, and the tree head says {}", head.size, head.root.to_base64());
            found.find(&HEAD_FILE, None, what);
        }
    }
    leftovers(folder, &expected, &mut found)?;
    Ok(found)
}

/// Verifies that the log in a folder continues the tree of an older tree head of it. The folder must have been [verified](verify).
///
/// # Errors
/// `corrupt` (`not_consistent`) when it does not, (`other_log`) when it is another one's; what reading the folder answers.
pub fn continues(folder: &Path, head: &TreeHead, old: &TreeHead) -> Result<()> {
    let refused = |what: String| {
        Error::corrupt("not_consistent", what).hint("keep both tree heads: together they show that history was changed")
    };
    if old.origin != head.origin {
        let what = format!("the older tree head is that of {:?}, and the log is {:?}", old.origin, head.origin);
        return Err(Error::corrupt("other_log", what).hint("give an older tree head of the same log"));
    }
    if old.size > head.size {
        return Err(refused(format!("the log has {} entries, and had {} before", head.size, old.size)));
    }
    let mut tiles = FolderTiles::new(folder);
    let frontier = Frontier::read(&mut TileReader::new(head.size, &mut tiles), old.size)?;
    if frontier.root() == old.root {
        return Ok(());
    }
    Err(refused(format!("the first {} entries of {} are not those that it had before", old.size, head.origin)))
}

/// The root that follows from the hashes of each level that are in no full tile.
fn root(peaks: &[Option<Vec<Hash>>]) -> Option<Hash> {
    let mut frontier = Frontier::new();
    for (level, hashes) in peaks.iter().enumerate().rev() {
        let height = SPAN * u32::try_from(level).ok()?;
        for hash in hashes.as_ref()? {
            frontier.push_complete(*hash, height);
        }
    }
    Some(frontier.root())
}

/// What a level says to the one above: the roots of its full tiles, and the hashes of the last one when that is not full. What
/// cannot be known is none.
#[derive(Default)]
struct Below {
    roots: Vec<Option<Hash>>,
    partial: Option<Vec<Hash>>,
}

struct Pass {
    tiles: FolderTiles,
    size: u64,
    found: Verification,
    expected: Expected,
}

impl Pass {
    /// The tiles of a level, or the bundles: index and width.
    fn paths(&self, kind: TileKind) -> impl Iterator<Item = TilePath> + use<> {
        let level = match kind {
            TileKind::Hashes(level) => u32::from(level),
            TileKind::Entries => 0,
        };
        let there = self.size >> (SPAN * level);
        let full = u64::from(FULL);
        (0..there.div_ceil(full)).map(move |index| {
            let width = u16::try_from(there - index * full).map_or(FULL, |rest| rest.min(FULL));
            TilePath { kind, index, width }
        })
    }

    /// The bytes of a file, and what it is called: of one that is not full and is gone, the full one does. When there is none, or
    /// it has not as much in it as its name says, that is a finding.
    fn read(&mut self, path: TilePath) -> Result<Option<(TilePath, Vec<u8>)>> {
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
                    (Some(has), _) if has == usize::from(path.width) => (String::new(), Some((path, bytes))),
                    (Some(has), kind) => {
                        let noun = if kind == TileKind::Entries { "entries" } else { "hashes" };
                        (format!("has {has} {noun}, and not {}", path.width), None)
                    }
                    (None, TileKind::Entries) => ("is cut off in an entry, or has too many".to_owned(), None),
                    (None, TileKind::Hashes(_)) => (format!("has {} bytes, which are no hashes", bytes.len()), None),
                }
            }
            Ok(None) => ("is missing".to_owned(), None),
            Err(error) if error.code() == "bad_tile" => ("is no regular file".to_owned(), None),
            Err(error) => return Err(error),
        };
        if read.is_none() {
            self.found.find(&path, Some(path.first_leaf()), what);
        }
        Ok(read)
    }

    fn tile(&mut self, path: TilePath) -> Result<Option<Vec<Hash>>> {
        let Some((_, bytes)) = self.read(path)? else { return Ok(None) };
        tile_hashes(path, &bytes).map(Some)
    }

    /// The bundles, each against its tile.
    fn entries(&mut self, entry: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<Below> {
        let mut below = Below { partial: Some(Vec::new()), ..Below::default() };
        for path in self.paths(TileKind::Entries) {
            let tile_path = TilePath { kind: TileKind::Hashes(0), ..path };
            let tile = self.tile(tile_path)?;
            let bundle = self.read(path)?;
            let hashes = match &bundle {
                Some((_, bytes)) => Some(self.bundle(path, tile_path, bytes, tile.as_deref(), entry)?),
                None => None,
            };
            // The tile is what the level above was made of; without it, the entries tell.
            let hashes = tile.or(hashes);
            if path.is_full() {
                below.roots.push(hashes.as_deref().and_then(complete_root));
            } else {
                below.partial = hashes;
            }
        }
        Ok(below)
    }

    /// Hashes a bundle's entries and holds them against its tile.
    fn bundle(
        &mut self,
        path: TilePath,
        tile_path: TilePath,
        bytes: &[u8],
        tile: Option<&[Hash]>,
        entry: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<Vec<Hash>> {
        let width = usize::from(path.width);
        let mut hashes = Vec::with_capacity(width);
        let mut differ = Vec::new();
        for (index, bytes) in (path.first()..).zip(bundle_entries(bytes)?.into_iter().take(width)) {
            let hash = leaf_hash(bytes);
            let said = tile.and_then(|tile| tile.get(hashes.len()));
            if said.is_some_and(|said| *said != hash) {
                differ.push(index);
            } else {
                self.found.entries += 1;
                entry(index, bytes)?;
            }
            hashes.push(hash);
        }
        if !differ.is_empty() {
            let (file, what) = self.blame(path, tile_path, &hashes, tile);
            for index in differ {
                self.found.find(&file, Some(index), what);
            }
        }
        Ok(hashes)
    }

    /// Which of a bundle and its tile was changed, as far as the level above tells.
    fn blame(
        &mut self,
        path: TilePath,
        tile_path: TilePath,
        hashes: &[Hash],
        tile: Option<&[Hash]>,
    ) -> (TilePath, &'static str) {
        let above = TilePath { kind: TileKind::Hashes(1), index: path.index / u64::from(FULL), width: FULL };
        let width = self.paths(above.kind).find(|other| other.index == above.index).map_or(FULL, |other| other.width);
        let bytes = if path.is_full() { self.tiles.read(TilePath { width, ..above }).ok() } else { None };
        let place = usize::try_from(path.index % u64::from(FULL)).unwrap_or(usize::MAX);
        let said = bytes.and_then(|bytes| tile_hashes(TilePath { width, ..above }, &bytes).ok()?.get(place).copied());
        match said {
            Some(said) if complete_root(hashes) == Some(said) => (tile_path, "has another hash than its entry"),
            Some(said) if tile.and_then(complete_root) == Some(said) => (path, "the entry was changed"),
            _ => (path, "the entry does not have the hash that its tile says"),
        }
    }

    /// The tiles of a level above the first, against those below.
    fn level(&mut self, level: u8, below: Below) -> Result<Below> {
        let mut this = Below { partial: Some(Vec::new()), ..Below::default() };
        let mut roots = below.roots.into_iter();
        for path in self.paths(TileKind::Hashes(level)) {
            let tile = self.tile(path)?;
            let right: Vec<Option<Hash>> = roots.by_ref().take(path.width.into()).collect();
            if let Some(tile) = &tile {
                for ((place, said), right) in (path.first()..).zip(tile).zip(&right) {
                    if right.is_some_and(|right| right != *said) {
                        let index = place << (SPAN * u32::from(level));
                        self.found.find(&path, Some(index), "has another hash than the tile below it");
                    }
                }
            }
            let hashes = tile.or_else(|| right.into_iter().collect());
            if path.is_full() {
                this.roots.push(hashes.as_deref().and_then(complete_root));
            } else {
                this.partial = hashes;
            }
        }
        Ok(this)
    }
}
