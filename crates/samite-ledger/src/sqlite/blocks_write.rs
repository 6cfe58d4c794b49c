//! Blocks, packs and pins: what is written of them.

use super::failure::Failure;
use super::number::{length, number, stored};
use super::schema::{DYING, FORGOTTEN, LIVE};
use super::work::Work;
use crate::memory::refusal;
use crate::{BlockPlace, Collection, NewBlock, NewPack, Pin};
use rusqlite::OptionalExtension as _;
use samite_model::{BlockId, PackId, PinId};
use std::collections::{HashMap, HashSet};

impl Work<'_> {
    fn pack(&self, pack: PackId) -> rusqlite::Result<Option<(i64, i64)>> {
        self.database
            .prepare_cached("SELECT row, state FROM pack WHERE id = ?1")?
            .query_row([&pack.0], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    }

    /// Whether these may become known.
    pub(super) fn check_blocks(&self, blocks: &[NewBlock], packs: &[NewPack]) -> Result<(), Failure> {
        let mut usable: HashSet<PackId> = HashSet::new();
        for pack in packs {
            if self.pack(pack.id)?.is_some_and(|(_, state)| state != LIVE) {
                return Err(refusal::pack_dying(pack.id).into());
            }
            usable.insert(pack.id);
        }
        for block in blocks {
            if let BlockPlace::Pack { pack, .. } = &block.place
                && !usable.contains(pack)
            {
                if self.pack(*pack)?.is_none_or(|(_, state)| state != LIVE) {
                    return Err(refusal::pack_dying(*pack).into());
                }
                usable.insert(*pack);
            }
        }
        Ok(())
    }

    pub(super) fn add_packs(&mut self, packs: &[NewPack]) -> rusqlite::Result<()> {
        for pack in packs {
            let owner = self.owner(pack.owner)?;
            self.database
                .prepare_cached(
                    "INSERT INTO pack(id, owner, size, state) VALUES(?1, ?2, ?3, ?4) \
                     ON CONFLICT(id) DO UPDATE SET size = max(size, excluded.size)",
                )?
                .execute((&pack.id.0, owner, stored(pack.size), LIVE))?;
            self.wrote();
        }
        Ok(())
    }

    /// Makes blocks known, each unless it has a place already that can be used.
    pub(super) fn add_blocks(&mut self, blocks: &[NewBlock]) -> rusqlite::Result<()> {
        let database = self.database;
        let mut look = database.prepare_cached(
            "SELECT 1 FROM block b LEFT JOIN pack p ON p.row = b.pack \
             WHERE b.id = ?1 AND (b.pack IS NULL OR p.state = ?2)",
        )?;
        let mut rows = HashMap::new();
        for block in blocks {
            if !look.exists((&block.id.0, LIVE))? {
                self.place(block, &mut rows)?;
            }
        }
        Ok(())
    }

    /// Gives a block its place, instead of another that it may have had.
    fn place(&mut self, block: &NewBlock, rows: &mut HashMap<PackId, i64>) -> rusqlite::Result<()> {
        let owner = self.owner(block.owner)?;
        let (pack, offset, size) = match &block.place {
            BlockPlace::Inline(bytes) => {
                let row = self
                    .database
                    .prepare_cached("INSERT INTO inline_block(owner, bytes) VALUES(?1, ?2)")?
                    .insert((owner, bytes))?;
                (None, row, length(bytes))
            }
            BlockPlace::Pack { pack, offset, length } => {
                let known = rows.get(pack).copied();
                let row = if let Some(row) = known {
                    row
                } else {
                    let (row, _) = self.pack(*pack)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
                    rows.insert(*pack, row);
                    row
                };
                (Some(row), stored(*offset), i64::from(*length))
            }
        };
        self.database
            .prepare_cached(
                "INSERT INTO block(id, owner, pack, offset, length) VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(id) \
                 DO UPDATE SET owner = excluded.owner, pack = excluded.pack, offset = excluded.offset, \
                 length = excluded.length",
            )?
            .execute((&block.id.0, owner, pack, offset, size))?;
        self.wrote();
        Ok(())
    }

    fn drop_inline(&self, block: BlockId) -> rusqlite::Result<()> {
        self.database
            .prepare_cached(
                "DELETE FROM inline_block WHERE id = (SELECT offset FROM block WHERE id = ?1 AND pack IS NULL)",
            )?
            .execute([&block.0])?;
        Ok(())
    }

    pub(super) fn pin(&mut self, pin: &Pin) -> Result<(), Failure> {
        let owner = self.owner(pin.owner)?;
        let packs: Vec<u8> = pin.packs.iter().flat_map(|pack| pack.0).collect();
        self.database
            .prepare_cached("INSERT OR REPLACE INTO pin(id, owner, base, expires, packs) VALUES(?1, ?2, ?3, ?4, ?5)")?
            .execute((&pin.id.0, owner, pin.base.as_ref().map(|base| &base.0), pin.expires, packs))?;
        self.changed();
        Ok(())
    }

    pub(super) fn drop_pin(&mut self, pin: PinId) -> rusqlite::Result<()> {
        let dropped = self.database.prepare_cached("DELETE FROM pin WHERE id = ?1")?.execute([&pin.0])?;
        if dropped > 0 {
            self.wrote();
        }
        Ok(())
    }

    pub(super) fn collect(&mut self, collection: &Collection) -> Result<(), Failure> {
        self.check_collection(collection)?;
        self.database.prepare_cached("DELETE FROM pin WHERE expires <= ?1")?.execute([collection.now])?;
        self.add_packs(&collection.packs)?;
        let mut rows = HashMap::new();
        for block in &collection.moved {
            self.drop_inline(block.id)?;
            self.place(block, &mut rows)?;
        }
        let mut mark = self.database.prepare_cached("UPDATE pack SET state = ?2 WHERE id = ?1")?;
        for pack in &collection.dying {
            mark.execute((&pack.0, DYING))?;
        }
        if !collection.forget.is_empty() {
            for pack in &collection.forget {
                mark.execute((&pack.0, FORGOTTEN))?;
            }
            // One pass over the blocks for all packs: an index by pack would cost more than it saves.
            self.database
                .prepare_cached("DELETE FROM block WHERE pack IN (SELECT row FROM pack WHERE state = ?1)")?
                .execute([FORGOTTEN])?;
            self.database.prepare_cached("DELETE FROM pack WHERE state = ?1")?.execute([FORGOTTEN])?;
        }
        let mut forget = self.database.prepare_cached("DELETE FROM block WHERE id = ?1")?;
        for block in &collection.forget_blocks {
            self.drop_inline(*block)?;
            forget.execute([&block.0])?;
        }
        self.changed();
        Ok(())
    }

    fn check_collection(&mut self, collection: &Collection) -> Result<(), Failure> {
        let seen: HashSet<PinId> = collection.seen_pins.iter().copied().collect();
        let dying: HashSet<[u8; 16]> = collection.dying.iter().map(|pack| pack.0).collect();
        let mut live = self.database.prepare_cached("SELECT id, packs FROM pin WHERE expires > ?1 ORDER BY id")?;
        let mut pins = live.query([collection.now])?;
        while let Some(pin) = pins.next()? {
            let id = PinId(pin.get(0)?);
            let packs = pin.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            if !seen.contains(&id) || packs.as_chunks::<16>().0.iter().any(|pack| dying.contains(pack)) {
                return Err(refusal::pin_live(id).into());
            }
        }
        for (journal, link) in &collection.seen_heads {
            if self.journal(*journal)?.journal.state.head_link != *link {
                return Err(refusal::link_moved(*journal).into());
            }
        }
        if let Some(seen) = collection.seen_journals {
            let journals = number(self.database.query_row("SELECT count(*) FROM journal", [], |row| row.get(0))?);
            if seen != journals {
                return Err(refusal::journals_made(journals, seen).into());
            }
        }
        for pack in &collection.forget {
            if self.pack(*pack)?.is_some_and(|(_, state)| state == LIVE) {
                return Err(refusal::pack_live(*pack).into());
            }
        }
        self.check_blocks(&collection.moved, &collection.packs)
    }
}
