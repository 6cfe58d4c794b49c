//! Leases and epochs.

use super::refusal;
use super::state::{HeldLease, State};
use crate::{JournalStatus, Lease, LeaseOutcome, LeaseRequest};
use samite_model::{JournalId, Result};

impl State {
    pub(super) fn holder(&mut self, journal: JournalId) -> Result<Option<Lease>> {
        let held = &self.journal_mut(journal)?.lease;
        Ok(held.as_ref().filter(|held| !held.released).map(|held| held.lease.clone()))
    }

    pub(super) fn lease(&mut self, request: LeaseRequest) -> Result<LeaseOutcome> {
        let journal = self.journal_mut(request.journal)?;
        if request.expires <= request.now {
            if let Some(held) = &mut journal.lease
                && held.lease.writer == request.writer
            {
                held.released = true;
            }
            return Ok(LeaseOutcome::Released);
        }
        if journal.state.status == JournalStatus::Deleted {
            return Err(refusal::journal_closed(request.journal));
        }
        let mut previous = None;
        let mut epoch = journal.state.epoch;
        let mut durable = request.expires;
        match &journal.lease {
            Some(held)
                if held.lease.writer == request.writer && (held.released || held.lease.expires > request.now) =>
            {
                durable = held.durable;
            }
            Some(held) => {
                let live = !held.released && held.lease.expires > request.now;
                if live && request.take_over != Some(held.lease.epoch) {
                    return Ok(LeaseOutcome::Busy(held.lease.clone()));
                }
                previous = (!held.released).then(|| held.lease.clone());
                epoch = epoch.saturating_add(1);
            }
            None => epoch = epoch.saturating_add(1),
        }
        journal.state.epoch = epoch;
        let lease = Lease { writer: request.writer, epoch, expires: request.expires, process: request.process };
        journal.lease = Some(HeldLease { lease, released: false, durable });
        Ok(LeaseOutcome::Held { epoch, previous })
    }
}
