//! Erasing a person's data, or a part of it, so that it comes back from nowhere, with a proof.
//!
//! An erasure is planned by a traversal, recorded before anything changes, carried out in stages that each may be done
//! again, and recorded when it is done: that entry is the proof. What must outlive a store that is restored from a backup
//! is noted where the master key lives.

mod before;
mod blocks;
mod carry_out;
mod commitments;
mod elsewhere;
mod facts;
mod files;
mod here;
mod hold;
mod kept;
mod memories;
mod note;
mod records;
mod secret;
mod settle;
mod start;
mod sweep;

pub use records::{ErasureRecord, ErasureState};
pub use samite_model::erasure::{Because, Derived, DerivedKind, Hold, HoldOn, Run, Scope};
pub(crate) use secret::no_secret;
pub use sweep::{Hit, SweepOptions, Swept, SweptPlace};

use crate::payload::{Counted, Unreached};
use samite_model::memory::Namespace;
use samite_model::{ArtifactId, BranchId, FamilyId, Observer, Pseudonym, RecordId, SessionId};

pub(crate) use elsewhere::nameless;
pub(crate) use hold::{keeps, keeps_owner, refuse_held};
pub(crate) use kept::{artifact_erased, step_erased};
pub(crate) use settle::is_unreadable;
pub(crate) use start::{Others, Why};

/// What to erase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EraseWhat {
    /// All of a user's data, and the keys that sealed it.
    User(String),
    /// A session, with all of its branches.
    Session(SessionId),
    /// An artifact.
    Artifact(ArtifactId),
    /// Entries of a branch, from one seq to another, both included, and what cannot be read without them.
    Entries {
        /// The session.
        session: SessionId,
        /// The branch.
        branch: BranchId,
        /// The first seq.
        from: u64,
        /// The last seq.
        to: u64,
    },
    /// What was registered as a secret under this name.
    Secret(String),
    /// A namespace of the asking user's long-term memory.
    Memory(Namespace),
    /// Records of such a namespace, with all that was made of them, and of what was made of those.
    Records {
        /// The namespace.
        namespace: Namespace,
        /// The records.
        records: Vec<RecordId>,
    },
}

/// An erasure to plan or to carry out.
#[derive(Clone, Debug)]
pub struct EraseOptions {
    /// What.
    pub what: EraseWhat,
    /// Why. It stays in the proof: it should name nobody.
    pub reason: String,
    /// Of what was made of it, the ids of what goes too.
    pub also: Vec<FamilyId>,
    /// Is told of the stages.
    pub observer: Observer,
}

/// What an erasure would take.
#[derive(Clone, Debug)]
pub struct ErasurePlan {
    /// What of the person's data.
    pub scope: Scope,
    /// Whose data.
    pub subject: Pseudonym,
    /// How many entries become tombstones.
    pub entries: u64,
    /// What is found, store by store, and how much of it stays.
    pub found: Vec<Counted>,
    /// How many keys are destroyed.
    pub keys: usize,
    /// Branches that somebody may be writing to: they are fenced.
    pub writers: Vec<BranchId>,
    /// What was made of it, and whether it goes too.
    pub derived: Vec<Derived>,
    /// What would not be reached.
    pub unreached: Vec<Unreached>,
    /// The hold that stands against it, if there is one.
    pub held: Option<Hold>,
}
