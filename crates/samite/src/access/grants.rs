//! Sharing: grants as entries, the owner's to give and to take back.

use super::authority::Grants;
use crate::client::{Client, no_session};
use crate::core::Draft;
use crate::payload::{GrantRevoked, Granted, ReadRecorded};
use crate::views;
use samite_ledger::{Append, Commit, Guard, Read};
use samite_model::access::{Grant, Grantee, Right, Rights, Standing, fallen};
use samite_model::{ArtifactId, EntryId, EntryKind, Error, Header, JournalId, Owner, Position, Result, SessionId};

/// How often sharing looks again because what is shared changed meanwhile.
const ROUNDS: usize = 64;

const PAGE: usize = 512;

/// A grant that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Its id.
    pub id: EntryId,
    /// What is allowed to whom.
    pub grant: Grant,
    /// The artifact that it is about; none where it is about a session.
    pub artifact: Option<ArtifactId>,
    /// When it was given, in nanoseconds since 1970.
    pub at: i64,
}

/// A read by somebody else, as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRead {
    /// Where the record is.
    pub position: Position,
    /// What was read by whom.
    pub recorded: ReadRecorded,
    /// When that was recorded, in nanoseconds since 1970.
    pub time: i64,
}

/// What is shared: the journal that has its grants, the artifact if it is one, and what the client may do with it.
struct Target {
    journal: JournalId,
    artifact: Option<ArtifactId>,
    /// Whose it is; none where that is not known any more.
    owner: Option<Owner>,
    rights: Rights,
    words: String,
}

impl Target {
    /// Of the grants of its journal, those that are about it.
    fn about(&self, grants: &Grants) -> Vec<(EntryId, Grant)> {
        let about = grants.iter().filter(|(_, granted)| granted.artifact == self.artifact);
        about.map(|(register, granted)| (EntryId(register.hash), granted.grant.clone())).collect()
    }

    /// Which of these grants rest on what is not among them, or ends sooner than they do.
    fn fallen<'a>(&self, grants: impl IntoIterator<Item = &'a Grant>) -> Vec<usize> {
        let grants: Vec<Grant> = grants.into_iter().cloned().collect();
        self.owner.as_ref().map_or_else(Vec::new, |owner| fallen(owner, &grants))
    }
}

impl Client {
    async fn session_to_share(&self, session: SessionId) -> Result<(Self, Target)> {
        let client = self.enter(session).await?;
        let (journal, owner) =
            self.authority.control(session).await?.ok_or_else(|| no_session(&session.to_string()))?;
        let rights = self.authority.rights_on(session, owner).await?;
        let words = format!("session {}", session.short());
        let owner = self.authority.whole.0.keys.owner_name(owner)?;
        Ok((client, Target { journal, artifact: None, owner, rights, words }))
    }

    async fn artifact_to_share(&self, artifact: ArtifactId) -> Result<(Self, Target)> {
        let client = self.enter_artifact(artifact).await?;
        let none = || crate::artifact::no_artifact(&artifact.to_string());
        let (journal, owner) = self.artifact_home(artifact).await?.ok_or_else(none)?;
        let rights = self.authority.rights_on_artifact(artifact, journal, owner).await?;
        let words = format!("artifact {}", artifact.short());
        let owner = self.authority.whole.0.keys.owner_name(owner)?;
        Ok((client, Target { journal, artifact: Some(artifact), owner, rights, words }))
    }

    /// Shares a session: whom the grantee names may do these things with it from now on, up to `until` (ns since 1970; none
    /// means until it is revoked). It takes the place of what was granted to the same grantee; what that grantee had granted and may
    /// not any more ends with it. When this returns, it is durable.
    ///
    /// # Errors
    /// `not_found` when there is no such session; `denied` where the principal may not manage it, or would give more than it
    /// has; `invalid`: `no_rights`, `not_grantable`, `bad_until`, `shared_with_owner`.
    pub async fn share(&self, session: SessionId, to: Grantee, rights: Rights, until: Option<i64>) -> Result<Shared> {
        let (client, target) = self.session_to_share(session).await?;
        client.grant(&target, to, rights, until).await
    }

    /// Shares an artifact, as [`Client::share`] does a session: to read it, or to manage who may.
    ///
    /// # Errors
    /// As [`Client::share`].
    pub async fn share_artifact(
        &self,
        artifact: ArtifactId,
        to: Grantee,
        rights: Rights,
        until: Option<i64>,
    ) -> Result<Shared> {
        let (client, target) = self.artifact_to_share(artifact).await?;
        client.grant(&target, to, rights, until).await
    }

    /// Takes back what was granted on a session: to this grantee, or (none) to everybody; what they had granted in turn ends with
    /// it. Answers with the grants that ended. When this returns, it is durable, and nothing more is committed that rested on them.
    ///
    /// # Errors
    /// `not_found` when there is no such session, or (`no_grant`) nothing was granted so; `denied` where the principal may not
    /// manage it.
    pub async fn unshare(&self, session: SessionId, from: Option<&Grantee>) -> Result<Vec<Shared>> {
        let (client, target) = self.session_to_share(session).await?;
        client.revoke(&target, from).await
    }

    /// Takes back what was granted on an artifact, as [`Client::unshare`] does.
    ///
    /// # Errors
    /// As [`Client::unshare`].
    pub async fn unshare_artifact(&self, artifact: ArtifactId, from: Option<&Grantee>) -> Result<Vec<Shared>> {
        let (client, target) = self.artifact_to_share(artifact).await?;
        client.revoke(&target, from).await
    }

    /// What is granted on a session, in the order in which it was: all of it for who may manage it, else what names the
    /// principal. A grant whose time is over is among them until it is revoked.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn grants(&self, session: SessionId) -> Result<Vec<Shared>> {
        let (client, target) = self.session_to_share(session).await?;
        client.standing(&target).await
    }

    /// What is granted on an artifact, as [`Client::grants`].
    ///
    /// # Errors
    /// `not_found` when there is no such artifact.
    pub async fn artifact_grants(&self, artifact: ArtifactId) -> Result<Vec<Shared>> {
        let (client, target) = self.artifact_to_share(artifact).await?;
        client.standing(&target).await
    }

    /// What others read of what this principal's user owns, in the order in which it was recorded.
    ///
    /// # Errors
    /// `corrupt` when a record cannot be read.
    pub async fn reads_by_others(&self) -> Result<Vec<RecordedRead>> {
        let control = self.tenant_control();
        let Some(state) = self.core.0.ledger.journal(control).await? else { return Ok(Vec::new()) };
        let mut reads = Vec::new();
        let mut from = 1;
        while from <= state.head {
            let kinds = vec![EntryKind::READ_RECORDED];
            let page = self.core.0.ledger.read(Read { kinds, limit: PAGE, ..Read::range(control, from, state.head) });
            let page = page.await?;
            let Some(last) = page.last() else { break };
            from = last.seq + 1;
            for stored in &page {
                if Header::decode(&stored.header)?.owner != self.authority.subject {
                    continue;
                }
                let entry = self.core.open(control, stored)?;
                if entry.payload.is_some() {
                    let (position, time) = (entry.position, entry.header.time);
                    reads.push(RecordedRead { position, recorded: entry.json()?, time });
                }
            }
        }
        Ok(reads)
    }

    async fn standing(&self, target: &Target) -> Result<Vec<Shared>> {
        let (_, grants) = self.authority.grants(target.journal).await?;
        let mut standing = Vec::new();
        for (register, granted) in grants.iter().filter(|(_, granted)| granted.artifact == target.artifact) {
            if target.rights.has(Right::Manage) || granted.grant.to.names(&self.principal) {
                let at = Position { journal: target.journal, seq: register.seq };
                let entry = self.authority.whole.entry_at(at).await?;
                standing.push((
                    register.seq,
                    Shared {
                        id: EntryId(register.hash),
                        grant: granted.grant.clone(),
                        artifact: granted.artifact,
                        at: entry.header.time,
                    },
                ));
            }
        }
        standing.sort_by_key(|(seq, _)| *seq);
        Ok(standing.into_iter().map(|(_, shared)| shared).collect())
    }

    async fn grant(&self, target: &Target, to: Grantee, rights: Rights, until: Option<i64>) -> Result<Shared> {
        let rights = rights.to_grant()?;
        if until.is_some_and(|until| until <= self.core.now()) {
            return Err(Error::invalid("bad_until", "the grant would be over already").hint("name a time to come"));
        }
        let user = to.user.as_ref().map(|user| format!("user:{user}"));
        if user.is_some() && user.as_deref() == target.owner.as_ref().map(Owner::as_str) {
            let message = format!("{} is {to}'s own already", target.words);
            return Err(Error::invalid("shared_with_owner", message).hint("name somebody else"));
        }
        for _ in 0..ROUNDS {
            let (version, grants) = self.authority.grants(target.journal).await?;
            let (same, mut rest): (Vec<_>, Vec<_>) =
                target.about(&grants).into_iter().partition(|(_, grant)| grant.to == to);
            let by_policy = {
                let all: Vec<Grant> = same.iter().chain(&rest).map(|(_, grant)| grant.clone()).collect();
                self.may_grant(target, rights, until, &all)?
            };
            let grant = Grant { to: to.clone(), rights, until, by: self.principal.clone(), by_policy };
            let replaces = same.into_iter().map(|(id, _)| id).collect();
            let granted = Granted { grant: grant.clone(), artifact: target.artifact, replaces };
            let mut draft = self.core.draft(EntryKind::GRANTED, &granted, views::Projection::default())?;
            draft.views = views::granted(draft.id, &granted);
            let (id, at) = (draft.id, self.core.now());
            rest.push((id, grant.clone()));
            let fallen = target.fallen(rest.iter().map(|(_, grant)| grant));
            let fallen: Vec<EntryId> =
                fallen.into_iter().filter_map(|place| rest.get(place).map(|(id, _)| *id)).collect();
            if fallen.contains(&id) {
                let message = format!("a grant on {} would take the place of the one that it rests on", target.words);
                return Err(Error::denied("not_granted", message)
                    .hint("whoever gave that one, or the owner, may change it; to give it up, unshare it"));
            }
            let mut drafts = vec![draft];
            if !fallen.is_empty() {
                drafts.push(self.end_of(fallen)?);
            }
            if self.change_grants(target, version, drafts).await? {
                return Ok(Shared { id, grant, artifact: target.artifact, at });
            }
        }
        Err(contended())
    }

    fn end_of(&self, grants: Vec<EntryId>) -> Result<Draft> {
        let revoked = GrantRevoked { grants, by: self.principal.clone() };
        self.core.draft(EntryKind::GRANT_REVOKED, &revoked, views::grant_revoked(&revoked))
    }

    /// Refuses to give more than one has by these grants: a right that one has not, or for longer than one has it. Answers whether a
    /// policy, and no grant, allows some of it.
    fn may_grant(&self, target: &Target, rights: Rights, until: Option<i64>, grants: &[Grant]) -> Result<bool> {
        let manage = Right::Manage;
        if !target.rights.has(manage) {
            // In the words of the decision itself.
            return Err(Error::denied("not_granted", format!("this principal may not share {}", target.words))
                .hint("its owner may, and an agent of the owner's with the scope samite:manage"));
        }
        let missing = rights.iter().find(|right| !target.rights.has(*right));
        if let Some(right) = missing {
            return Err(Error::denied("not_granted", format!("who may not {right} {} cannot grant it", target.words))
                .hint("grant what you may do yourself"));
        }
        let Some(owner) = target.owner.as_ref().filter(|_| self.subject.pseudonym != self.authority.subject) else {
            return Ok(false);
        };
        // Each right ends by itself, and managing, by which all of them are given, too: all along the grants that each rests on.
        let standing = Standing::of(owner, grants);
        let ends = rights.iter().chain([manage]).map(|right| standing.until(&self.principal, right, self.core.now()));
        let ends: Vec<Option<i64>> = ends.collect();
        if ends.iter().flatten().min().is_some_and(|longest| until.unwrap_or(i64::MAX) > *longest) {
            let message = format!("a grant on {} would outlast the one that it rests on", target.words);
            return Err(Error::denied("not_granted", message).hint("name a time before that one ends"));
        }
        Ok(ends.contains(&None))
    }

    async fn revoke(&self, target: &Target, from: Option<&Grantee>) -> Result<Vec<Shared>> {
        if !target.rights.has(Right::Manage) {
            return Err(Error::denied("not_granted", format!("this principal may not unshare {}", target.words))
                .hint("its owner may, and an agent of the owner's with the scope samite:manage"));
        }
        for _ in 0..ROUNDS {
            let (version, _) = self.authority.grants(target.journal).await?;
            let all = self.standing(target).await?;
            let (mut ended, rest): (Vec<Shared>, Vec<Shared>) =
                all.into_iter().partition(|shared| from.is_none_or(|from| shared.grant.to == *from));
            if ended.is_empty() {
                let whom = from.map_or_else(|| "anybody".to_owned(), ToString::to_string);
                return Err(Error::not_found("no_grant", format!("{} is not shared with {whom}", target.words))
                    .hint("`samite grants SESSION` shows with whom it is: a grant to an agent of a user is taken back by both names"));
            }
            let fallen = target.fallen(rest.iter().map(|shared| &shared.grant));
            ended.extend(fallen.into_iter().filter_map(|place| rest.get(place).cloned()));
            let draft = self.end_of(ended.iter().map(|shared| shared.id).collect())?;
            if self.change_grants(target, version, vec![draft]).await? {
                return Ok(ended);
            }
        }
        Err(contended())
    }

    /// Appends to the journal of grants if they are as they were; answers whether they were.
    async fn change_grants(&self, target: &Target, version: u64, drafts: Vec<Draft>) -> Result<bool> {
        let seal = |draft| self.core.seal(target.journal, &self.author(0), draft);
        let entries = drafts.into_iter().map(seal).collect::<Result<Vec<_>>>()?;
        let commit = Commit {
            guards: vec![Guard::Registers { journal: target.journal, version }],
            appends: vec![Append { journal: target.journal, entries }],
            ..Commit::default()
        };
        match self.core.0.ledger.commit(commit).await {
            Err(error) if error.code() == "registers_moved" => Ok(false),
            other => other.map(|_| true),
        }
    }
}

fn contended() -> Error {
    Error::conflict("session_contended", "what is shared keeps changing").hint("try again")
}
