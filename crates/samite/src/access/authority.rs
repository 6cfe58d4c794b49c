//! What a principal may do, as the journals say now. Memory holds no authority: grants are read whenever they count, and
//! what is kept of them only spares opening the same entries again.

use crate::core::Core;
use crate::payload::Granted;
use crate::views::{register, row};
use samite_audit::leaf::Actor;
use samite_keys::Subject;
use samite_ledger::{JournalFilter, JournalKind, JournalState, Register, RowQuery};
use samite_model::access::{
    Decision, Grant, Policy, Reason, Resource, ResourceKind, Right, Rights, Why, chain, decide,
};
use samite_model::{ArtifactId, FamilyId, JournalId, KeyId, Owner, Position, Principal, Pseudonym, Result, SessionId};
use samite_policy::Target;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The policies of an organisation, asked at each act beside ownership and grants. They may forbid what those allow.
pub trait Policies: Send + Sync + 'static {
    /// What they say of one act. One that cannot be evaluated has failed, and the act is refused.
    fn say(&self, principal: &Principal, right: Right, resource: &OfWhat<'_>) -> Policy;
}

/// What a policy is asked about.
#[derive(Clone, Copy, Debug)]
pub struct OfWhat<'a> {
    /// Its kind.
    pub kind: ResourceKind,
    /// Its id; none for the tenant.
    pub id: Option<[u8; 16]>,
    /// Whose it is; none for what is the tenant's, or whose owner was erased.
    pub owner: Option<&'a Owner>,
}

/// What is known of a journal for as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) kind: JournalKind,
    pub(crate) family: FamilyId,
    pub(crate) owner: Pseudonym,
}

impl Facts {
    pub(crate) fn of(state: &JournalState) -> Self {
        Self { kind: state.kind, family: state.family, owner: state.owner }
    }
}

/// What was entered of another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// A session.
    Session(SessionId),
    /// An artifact.
    Artifact(ArtifactId),
}

/// A decision, with what it rests on where that may change: a journal and the version of its registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided {
    pub(crate) decision: Decision,
    pub(crate) rests_on: Option<(JournalId, u64)>,
}

impl Decided {
    const fn simply(decision: Decision) -> Self {
        Self { decision, rests_on: None }
    }
}

/// The grants of one journal: with each the artifact that it is about, if it is about one.
pub(crate) type Grants = Arc<Vec<(Register, Granted)>>;

/// What one principal may do.
pub(crate) struct Authority {
    /// The whole tenant.
    pub(crate) whole: Arc<Core>,
    pub(crate) principal: Principal,
    /// The principal's user, as owner.
    own: Owner,
    pub(crate) subject: Pseudonym,
    /// The key of its user when the principal was let in: when that is destroyed, it does nothing any more.
    pub(crate) key: KeyId,
    pub(crate) actor: Pseudonym,
    /// The principal, as the audit log names it.
    pub(crate) named: Actor,
    policies: Option<Arc<dyn Policies>>,
    /// Those whom policies are asked about: all that it works for, and itself.
    chain: Vec<Principal>,
    /// Whether the tenant's own policies are asked: not for what is done in the tenant's name, by whoever may.
    is_bound: bool,
    /// What it may do with its user's own, where no policy says otherwise: nothing of that changes while it lives.
    own_rights: Rights,
    facts: RwLock<HashMap<JournalId, Facts>>,
    controls: RwLock<HashMap<SessionId, (JournalId, Pseudonym)>>,
    grants: Mutex<HashMap<JournalId, (u64, Grants)>>,
}

impl Authority {
    pub(crate) fn new(
        whole: Arc<Core>,
        principal: Principal,
        subject: Subject,
        policies: Option<Arc<dyn Policies>>,
        is_bound: bool,
    ) -> Result<Self> {
        let own = principal.owner()?;
        let (keys, actor) = (&whole.0.keys, whole.0.keys.actor(&principal));
        let named = Actor {
            user: keys.audit_person(subject)?,
            agent: Some(keys.audit_name("agent", &principal.agent)),
            workload: Some(keys.audit_name("workload", &principal.workload)),
        };
        let (subject, key) = (subject.pseudonym, subject.key);
        let (facts, controls, grants) = (RwLock::default(), RwLock::default(), Mutex::default());
        let mut authority = Self {
            chain: chain(&principal),
            whole,
            principal,
            own,
            subject,
            key,
            actor,
            named,
            policies,
            is_bound,
            own_rights: Rights::NONE,
            facts,
            controls,
            grants,
        };
        let allowed = |right: &Right| authority.own_right(*right).is_allowed();
        let own_rights = Rights::of(Right::ALL.into_iter().filter(allowed));
        authority.own_rights = own_rights;
        Ok(authority)
    }

    pub(crate) fn policies(&self) -> Option<Arc<dyn Policies>> {
        self.policies.clone()
    }

    /// What is known of a journal, if it exists.
    pub(crate) async fn facts(&self, journal: JournalId) -> Result<Option<Facts>> {
        let known = self.facts.read().unwrap_or_else(PoisonError::into_inner).get(&journal).copied();
        if known.is_some() {
            return Ok(known);
        }
        let Some(state) = self.whole.0.ledger.journal(journal).await? else { return Ok(None) };
        let facts = Facts::of(&state);
        self.facts.write().unwrap_or_else(PoisonError::into_inner).insert(journal, facts);
        Ok(Some(facts))
    }

    /// The control journal of a session and whose it is, if it exists.
    pub(crate) async fn control(&self, session: SessionId) -> Result<Option<(JournalId, Pseudonym)>> {
        let known = self.controls.read().unwrap_or_else(PoisonError::into_inner).get(&session).copied();
        if known.is_some() {
            return Ok(known);
        }
        let kind = Some(JournalKind::SessionControl);
        let filter = JournalFilter { family: Some(session), kind, ..JournalFilter::default() };
        let found = self.whole.0.ledger.journals(filter).await?.first().map(|state| (state.id, state.owner));
        if let Some(found) = found {
            self.controls.write().unwrap_or_else(PoisonError::into_inner).insert(session, found);
        }
        Ok(found)
    }

    /// The grants that stand in a journal, with the version of its registers.
    pub(crate) async fn grants(&self, journal: JournalId) -> Result<(u64, Grants)> {
        let (version, registers) = self.whole.0.ledger.registers(journal).await?;
        let known = self.grants.lock().unwrap_or_else(PoisonError::into_inner).get(&journal).cloned();
        if let Some((_, grants)) = known.filter(|(known, _)| *known == version) {
            return Ok((version, grants));
        }
        let mut grants = Vec::new();
        for register in registers.into_iter().filter(|register| register.kind == register::GRANT) {
            let entry = self.whole.entry_at(Position { journal, seq: register.seq }).await?;
            // Erased with its owner.
            if entry.payload.is_some() {
                grants.push((register, entry.json()?));
            }
        }
        let grants = Arc::new(grants);
        self.grants.lock().unwrap_or_else(PoisonError::into_inner).insert(journal, (version, Arc::clone(&grants)));
        Ok((version, grants))
    }

    fn decide(&self, right: Right, what: &OfWhat<'_>, grants: &[Grant]) -> Decision {
        self.decide_under(self.policy(right, what), right, what, grants)
    }

    /// What policies say: the tenant's own, then those that the store was opened under.
    fn policy(&self, right: Right, what: &OfWhat<'_>) -> Policy {
        if self.is_bound {
            let OfWhat { kind, id, owner } = *what;
            let target = Target { kind, id, owner, tenant: self.whole.0.keys.tenant() };
            let organisation = self.whole.organisation();
            let said = Policy::of_chain(self.chain.iter().map(|who| organisation.say(who, right, &target)));
            if said != Policy::Silent {
                return said;
            }
        }
        let all = self.policies.as_ref();
        all.map_or(Policy::Silent, |all| Policy::of_chain(self.chain.iter().map(|who| all.say(who, right, what))))
    }

    fn decide_under(&self, policy: Policy, right: Right, what: &OfWhat<'_>, grants: &[Grant]) -> Decision {
        let tenant = self.whole.0.keys.tenant();
        let resource = Resource { tenant, owner: what.owner, kind: what.kind, grants };
        decide(&self.principal, right, &resource, policy, self.whole.now())
    }

    /// Whether no policies are asked of what is one's own.
    pub(super) fn is_free(&self) -> bool {
        self.policies.is_none() && (!self.is_bound || self.whole.organisation().is_none())
    }

    /// Refuses what policies forbid, of whoever's it is: for acts whose right was looked at already, on the whole of what a
    /// person has or the tenant.
    fn unless_forbidden(&self, right: Right, what: &OfWhat<'_>, words: &str) -> Result<()> {
        match self.policy(right, what) {
            Policy::Silent | Policy::Permit => Ok(()),
            Policy::Forbid | Policy::Failed => Decision::Deny(Reason::Forbidden).check(right, words).map(|_| ()),
        }
    }

    /// Refuses what policies forbid to be done with a session, whoever's it is.
    pub(crate) fn unless_forbidden_on_session(&self, right: Right, session: SessionId, owner: Pseudonym) -> Result<()> {
        if self.is_free() {
            return Ok(());
        }
        let owner = self.whole.0.keys.owner_name(owner)?;
        let what = OfWhat { kind: ResourceKind::Session, id: Some(session.0), owner: owner.as_ref() };
        self.unless_forbidden(right, &what, &format!("session {}", session.short()))
    }

    /// Refuses what policies forbid to be done with an artifact, whoever's it is.
    pub(crate) fn unless_forbidden_on_artifact(
        &self,
        right: Right,
        artifact: ArtifactId,
        owner: Pseudonym,
    ) -> Result<()> {
        if self.is_free() {
            return Ok(());
        }
        let owner = self.whole.0.keys.owner_name(owner)?;
        let what = OfWhat { kind: ResourceKind::Artifact, id: Some(artifact.0), owner: owner.as_ref() };
        self.unless_forbidden(right, &what, &format!("artifact {}", artifact.short()))
    }

    /// Refuses what policies forbid to be done with anything that a person has.
    pub(crate) async fn unless_forbidden_on_all(&self, right: Right, owner: Pseudonym) -> Result<()> {
        if self.is_free() {
            return Ok(());
        }
        for state in self.whole.0.ledger.journals(JournalFilter::default()).await? {
            match state.kind {
                _ if state.owner != owner => {}
                JournalKind::SessionControl => self.unless_forbidden_on_session(right, state.family, owner)?,
                JournalKind::Artifacts => {
                    for artifact in self.artifacts_in(state.id, state.head).await?.into_keys() {
                        self.unless_forbidden_on_artifact(right, artifact, owner)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The artifacts in an owner's journal, with the seqs of their entries.
    pub(super) async fn artifacts_in(&self, journal: JournalId, head: u64) -> Result<BTreeMap<ArtifactId, Vec<u64>>> {
        let at = Position { journal, seq: head };
        let query = RowQuery { at, kind: row::ARTIFACT, hashes: Vec::new(), limit: usize::MAX };
        let mut all: BTreeMap<ArtifactId, Vec<u64>> = BTreeMap::new();
        for found in self.whole.0.ledger.rows(query).await? {
            all.entry(ArtifactId(found.hash)).or_default().push(found.position.seq);
        }
        Ok(all)
    }

    /// Looks at the tenant's own policies where that is due.
    pub(crate) async fn refresh(&self) -> Result<()> {
        if self.is_bound { self.whole.refresh().await } else { Ok(()) }
    }

    /// Whether the principal may act on what is the tenant's, whatever policies say.
    pub(crate) fn on_tenant_without_policies(&self, right: Right) -> Decision {
        self.decide_under(Policy::Silent, right, &OfWhat { kind: ResourceKind::Tenant, id: None, owner: None }, &[])
    }

    /// Whether the principal may act on what is the tenant's.
    pub(crate) fn on_tenant(&self, right: Right) -> Decision {
        self.decide(right, &OfWhat { kind: ResourceKind::Tenant, id: None, owner: None }, &[])
    }

    /// Whether the principal has this right on what is its user's own, before policies are asked about one thing or another.
    pub(crate) fn own_right(&self, right: Right) -> Decision {
        let own = OfWhat { kind: ResourceKind::Session, id: Some(self.subject.0), owner: Some(&self.own) };
        self.decide_under(Policy::Silent, right, &own, &[])
    }

    /// Whether the principal may act so on what is its user's own.
    pub(crate) fn on_own(&self, right: Right, kind: ResourceKind, id: [u8; 16]) -> Decision {
        if self.is_free() && kind == ResourceKind::Session && self.own_rights.has(right) {
            return Decision::Allow(Why::Owner);
        }
        self.decide(right, &OfWhat { kind, id: Some(id), owner: Some(&self.own) }, &[])
    }

    /// Whether the principal may act so on a session of an owner.
    pub(crate) async fn on_session(&self, right: Right, session: SessionId, owner: Pseudonym) -> Result<Decided> {
        if owner == self.subject {
            return Ok(Decided::simply(self.on_own(right, ResourceKind::Session, session.0)));
        }
        let nothing = Decided::simply(Decision::Deny(Reason::NotGranted));
        let Some((control, of)) = self.control(session).await? else { return Ok(nothing) };
        if of != owner {
            return Ok(nothing);
        }
        let (version, grants) = self.grants(control).await?;
        let grants: Vec<Grant> = grants.iter().map(|(_, granted)| granted.grant.clone()).collect();
        let owner = self.whole.0.keys.owner_name(owner)?;
        let what = OfWhat { kind: ResourceKind::Session, id: Some(session.0), owner: owner.as_ref() };
        let decision = self.decide(right, &what, &grants);
        Ok(Decided { decision, rests_on: Some((control, version)) })
    }

    /// Whether the principal may act so on an artifact of an owner, whose artifacts are in this journal.
    pub(crate) async fn on_artifact(
        &self,
        right: Right,
        artifact: ArtifactId,
        journal: JournalId,
        owner: Pseudonym,
    ) -> Result<Decided> {
        if owner == self.subject {
            return Ok(Decided::simply(self.on_own(right, ResourceKind::Artifact, artifact.0)));
        }
        let (version, grants) = self.grants(journal).await?;
        let about = grants.iter().filter(|(_, granted)| granted.artifact == Some(artifact));
        let grants: Vec<Grant> = about.map(|(_, granted)| granted.grant.clone()).collect();
        let owner = self.whole.0.keys.owner_name(owner)?;
        let what = OfWhat { kind: ResourceKind::Artifact, id: Some(artifact.0), owner: owner.as_ref() };
        let decision = self.decide(right, &what, &grants);
        Ok(Decided { decision, rests_on: Some((journal, version)) })
    }
}
