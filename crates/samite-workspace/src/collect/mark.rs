//! Marking what is reachable.

use super::Root;
use super::inventory::Inventory;
use crate::output::is_mark;
use crate::store::Store;
use crate::tree::references;
use samite_keys::Domain;
use samite_ledger::Pin;
use samite_model::{BlockId, Pseudonym, Result};
use std::collections::HashSet;

/// So many nodes are read at once.
const BATCH: usize = 256;

/// Blocks that some root reaches.
pub(super) struct Marker<'a> {
    store: &'a Store,
    inventory: &'a Inventory,
    pub(super) live: HashSet<BlockId>,
    /// Those of them that are chunks of files under an owner's keys.
    pub(super) separate: HashSet<BlockId>,
    /// How many bytes they have.
    pub(super) bytes: u64,
    /// Whether what is damaged is passed over, for an erasure of this owner's data.
    erasing: Option<Pseudonym>,
    /// Other owners of whom something is damaged.
    damaged: HashSet<Pseudonym>,
}

impl<'a> Marker<'a> {
    pub(super) fn new(store: &'a Store, inventory: &'a Inventory, erasing: Option<Pseudonym>) -> Self {
        let (live, separate, damaged) = (HashSet::new(), HashSet::new(), HashSet::new());
        Self { store, inventory, live, separate, bytes: 0, erasing, damaged }
    }

    /// Keeps all that is of owners of whom something is damaged: what that reached cannot be told.
    pub(super) fn keep_damaged(&mut self) -> Result<()> {
        for owner in std::mem::take(&mut self.damaged) {
            let of_owner = self.inventory.blocks.iter().filter(|(_, known)| known.owner == owner);
            let all = of_owner.filter(|(_, known)| self.inventory.is_found(known)).map(|(id, _)| *id).collect();
            self.reach(owner, all)?;
        }
        Ok(())
    }

    fn insert(&mut self, block: BlockId) -> bool {
        let new = self.live.insert(block);
        if new {
            self.bytes += self.size(block);
        }
        new
    }

    /// The bytes of a block that can be found: others have gone already.
    fn size(&self, block: BlockId) -> u64 {
        self.inventory.blocks.get(&block).filter(|known| self.inventory.is_found(known)).map_or(0, |known| known.size)
    }

    pub(super) fn roots(&mut self, roots: &[Root]) -> Result<()> {
        roots.iter().try_for_each(|root| self.root(root))
    }

    pub(super) fn root(&mut self, root: &Root) -> Result<()> {
        if root.tree {
            self.reach(root.owner, vec![root.block])
        } else {
            self.insert(root.block);
            Ok(())
        }
    }

    /// What pins keep: what their bases reach, and everything in their packs, with what that reaches.
    pub(super) fn pins(&mut self, pins: &[Pin]) -> Result<()> {
        let packs: HashSet<_> = pins.iter().flat_map(|pin| pin.packs.iter().copied()).collect();
        let writing = pins.iter().any(|pin| !is_mark(self.store, pin));
        let mut pinned: Vec<(Pseudonym, BlockId)> = Vec::new();
        if writing {
            for (id, known) in &self.inventory.blocks {
                // A pin cannot name a block in the ledger: while somebody writes, all of those stay.
                let kept = known.place.is_none_or(|(pack, ..)| packs.contains(&pack));
                if kept && self.inventory.is_found(known) {
                    pinned.push((known.owner, *id));
                }
            }
        }
        for pin in pins {
            // A base that is not known yet, or no longer, keeps nothing.
            let base = pin.base.and_then(|base| Some((self.inventory.blocks.get(&base)?.owner, base)));
            pinned.extend(base);
        }
        for (owner, block) in pinned {
            if owner == self.store.tenant {
                self.insert(block);
            } else {
                self.reach(owner, vec![block])?;
            }
        }
        Ok(())
    }

    /// Marks blocks of an owner and all that they reach.
    fn reach(&mut self, owner: Pseudonym, from: Vec<BlockId>) -> Result<()> {
        let mut pending: Vec<BlockId> = from.into_iter().filter(|block| !self.live.contains(block)).collect();
        while !pending.is_empty() {
            let batch = pending.split_off(pending.len().saturating_sub(BATCH));
            let batch: Vec<BlockId> = batch.into_iter().filter(|block| self.insert(*block)).collect();
            let mut chunks = Vec::new();
            let mut damaged = Vec::new();
            let past = self.erasing.map(|_| &mut damaged);
            let erased =
                read_references(self.store, owner, &batch, past, &mut |block| pending.push(block), &mut |chunk| {
                    chunks.push(chunk);
                })?;
            if !damaged.is_empty() && self.erasing != Some(owner) {
                self.damaged.insert(owner);
            }
            for chunk in chunks {
                if self.insert(chunk) && self.inventory.blocks.get(&chunk).is_some_and(|known| known.owner == owner) {
                    self.separate.insert(chunk);
                }
            }
            // What nobody can open any more keeps nothing, and is not kept.
            for block in erased {
                self.live.remove(&block);
                self.bytes -= self.size(block);
            }
        }
        Ok(())
    }
}

/// Reads blocks and hands over what they refer to. Returns those whose owner was erased; what is damaged is an error, or is put
/// into `past`.
fn read_references(
    store: &Store,
    owner: Pseudonym,
    blocks: &[BlockId],
    mut past: Option<&mut Vec<BlockId>>,
    inner: &mut (dyn FnMut(BlockId) + Send),
    chunk: &mut (dyn FnMut(BlockId) + Send),
) -> Result<Vec<BlockId>> {
    let mut erased = Vec::new();
    store.read_sealed(blocks, &mut |at, sealed| {
        let Some(block) = blocks.get(at) else { return Ok(()) };
        let opened = sealed.and_then(|sealed| store.sealing.open_typed_block(Domain::Owner(owner), *block, sealed));
        match opened {
            Ok((of, bytes)) => {
                let found = references(of, &bytes).map_err(|error| error.context(format!("block {block}")))?;
                found.blocks.into_iter().for_each(&mut *inner);
                found.chunks.into_iter().for_each(&mut *chunk);
                Ok(())
            }
            Err(error) if error.code() == "key_destroyed" => {
                erased.push(*block);
                Ok(())
            }
            Err(error) => match &mut past {
                Some(past) if error.code() == "bad_block" => {
                    past.push(*block);
                    Ok(())
                }
                _ => Err(store.naming(*block, error)),
            },
        }
    })?;
    Ok(erased)
}

/// Hands over every block that a tree reaches, its root included, each once; the flag is set for chunks of files.
///
/// # Errors
/// `corrupt` naming the block; `denied` (`key_destroyed`) when the owner was erased; those of `each`.
pub fn reachable(
    store: &Store,
    owner: Pseudonym,
    root: BlockId,
    each: &mut dyn FnMut(BlockId, bool) -> Result<()>,
) -> Result<()> {
    let mut seen = HashSet::from([root]);
    let mut pending = vec![root];
    while !pending.is_empty() {
        let batch = pending.split_off(pending.len().saturating_sub(BATCH));
        let mut chunks = Vec::new();
        let mut inner = Vec::new();
        let erased = read_references(store, owner, &batch, None, &mut |block| inner.push(block), &mut |chunk| {
            chunks.push(chunk);
        })?;
        if let Some(block) = erased.first() {
            return Err(samite_model::Error::denied(
                "key_destroyed",
                format!("the key of block {block} was destroyed"),
            ));
        }
        for block in batch {
            each(block, false)?;
        }
        for chunk in chunks {
            if seen.insert(chunk) {
                each(chunk, true)?;
            }
        }
        pending.extend(inner.into_iter().filter(|block| seen.insert(*block)));
    }
    Ok(())
}
