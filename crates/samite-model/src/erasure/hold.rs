//! Legal holds: what is under one is kept, whoever asks for its erasure.

use super::{DerivedKind, Facts, Plan, RunSet, Scope};
use crate::{Pseudonym, SessionId};
use serde::{Deserialize, Serialize};

/// What is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "snake_case")]
pub enum HoldOn {
    /// All data of a person.
    User {
        /// The person.
        subject: Pseudonym,
    },
    /// A session.
    Session {
        /// The session.
        session: SessionId,
        /// Whose it is.
        subject: Pseudonym,
    },
}

impl HoldOn {
    /// What the hold's register is found by.
    pub const fn hash(&self) -> [u8; 16] {
        match self {
            Self::User { subject } => subject.0,
            Self::Session { session, .. } => session.0,
        }
    }

    /// Whose data it is about.
    pub const fn subject(&self) -> Pseudonym {
        match self {
            Self::User { subject } | Self::Session { subject, .. } => *subject,
        }
    }

    /// The name in tables and JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Session { .. } => "session",
        }
    }
}

/// A hold that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// What is held.
    pub on: HoldOn,
    /// Why.
    pub reason: String,
    /// Since when, in nanoseconds since 1970.
    pub since: i64,
}

/// The first hold that stands against an erasure: one on the person, one on the session that is meant, or, where all data
/// of a person is meant, one on any session of theirs. `session` is the one that an artifact was made in.
pub fn held<'a>(holds: &'a [Hold], scope: &Scope, subject: Pseudonym, session: Option<SessionId>) -> Option<&'a Hold> {
    let of = match scope {
        Scope::User | Scope::Secret { .. } | Scope::Memory { .. } | Scope::Records { .. } => None,
        Scope::Session { session } | Scope::Entries { session, .. } => Some(*session),
        Scope::Artifact { .. } => session,
    };
    holds.iter().find(|hold| match hold.on {
        HoldOn::User { subject: held } => held == subject,
        HoldOn::Session { session, subject: whose } => match scope {
            Scope::User => whose == subject,
            _ => of == Some(session),
        },
    })
}

/// The first hold that stands against what it was decided shall go too: one on its owner, or on the session that it is, or is
/// a part of.
pub fn held_also<'a>(holds: &'a [Hold], plan: &Plan, facts: &Facts) -> Option<&'a Hold> {
    plan.derived.iter().filter(|one| one.taken).find_map(|one| {
        let session = match one.kind {
            DerivedKind::Session => Some(one.id),
            DerivedKind::Fork | DerivedKind::Merge => {
                facts.journals.iter().find(|journal| journal.id.0 == one.id.0).map(|journal| journal.family)
            }
            DerivedKind::Record => {
                facts.records.iter().find(|known| known.record.0 == one.id.0).and_then(|known| known.session)
            }
            DerivedKind::Artifact => {
                facts.artifacts.iter().find(|known| known.artifact.0 == one.id.0).map(|known| known.session)
            }
        };
        holds.iter().find(|hold| match hold.on {
            HoldOn::User { subject } => subject == one.owner,
            HoldOn::Session { session: held, .. } => session == Some(held),
        })
    })
}

/// The first hold that stands against an erasure of long-term memory: one on a session that a record comes from, or in which
/// something of the namespace was written.
pub fn held_memory<'a>(holds: &'a [Hold], scope: &Scope, plan: &Plan, facts: &Facts) -> Option<&'a Hold> {
    if !matches!(scope, Scope::Memory { .. } | Scope::Records { .. }) {
        return None;
    }
    let runs = RunSet::new(plan.runs.iter().copied());
    let made_in = facts.records.iter().filter(|record| runs.has(record.at)).filter_map(|record| record.session);
    let written_in = facts.journals.iter().filter(|journal| runs.has_of(journal.id)).map(|journal| journal.family);
    let sessions: Vec<SessionId> = made_in.chain(written_in).collect();
    holds.iter().find(|hold| match hold.on {
        HoldOn::User { .. } => false,
        HoldOn::Session { session, .. } => sessions.contains(&session),
    })
}
