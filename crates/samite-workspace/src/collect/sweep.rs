//! Deciding what goes, and copying what stays out of packs that are mostly dead.

use super::inventory::Inventory;
use super::{CollectOptions, Collected};
use crate::output::{LivePin, new_blocks};
use crate::store::Store;
use futures_lite::future::block_on;
use samite_blocks::{PackWriter, TARGET_SIZE};
use samite_ledger::{Collection, NewBlock, NewPack, PackState};
use samite_model::{BlockId, PackId, PinId, Pseudonym, Result};
use std::collections::{HashMap, HashSet};

/// What is to be done, in one transaction.
#[derive(Default)]
struct Copies {
    moved: Vec<NewBlock>,
    packs: Vec<NewPack>,
}

/// Decides, and copies. Nothing changes until the collection that this returns is carried out; the pin that it returns
/// keeps the new packs' files until then.
pub(super) fn sweep(
    store: &Store,
    inventory: &Inventory,
    live: &HashSet<BlockId>,
    pinned: &HashSet<PackId>,
    options: &CollectOptions,
    collected: &mut Collected,
) -> Result<(Collection, Option<PinId>)> {
    let mut forget_blocks = Vec::new();
    let mut inline: Vec<(BlockId, Pseudonym)> = Vec::new();
    let mut inline_bytes = 0;
    let mut packs: HashMap<PackId, (u64, Vec<BlockId>)> =
        inventory.packs_in(PackState::Live).map(|pack| (pack, (0, Vec::new()))).collect();
    for (id, known) in &inventory.blocks {
        if !inventory.is_found(known) {
            continue;
        }
        if live.contains(id) {
            match known.place {
                None => {
                    inline.push((*id, known.owner));
                    inline_bytes += known.size;
                }
                Some((pack, ..)) => {
                    if let Some((bytes, blocks)) = packs.get_mut(&pack) {
                        *bytes += known.size;
                        blocks.push(*id);
                    }
                }
            }
        } else {
            // Also of packs that stay: a known block has all that it reaches.
            forget_blocks.push(*id);
            collected.blocks += 1;
            collected.bytes += known.size;
        }
    }
    let (mut dying, mut rewrite) = (Vec::new(), Vec::new());
    for (pack, (bytes, blocks)) in packs {
        if pinned.contains(&pack) {
            continue;
        }
        let size = inventory.pack_size(pack);
        if blocks.is_empty() {
            dying.push(pack);
            collected.packs_dropped += 1;
        } else if is_to_be_rewritten(size, bytes, blocks.len(), owners_of(&blocks, inventory), options.rewrite_percent)
        {
            rewrite.push((pack, blocks));
        }
    }
    let fold = if inline_bytes >= options.fold_bytes { inline } else { Vec::new() };
    let mut copies = Copies::default();
    let mut own_pin = None;
    if !rewrite.is_empty() || !fold.is_empty() {
        own_pin = Some(copy(store, inventory, rewrite, &fold, &mut copies, &mut dying, collected)?);
    }
    // In an order that does not depend on the process, for whoever compares two runs.
    dying.sort_unstable();
    forget_blocks.sort_unstable();
    let collection =
        Collection { dying, forget_blocks, moved: copies.moved, packs: copies.packs, ..Collection::default() };
    Ok((collection, own_pin))
}

/// How many owners some blocks have.
fn owners_of(blocks: &[BlockId], inventory: &Inventory) -> usize {
    let owners = blocks.iter().filter_map(|block| inventory.blocks.get(block).map(|known| known.owner));
    owners.collect::<HashSet<Pseudonym>>().len()
}

/// Whether too much of a pack is dead; with 0 percent, whether anything of it is, blocks that were forgotten before too.
fn is_to_be_rewritten(size: u64, bytes: u64, blocks: usize, owners: usize, percent: u64) -> bool {
    if percent > 0 {
        return size.saturating_sub(bytes) * 100 > size * percent;
    }
    samite_blocks::pack_size(bytes, blocks, owners) != size
}

struct Copier<'a> {
    store: &'a Store,
    pin: LivePin<'a>,
    writer: Option<PackWriter>,
    into: &'a mut Copies,
    collected: &'a mut Collected,
}

fn copy(
    store: &Store,
    inventory: &Inventory,
    rewrite: Vec<(PackId, Vec<BlockId>)>,
    fold: &[(BlockId, Pseudonym)],
    copies: &mut Copies,
    dying: &mut Vec<PackId>,
    collected: &mut Collected,
) -> Result<PinId> {
    let pin = LivePin::new(store, store.tenant, None)?;
    let id = pin.pin.id;
    let mut copying = Copier { store, pin, writer: None, into: copies, collected };
    let outcome = (|| {
        for (pack, mut blocks) in rewrite {
            blocks.sort_by_key(|block| inventory.blocks.get(block).and_then(|known| known.place.map(|place| place.1)));
            let owners: Vec<Pseudonym> =
                blocks.iter().filter_map(|block| inventory.blocks.get(block).map(|known| known.owner)).collect();
            // A pack that cannot be read whole stays as it is: verifying it is another's work.
            if copying.blocks(&blocks, &owners)? {
                dying.push(pack);
                copying.collected.packs_rewritten += 1;
            }
        }
        let (blocks, owners): (Vec<BlockId>, Vec<Pseudonym>) = fold.iter().copied().unzip();
        if !blocks.is_empty() && copying.blocks(&blocks, &owners)? {
            copying.collected.blocks_folded += blocks.len() as u64;
        }
        copying.end()
    })();
    if outcome.is_err() {
        // The error matters more; the pin lapses by itself.
        let _ = block_on(store.index.unpin(id));
    }
    outcome.map(|()| id)
}

impl Copier<'_> {
    /// Copies blocks; false when one cannot be read, and then none of them counts as moved.
    fn blocks(&mut self, blocks: &[BlockId], owners: &[Pseudonym]) -> Result<bool> {
        let mut sealed_blocks: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut readable = true;
        for (start, batch) in blocks.chunks(64).enumerate().map(|(number, batch)| (number * 64, batch)) {
            sealed_blocks.clear();
            self.store.read_sealed(batch, &mut |at, sealed| {
                match sealed {
                    Ok(sealed) => sealed_blocks.push((start + at, sealed.to_vec())),
                    Err(_) => readable = false,
                }
                Ok(())
            })?;
            if !readable {
                return Ok(false);
            }
            for (at, sealed) in &sealed_blocks {
                if let (Some(id), Some(owner)) = (blocks.get(*at), owners.get(*at)) {
                    self.append(*id, *owner, sealed)?;
                }
            }
        }
        Ok(true)
    }

    fn append(&mut self, id: BlockId, owner: Pseudonym, sealed: &[u8]) -> Result<()> {
        self.pin.renew()?;
        if self.writer.is_none() {
            let pack = PackId(self.store.random_id()?);
            self.pin.note(pack);
            self.pin.record()?;
            self.writer = Some(block_on(PackWriter::create(&*self.store.packs, pack))?);
        }
        if let Some(writer) = &mut self.writer {
            block_on(writer.append(id, owner, sealed))?;
            if writer.length() >= TARGET_SIZE {
                self.end()?;
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            let written = block_on(writer.finish())?;
            self.collected.disk_bytes = self.collected.disk_bytes.saturating_sub_unsigned(written.size);
            self.into.packs.push(NewPack { id: written.index.pack, owner: self.store.tenant, size: written.size });
            self.into.moved.extend(new_blocks(&written));
        }
        Ok(())
    }
}
