//! What is written in the tenant's own name: it stays when the person who caused it is erased.

use crate::client::Client;
use crate::core::{Author, Core, Draft};
use samite_audit::leaf::Actor;
use samite_ledger::{Append, Commit, Guard, JournalKind, NewEntry, NewJournal};
use samite_model::audit::WrittenBy;
use samite_model::{FamilyId, JournalId, Principal, Pseudonym, Result};
use std::sync::Arc;

/// Who causes what is written in the tenant's name.
#[derive(Clone, Copy)]
pub(crate) struct By {
    /// As headers have it.
    pub(crate) actor: Pseudonym,
    /// As the audit log has it.
    pub(crate) named: Actor,
}

impl Client {
    /// This principal.
    pub(crate) fn by(&self) -> By {
        By { actor: self.actor, named: self.named }
    }

    /// Records in the tenant's name what was decided by looking at its registers of some version; false where they have moved
    /// since.
    pub(crate) async fn decide_as_tenant(&self, draft: Draft, version: u64) -> Result<bool> {
        let control = self.core.tenant_control();
        let exists = self.core.0.ledger.journal(control).await?.is_some();
        let guards = if exists { vec![Guard::Registers { journal: control, version }] } else { Vec::new() };
        match self.core.append_as_tenant(self.by(), vec![draft], guards).await {
            Err(error) if error.code() == "registers_moved" => Ok(false),
            other => other.map(|()| true),
        }
    }
}

impl Core {
    /// The tenant itself.
    pub(crate) fn by_tenant(&self) -> Result<By> {
        let tenant = self.0.keys.tenant_pseudonym();
        let named = Actor { user: self.0.keys.audit_person(tenant)?, agent: None, workload: None };
        Ok(By { actor: tenant, named })
    }

    /// The tenant's control journal: one, with an id that every process derives alike.
    pub(crate) fn tenant_control(&self) -> JournalId {
        JournalId(self.0.keys.writer("samite tenant control journal").0)
    }

    /// Seals an entry for the tenant's control journal, in the tenant's own name.
    pub(crate) fn seal_as_tenant(&self, by: By, draft: Draft) -> Result<NewEntry> {
        let subject = self.0.keys.subject_of(self.0.keys.tenant_pseudonym())?;
        let author = Author { subject, actor: by.actor, named: by.named, by: WrittenBy::Owner, epoch: 0 };
        self.seal(self.tenant_control(), &author, draft)
    }

    /// Appends entries whose subject is the tenant to its control journal, making it first where it is new. When this
    /// returns, they are durable.
    pub(crate) async fn append_as_tenant(&self, by: By, drafts: Vec<Draft>, guards: Vec<Guard>) -> Result<()> {
        self.append_as_tenant_after(by, Vec::new(), drafts, guards).await
    }

    /// The same, after entries of the same commit that are sealed already.
    pub(crate) async fn append_as_tenant_after(
        &self,
        by: By,
        first: Vec<NewEntry>,
        drafts: Vec<Draft>,
        guards: Vec<Guard>,
    ) -> Result<()> {
        let control = self.tenant_control();
        let exists = self.0.ledger.journal(control).await?.is_some();
        let subject = self.0.keys.subject_of(self.0.keys.tenant_pseudonym())?;
        let author = Author { subject, actor: by.actor, named: by.named, by: WrittenBy::Owner, epoch: 0 };
        let mut commit = Commit { guards, ..Commit::default() };
        let mut entries = first;
        for draft in drafts {
            entries.push(self.seal_into(control, &author, draft, &mut commit)?);
        }
        commit.appends.push(Append { journal: control, entries });
        if !exists {
            let journal = NewJournal {
                id: control,
                family: FamilyId(control.0),
                kind: JournalKind::TenantControl,
                owner: self.0.keys.tenant_pseudonym(),
                parent: None,
            };
            let first = Commit { journals: vec![journal], guards: Vec::new(), ..commit.clone() };
            match self.0.ledger.commit(first).await {
                Err(error) if error.code() == "journal_exists" => {}
                other => return other.map(|_| ()),
            }
        }
        self.0.ledger.commit(commit).await.map(|_| ())
    }

    /// The store as the tenant itself sees it, for what is done in nobody's name.
    pub(crate) fn as_tenant(self: &Arc<Self>, by: By) -> Result<Client> {
        let keys = &self.0.keys;
        let word = |text: &str| text.to_owned();
        let principal = Principal {
            tenant: keys.tenant().clone(),
            user: word("samite"),
            agent: word("samite"),
            workload: word("host"),
            scopes: vec![word("samite:all")],
            parents: Vec::new(),
        };
        let subject = keys.subject_of(keys.tenant_pseudonym())?;
        Client::unguarded(Arc::clone(self), principal, subject, by)
    }
}
