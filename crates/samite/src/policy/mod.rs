//! What an organisation decides about its data: consent to training, processors, the region that it is pinned to, and
//! transfers to others. Each decision is an entry of the tenant's control journal with a leaf in the audit log; what stands
//! is in registers, what stood before in the entries.

mod capture;
mod consent;
mod export;
mod processor;
mod records;
mod refusal;
mod region;
mod retention;
pub(crate) mod views;

pub use capture::Captured;
pub use consent::{Consent, Consents};
pub use export::{LeftOut, TrainingExport, TrainingOptions};
pub use processor::Processor;
pub use records::{Held, ProcessingRecords};
pub use region::{Pinned, Transfer};
pub use retention::{AuditRetention, Due};
pub use samite_model::policy::capture::{Capture, Level};
pub use samite_model::policy::retention::{Retained, days};
pub use samite_model::policy::{ConsentOn, RECEIVES, Region};

#[cfg(test)]
pub(crate) use capture::kind_hash;
pub(crate) use capture::{Dropped, frame};

use crate::core::Core;
use crate::log::Entry;
use samite_ledger::Register;
use samite_model::{Error, Position, Result};

/// How often a change looks again because another came in between.
pub(crate) const ROUNDS: usize = 64;

impl Core {
    /// The registers of the tenant's control journal, with their version.
    pub(crate) async fn decided_registers(&self) -> Result<(u64, Vec<Register>)> {
        let control = self.tenant_control();
        if self.0.ledger.journal(control).await?.is_none() {
            return Ok((0, Vec::new()));
        }
        self.0.ledger.registers(control).await
    }

    /// The entries that registers of one kind point to.
    pub(crate) async fn standing(&self, registers: &[Register], kind: u16) -> Result<Vec<Entry>> {
        let control = self.tenant_control();
        let mut entries = Vec::new();
        for found in registers.iter().filter(|entry| entry.kind == kind) {
            entries.push(self.entry_at(Position { journal: control, seq: found.seq }).await?);
        }
        Ok(entries)
    }
}

pub(crate) fn contended() -> Error {
    Error::conflict("policies_contended", "what is decided keeps changing").hint("try again")
}
