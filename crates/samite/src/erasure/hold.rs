//! Legal holds.

use crate::client::Client;
use crate::core::Core;
use crate::payload::{HoldLifted, HoldSet};
use crate::views::{self, register};
use samite_ledger::Guard;
use samite_model::erasure::{Hold, HoldOn};
use samite_model::{EntryKind, Error, Position, Pseudonym, Result, SessionId, limits, user_name};

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
        match found {
            Some(hold) => Err(refuse_held(hold)),
            None => Ok(Guard::Registers { journal: self.core.tenant_control(), version }),
        }
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
        let set = HoldSet { on, reason: reason.to_owned() };
        for _ in 0..ROUNDS {
            let (version, holds) = self.core.holds_at().await?;
            if holds.iter().any(|hold| hold.on == on) {
                return Ok(false);
            }
            let subject = match on {
                HoldOn::User { subject } | HoldOn::Session { subject, .. } => subject,
            };
            if self.core.unfinished_erasures().await?.iter().any(|started| started.subject == subject) {
                return Err(Error::conflict("erasure_begun", "an erasure of this person's data has begun")
                    .hint("`samite erase list` shows it"));
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
        let lifted = HoldLifted { on, reason: reason.to_owned() };
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
