//! Blocks, packs and pins.

use super::refusal;
use crate::{BlockPlace, BlockRow, NewBlock, NewPack, PackRow, PackState, Pin};
use samite_model::{BlockId, PackId, PinId, Pseudonym, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

#[derive(Clone, Default)]
pub(super) struct Blocks {
    pub(super) places: BTreeMap<BlockId, (Pseudonym, BlockPlace)>,
    pub(super) packs: BTreeMap<PackId, PackRow>,
    pub(super) pins: BTreeMap<PinId, Pin>,
}

/// A place without its bytes.
fn bare(place: &BlockPlace) -> BlockPlace {
    match place {
        BlockPlace::Inline(_) => BlockPlace::Inline(Vec::new()),
        BlockPlace::Pack { pack, offset, length } => BlockPlace::Pack { pack: *pack, offset: *offset, length: *length },
    }
}

impl Blocks {
    fn pack_lives(&self, pack: &PackId) -> bool {
        self.packs.get(pack).is_some_and(|pack| pack.state == PackState::Live)
    }

    fn is_live(&self, place: &BlockPlace) -> bool {
        match place {
            BlockPlace::Inline(_) => true,
            BlockPlace::Pack { pack, .. } => self.pack_lives(pack),
        }
    }

    pub(super) fn find(&self, block: &BlockId) -> Option<BlockPlace> {
        let (_, place) = self.places.get(block)?;
        self.is_live(place).then(|| bare(place))
    }

    pub(super) fn inline(&self, block: &BlockId) -> Option<Vec<u8>> {
        match self.places.get(block)? {
            (_, BlockPlace::Inline(bytes)) => Some(bytes.clone()),
            (_, BlockPlace::Pack { .. }) => None,
        }
    }

    pub(super) fn list(&self, after: Option<BlockId>, limit: usize) -> Vec<BlockRow> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let row = |(id, (owner, place)): (&BlockId, &(Pseudonym, BlockPlace))| BlockRow {
            id: *id,
            owner: *owner,
            place: bare(place),
            size: match place {
                BlockPlace::Inline(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
                BlockPlace::Pack { length, .. } => u64::from(*length),
            },
        };
        self.places.range((from, Bound::Unbounded)).take(limit).map(row).collect()
    }

    /// Whether these may become known.
    pub(super) fn check(&self, blocks: &[NewBlock], packs: &[NewPack]) -> Result<()> {
        let made: BTreeSet<PackId> = packs.iter().map(|pack| pack.id).collect();
        for pack in &made {
            if self.packs.get(pack).is_some_and(|pack| pack.state == PackState::Dying) {
                return Err(refusal::pack_dying(*pack));
            }
        }
        for block in blocks {
            if let BlockPlace::Pack { pack, .. } = &block.place
                && !made.contains(pack)
                && !self.pack_lives(pack)
            {
                return Err(refusal::pack_dying(*pack));
            }
        }
        Ok(())
    }

    pub(super) fn add_packs(&mut self, packs: Vec<NewPack>) {
        for pack in packs {
            let row = PackRow { id: pack.id, owner: pack.owner, size: pack.size, state: PackState::Live };
            let known = self.packs.entry(pack.id).or_insert(row);
            known.size = known.size.max(pack.size);
        }
    }

    /// Makes blocks known; the packs that they are in are known already.
    pub(super) fn add_blocks(&mut self, blocks: Vec<NewBlock>) {
        for block in blocks {
            // A block of a dying pack is not found, so whoever has stored it again means the new place.
            if self.find(&block.id).is_none() {
                self.places.insert(block.id, (block.owner, block.place));
            }
        }
    }

    pub(super) fn forget(&mut self, packs: &[PackId], blocks: &[BlockId]) {
        let packs: BTreeSet<&PackId> = packs.iter().collect();
        self.packs.retain(|id, _| !packs.contains(id));
        self.places.retain(|_, (_, place)| !matches!(place, BlockPlace::Pack { pack, .. } if packs.contains(pack)));
        for block in blocks {
            self.places.remove(block);
        }
    }
}
