//! Blocks, packs and pins: what is read of them.

use super::failure::Failure;
use super::number::{limit, number};
use super::schema::LIVE;
use crate::{BlockPlace, BlockRow, PackRow, PackState, Pin};
use rusqlite::{Connection, OptionalExtension as _, Row};
use samite_model::{BlockId, PackId, PinId, Pseudonym};

/// A place from the columns pack, offset and length; an inline one without its bytes.
fn place(row: &Row<'_>, at: usize) -> rusqlite::Result<BlockPlace> {
    Ok(match row.get::<_, Option<[u8; 16]>>(at)? {
        Some(pack) => {
            BlockPlace::Pack { pack: PackId(pack), offset: number(row.get(at + 1)?), length: row.get(at + 2)? }
        }
        None => BlockPlace::Inline(Vec::new()),
    })
}

pub(super) fn find(database: &Connection, blocks: &[BlockId]) -> Result<Vec<Option<BlockPlace>>, Failure> {
    let mut look = database.prepare_cached(
        "SELECT p.id, b.offset, b.length FROM block b LEFT JOIN pack p ON p.row = b.pack \
         WHERE b.id = ?1 AND (b.pack IS NULL OR p.state = ?2)",
    )?;
    let mut found = Vec::with_capacity(blocks.len());
    for block in blocks {
        found.push(look.query_row((&block.0, LIVE), |row| place(row, 0)).optional()?);
    }
    Ok(found)
}

pub(super) fn inline(database: &Connection, blocks: &[BlockId]) -> Result<Vec<Option<Vec<u8>>>, Failure> {
    let mut look = database.prepare_cached(
        "SELECT i.bytes FROM block b JOIN inline_block i ON i.id = b.offset WHERE b.id = ?1 AND b.pack IS NULL",
    )?;
    let mut found = Vec::with_capacity(blocks.len());
    for block in blocks {
        found.push(look.query_row([&block.0], |row| row.get(0)).optional()?);
    }
    Ok(found)
}

pub(super) fn pins(database: &Connection, now: i64) -> Result<Vec<Pin>, Failure> {
    let mut statement = database.prepare_cached(
        "SELECT n.id, o.pseudonym, n.base, n.expires, n.packs FROM pin n JOIN owner o ON o.owner = n.owner \
         WHERE n.expires > ?1 ORDER BY n.id",
    )?;
    let pins = statement.query_map([now], |row| {
        let packs = row.get_ref(4)?.as_blob()?.as_chunks::<16>().0.iter().map(|pack| PackId(*pack)).collect();
        Ok(Pin {
            id: PinId(row.get(0)?),
            owner: Pseudonym(row.get(1)?),
            base: row.get::<_, Option<[u8; 32]>>(2)?.map(BlockId),
            expires: row.get(3)?,
            packs,
        })
    })?;
    Ok(pins.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn packs(database: &Connection) -> Result<Vec<PackRow>, Failure> {
    let mut statement = database.prepare_cached(
        "SELECT p.id, o.pseudonym, p.size, p.state FROM pack p JOIN owner o ON o.owner = p.owner ORDER BY p.id",
    )?;
    let packs = statement.query_map([], |row| {
        let state = if row.get::<_, i64>(3)? == LIVE { PackState::Live } else { PackState::Dying };
        Ok(PackRow { id: PackId(row.get(0)?), owner: Pseudonym(row.get(1)?), size: number(row.get(2)?), state })
    })?;
    Ok(packs.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn list(database: &Connection, after: Option<BlockId>, most: usize) -> Result<Vec<BlockRow>, Failure> {
    let mut statement = database.prepare_cached(
        "SELECT b.id, o.pseudonym, p.id, b.offset, b.length FROM block b JOIN owner o ON o.owner = b.owner \
         LEFT JOIN pack p ON p.row = b.pack WHERE b.id > ?1 ORDER BY b.id LIMIT ?2",
    )?;
    // No id is as short as nothing.
    let after: &[u8] = after.as_ref().map_or(&[], |block| &block.0[..]);
    let blocks = statement.query_map((after, limit(most)), |row| {
        Ok(BlockRow {
            id: BlockId(row.get(0)?),
            owner: Pseudonym(row.get(1)?),
            place: place(row, 2)?,
            size: number(row.get(4)?),
        })
    })?;
    Ok(blocks.collect::<rusqlite::Result<_>>()?)
}
