//! What a principal sees of the tenant's journals, and what it may write to them.

use super::acts::{Act, act};
use super::authority::{Authority, Decided, Entered, Facts};
use crate::views::{register, row};
use samite_ledger::{Commit, JournalKind, NewJournal, RowQuery};
use samite_model::access::{Decision, Reason, ResourceKind, Right, Rights};
use samite_model::{ArtifactId, EntryKind, Error, JournalId, Position, Pseudonym, Result, SessionId};
use std::collections::{HashMap, HashSet};

/// What of a journal is seen.
pub(super) enum Seen {
    /// Nothing: it is as if it were not there.
    Nothing,
    /// All of it.
    All {
        /// Whether it is another's, so that reading it is recorded.
        others: bool,
    },
    /// The entries of these seqs of another's journal.
    Some(HashSet<u64>),
    /// One's own journal but for the entries of these seqs, which policies forbid.
    Except(HashSet<u64>),
    /// The entries that are about nobody else, in a journal that everybody writes to.
    Own,
}

/// What a ledger says of a journal that is not there.
pub(super) fn no_journal(journal: JournalId) -> Error {
    Error::not_found("no_journal", format!("there is no journal {journal}")).hint("list the journals")
}

/// Entries of the tenant's journal that the fabric reads for everybody, whoever wrote them: what went, and what is redacted.
pub(super) fn is_for_all(kind: EntryKind) -> bool {
    use EntryKind as K;
    matches!(kind, K::COLLECTED | K::LOSS_ACCEPTED | K::CUT | K::REDACTION_SET | K::SECRET_REGISTERED)
}

impl Authority {
    /// What the principal sees of a journal.
    pub(super) async fn sees(&self, journal: JournalId, entered: Option<Entered>) -> Result<Seen> {
        match self.facts(journal).await? {
            Some(facts) => self.sees_of(journal, facts, entered).await,
            None => Ok(Seen::Nothing),
        }
    }

    /// The same, of a journal that is known.
    pub(super) async fn sees_of(&self, journal: JournalId, facts: Facts, entered: Option<Entered>) -> Result<Seen> {
        let all = |decided: Decided, others: bool| {
            if decided.decision.is_allowed() { Seen::All { others } } else { Seen::Nothing }
        };
        let own = facts.owner == self.subject;
        Ok(match facts.kind {
            JournalKind::TenantControl => Seen::Own,
            JournalKind::Branch | JournalKind::SessionControl => {
                all(self.on_session(Right::Read, facts.family, facts.owner).await?, !own)
            }
            JournalKind::Workspace => {
                if own || self.is_erased(facts.owner)? {
                    return Ok(all(self.own(Right::Read, facts), false));
                }
                match entered {
                    Some(Entered::Session(session)) if self.works_in(session, facts).await? => {
                        all(self.on_session(Right::Read, session, facts.owner).await?, true)
                    }
                    _ => Seen::Nothing,
                }
            }
            JournalKind::Memory if own => all(self.own(Right::Read, facts), false),
            JournalKind::Artifacts if own && self.is_free() => all(self.own(Right::Read, facts), false),
            JournalKind::Artifacts if own => Seen::Except(self.artifacts_forbidden(journal).await?),
            JournalKind::Artifacts => match entered {
                Some(entered) => Seen::Some(self.artifacts_of(entered, journal, facts.owner).await?),
                None => Seen::Nothing,
            },
            JournalKind::Memory | JournalKind::Audit => Seen::Nothing,
        })
    }

    fn own(&self, right: Right, facts: Facts) -> Decided {
        // Publishing is done from a session.
        let of_artifact = facts.kind == JournalKind::Artifacts && ResourceKind::Artifact.rights().has(right);
        let kind = if of_artifact { ResourceKind::Artifact } else { ResourceKind::Session };
        Decided { decision: self.on_own(right, kind, facts.family.0), rests_on: None }
    }

    /// Whether an owner's keys were destroyed: a workspace is then whoever's works there next.
    fn is_erased(&self, owner: Pseudonym) -> Result<bool> {
        match self.whole.0.keys.subject_of(owner) {
            Err(error) if matches!(error.code(), "key_destroyed" | "unknown_subject") => Ok(true),
            other => other.map(|_| false),
        }
    }

    /// Whether a session that was entered works in a workspace.
    async fn works_in(&self, session: SessionId, workspace: Facts) -> Result<bool> {
        let Some((control, owner)) = self.control(session).await? else { return Ok(false) };
        let (_, registers) = self.whole.0.ledger.registers(control).await?;
        let is_it = |kind: u16, hash: &[u8; 16]| kind == register::WORKSPACE && *hash == workspace.family.0;
        Ok(owner == workspace.owner && registers.iter().any(|one| is_it(one.kind, &one.hash)))
    }

    /// The seqs of one's own artifacts that may not be read.
    async fn artifacts_forbidden(&self, journal: JournalId) -> Result<HashSet<u64>> {
        let mut hidden = HashSet::new();
        let Some(state) = self.whole.0.ledger.journal(journal).await? else { return Ok(hidden) };
        for (artifact, seqs) in self.artifacts_in(journal, state.head).await? {
            if !self.on_own(Right::Read, ResourceKind::Artifact, artifact.0).is_allowed() {
                hidden.extend(seqs);
            }
        }
        Ok(hidden)
    }

    /// The seqs of an owner's artifacts that are seen by who entered a session, which is what was published there, or one of
    /// them.
    async fn artifacts_of(&self, entered: Entered, journal: JournalId, owner: Pseudonym) -> Result<HashSet<u64>> {
        let mut seen: HashSet<ArtifactId> = HashSet::new();
        match entered {
            Entered::Artifact(artifact) => {
                if self.on_artifact(Right::Read, artifact, journal, owner).await?.decision.is_allowed() {
                    seen.insert(artifact);
                }
            }
            Entered::Session(session) => {
                if !self.on_session(Right::Read, session, owner).await?.decision.is_allowed() {
                    return Ok(HashSet::new());
                }
                for branch in self.whole.0.ledger.journals(crate::session::branches_of(session)).await? {
                    for published in self.rows(branch.id, branch.head, row::ARTIFACT).await? {
                        let artifact = ArtifactId::from_slice(&published.value)?;
                        // The session was shared; what was published there may be forbidden all the same.
                        if self.unless_forbidden_on_artifact(Right::Read, artifact, owner).is_ok() {
                            seen.insert(artifact);
                        }
                    }
                }
            }
        }
        let Some(state) = self.whole.0.ledger.journal(journal).await? else { return Ok(HashSet::new()) };
        let all = self.artifacts_in(journal, state.head).await?;
        Ok(all.into_iter().filter(|(artifact, _)| seen.contains(artifact)).flat_map(|(_, seqs)| seqs).collect())
    }

    async fn rows(&self, journal: JournalId, head: u64, kind: u16) -> Result<Vec<samite_ledger::Row>> {
        let at = Position { journal, seq: head };
        self.whole.0.ledger.rows(RowQuery { at, kind, hashes: Vec::new(), limit: usize::MAX }).await
    }

    /// Refuses a commit that the principal may not make, and answers with what the permission rests on.
    pub(super) async fn permit(
        &self,
        commit: &Commit,
        acting: Pseudonym,
        entered: Option<Entered>,
    ) -> Result<Vec<(JournalId, u64)>> {
        let mut rests_on = Vec::new();
        let new: HashMap<JournalId, &NewJournal> = commit.journals.iter().map(|new| (new.id, new)).collect();
        let begun: HashSet<SessionId> = commit
            .journals
            .iter()
            .filter(|new| new.kind == JournalKind::SessionControl && new.owner == self.subject)
            .map(|new| new.family)
            .collect();
        for new in &commit.journals {
            self.permit_journal(new, &begun, acting, entered, &mut rests_on).await?;
        }
        for append in &commit.appends {
            let facts = match new.get(&append.journal) {
                Some(new) => Facts { kind: new.kind, family: new.family, owner: new.owner },
                None => self.facts(append.journal).await?.ok_or_else(|| no_journal(append.journal))?,
            };
            // The tenant's journal has what is said of oneself.
            if facts.kind == JournalKind::TenantControl && acting != self.subject {
                return Err(not_as_another());
            }
            let mut rights: Vec<Act> = Vec::new();
            for entry in &append.entries {
                if entry.owner != acting || entry.actor != self.actor {
                    return Err(not_as_another());
                }
                let act = act(entry.kind);
                if !rights.contains(&act) {
                    rights.push(act);
                }
            }
            for act in rights {
                let place =
                    Place { journal: append.journal, facts, entered, is_new: new.contains_key(&append.journal) };
                self.permit_act(act, &place, begun.contains(&facts.family), &mut rests_on).await?;
            }
        }
        if let Some((journal, ..)) = commit.renew {
            self.permit_on(journal, Right::Append, entered, &mut rests_on).await?;
        }
        Ok(rests_on)
    }

    async fn permit_journal(
        &self,
        new: &NewJournal,
        begun: &HashSet<SessionId>,
        acting: Pseudonym,
        entered: Option<Entered>,
        rests_on: &mut Vec<(JournalId, u64)>,
    ) -> Result<()> {
        if new.kind == JournalKind::TenantControl {
            return Ok(());
        }
        if new.owner != acting {
            return Err(not_as_another());
        }
        let facts = Facts { kind: new.kind, family: new.family, owner: new.owner };
        let place = Place { journal: new.id, facts, entered, is_new: true };
        let is_begun = begun.contains(&new.family);
        match new.kind {
            JournalKind::SessionControl if is_begun && self.control(new.family).await?.is_none() => {
                self.permit_act(Act::Owners(Right::Append), &place, true, rests_on).await
            }
            JournalKind::Branch if is_begun => Ok(()),
            JournalKind::Branch => self.permit_act(Act::Of(Right::Fork), &place, false, rests_on).await,
            JournalKind::Artifacts => self.permit_act(Act::Of(Right::Publish), &place, false, rests_on).await,
            JournalKind::Workspace => self.permit_act(Act::Of(Right::Append), &place, false, rests_on).await,
            JournalKind::Memory => self.permit_act(Act::Owners(Right::Append), &place, false, rests_on).await,
            _ => Err(not_as_another()),
        }?;
        if let Some(parent) = new.parent {
            self.permit_on(parent.journal, Right::Read, entered, rests_on).await?;
        }
        Ok(())
    }

    /// Refuses what somebody may not do to a journal that exists.
    pub(super) async fn permit_on(
        &self,
        journal: JournalId,
        right: Right,
        entered: Option<Entered>,
        rests_on: &mut Vec<(JournalId, u64)>,
    ) -> Result<()> {
        let facts = self.facts(journal).await?.ok_or_else(|| no_journal(journal))?;
        let place = Place { journal, facts, entered, is_new: false };
        self.permit_act(Act::Of(right), &place, false, rests_on).await
    }

    async fn permit_act(
        &self,
        act: Act,
        place: &Place,
        is_begun: bool,
        rests_on: &mut Vec<(JournalId, u64)>,
    ) -> Result<()> {
        let facts = place.facts;
        let own = facts.owner == self.subject;
        let (right, owners) = match act {
            Act::Of(right) => (right, false),
            Act::Owners(right) => (right, true),
            Act::Anyones if facts.kind != JournalKind::TenantControl => return Err(not_as_another()),
            Act::Anyones if Rights::of_scopes(&self.principal.scopes).is_empty() => {
                return Decision::Deny(Reason::Scope).check(Right::Read, "anything").map(|_| ());
            }
            Act::Anyones => return Ok(()),
            Act::Fabrics => return self.on_tenant(Right::Operate).check(Right::Operate, "the tenant").map(|_| ()),
        };
        let decided = match facts.kind {
            // What is written there of oneself.
            JournalKind::TenantControl => self.own(right, facts),
            _ if own || is_begun => self.own(right, facts),
            JournalKind::Workspace if self.is_erased(facts.owner)? => self.own(right, facts),
            JournalKind::Branch | JournalKind::SessionControl => {
                self.on_session(right, facts.family, facts.owner).await?
            }
            JournalKind::Workspace | JournalKind::Artifacts => match place.entered {
                Some(Entered::Session(session))
                    if facts.kind == JournalKind::Artifacts
                        || place.is_new
                        || self.works_in(session, facts).await? =>
                {
                    self.on_session(right, session, facts.owner).await?
                }
                Some(Entered::Artifact(artifact)) => {
                    self.on_artifact(right, artifact, place.journal, facts.owner).await?
                }
                _ => Decided { decision: Decision::Deny(Reason::NotGranted), rests_on: None },
            },
            JournalKind::Memory | JournalKind::Audit => {
                Decided { decision: Decision::Deny(Reason::NotGranted), rests_on: None }
            }
        };
        let foreign = !own && facts.kind != JournalKind::TenantControl;
        let decision = match decided.decision {
            Decision::Allow(_) if owners && foreign && !is_begun => Decision::Deny(Reason::NotGranted),
            decision => decision,
        };
        rests_on.extend(decided.rests_on);
        if !decision.is_allowed()
            && !place.is_new
            && matches!(self.sees_of(place.journal, facts, place.entered).await?, Seen::Nothing)
        {
            // Who may not look is told what would be said if there were nothing.
            return Err(no_journal(place.journal));
        }
        decision.check(right, &words(facts)).map(|_| ())
    }
}

/// Where something is to be written.
struct Place {
    journal: JournalId,
    facts: Facts,
    entered: Option<Entered>,
    is_new: bool,
}

fn words(facts: Facts) -> String {
    match facts.kind {
        JournalKind::Branch | JournalKind::SessionControl => format!("session {}", facts.family.short()),
        JournalKind::Artifacts => "this owner's artifacts".to_owned(),
        JournalKind::Workspace => format!("workspace {}", facts.family.short()),
        JournalKind::TenantControl | JournalKind::Memory | JournalKind::Audit => "this".to_owned(),
    }
}

fn not_as_another() -> Error {
    Error::internal("written_as_another", "an entry was to be written for another owner or actor than the client's")
        .hint("enter what is another's first")
}
