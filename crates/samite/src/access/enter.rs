//! Entering what is another's: the client as it acts there.

use super::Guarded;
use super::authority::{Authority, Entered, Facts};
use super::overseer::Overseen;
use super::reads::{Reader, Reads, Registry};
use crate::client::{Client, no_session};
use crate::core::{Backends, Core};
use crate::erasure::EraseWhat;
use crate::session::SessionInfo;
use crate::tenant::By;
use samite_keys::Subject;
use samite_ledger::{JournalFilter, JournalKind, JournalStatus, StoredEntry};
use samite_model::access::{Decision, Reason, ResourceKind, Right, Rights, attenuate};
use samite_model::{ArtifactId, Header, JournalId, Owner, Principal, Pseudonym, Result, SessionId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A session that somebody else shares.
#[derive(Clone, Debug)]
pub struct SharedSession {
    /// The session.
    pub info: SessionInfo,
    /// Whose it is; none when that is not known any more.
    pub owner: Option<Owner>,
    /// What the principal may do with it.
    pub rights: Rights,
}

impl Authority {
    /// The backends as this principal has them, for the data of one owner.
    fn core(self: &Arc<Self>, acting: Pseudonym, entered: Option<Entered>, reads: &Arc<Reads>) -> Arc<Core> {
        let ledger = Guarded { authority: Arc::clone(self), acting, entered, reads: Arc::clone(reads) };
        let backends = Backends { ledger: Arc::new(ledger), ..self.whole.0.clone() };
        Arc::new(Core(backends, self.whole.1.clone(), self.whole.2.clone()))
    }

    /// What a principal may do with a session.
    pub(super) async fn rights_on(&self, session: SessionId, owner: Pseudonym) -> Result<Rights> {
        let mut rights = Rights::NONE;
        for right in Right::ALL {
            if self.on_session(right, session, owner).await?.decision.is_allowed() {
                rights = rights.or(Rights::only(right));
            }
        }
        Ok(rights)
    }

    /// What a principal may do with an artifact.
    pub(super) async fn rights_on_artifact(
        &self,
        artifact: ArtifactId,
        journal: JournalId,
        owner: Pseudonym,
    ) -> Result<Rights> {
        let mut rights = Rights::NONE;
        for right in Right::ALL {
            if self.on_artifact(right, artifact, journal, owner).await?.decision.is_allowed() {
                rights = rights.or(Rights::only(right));
            }
        }
        Ok(rights)
    }
}

impl Client {
    /// A client for a principal.
    pub(crate) fn guarded(
        authority: Authority,
        subject: Subject,
        control: JournalId,
        writable: bool,
        registry: Arc<Registry>,
    ) -> Self {
        let authority = Arc::new(authority);
        let Authority { principal, actor, named, .. } = authority.as_ref();
        let (principal, actor, named) = (principal.clone(), *actor, *named);
        let who = Reader { principal: principal.clone(), actor, named, subject };
        let reads = Reads::new(authority.whole.clone(), control, who, writable, registry);
        let reads = Arc::new(reads);
        let core = authority.core(subject.pseudonym, None, &reads);
        Self { core, principal, subject, actor, named, authority, reads }
    }

    /// A client for what is done in the tenant's own name, by whoever may.
    pub(crate) fn unguarded(core: Arc<Core>, principal: Principal, subject: Subject, by: By) -> Result<Self> {
        let authority = Arc::new(Authority::new(core.clone(), principal.clone(), subject, None, false)?);
        let who = Reader { principal: principal.clone(), actor: by.actor, named: by.named, subject };
        let reads = Arc::new(Reads::new(core.clone(), core.tenant_control(), who, true, Arc::default()));
        Ok(Self { core, principal, subject, actor: by.actor, named: by.named, authority, reads })
    }

    fn acting_for(&self, subject: Subject, entered: Option<Entered>) -> Self {
        let core = self.authority.core(subject.pseudonym, entered, &self.reads);
        Self { core, subject, ..self.clone() }
    }

    /// The client as it acts on a session, which may be another's that was shared: all that is asked of it, and all that is
    /// added, is then about the session's owner, in the name of this principal. One's own session needs none of it, and gives
    /// the client itself. That somebody else read is recorded.
    ///
    /// # Errors
    /// `not_found` when there is no such session, or the principal may not see it: nobody can tell which.
    pub async fn enter(&self, session: SessionId) -> Result<Self> {
        let none = || no_session(&session.to_string());
        self.authority.refresh().await?;
        let (control, owner) = self.authority.control(session).await?.ok_or_else(none)?;
        if !self.authority.on_session(Right::Read, session, owner).await?.decision.is_allowed() {
            return Err(none());
        }
        // One that was erased is not there for anybody.
        let state = self.authority.whole.0.ledger.journal(control).await?;
        if state.is_none_or(|state| state.status != JournalStatus::Open) {
            return Err(none());
        }
        let subject = self.authority.whole.0.keys.subject_of(owner).map_err(|_| none())?;
        let entered = (owner != self.authority.subject).then_some(Entered::Session(session));
        Ok(self.acting_for(subject, entered))
    }

    /// The client as it acts on an artifact, which may be another's that was shared.
    ///
    /// # Errors
    /// `not_found` when there is no such artifact, or the principal may not see it.
    pub async fn enter_artifact(&self, artifact: ArtifactId) -> Result<Self> {
        let none = || crate::artifact::no_artifact(&artifact.to_string());
        self.authority.refresh().await?;
        let (journal, owner) = self.artifact_home(artifact).await?.ok_or_else(none)?;
        if !self.authority.on_artifact(Right::Read, artifact, journal, owner).await?.decision.is_allowed() {
            return Err(none());
        }
        let subject = self.authority.whole.0.keys.subject_of(owner).map_err(|_| none())?;
        let entered = (owner != self.authority.subject).then_some(Entered::Artifact(artifact));
        Ok(self.acting_for(subject, entered))
    }

    /// The journal that has an artifact, and whose it is.
    pub(super) async fn artifact_home(&self, artifact: ArtifactId) -> Result<Option<(JournalId, Pseudonym)>> {
        let ledger = &self.authority.whole.0.ledger;
        let filter = JournalFilter { kind: Some(JournalKind::Artifacts), ..JournalFilter::default() };
        for state in ledger.journals(filter).await? {
            let at = samite_model::Position { journal: state.id, seq: state.head };
            let hashes = vec![artifact.0];
            let query = samite_ledger::RowQuery { at, kind: crate::views::row::ARTIFACT, hashes, limit: 1 };
            if !ledger.rows(query).await?.is_empty() {
                return Ok(Some((state.id, state.owner)));
            }
        }
        Ok(None)
    }

    /// The sessions of others that this principal may see, in the order in which they were made.
    ///
    /// # Errors
    /// `corrupt` when what was granted cannot be read.
    pub async fn shared_sessions(&self) -> Result<Vec<Result<SharedSession>>> {
        let filter = JournalFilter { kind: Some(JournalKind::SessionControl), ..JournalFilter::default() };
        let mut shared = Vec::new();
        for control in self.core.0.ledger.journals(filter).await? {
            if control.owner == self.authority.subject || control.status != JournalStatus::Open {
                continue;
            }
            let rights = self.authority.rights_on(control.family, control.owner).await?;
            let owner = self.authority.whole.0.keys.owner_name(control.owner)?;
            let info = self.describe(&control).await;
            shared.push(info.map(|info| SharedSession { info, owner, rights }));
        }
        Ok(shared)
    }

    /// What this principal may do with a session.
    ///
    /// # Errors
    /// As [`Client::enter`].
    pub async fn rights(&self, session: SessionId) -> Result<Rights> {
        let none = || no_session(&session.to_string());
        self.authority.refresh().await?;
        let (_, owner) = self.authority.control(session).await?.ok_or_else(none)?;
        let rights = self.authority.rights_on(session, owner).await?;
        if rights.has(Right::Read) { Ok(rights) } else { Err(none()) }
    }

    /// A client for an agent that works for this one, with what it asks for of the rights that this one has. The first act of
    /// a principal is recorded, as any other's.
    ///
    /// # Errors
    /// `denied` when the name is none; as [`Store::client`](crate::Store::client).
    pub async fn sub_agent(&self, agent: &str, rights: Rights) -> Result<Self> {
        let principal = attenuate(&self.principal, agent, rights);
        principal.check()?;
        let whole = self.authority.whole.clone();
        let own = self.authority.subject;
        let subject = whole.0.keys.subject_of(own)?;
        let authority = Authority::new(whole, principal.clone(), subject, self.authority.policies(), true)?;
        let (actor, named, authority) = (authority.actor, authority.named, Arc::new(authority));
        let reads = Arc::new(self.reads.of_another(Reader { principal: principal.clone(), actor, named, subject }));
        let core = authority.core(own, None, &reads);
        let child = Self { core, principal, subject, actor, named, authority, reads };
        if !Rights::of_scopes(&child.principal.scopes).is_empty() {
            child.record_principal().await?;
        }
        Ok(child)
    }

    /// Records now what this principal read of others. When this returns, it is durable; without it, that takes up to 100 ms,
    /// or until the last client and reader of this principal is dropped.
    ///
    /// # Errors
    /// `unavailable` when it cannot be written.
    pub async fn record_reads(&self) -> Result<()> {
        self.reads.record().await
    }

    /// The whole tenant, for who may look after it.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for anybody else.
    pub(crate) async fn operator(&self) -> Result<Self> {
        self.authority.refresh().await?;
        self.authority.on_tenant(Right::Operate).check(Right::Operate, "the tenant")?;
        self.as_operator()
    }

    /// The client as it sees the whole tenant while it may look after it, which is asked at each read, and its own otherwise.
    pub(crate) fn overseer(&self) -> Self {
        let own = Arc::clone(&self.core.0.ledger);
        let ledger = Arc::new(Overseen { authority: Arc::clone(&self.authority), own });
        let whole = &self.authority.whole;
        let core = Arc::new(Core(Backends { ledger, ..whole.0.clone() }, whole.1.clone(), whole.2.clone()));
        let subject = whole.0.keys.subject_of(self.authority.subject).unwrap_or(self.subject);
        Self { core, subject, ..self.clone() }
    }

    /// The same, where policies that cannot be evaluated are to be replaced.
    pub(crate) fn operator_whatever_policies_say(&self) -> Result<Self> {
        self.authority.on_tenant_without_policies(Right::Operate).check(Right::Operate, "the tenant")?;
        self.as_operator()
    }

    fn as_operator(&self) -> Result<Self> {
        let subject = self.authority.whole.0.keys.subject_of(self.authority.subject)?;
        Ok(Self { subject, ..self.tenant_wide() })
    }

    /// The whole tenant, for an erasure: of what is one's user's own by who may erase, of another person by who may also
    /// operate the tenant.
    ///
    /// # Errors
    /// `denied` (`scope_missing`), and (`not_granted`) in what is shared: erasing stays with the owner.
    pub(crate) async fn to_erase(&self, what: &EraseWhat) -> Result<Self> {
        if matches!(what, EraseWhat::Secret(_)) {
            return self.operator().await;
        }
        self.authority.refresh().await?;
        let own = self.authority.subject;
        if self.subject.pseudonym != own {
            return Decision::Deny(Reason::NotGranted).check(Right::Erase, "what is shared").map(|_| self.clone());
        }
        let of = match what {
            EraseWhat::User(user) => self.pseudonym_of_user(user)?,
            _ => own,
        };
        let decision = match what {
            EraseWhat::Session(session) | EraseWhat::Entries { session, .. } => {
                self.authority.on_own(Right::Erase, ResourceKind::Session, session.0)
            }
            EraseWhat::Artifact(artifact) => self.authority.on_own(Right::Erase, ResourceKind::Artifact, artifact.0),
            EraseWhat::User(_) | EraseWhat::Secret(_) | EraseWhat::Memory(_) | EraseWhat::Records { .. } => {
                self.authority.own_right(Right::Erase)
            }
        };
        decision.check(Right::Erase, "what is its user's")?;
        if matches!(what, EraseWhat::User(_)) {
            // A policy that keeps one thing keeps a person from being erased: nothing is left out silently.
            self.authority.unless_forbidden_on_all(Right::Erase, of).await?;
        }
        if of == own { Ok(self.tenant_wide()) } else { self.operator().await }
    }

    /// The whole tenant, as it erases what retention lets go of: by who may erase and operate the tenant.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for anybody else.
    pub(crate) async fn to_retain(&self) -> Result<Self> {
        self.authority.refresh().await?;
        self.authority.own_right(Right::Erase).check(Right::Erase, "what is due")?;
        self.operator().await
    }

    /// Refuses to erase of somebody's what policies keep: for retention, which may erase otherwise.
    ///
    /// # Errors
    /// `denied` (`policy_forbids`).
    pub(crate) fn permit_letting_go(&self, what: &EraseWhat, owner: Pseudonym) -> Result<()> {
        match what {
            EraseWhat::Artifact(artifact) => {
                self.authority.unless_forbidden_on_artifact(Right::Erase, *artifact, owner)
            }
            EraseWhat::Session(session) | EraseWhat::Entries { session, .. } => {
                self.authority.unless_forbidden_on_session(Right::Erase, *session, owner)
            }
            EraseWhat::User(_) | EraseWhat::Secret(_) | EraseWhat::Memory(_) | EraseWhat::Records { .. } => Ok(()),
        }
    }

    /// The whole tenant as it acts for each person of whom there is something, for who may operate it.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for anybody else; `unavailable` when the store cannot be read.
    pub(crate) async fn for_each_person(&self) -> Result<Vec<Self>> {
        let operator = self.operator().await?;
        let keys = &operator.core.0.keys;
        let tenants = keys.tenant_pseudonym();
        let journals = operator.core.0.ledger.journals(JournalFilter::default()).await?;
        let owners: BTreeSet<Pseudonym> = journals.iter().map(|state| state.owner).collect();
        let mut all = Vec::new();
        for owner in owners.into_iter().filter(|owner| *owner != tenants) {
            match keys.subject_of(owner) {
                Ok(subject) => all.push(Self { subject, ..operator.clone() }),
                // All of it was erased.
                Err(error) if matches!(error.code(), "key_destroyed" | "unknown_subject") => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// The name of a person or owner, for who may operate the tenant; none where there is nothing of them, or not any more.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for anybody else; `unavailable` when the keys cannot be read.
    pub async fn name_of(&self, owner: Pseudonym) -> Result<Option<Owner>> {
        let operator = self.operator().await?;
        operator.core.0.keys.owner_name(owner)
    }

    /// Whether this principal may change the settings, grants and lifetimes of a session.
    pub(crate) async fn may_manage(&self, session: SessionId) -> Result<bool> {
        self.authority.refresh().await?;
        let Some((_, owner)) = self.authority.control(session).await? else { return Ok(false) };
        Ok(self.authority.on_session(Right::Manage, session, owner).await?.decision.is_allowed())
    }

    /// Refuses what changes how long something of a session is kept.
    ///
    /// # Errors
    /// `denied` (`scope_missing`, `not_granted`) for who may not manage the session.
    pub(crate) async fn permit_managing(&self, session: SessionId) -> Result<()> {
        let none = || no_session(&session.to_string());
        self.authority.refresh().await?;
        let (_, owner) = self.authority.control(session).await?.ok_or_else(none)?;
        let decided = self.authority.on_session(Right::Manage, session, owner).await?;
        decided.decision.check(Right::Manage, "the session").map(|_| ())
    }

    /// The whole tenant, to hand out all data of a user: one's own user's to who may read it, another's to who may operate the
    /// tenant.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for anybody else.
    pub(crate) async fn to_hand_out(&self, user: &str) -> Result<Self> {
        self.authority.refresh().await?;
        let of = self.pseudonym_of_user(user)?;
        let client = if of == self.authority.subject {
            self.authority.own_right(Right::Read).check(Right::Read, "what is its user's")?;
            self.tenant_wide()
        } else {
            self.operator().await?
        };
        // An export is whole or there is none.
        self.authority.unless_forbidden_on_all(Right::Read, of).await?;
        Ok(client)
    }

    /// Records that somebody who looks after the tenant is about to be shown an entry that is another person's. When this
    /// returns, it is durable.
    ///
    /// # Errors
    /// `unavailable` (`reads_unrecorded`) when it cannot be.
    pub(crate) async fn record_look(&self, journal: JournalId, stored: &StoredEntry) -> Result<()> {
        let owner = Header::decode(&stored.header)?.owner;
        let tenants = self.core.0.keys.tenant_pseudonym();
        if owner == tenants || stored.payload.is_none() {
            return Ok(());
        }
        self.authority.refresh().await?;
        let Some(facts) = self.authority.facts(journal).await? else { return Ok(()) };
        match facts.kind {
            JournalKind::Branch | JournalKind::SessionControl => {
                self.authority.unless_forbidden_on_session(Right::Read, facts.family, owner)?;
            }
            // What is said of an artifact is said in the journal of them all.
            JournalKind::Artifacts => self.authority.unless_forbidden_on_all(Right::Read, owner).await?,
            _ => {}
        }
        if owner == self.authority.subject {
            return Ok(());
        }
        self.reads.check().await?;
        self.reads.note(journal, Facts { owner, ..facts }, std::slice::from_ref(stored));
        self.reads.record().await
    }

    /// The whole tenant, where what is found is told in sums or not at all: that a place is taken, how much would go. A test
    /// lists who asks.
    pub(crate) fn tenant_wide(&self) -> Self {
        Self { core: self.authority.whole.clone(), ..self.clone() }
    }
}
