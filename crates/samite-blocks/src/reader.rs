//! Reading blocks out of packs.

use crate::format::{self, HEADER_SIZE, PackIndex, TRAILER_SIZE};
use crate::store::PackStore;
use samite_model::{BlockId, Error, PackId, Result};
use std::cell::Cell;
use std::ops::Range;

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The block.
    pub id: BlockId,
    /// The pack.
    pub pack: PackId,
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
}

/// Takes a block that was asked for: its place in the question, and its sealed bytes.
pub type EachBlock<'a> = dyn FnMut(usize, Result<&[u8]>) -> Result<()> + Send + 'a;

/// Blocks closer to each other than this are read at once.
const GAP: u64 = 32 << 10;
/// No more is read at once than this, except for a single block.
const RUN: u64 = 4 << 20;

thread_local! {
    /// Where a thread reads runs of blocks. One that is made anew for each run costs more than the reading: the system
    /// has to find, clear and map its pages again.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Reads blocks from a store.
#[derive(Clone, Copy)]
pub struct PackReader<'a> {
    store: &'a dyn PackStore,
}

impl<'a> PackReader<'a> {
    /// A reader of this store.
    pub const fn new(store: &'a dyn PackStore) -> Self {
        Self { store }
    }

    /// The sealed bytes of one block.
    ///
    /// # Errors
    /// `corrupt` naming the block and its pack.
    pub async fn read(&self, place: Place) -> Result<Vec<u8>> {
        let length = usize::try_from(place.length).unwrap_or(usize::MAX);
        self.store.read(place.pack, place.offset, length).await.map_err(|error| error.context(naming(&place)))
    }

    /// The sealed bytes of many blocks, read in the order of their bytes and handed over in that order, one at a time;
    /// what cannot be read is handed over as an error, and the rest is read nevertheless.
    ///
    /// # Errors
    /// Only those of `each`, which end it.
    pub async fn read_many(&self, places: &[Place], each: &mut EachBlock<'_>) -> Result<()> {
        let mut order: Vec<(usize, Place)> = places.iter().copied().enumerate().collect();
        order.sort_by_key(|(_, place)| (place.pack, place.offset));
        let mut rest = order.as_slice();
        let mut buffer = BUFFER.take();
        while let Some((_, first)) = rest.first() {
            let mut end = first.offset + u64::from(first.length);
            let mut count = 1;
            for (_, next) in rest.iter().skip(1) {
                let next_end = next.offset.saturating_add(u64::from(next.length));
                let near = next.pack == first.pack && next.offset <= end.saturating_add(GAP);
                if !near || next_end.saturating_sub(first.offset) > RUN {
                    break;
                }
                end = end.max(next_end);
                count += 1;
            }
            let (run, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            self.read_run(run, first.offset..end, &mut buffer, each).await?;
            rest = after;
        }
        if buffer.capacity() as u64 <= RUN {
            BUFFER.set(buffer);
        }
        Ok(())
    }

    async fn read_run(
        &self,
        run: &[(usize, Place)],
        range: Range<u64>,
        bytes: &mut Vec<u8>,
        each: &mut EachBlock<'_>,
    ) -> Result<()> {
        let Some((_, first)) = run.first() else { return Ok(()) };
        let start = range.start;
        let length = usize::try_from(range.end - start).unwrap_or(usize::MAX);
        match self.store.read_into(first.pack, start, length, bytes).await {
            Ok(()) => {}
            Err(_) if run.len() > 1 => {
                // One by one, so that only what is damaged is reported.
                for (at, place) in run {
                    match self.read(*place).await {
                        Ok(bytes) => each(*at, Ok(&bytes))?,
                        Err(error) => each(*at, Err(error))?,
                    }
                }
                return Ok(());
            }
            Err(error) => return each(run.first().map_or(0, |(at, _)| *at), Err(error.context(naming(first)))),
        }
        for (at, place) in run {
            let from = usize::try_from(place.offset - start).unwrap_or(usize::MAX);
            let block = bytes.get(from..).and_then(|rest| rest.get(..usize::try_from(place.length).ok()?));
            each(*at, block.ok_or_else(|| Error::internal("short_run", "a run of blocks came out short")))?;
        }
        Ok(())
    }
}

fn naming(place: &Place) -> String {
    format!("block {} in pack {}", place.id, place.pack)
}

/// The index that a pack carries at its end.
///
/// # Errors
/// `corrupt` naming the pack when it is missing, cut, or damaged in header, index or trailer. Damage to a block itself
/// is found by opening it.
pub async fn read_index(store: &dyn PackStore, pack: PackId) -> Result<PackIndex> {
    let size = store.size(pack).await?.ok_or_else(|| Error::corrupt("pack_missing", format!("pack {pack} is gone")))?;
    let trailer_at = size
        .checked_sub(TRAILER_SIZE as u64)
        .filter(|at| *at >= HEADER_SIZE as u64)
        .ok_or_else(|| format::damaged(pack, "it is too short"))?;
    let trailer = store.read(pack, trailer_at, TRAILER_SIZE).await?;
    let (offset, length) = format::index_place(pack, size, &trailer)?;
    let index = store.read(pack, offset, length).await?;
    let start = store.read(pack, 0, HEADER_SIZE).await?;
    format::parse_index(pack, &start, &index, &trailer)
}
