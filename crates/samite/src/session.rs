//! Sessions: making, finding and describing them.

use crate::client::Client;
use crate::core::to_json;
use crate::payload::{ParentSession, SessionCreated, SessionKeyed};
use crate::settings::check;
use crate::views::{self, IndexHash, register, row};
use samite_ledger::{
    Append, Commit, Guard, JournalFilter, JournalKind, JournalState, JournalStatus, NewJournal, Register, RowQuery,
};
use samite_model::settings::Settings;
use samite_model::{BranchId, EntryKind, Error, FamilyId, JournalId, Position, Result, SessionId, limits};
use serde_json::Value;

/// A session to make.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// A person's or harness's name for it.
    pub name: Option<String>,
    /// What the caller knows it by: one session of a user has it.
    pub key: Option<String>,
    /// The session that it works for.
    pub parent: Option<ParentSession>,
    /// Where it is imported from.
    pub source: Option<Value>,
    /// What is decided for it, where that is not the default.
    pub settings: Settings,
}

/// A session as its principal sees it.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// Its id.
    pub id: SessionId,
    /// How it was made.
    pub created: SessionCreated,
    /// When, in nanoseconds since 1970.
    pub created_at: i64,
    /// The branch that is current.
    pub current: BranchId,
    /// The head of the current branch.
    pub head: u64,
    /// How many branches it has.
    pub branches: usize,
    /// What is decided for it.
    pub settings: Settings,
}

impl Client {
    /// Makes a session with one branch, which is current. When this returns, it is durable. Made again with the same key,
    /// name, parent and source, it is the first session as it is now; where the word of it got lost, it is looked whether
    /// it is there.
    ///
    /// # Errors
    /// `invalid` for a bad name, key or setting; `conflict` (`session_key_exists`) when a session that was made otherwise has the
    /// key; `unavailable` (`outcome_unknown`) when it cannot be told whether it was made.
    pub async fn create_session(&self, new: NewSession) -> Result<SessionInfo> {
        if let Some(name) = &new.name {
            limits::check_name("a session's name", name)?;
        }
        if let Some(key) = &new.key {
            limits::check_name("a session's key", key)?;
            // The tenant's control journal is there once a principal was recorded.
            self.record_principal().await?;
        }
        let session = FamilyId(self.core.random_id()?);
        let control = JournalId(self.core.random_id()?);
        let branch = JournalId(self.core.random_id()?);
        let created = SessionCreated {
            session,
            name: new.name,
            branch,
            principal: self.principal.clone(),
            parent: new.parent,
            source: new.source,
        };
        check(&new.settings)?;
        self.core.refresh_redactor().await?;
        let draft = self.core.draft(EntryKind::SESSION_CREATED, &created, views::session_created(&created))?;
        let entry = self.core.seal(control, &self.author(0), draft)?;
        let created_at = entry.time;
        let mut entries = vec![entry];
        if new.settings != Settings::default() {
            entries.push(self.core.seal(control, &self.author(0), self.settings_draft(&new.settings)?)?);
        }
        let journal = |id, kind| NewJournal { id, family: session, kind, owner: self.subject.pseudonym, parent: None };
        let mut commit = Commit {
            journals: vec![journal(control, JournalKind::SessionControl), journal(branch, JournalKind::Branch)],
            appends: vec![Append { journal: control, entries }],
            ..Commit::default()
        };
        let asked = new.key.clone();
        if let Some(key) = new.key {
            let tenant = self.tenant_control();
            let keyed = SessionKeyed { key, session };
            let views = views::session_keyed(&self.core.hasher(self.subject.pseudonym, FamilyId(tenant.0)), &keyed)?;
            let draft = self.core.draft(EntryKind::SESSION_KEYED, &keyed, views)?;
            let hashes: Vec<[u8; 16]> = draft.views.rows.iter().map(|row| row.hash).collect();
            let erased = vec![self.core.erased_key_hash(self.subject.pseudonym, &keyed.key)?];
            if self.core.is_erased_key(&erased).await? {
                return Err(Error::denied("session_erased", "the session that had this key was erased")
                    .hint("what is recorded under it from now on would bring it back: leave it out, or give the new one another key"));
            }
            commit.guards.push(Guard::RowAbsent { journal: tenant, kind: row::ERASED_KEY, hashes: erased });
            commit.guards.push(Guard::RowAbsent { journal: tenant, kind: row::SESSION_KEY, hashes });
            let entries = vec![self.core.seal(tenant, &self.author(0), draft)?];
            commit.appends.push(Append { journal: tenant, entries });
        }
        match self.core.0.ledger.commit(commit).await {
            Ok(_) => {}
            Err(error) if error.code() == "row_exists" => {
                let known = match &asked {
                    Some(key) => self.session_by_key(key).await?,
                    None => None,
                };
                if let Some(known) = known {
                    let info = self.session(known).await?;
                    let control = self.control(known).await?;
                    let first = self.core.entry_at(Position { journal: control.id, seq: 1 }).await?;
                    let is_same = self.core.repeats(&first, &to_json(&created)?).await?;
                    if is_same && info.created.parent == created.parent {
                        return Ok(info);
                    }
                }
                let known = known.map_or_else(|| "another session".to_owned(), |known| format!("session {known}"));
                return Err(Error::conflict("session_key_exists", format!("{known} has this key"))
                    .hint("use that session, or another key"));
            }
            Err(error) if error.code() == "outcome_unknown" => {
                let made = self.core.0.ledger.journal(control).await.is_ok_and(|journal| journal.is_some());
                if !made {
                    return Err(error.hint(match asked {
                        Some(_) => "make it again with the same key: if it was made, that is the answer",
                        None => "`samite session list` shows whether it was made; with a key, making it again is safe",
                    }));
                }
            }
            Err(error) => return Err(error),
        }
        Ok(SessionInfo {
            id: session,
            created,
            created_at,
            current: branch,
            head: 0,
            branches: 1,
            settings: new.settings,
        })
    }

    /// The session that a caller knows by a key, if there is one.
    ///
    /// # Errors
    /// `corrupt` when the view cannot be read.
    pub async fn session_by_key(&self, key: &str) -> Result<Option<SessionId>> {
        let tenant = self.tenant_control();
        let Some(state) = self.core.0.ledger.journal(tenant).await? else { return Ok(None) };
        let hash =
            self.core.hasher(self.subject.pseudonym, FamilyId(tenant.0)).hash("session-key", &[key.as_bytes()])?;
        let hashes = vec![hash];
        let at = Position { journal: tenant, seq: state.head };
        let query = RowQuery { at, kind: row::SESSION_KEY, hashes, limit: 1 };
        let found = self.core.0.ledger.rows(query).await?;
        found.first().map(|row| FamilyId::from_slice(&row.value)).transpose()
    }

    /// A session.
    ///
    /// # Errors
    /// `not_found` when there is none, or it is not this principal's.
    pub async fn session(&self, session: SessionId) -> Result<SessionInfo> {
        let control = self.control(session).await?;
        self.describe(&control).await
    }

    /// All sessions of this principal's user, in the order in which they were made.
    ///
    /// # Errors
    /// `corrupt` when one cannot be read.
    pub async fn sessions(&self) -> Result<Vec<Result<SessionInfo>>> {
        let filter = JournalFilter { kind: Some(JournalKind::SessionControl), ..JournalFilter::default() };
        let mut sessions = Vec::new();
        for control in self.core.0.ledger.journals(filter).await? {
            // One that was erased is none any more.
            if control.owner == self.subject.pseudonym && control.status == JournalStatus::Open {
                // One that cannot be read is still shown: an index never hides a session.
                sessions.push(
                    self.describe(&control).await.map_err(|error| error.context(format!("session {}", control.family))),
                );
            }
        }
        Ok(sessions)
    }

    pub(crate) async fn describe(&self, control: &JournalState) -> Result<SessionInfo> {
        let first = self.core.entry_at(Position { journal: control.id, seq: 1 }).await?;
        let (_, registers) = self.core.0.ledger.registers(control.id).await?;
        let current = current_in(control, &registers)?;
        let branches = self.core.0.ledger.journals(branches_of(control.family)).await?;
        let head = branches.iter().find(|state| state.id == current).map_or(0, |state| state.head);
        Ok(SessionInfo {
            id: control.family,
            created: first.json()?,
            created_at: first.header.time,
            current,
            head,
            branches: branches.len(),
            settings: self.settings_in(control, &registers).await?,
        })
    }

    pub(crate) async fn current_of(&self, control: &JournalState) -> Result<BranchId> {
        let (_, registers) = self.core.0.ledger.registers(control.id).await?;
        current_in(control, &registers)
    }

    /// The current branch of a session.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn current_branch(&self, session: SessionId) -> Result<BranchId> {
        let control = self.control(session).await?;
        self.current_of(&control).await
    }

    /// The head of a branch as a position.
    ///
    /// # Errors
    /// `not_found` when there is no such branch.
    pub async fn head(&self, session: SessionId, branch: BranchId) -> Result<Position> {
        let state = self.branch_state(session, branch).await?;
        Ok(Position { journal: branch, seq: state.head })
    }
}

/// The current branch, as the registers of a session's control journal have it.
pub(crate) fn current_in(control: &JournalState, registers: &[Register]) -> Result<BranchId> {
    registers
        .iter()
        .find(|entry| entry.kind == register::CURRENT)
        .ok_or_else(|| {
            Error::corrupt("no_current_branch", format!("session {} has no current branch", control.family))
                .hint("run `samite verify --rebuild`")
        })
        .and_then(|entry| JournalId::from_slice(&entry.value))
}

pub(crate) fn branches_of(session: SessionId) -> JournalFilter {
    JournalFilter { family: Some(session), kind: Some(JournalKind::Branch), ..JournalFilter::default() }
}
