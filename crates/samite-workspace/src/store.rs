//! The blocks of a tenant: where the index says they are, opened with its keys.

use crate::screen::Screening;
use crate::sealing::Sealing;
use futures_lite::future::block_on;
use samite_blocks::{EachBlock, PackReader, PackStore, Place};
use samite_host::{Clock, Random};
use samite_keys::Domain;
use samite_ledger::{BlockIndex, BlockPlace};
use samite_model::{BlockId, Error, Pseudonym, Result};
use std::sync::Arc;

/// Everything that snapshots, restores and collections stand on. Its users wait for the disk in the calling thread.
#[derive(Clone)]
pub struct Store {
    /// Where blocks are.
    pub index: Arc<dyn BlockIndex>,
    /// The packs.
    pub packs: Arc<dyn PackStore>,
    /// The keys.
    pub sealing: Arc<dyn Sealing>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness, for the ids of packs and pins.
    pub random: Arc<dyn Random>,
    /// The tenant's pseudonym, which rows of chunks and packs carry.
    pub tenant: Pseudonym,
    /// Whether new content of files is looked at.
    pub screening: Screening,
}

/// So many blocks are looked up at once.
const BATCH: usize = 512;

impl Store {
    /// The pseudonym that rows of a domain carry.
    pub(crate) fn owner_of(&self, domain: Domain) -> Pseudonym {
        match domain {
            Domain::Tenant => self.tenant,
            Domain::Owner(owner) => owner,
        }
    }

    /// Where blocks are, in the order of the question.
    pub(crate) fn find(&self, blocks: &[BlockId]) -> Result<Vec<Option<BlockPlace>>> {
        let mut places = Vec::with_capacity(blocks.len());
        for batch in blocks.chunks(BATCH) {
            places.extend(block_on(self.index.find_blocks(batch.to_vec()))?);
        }
        Ok(places)
    }

    /// As [`Store::find`], for very many: asking in the order of their ids, the index reads each of its pages once.
    pub(crate) fn find_many(&self, blocks: &[BlockId]) -> Result<Vec<Option<BlockPlace>>> {
        let mut order: Vec<(BlockId, usize)> = blocks.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let mut places = vec![None; blocks.len()];
        for batch in order.chunks(BATCH) {
            let found = self.find(&batch.iter().map(|(block, _)| *block).collect::<Vec<_>>())?;
            for ((_, at), found) in batch.iter().zip(found) {
                if let Some(place) = places.get_mut(*at) {
                    *place = found;
                }
            }
        }
        Ok(places)
    }

    /// The sealed bytes of blocks, handed over one by one with their place in the question, in the order in which they
    /// lie; for one that is missing or cannot be read, the error.
    pub(crate) fn read_sealed(&self, blocks: &[BlockId], each: &mut EachBlock<'_>) -> Result<()> {
        self.read_placed(blocks, &self.find(blocks)?, each)
    }

    /// As [`Store::read_sealed`], of blocks that were looked up already.
    pub(crate) fn read_placed(
        &self,
        blocks: &[BlockId],
        found: &[Option<BlockPlace>],
        each: &mut EachBlock<'_>,
    ) -> Result<()> {
        let mut places = Vec::with_capacity(blocks.len());
        let (mut inline, mut inline_at) = (Vec::new(), Vec::new());
        for (at, (block, place)) in blocks.iter().zip(found).enumerate() {
            match place {
                Some(BlockPlace::Pack { pack, offset, length }) => {
                    places.push((at, Place { id: *block, pack: *pack, offset: *offset, length: *length }));
                }
                Some(BlockPlace::Inline(_)) => {
                    inline.push(*block);
                    inline_at.push(at);
                }
                None => each(at, Err(missing(*block)))?,
            }
        }
        if !inline.is_empty() {
            let found = block_on(self.index.inline_blocks(inline.clone()))?;
            for ((at, block), bytes) in inline_at.into_iter().zip(inline).zip(found) {
                match bytes {
                    Some(bytes) => each(at, Ok(&bytes))?,
                    None => each(at, Err(missing(block)))?,
                }
            }
        }
        let asked: Vec<Place> = places.iter().map(|(_, place)| *place).collect();
        let mut gone = Vec::new();
        let mut forward = |number: usize, bytes: Result<&[u8]>| {
            let at = places.get(number).map_or(0, |(at, _)| *at);
            match bytes {
                Err(error) if error.code() == "pack_missing" => {
                    gone.push((number, error));
                    Ok(())
                }
                other => each(at, other),
            }
        };
        block_on(PackReader::new(&*self.packs).read_many(&asked, &mut forward))?;
        for (number, error) in gone {
            let Some((at, place)) = places.get(number) else { continue };
            match self.read_moved(*place, error) {
                Ok(bytes) => each(*at, Ok(&bytes))?,
                Err(error) => each(*at, Err(error))?,
            }
        }
        Ok(())
    }

    /// Reads a block whose pack went since it was looked up: a collection may have moved it.
    fn read_moved(&self, old: Place, error: Error) -> Result<Vec<u8>> {
        match self.find(&[old.id])?.pop().flatten() {
            Some(BlockPlace::Pack { pack, offset, length }) if pack != old.pack => {
                block_on(PackReader::new(&*self.packs).read(Place { id: old.id, pack, offset, length }))
            }
            Some(BlockPlace::Inline(_)) => {
                block_on(self.index.inline_blocks(vec![old.id]))?.pop().flatten().ok_or(error)
            }
            _ => Err(error),
        }
    }

    /// The plaintexts of blocks, in the order of the question.
    ///
    /// # Errors
    /// `corrupt` naming the block, and its pack if it is in one: `block_missing`, or as it was found damaged.
    pub fn read_blocks(&self, domain: Domain, blocks: &[BlockId]) -> Result<Vec<Vec<u8>>> {
        let mut found: Vec<Vec<u8>> = vec![Vec::new(); blocks.len()];
        let sealing = &self.sealing;
        self.read_sealed(blocks, &mut |at, sealed| {
            if let (Some(block), Some(place)) = (blocks.get(at), found.get_mut(at)) {
                *place = sealing.open_block(domain, *block, sealed?).map_err(|error| self.naming(*block, error))?;
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The plaintext of one block.
    ///
    /// # Errors
    /// As [`Store::read_blocks`].
    pub fn read_block(&self, domain: Domain, block: BlockId) -> Result<Vec<u8>> {
        let mut blocks = self.read_blocks(domain, &[block])?;
        blocks.pop().ok_or_else(|| missing(block))
    }

    /// Adds the pack to an error about a block.
    pub(crate) fn naming(&self, block: BlockId, error: Error) -> Error {
        // A key that nobody ever had is a damaged name of one.
        let error = if error.code() == "unknown_key" {
            Error::corrupt("bad_block", error.message().to_owned()).because(error)
        } else {
            error
        };
        match self.find(&[block]).ok().and_then(|mut places| places.pop().flatten()) {
            Some(BlockPlace::Pack { pack, offset, .. }) => error.context(format!("in pack {pack} at byte {offset}")),
            _ => error,
        }
    }

    /// New random bytes, for an id.
    pub(crate) fn random_id(&self) -> Result<[u8; 16]> {
        let mut bytes = [0; 16];
        self.random.fill(&mut bytes)?;
        Ok(bytes)
    }
}

fn missing(block: BlockId) -> Error {
    Error::corrupt("block_missing", format!("block {block} is in no pack and not in the ledger"))
        .hint("verify the store; restore the missing pack from a backup")
}
