//! The audit log of a tenant: who did what, as the log says it and as the journals know it; how far journals had come; proofs.

mod anchor;
mod archive;
mod archived;
mod heads;
mod names;
mod place;
mod publish;
mod read;
mod receipt;
mod receipts;
mod seen;
mod tiles;
mod verify;

pub use archive::{BUNDLES_A_COMMIT, DueLeaves};
pub use archived::ArchivedPart;
pub use names::Named;
pub use publish::{Continued, Cosigned};
pub use read::{AuditQuery, AuditedAct, LogInfo};
pub use receipt::{Covered, Receipt, Shown};
pub use receipts::{Covering, Proven};
pub use samite_audit as tlog;
pub use seen::{AuditFinding, AuditReport};

use crate::client::Client;
use samite_audit::log::LogHead;
use samite_audit::note::KeyKind;
use samite_audit::{TreeHead, VerifierKey};
use samite_ledger::LogState;
use samite_model::{Error, Result};

/// The audit log, as one principal sees it.
#[derive(Clone)]
pub struct Audit {
    client: Client,
}

impl Client {
    /// The audit log of the principal's tenant.
    pub fn audit(&self) -> Audit {
        // It is the whole tenant's. Who may not look after that, or not any more, has a ledger that shows none of it.
        Audit { client: self.overseer() }
    }
}

impl Client {
    /// The audit log, for what is put into it whoever is at work.
    pub(crate) fn audit_as_tenant(&self) -> Audit {
        Audit { client: self.clone() }
    }
}

impl Audit {
    /// The tenant itself, for what is written of the log: it concerns everybody, stays when who caused it is erased, and needs no
    /// right of theirs. The leaf still says who that was.
    fn scribe(&self) -> Result<Client> {
        self.client.tenant_wide().core.as_tenant(self.client.by())
    }

    /// A log by its number, or the newest.
    async fn state(&self, log: Option<u64>) -> Result<LogState> {
        self.client.core.0.ledger.audit_log(log).await?.ok_or_else(|| {
            let what = log.map_or("nothing was logged yet".to_owned(), |log| format!("there is no log {log}"));
            Error::not_found("no_audit_log", what).hint("`samite audit key --all` names the logs that there are")
        })
    }

    /// What a log's signed head says, with the note; it is checked to be this tenant's own.
    fn head(&self, state: &LogState) -> Result<(TreeHead, LogHead)> {
        let head = LogHead::decode(&state.state)?;
        let opened = TreeHead::open(head.note.to_string().as_bytes(), &self.key_of(state.log)?, &[])?;
        Ok((opened.head, head))
    }

    /// The verifier key of a log: with it alone, anybody can verify what was exported of it.
    ///
    /// # Errors
    /// `not_found` (`no_audit_key`) for a store that was never opened for writing since it has audit logs.
    fn key_of(&self, log: u64) -> Result<VerifierKey> {
        let keys = &self.client.core.0.keys;
        VerifierKey::new(&samite_audit::log::origin(&keys.name(), log), KeyKind::Ed25519, keys.audit_key()?.public())
    }
}

#[cfg(test)]
mod tests;
