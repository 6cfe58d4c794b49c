//! What a tile or bundle is called.

use super::{FULL, SPAN};
use samite_model::{Error, Result};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// What a file of the log has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TileKind {
    /// Hashes of this level of tiles: those of the leaves on level 0, and above it the roots of the full tiles below.
    Hashes(u8),
    /// Entries.
    Entries,
}

/// The name of a file of the log: `tile/LEVEL/N` or `tile/entries/N`, with `.p/WIDTH` when it is not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TilePath {
    /// What is in it.
    pub kind: TileKind,
    /// The how-manieth of its kind it is, from the left.
    pub index: u64,
    /// How many hashes or entries it has: 1 to 256.
    pub width: u16,
}

/// The highest level that a path may name.
const HIGHEST: u8 = 63;

impl TilePath {
    /// The level of tiles that its hashes are of; that of the leaves for a bundle.
    pub const fn level(&self) -> u8 {
        match self.kind {
            TileKind::Hashes(level) => level,
            TileKind::Entries => 0,
        }
    }

    /// Whether it is full, and so never changes again.
    pub const fn is_full(&self) -> bool {
        self.width == FULL
    }

    /// The index of its first hash or entry, counted on its own level.
    pub const fn first(&self) -> u64 {
        self.index.saturating_mul(FULL as u64)
    }

    /// The index in the log of the first entry that is in it or below it.
    pub fn first_leaf(&self) -> u64 {
        self.leaves().start
    }

    /// The indexes in the log of the entries that are in it or below it.
    pub fn leaves(&self) -> Range<u64> {
        // A path may name a level that no tree has.
        let each = 1_u64.checked_shl(SPAN * u32::from(self.level()));
        let at = |place: u64| each.map_or(u64::MAX, |each| place.saturating_mul(each));
        at(self.first())..at(self.first().saturating_add(self.width.into()))
    }
}

impl fmt::Display for TilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TileKind::Hashes(level) => write!(f, "tile/{level}/")?,
            TileKind::Entries => f.write_str("tile/entries/")?,
        }
        let mut groups = vec![self.index % 1000];
        let mut rest = self.index / 1000;
        while rest > 0 {
            groups.push(rest % 1000);
            rest /= 1000;
        }
        for (place, group) in groups.iter().enumerate().rev() {
            write!(f, "{}{group:03}{}", if place > 0 { "x" } else { "" }, if place > 0 { "/" } else { "" })?;
        }
        if self.is_full() { Ok(()) } else { write!(f, ".p/{}", self.width) }
    }
}

impl FromStr for TilePath {
    type Err = Error;

    /// The path with this text, relative to the log; it has one spelling.
    fn from_str(text: &str) -> Result<Self> {
        let parsed = parse(text).filter(|path| path.to_string() == text);
        parsed.ok_or_else(|| Error::invalid("bad_tile_path", format!("{text:?} is no path of a tile or of a bundle")))
    }
}

fn parse(text: &str) -> Option<TilePath> {
    let (kind, rest) = text.strip_prefix("tile/")?.split_once('/')?;
    let kind = match kind {
        "entries" => TileKind::Entries,
        level => TileKind::Hashes(level.parse().ok().filter(|level| *level <= HIGHEST)?),
    };
    let (groups, width) = match rest.split_once(".p/") {
        None => (rest, FULL),
        Some((groups, width)) => (groups, width.parse().ok().filter(|width| (1..FULL).contains(width))?),
    };
    let mut index: u64 = 0;
    for group in groups.split('/') {
        let group: u16 = group.strip_prefix('x').unwrap_or(group).parse().ok()?;
        index = index.checked_mul(1000)?.checked_add(group.into())?;
    }
    Some(TilePath { kind, index, width })
}
