//! Which files a log of some size has, and which are new when it has grown.

use super::{FULL, SPAN, TileKind, TilePath};

/// Every file of a log with so many entries: bundles first, then tiles level by level, from left to right.
pub fn files(size: u64) -> impl Iterator<Item = TilePath> {
    changed(0, size)
}

/// The files of a log of `new` entries that the same log of `old` entries did not have: bundles first, then tiles level by
/// level, from left to right. Files that were full are never among them.
pub fn changed(old: u64, new: u64) -> impl Iterator<Item = TilePath> {
    let kinds = std::iter::once(TileKind::Entries).chain((0..u64::BITS / SPAN).map(|level| {
        // Eight levels of tiles hold every tree.
        TileKind::Hashes(u8::try_from(level).unwrap_or(u8::MAX))
    }));
    kinds.flat_map(move |kind| {
        let level = match kind {
            TileKind::Hashes(level) => u32::from(level),
            TileKind::Entries => 0,
        };
        let (before, after) = (old >> (SPAN * level), new >> (SPAN * level));
        let full = u64::from(FULL);
        let first = before / full;
        let indexes = if after > before { first..after.div_ceil(full) } else { 0..0 };
        indexes.map(move |index| {
            let width = u16::try_from(after - index * full).map_or(FULL, |rest| rest.min(FULL));
            TilePath { kind, index, width }
        })
    })
}
