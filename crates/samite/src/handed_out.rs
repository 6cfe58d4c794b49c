//! What is handed out of the store: each time an act with a leaf in the audit log, which is durable before anything leaves.

use crate::client::Client;
use crate::core::Core;
use crate::embedded::Embedded;
use crate::erasure::Others;
use crate::payload::{Handed, HandedOut};
use crate::views::Projection;
use samite_ledger::JournalKind;
use samite_model::erasure::Scope;
use samite_model::{EntryKind, FamilyId, Position, Pseudonym, Result};

impl Client {
    /// Records that something is about to be handed out. When this returns, it is durable.
    pub(crate) async fn record_handed_out(
        &self,
        what: Handed,
        subject: Option<Pseudonym>,
        entries: u64,
    ) -> Result<FamilyId> {
        let handover = FamilyId(self.core.random_id()?);
        let handed = HandedOut { handover, what, subject, entry: None, session: None, entries };
        self.record_handed(&handed).await?;
        Ok(handover)
    }

    /// Records that what an entry says is about to be shown to others. When this returns, it is durable.
    pub(crate) async fn record_revealed(&self, entry: Position) -> Result<()> {
        let state = self.core.journal(entry.journal).await?;
        let subject = Some(self.core.entry_at(entry).await?.header.owner);
        let of_session = matches!(state.kind, JournalKind::Branch | JournalKind::SessionControl);
        let session = of_session.then_some(state.family);
        let handover = FamilyId(self.core.random_id()?);
        let what = Handed::Revealed;
        self.record_handed(&HandedOut { handover, what, subject, entry: Some(entry), session, entries: 1 }).await
    }

    async fn record_handed(&self, handed: &HandedOut) -> Result<()> {
        let draft = self.core.draft(EntryKind::HANDED_OUT, handed, Projection::default())?;
        self.core.append_as_tenant(self.by(), vec![draft], Vec::new()).await
    }
}

impl Embedded {
    /// The master key, sealed under a passphrase. That it was exported is recorded: when this returns, durably.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `invalid` (`cannot_export`) where the key is not this
    /// store's to give; `unavailable` when it cannot be recorded.
    pub async fn export_key(&self, client: &Client, passphrase: &str) -> Result<Vec<u8>> {
        let client = client.operator().await?;
        let exported = self.keys().master().export(passphrase)?;
        client.record_handed_out(Handed::KeyExport, None, 0).await?;
        Ok(exported)
    }
}

impl Core {
    /// What was handed out that may hold something of what is erased, and whenever the master key was: each by its id.
    pub(crate) async fn handed_out(
        &self,
        scope: &Scope,
        subject: Pseudonym,
        others: &Others,
    ) -> Result<(Vec<HandedOut>, Vec<FamilyId>)> {
        let all: Vec<(Position, HandedOut)> = self.said_of_tenant(EntryKind::HANDED_OUT).await?;
        let keys = all.iter().map(|(_, one)| one).filter(|one| one.what == Handed::KeyExport);
        let keys = keys.map(|one| one.handover).collect();
        let of_others = |one: &HandedOut| match one.what {
            Handed::KeyExport => false,
            Handed::Revealed => one.entry.is_some_and(|at| others.entries.has(at)),
            Handed::SubjectExport => one.subject.is_some_and(|owner| others.owners.contains(&owner)),
        };
        let may_hold = |one: &HandedOut| one.may_hold(scope, subject) || of_others(one);
        Ok((all.into_iter().map(|(_, one)| one).filter(may_hold).collect(), keys))
    }
}
