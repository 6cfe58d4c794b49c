//! What an erasure covers: a traversal of who owns what, and of what was made of it. Pure.

pub mod canary;
mod hold;
mod memory;
mod plan;
mod root;
mod runs;
#[cfg(test)]
mod tests;

pub use hold::{Hold, HoldOn, held, held_also, held_memory};
pub use memory::{RecordFacts, SaidFacts};
pub use plan::{
    ArtifactFacts, Because, Derived, DerivedKind, Elsewhere, Facts, JournalFacts, MergeFacts, Plan, Reference, Role,
    SessionFacts, holds_words, plan,
};
pub use root::Root;
pub use runs::RunSet;

use crate::{ArtifactId, BranchId, FamilyId, JournalId, SessionId};
use serde::{Deserialize, Serialize};

/// Own entries of one journal, from one seq to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Run {
    /// The journal.
    pub journal: JournalId,
    /// The first seq.
    pub first: u64,
    /// The last seq.
    pub last: u64,
}

impl Run {
    /// How many entries it spans.
    pub const fn count(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    /// Whether both span an entry.
    pub const fn meets(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last && same(self.journal, other.journal)
    }
}

const fn same(one: JournalId, other: JournalId) -> bool {
    u128::from_be_bytes(one.0) == u128::from_be_bytes(other.0)
}

/// What is to be erased of a person's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Scope {
    /// All of it, and the keys that sealed it.
    User,
    /// A session with all of its branches.
    Session {
        /// The session.
        session: SessionId,
    },
    /// An artifact: its record and its bytes.
    Artifact {
        /// The artifact.
        artifact: ArtifactId,
    },
    /// Some entries of a branch, inherited ones too.
    Entries {
        /// The session.
        session: SessionId,
        /// The branch by which they were named.
        branch: BranchId,
        /// The first seq.
        from: u64,
        /// The last seq.
        to: u64,
    },
    /// What was registered as a secret under one name.
    Secret {
        /// The keyed hash of the name.
        secret: FamilyId,
    },
    /// A namespace of long-term memory, whose journal is closed.
    Memory {
        /// Its journal.
        journal: JournalId,
    },
    /// Some records of a namespace, and what was made of them.
    Records {
        /// The namespace's journal.
        journal: JournalId,
    },
}

impl Scope {
    /// The name in tables and JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Session { .. } => "session",
            Self::Artifact { .. } => "artifact",
            Self::Entries { .. } => "entries",
            Self::Secret { .. } => "secret",
            Self::Memory { .. } => "memory",
            Self::Records { .. } => "records",
        }
    }

    /// Whether keys are destroyed. Less than all of a person's data has no keys of its own.
    pub const fn destroys_keys(&self) -> bool {
        matches!(self, Self::User)
    }
}
