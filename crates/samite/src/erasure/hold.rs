//! Legal holds.

use crate::client::Client;
use crate::core::Core;
use crate::payload::{ErasureStarted, HoldLifted, HoldSet};
use crate::views::{self, register};
use samite_ledger::{Guard, JournalFilter, JournalKind, JournalState};
use samite_model::erasure::{Hold, HoldOn, Run, RunSet, Scope, holds_words};
use samite_model::{EntryKind, Error, JournalId, Position, Pseudonym, Result, SessionId, limits, user_name};
use std::collections::HashSet;

/// How often a change looks again because another came in between.
const ROUNDS: usize = 64;

impl Core {
    /// The holds that stand, with the version of the registers that they were read from.
    pub(crate) async fn holds_at(&self) -> Result<(u64, Vec<Hold>)> {
        let control = self.tenant_control();
        if self.0.ledger.journal(control).await?.is_none() {
            return Ok((0, Vec::new()));
        }
        let (version, registers) = self.0.ledger.registers(control).await?;
        let mut holds = Vec::new();
        for entry in registers.iter().filter(|entry| entry.kind == register::HOLD) {
            let entry = self.entry_at(Position { journal: control, seq: entry.seq }).await?;
            let set: HoldSet = entry.json()?;
            holds.push(Hold { on: set.on, reason: set.reason, since: entry.header.time });
        }
        Ok((version, holds))
    }

    /// The holds that stand.
    pub(crate) async fn holds(&self) -> Result<Vec<Hold>> {
        self.holds_at().await.map(|(_, holds)| holds)
    }

    /// The first hold on a person who wrote words that are among these entries, in sessions of somebody else.
    pub(super) async fn held_writer(&self, holds: &[Hold], owner: Pseudonym, runs: &[Run]) -> Result<Option<Hold>> {
        for hold in holds {
            let HoldOn::User { subject } = hold.on else { continue };
            if subject != owner && self.wrote_words(subject, runs, true).await? {
                return Ok(Some(hold.clone()));
            }
        }
        Ok(None)
    }

    /// Whether a person wrote words that are among these entries of sessions; perhaps of those only that are still there.
    async fn wrote_words(&self, subject: Pseudonym, runs: &[Run], there: bool) -> Result<bool> {
        let actors = self.actors_of(subject).await?;
        if actors.is_empty() {
            return Ok(false);
        }
        let runs = RunSet::new(runs.iter().copied());
        for journal in runs.journals() {
            let Some(state) = self.0.ledger.journal(journal).await?.filter(|state| is_of_session(state.kind)) else {
                continue;
            };
            for (at, header) in self.headers_of(&state, Vec::new()).await? {
                let is_meant = runs.has(at) && actors.contains(&header.actor) && holds_words(header.kind);
                if is_meant && (!there || self.readable(at).await?.is_some()) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether an erasure that has begun takes something of what is to be held: of the person or session itself, of what is
    /// theirs and goes with another, or words of theirs.
    async fn takes_of(&self, started: &ErasureStarted, on: HoldOn) -> Result<bool> {
        let of_all = started.scope == Scope::User && started.subject == on.subject();
        let named = match on {
            HoldOn::User { subject } => {
                started.subject == subject || started.derived.iter().any(|one| one.taken && one.owner == subject)
            }
            HoldOn::Session { session, .. } => started.sessions.contains(&session),
        };
        // Which session a record came from is not told once it is gone.
        let of_memory = matches!(started.scope, Scope::Memory { .. } | Scope::Records { .. });
        let named = named || (of_memory && started.subject == on.subject());
        if of_all || named {
            return Ok(true);
        }
        let mut runs = self.foreign_runs(started).await?;
        let closed: HashSet<JournalId> = started.close.iter().copied().collect();
        let journals: HashSet<JournalId> = runs.iter().map(|run| run.journal).chain(closed.iter().copied()).collect();
        for journal in &journals {
            let Some(state) = self.0.ledger.journal(*journal).await? else { continue };
            let is_held = match on {
                HoldOn::User { subject } => state.owner == subject,
                HoldOn::Session { session, .. } => is_of_session(state.kind) && state.family == session,
            };
            if is_held {
                return Ok(true);
            }
            if closed.contains(journal) {
                runs.extend(whole(&state));
            }
            if let (HoldOn::User { subject }, JournalKind::TenantControl) = (on, state.kind) {
                let taken = RunSet::new(runs.iter().copied());
                let headers = self.headers_of(&state, vec![EntryKind::READ_RECORDED]).await?;
                if headers.iter().any(|(at, header)| header.owner == subject && taken.has(*at)) {
                    return Ok(true);
                }
            }
        }
        let HoldOn::User { subject } = on else { return Ok(false) };
        if started.scope.destroys_keys() {
            runs.extend(self.0.ledger.owned(started.subject).await?);
        }
        self.wrote_words(subject, &runs, false).await
    }
}

const fn is_of_session(kind: JournalKind) -> bool {
    matches!(kind, JournalKind::Branch | JournalKind::SessionControl)
}

/// All own entries of a journal.
fn whole(state: &JournalState) -> Option<Run> {
    let first = state.parent.map_or(1, |parent| parent.seq + 1);
    (first <= state.head).then_some(Run { journal: state.id, first, last: state.head })
}

/// Whether holds keep a session of an owner.
pub(crate) fn keeps(holds: &[Hold], owner: Pseudonym, session: SessionId) -> bool {
    holds.iter().any(|hold| match hold.on {
        HoldOn::User { subject } => subject == owner,
        HoldOn::Session { session: held, .. } => held == session,
    })
}

/// Whether a hold keeps all of an owner's data.
pub(crate) fn keeps_owner(holds: &[Hold], owner: Pseudonym) -> bool {
    holds.iter().any(|hold| matches!(hold.on, HoldOn::User { subject } if subject == owner))
}

/// The error of whoever would take what is held.
pub(crate) fn refuse_held(hold: &Hold) -> Error {
    let on = match hold.on {
        HoldOn::User { subject } => format!("the data of user {}", subject.short()),
        HoldOn::Session { session, .. } => format!("session {}", session.short()),
    };
    Error::denied("legal_hold", format!("{on} is under a legal hold: {}", hold.reason))
        .hint("nothing was touched; `samite hold list` shows the holds")
        .hint("`samite hold lift` ends one, if that is yours to decide")
}

impl Client {
    /// The holds that stand.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `corrupt` when one cannot be read.
    pub async fn holds(&self) -> Result<Vec<Hold>> {
        self.operator().await?.core.holds().await
    }

    /// Refuses what would take something of a session that is under a hold, or whose owner is. What takes it is committed with
    /// this guard: a hold that is set meanwhile moves the registers it is about.
    pub(crate) async fn refuse_if_held_back(&self, session: SessionId) -> Result<Guard> {
        let (version, holds) = self.core.holds_at().await?;
        let found = holds.iter().find(|hold| keeps(std::slice::from_ref(hold), self.subject.pseudonym, session));
        if let Some(hold) = found {
            return Err(refuse_held(hold));
        }
        if holds.iter().any(|hold| matches!(hold.on, HoldOn::User { .. })) {
            let filter = JournalFilter { family: Some(session), ..JournalFilter::default() };
            let states = self.core.0.ledger.journals(filter).await?;
            let runs: Vec<Run> = states.iter().filter_map(whole).collect();
            if let Some(hold) = self.core.held_writer(&holds, self.subject.pseudonym, &runs).await? {
                return Err(refuse_held(&hold));
            }
        }
        Ok(Guard::Registers { journal: self.core.tenant_control(), version })
    }

    /// The pseudonym of a user, whether or not there is anything of them, written as NAME or `user:NAME`.
    ///
    /// # Errors
    /// `invalid` for a name that can be no user's.
    pub fn pseudonym_of_user(&self, user: &str) -> Result<Pseudonym> {
        let owner = samite_model::Owner::new(format!("user:{}", user_name(user)?))?;
        Ok(self.core.0.keys.owner_pseudonym(&owner))
    }

    /// The pseudonym of a user of whom there is something, written as NAME or `user:NAME`.
    ///
    /// # Errors
    /// `not_found` (`no_subject`) when there is nothing of them; `invalid` for a name that can be no user's.
    pub async fn known_user(&self, user: &str) -> Result<Pseudonym> {
        let subject = self.operator().await?.pseudonym_of_user(user)?;
        if self.core.0.keys.keys_of(subject)?.is_empty() {
            return Err(Error::not_found(
                "no_subject",
                format!("there is nothing of user {:?} in the store", user_name(user)?),
            )
            .hint("names are compared letter by letter; `samite audit log` shows those who did something"));
        }
        Ok(subject)
    }

    /// What a hold on a session is on.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn session_to_hold(&self, session: SessionId) -> Result<HoldOn> {
        let control = self.control(session).await?;
        Ok(HoldOn::Session { session, subject: control.owner })
    }

    /// Sets a hold: from then on no erasure, collection, thinning or deletion takes what is under it. When this returns, it
    /// is durable. One that stands keeps its first reason; then false is the answer.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `invalid` for a reason that is empty; `conflict` (`erasure_begun`) when an erasure of it has begun.
    pub async fn set_hold(&self, on: HoldOn, reason: &str) -> Result<bool> {
        limits::check_name("a reason", reason)?;
        self.operator().await?.set_hold_on(on, reason).await
    }

    async fn set_hold_on(&self, on: HoldOn, reason: &str) -> Result<bool> {
        let set = HoldSet { on, reason: self.core.kept_words(reason).await? };
        for _ in 0..ROUNDS {
            let (version, holds) = self.core.holds_at().await?;
            if holds.iter().any(|hold| hold.on == on) {
                return Ok(false);
            }
            for started in self.core.unfinished_erasures().await? {
                if self.core.takes_of(&started, on).await? {
                    return Err(Error::conflict("erasure_begun", "an erasure of this, or of a part of it, has begun")
                        .hint("`samite erase list` shows it"));
                }
            }
            let draft = self.core.draft(EntryKind::HOLD_SET, &set, views::hold_set(&set))?;
            if self.decide_as_tenant(draft, version).await? {
                return Ok(true);
            }
        }
        Err(contended())
    }

    /// Lifts a hold. When this returns, it is durable.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `not_found` (`no_hold`) when none stands there.
    pub async fn lift_hold(&self, on: HoldOn, reason: &str) -> Result<()> {
        limits::check_name("a reason", reason)?;
        self.operator().await?.lift_hold_on(on, reason).await
    }

    async fn lift_hold_on(&self, on: HoldOn, reason: &str) -> Result<()> {
        let lifted = HoldLifted { on, reason: self.core.kept_words(reason).await? };
        for _ in 0..ROUNDS {
            let (version, holds) = self.core.holds_at().await?;
            if !holds.iter().any(|hold| hold.on.hash() == on.hash()) {
                return Err(
                    Error::not_found("no_hold", "no hold stands there").hint("`samite hold list` shows those that do")
                );
            }
            let draft = self.core.draft(EntryKind::HOLD_LIFTED, &lifted, views::hold_lifted(&lifted))?;
            if self.decide_as_tenant(draft, version).await? {
                return Ok(());
            }
        }
        Err(contended())
    }
}

fn contended() -> Error {
    Error::conflict("holds_contended", "holds keep changing").hint("try again")
}
