//! Leases and epochs.

use super::failure::Failure;
use super::number::{number, stored};
use super::read;
use super::work::Work;
use crate::memory::refusal;
use crate::{JournalStatus, Lease, LeaseOutcome, LeaseRequest};
use rusqlite::{Connection, OptionalExtension as _};
use samite_model::{JournalId, Pseudonym};

/// The last lease of a journal. It stays when it was given up, since its writer may come back in the same epoch.
struct Last {
    lease: Lease,
    released: bool,
}

impl Work<'_> {
    pub(super) fn lease(&mut self, request: &LeaseRequest) -> Result<LeaseOutcome, Failure> {
        let journal = &self.journal(request.journal)?.journal;
        let (row, owner, mut epoch) = (journal.row, journal.owner, journal.state.epoch);
        let closed = journal.state.status == JournalStatus::Deleted;
        let last = self.last_lease(row)?;
        if request.expires <= request.now {
            if last.is_some_and(|last| last.lease.writer == request.writer) {
                self.database.prepare_cached("UPDATE lease SET released = 1 WHERE journal = ?1")?.execute([row])?;
                self.wrote();
            }
            return Ok(LeaseOutcome::Released);
        }
        if closed {
            return Err(refusal::journal_closed(request.journal).into());
        }
        let mut previous = None;
        let mut taken = true;
        if let Some(last) = last {
            let live = !last.released && last.lease.expires > request.now;
            if last.lease.writer == request.writer && (live || last.released) {
                taken = false;
            } else {
                if live && request.take_over != Some(last.lease.epoch) {
                    return Ok(LeaseOutcome::Busy(last.lease));
                }
                previous = (!last.released).then_some(last.lease);
            }
        }
        if taken {
            epoch = epoch.saturating_add(1);
            let held = self.journal(request.journal)?;
            held.journal.state.epoch = epoch;
            held.new_epoch = true;
            held.dirty = true;
        }
        self.database
            .prepare_cached(
                "INSERT OR REPLACE INTO lease(journal, owner, writer, epoch, expires, released, process) \
                 VALUES(?1, ?2, ?3, ?4, ?5, 0, ?6)",
            )?
            .execute((row, owner, &request.writer.0, stored(epoch), request.expires, &request.process))?;
        self.wrote();
        Ok(LeaseOutcome::Held { epoch, previous })
    }

    fn last_lease(&self, journal: i64) -> rusqlite::Result<Option<Last>> {
        last_lease(self.database, journal)
    }

    /// Moves the expiry of a lease whose epoch was checked.
    pub(super) fn renew(&mut self, journal: JournalId, expires: i64) -> Result<(), Failure> {
        let row = self.journal(journal)?.journal.row;
        self.database
            .prepare_cached("UPDATE lease SET expires = ?2, released = 0 WHERE journal = ?1")?
            .execute((row, expires))?;
        self.wrote();
        Ok(())
    }
}

fn last_lease(database: &Connection, journal: i64) -> rusqlite::Result<Option<Last>> {
    database
        .prepare_cached("SELECT writer, epoch, expires, process, released FROM lease WHERE journal = ?1")?
        .query_row([journal], |row| {
            let lease = Lease {
                writer: Pseudonym(row.get(0)?),
                epoch: number(row.get(1)?),
                expires: row.get(2)?,
                process: row.get(3)?,
            };
            Ok(Last { lease, released: row.get::<_, i64>(4)? != 0 })
        })
        .optional()
}

/// The lease of a journal that was not given up.
pub(super) fn holder(database: &Connection, journal: JournalId) -> Result<Option<Lease>, Failure> {
    let row = read::journal(database, journal)?.row;
    Ok(last_lease(database, row)?.filter(|last| !last.released).map(|last| last.lease))
}
