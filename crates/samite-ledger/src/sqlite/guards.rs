//! Guards, checked in the transaction.

use super::failure::Failure;
use super::number::{number, stored};
use super::schema;
use super::work::Work;
use crate::memory::refusal;
use crate::{Guard, JournalStatus};
use rusqlite::OptionalExtension as _;
use samite_model::{BlockId, JournalId, PinId};

impl Work<'_> {
    pub(super) fn guard(&mut self, guard: &Guard) -> Result<(), Failure> {
        match guard {
            Guard::Head { journal, seq } => {
                let head = self.journal(*journal)?.journal.state.head;
                hold(head == *seq, || refusal::head_moved(*journal, head, *seq))
            }
            Guard::Epoch { journal, epoch } => self.check_epoch(*journal, *epoch),
            Guard::RowAbsent { journal, kind, hashes } => self.row_absent(*journal, *kind, hashes),
            Guard::Registers { journal, version } => {
                let now = self.journal(*journal)?.journal.state.registers;
                hold(now == *version, || refusal::registers_moved(*journal, now, *version))
            }
            Guard::Open { journal } => {
                let open = self.journal(*journal)?.journal.state.status == JournalStatus::Open;
                hold(open, || refusal::journal_closed(*journal))
            }
            Guard::KeyLive { key } => self.key_live(*key),
            Guard::PinLive { pin } => self.pin_live(*pin),
            Guard::BlocksLive { blocks } => self.blocks_live(blocks),
        }
    }

    pub(super) fn check_epoch(&mut self, journal: JournalId, expected: u64) -> Result<(), Failure> {
        let epoch = self.journal(journal)?.journal.state.epoch;
        hold(epoch == expected, || refusal::epoch_passed(journal, epoch, expected))
    }

    /// Looks along the ancestry: one look an ancestor and hash.
    fn row_absent(&mut self, journal: JournalId, kind: u16, hashes: &[[u8; 16]]) -> Result<(), Failure> {
        let held = &self.journal(journal)?.journal;
        let mut next = Some((held.row, held.state.head));
        let database = self.database;
        while let Some((row, up_to)) = next {
            for hash in hashes {
                let found: Option<i64> = self
                    .statements
                    .find_row()?
                    .query_row((row, kind, hash, stored(up_to)), |found| found.get(0))
                    .optional()?;
                if let Some(seq) = found {
                    let id: [u8; 16] =
                        database.query_row("SELECT id FROM journal WHERE row = ?1", [row], |found| found.get(0))?;
                    return Err(refusal::row_exists(journal, kind, JournalId(id), number(seq)).into());
                }
            }
            next = self.parent(row)?.map(|(parent, seq)| (parent, seq.min(up_to)));
        }
        Ok(())
    }

    fn pin_live(&mut self, pin: PinId) -> Result<(), Failure> {
        let known = self.database.prepare_cached("SELECT 1 FROM pin WHERE id = ?1")?.exists([&pin.0])?;
        hold(known, || refusal::pin_lapsed(pin))
    }

    fn blocks_live(&mut self, blocks: &[BlockId]) -> Result<(), Failure> {
        let mut look = self.database.prepare_cached(
            "SELECT 1 FROM block b LEFT JOIN pack p ON p.row = b.pack \
             WHERE b.id = ?1 AND (b.pack IS NULL OR p.state = ?2)",
        )?;
        for block in blocks {
            if !look.exists((&block.0, schema::LIVE))? {
                return Err(refusal::block_dying(*block).into());
            }
        }
        Ok(())
    }
}

fn hold(holds: bool, refusal: impl FnOnce() -> samite_model::Error) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::Refused(refusal())) }
}
