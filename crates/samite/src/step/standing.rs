//! Whether somebody is at an open step.

use crate::recover::{Runner, runner};
use crate::views::OpenStep;
use crate::writer::Writer;
use samite_model::{EntryId, Result};

/// Who is at an open step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// A process of this writer.
    UnderWay,
    /// A process of this writer that cannot be seen from here.
    Unseen,
    /// Nobody: whether it happened is not known.
    InDoubt,
}

impl Writer {
    /// Who is at an open step of this branch. Its writer is gone when it was started before a fork or in an epoch that
    /// passed. Several processes may share this epoch, one after the other or at once: a step that another of them runs
    /// is in doubt once that one is gone.
    ///
    /// # Errors
    /// `corrupt` when its start cannot be read.
    pub(super) async fn standing(&self, open: &OpenStep) -> Result<Standing> {
        if open.inherited || open.epoch != self.epoch {
            return Ok(Standing::InDoubt);
        }
        if self.has_lost(open.id) {
            return Ok(Standing::InDoubt);
        }
        if self.has_started(open.id) {
            return Ok(Standing::UnderWay);
        }
        let started: crate::payload::StepStarted = self.core().entry_at(open.start).await?.json()?;
        Ok(match runner(&started) {
            Runner::Gone => Standing::InDoubt,
            Runner::Unseen => Standing::Unseen,
            // Who starts a step without samite's processes says itself how it ended.
            Runner::Alive | Runner::NotRecorded => Standing::UnderWay,
        })
    }

    /// The step, when it is open and in doubt.
    ///
    /// # Errors
    /// As [`Writer::standing`].
    pub(super) async fn doubtful<'a>(&self, open: &'a [OpenStep], step: EntryId) -> Result<Option<&'a OpenStep>> {
        let Some(known) = open.iter().find(|known| known.id == step) else { return Ok(None) };
        Ok((self.standing(known).await? == Standing::InDoubt).then_some(known))
    }
}
