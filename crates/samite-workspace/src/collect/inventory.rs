//! All that the index knows, in memory: about seventy bytes a block.

use crate::store::Store;
use futures_lite::future::block_on;
use samite_ledger::{BlockPlace, PackRow, PackState};
use samite_model::{BlockId, PackId, Pseudonym, Result};
use std::collections::HashMap;

const BATCH: usize = 4096;

/// A block as known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) owner: Pseudonym,
    /// Where it is; `None` for one in the ledger.
    pub(super) place: Option<(PackId, u64, u32)>,
    pub(super) size: u64,
}

/// Blocks and packs as the index had them.
pub(super) struct Inventory {
    pub(super) blocks: HashMap<BlockId, Known>,
    packs: HashMap<PackId, PackRow>,
}

impl Inventory {
    pub(super) fn load(store: &Store) -> Result<Self> {
        let packs = block_on(store.index.packs())?.into_iter().map(|pack| (pack.id, pack)).collect();
        let mut blocks = HashMap::new();
        let mut after = None;
        loop {
            let rows = block_on(store.index.blocks(after, BATCH))?;
            let Some(last) = rows.last() else { break };
            after = Some(last.id);
            for row in rows {
                let place = match row.place {
                    BlockPlace::Inline(_) => None,
                    BlockPlace::Pack { pack, offset, length } => Some((pack, offset, length)),
                };
                blocks.insert(row.id, Known { owner: row.owner, place, size: row.size });
            }
        }
        Ok(Self { blocks, packs })
    }

    pub(super) fn packs(&self) -> impl Iterator<Item = PackId> {
        self.packs.keys().copied()
    }

    pub(super) fn packs_in(&self, state: PackState) -> impl Iterator<Item = PackId> {
        self.packs.values().filter(move |pack| pack.state == state).map(|pack| pack.id)
    }

    pub(super) fn pack_size(&self, pack: PackId) -> u64 {
        self.packs.get(&pack).map_or(0, |pack| pack.size)
    }

    /// Whether a block can be found: not one whose pack is dying.
    pub(super) fn is_found(&self, known: &Known) -> bool {
        known.place.is_none_or(|(pack, ..)| self.packs.get(&pack).is_some_and(|pack| pack.state == PackState::Live))
    }
}
