//! A store as one principal sees it. What is not the principal's is not found.

use crate::access::{Authority, Reads};
use crate::core::{Author, Core, Draft, Store};
use crate::views::{self, row};
use samite_audit::leaf::Actor;
use samite_keys::Subject;
use samite_ledger::{
    Append, Commit, Guard, JournalFilter, JournalKind, JournalState, JournalStatus, NewJournal, RowQuery,
};
use samite_model::audit::WrittenBy;
use samite_model::{EntryKind, Error, FamilyId, JournalId, Position, Principal, Pseudonym, Result, SessionId};
use std::sync::Arc;

/// A store seen by one principal.
#[derive(Clone)]
pub struct Client {
    pub(crate) core: Arc<Core>,
    pub(crate) principal: Principal,
    pub(crate) subject: Subject,
    pub(crate) actor: Pseudonym,
    /// The principal, as the audit log names it.
    pub(crate) named: Actor,
    /// What the principal may do.
    pub(crate) authority: Arc<Authority>,
    /// What it read of others and is not recorded yet.
    pub(crate) reads: Arc<Reads>,
}

impl Client {
    pub(crate) fn new(store: &Store, principal: Principal, writable: bool) -> Result<Self> {
        let core = store.core.clone();
        let owner = principal.owner()?;
        if principal.tenant != *core.0.keys.tenant() {
            return Err(Error::denied("other_tenant", "the principal is of another tenant than the store"));
        }
        let subject = core.0.keys.subject(&owner)?;
        let control = core.tenant_control();
        let authority = Authority::new(core, principal, subject, store.policies.clone(), true)?;
        Ok(Self::guarded(authority, subject, control, writable, store.reads.clone()))
    }

    /// The tenant's control journal: one, with an id that every process derives alike.
    pub(crate) fn tenant_control(&self) -> JournalId {
        self.core.tenant_control()
    }

    /// Appends to the tenant's control journal, making it first where it is new.
    pub(crate) async fn append_to_tenant(&self, draft: Draft, guards: Vec<Guard>) -> Result<()> {
        let control = self.tenant_control();
        let exists = self.core.0.ledger.journal(control).await?.is_some();
        let entry = self.core.seal(control, &self.author(0), draft)?;
        let journal = NewJournal {
            id: control,
            family: FamilyId(control.0),
            kind: JournalKind::TenantControl,
            owner: self.core.0.keys.tenant_pseudonym(),
            parent: None,
        };
        let appends = vec![Append { journal: control, entries: vec![entry] }];
        if !exists {
            // That nobody made the journal before is the guard here.
            let first = Commit { journals: vec![journal], appends: appends.clone(), ..Commit::default() };
            match self.core.0.ledger.commit(first).await {
                Err(error) if error.code() == "journal_exists" => {}
                other => return other.map(|_| ()),
            }
        }
        self.core.0.ledger.commit(Commit { guards, appends, ..Commit::default() }).await.map(|_| ())
    }

    /// Records a principal that was not seen before.
    pub(crate) async fn record_principal(&self) -> Result<()> {
        let control = self.tenant_control();
        if let Some(state) = self.core.0.ledger.journal(control).await? {
            let at = Position { journal: control, seq: state.head };
            let hashes = vec![*self.actor.as_bytes()];
            let query = RowQuery { at, kind: row::PRINCIPAL, hashes, limit: 1 };
            if !self.core.0.ledger.rows(query).await?.is_empty() {
                return Ok(());
            }
        }
        let draft = self.core.draft(EntryKind::PRINCIPAL_SEEN, &self.principal, views::principal_seen(self.actor))?;
        let absent = Guard::RowAbsent { journal: control, kind: row::PRINCIPAL, hashes: vec![*self.actor.as_bytes()] };
        match self.append_to_tenant(draft, vec![absent]).await {
            Err(error) if error.code() == "row_exists" => Ok(()),
            other => other,
        }
    }

    /// Who asks.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(crate) fn author(&self, epoch: u64) -> Author {
        let by = if self.subject.pseudonym == self.authority.subject { WrittenBy::Owner } else { WrittenBy::Another };
        Author { subject: self.subject, actor: self.actor, named: self.named, by, epoch }
    }

    /// Whether a journal is the owner's whom this client works for.
    pub(crate) fn sees(&self, state: &JournalState) -> bool {
        state.owner == self.subject.pseudonym
    }

    /// The control journal of a session that this principal may see.
    pub(crate) async fn control(&self, session: SessionId) -> Result<JournalState> {
        let filter = JournalFilter {
            family: Some(session),
            kind: Some(JournalKind::SessionControl),
            ..JournalFilter::default()
        };
        let found = self.core.0.ledger.journals(filter).await?;
        let is_open = |state: &JournalState| state.status == JournalStatus::Open;
        found
            .into_iter()
            .find(|state| self.sees(state) && is_open(state))
            .ok_or_else(|| no_session(&session.to_string()))
    }

    /// A branch that this principal may see, of this session.
    pub(crate) async fn branch_state(&self, session: SessionId, branch: JournalId) -> Result<JournalState> {
        self.core
            .0
            .ledger
            .journal(branch)
            .await?
            .filter(|state| state.family == session && state.kind == JournalKind::Branch && self.sees(state))
            .ok_or_else(|| {
                Error::not_found("no_branch", format!("session {} has no branch {branch}", session.short()))
                    .hint(format!("`samite branch list {}` shows its branches", session.short()))
            })
    }

    /// The session whose id begins with these digits, or else the one of this name: one's own, or else one that is shared, which
    /// is to be entered ([`Client::enter`]).
    ///
    /// # Errors
    /// `not_found` when there is none; `invalid` (`ambiguous_prefix`, `ambiguous_name`) when there are several.
    pub async fn find_session(&self, text: &str) -> Result<SessionId> {
        let prefix = &text.to_ascii_lowercase();
        let filter = JournalFilter {
            kind: Some(JournalKind::SessionControl),
            prefix: Some((prefix.clone(), true)),
            ..JournalFilter::default()
        };
        let found = if is_prefix(prefix) { self.core.0.ledger.journals(filter).await? } else { Vec::new() };
        let found: Vec<JournalState> = found.into_iter().filter(|state| state.status == JournalStatus::Open).collect();
        // What others share never stands in the way of what is one's own.
        let (mine, shared): (Vec<&JournalState>, Vec<&JournalState>) = found.iter().partition(|state| self.sees(state));
        match (mine.as_slice(), shared.as_slice()) {
            ([], []) => self.session_named(text).await?.ok_or_else(|| no_session(text)),
            ([one], _) | ([], [one]) => Ok(one.family),
            ([], several) | (several, _) => {
                Err(ambiguous("session", prefix, several.iter().map(|state| state.family.to_string())))
            }
        }
    }

    /// The branch of a session whose id begins with these digits, or else the one of this name.
    ///
    /// # Errors
    /// As [`Client::find_session`].
    pub async fn find_branch(&self, session: SessionId, text: &str) -> Result<JournalId> {
        let prefix = &text.to_ascii_lowercase();
        let filter = JournalFilter {
            family: Some(session),
            kind: Some(JournalKind::Branch),
            prefix: Some((prefix.clone(), false)),
            ..JournalFilter::default()
        };
        let found = if is_prefix(prefix) { self.core.0.ledger.journals(filter).await? } else { Vec::new() };
        let mine: Vec<JournalId> = found.iter().filter(|state| self.sees(state)).map(|state| state.id).collect();
        match mine.as_slice() {
            [] => self.branch_named(session, text).await?.ok_or_else(|| {
                Error::not_found("no_branch", format!("session {} has no branch {text}", session.short())).hint(
                    format!("name it by its id or its whole name: `samite branch list {}` shows both", session.short()),
                )
            }),
            [one] => Ok(*one),
            several => Err(ambiguous("branch", prefix, several.iter().map(ToString::to_string))),
        }
    }
}

fn is_prefix(text: &str) -> bool {
    !text.is_empty() && text.len() <= 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(crate) fn no_session(text: &str) -> Error {
    Error::not_found("no_session", format!("there is no session {text}")).hint(
        "name it by its id or its whole name: `samite session list` shows the ids and names of those that you may see",
    )
}

fn ambiguous(what: &str, prefix: &str, ids: impl Iterator<Item = String>) -> Error {
    let ids: Vec<String> = ids.take(5).collect();
    Error::invalid("ambiguous_prefix", format!("{prefix} is the beginning of several {what} ids"))
        .hint(format!("give more digits: {}", ids.join(", ")))
}
