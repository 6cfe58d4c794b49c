//! What is said of access: grants, their end, and reads by others than the owner.

use samite_model::access::Grant;
use samite_model::{ArtifactId, EntryId, JournalId, Principal, SessionId};
use serde::{Deserialize, Serialize};

/// `granted`: in the control journal of the session that it is about, or among the owner's artifacts. Its id is the entry's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// What is allowed to whom.
    pub grant: Grant,
    /// The artifact that it is about; none where it is about the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactId>,
    /// Grants that this one takes the place of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<EntryId>,
}

/// `grant_revoked`: these grants hold no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRevoked {
    /// The ids of the entries that granted.
    pub grants: Vec<EntryId>,
    /// Who revoked them.
    pub by: Principal,
}

/// `read_recorded`: what somebody other than the owner read within about 100 ms (tenant's control journal, sealed for the
/// owner).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadRecorded {
    /// Who read.
    pub reader: Principal,
    /// When the first of it was read, in nanoseconds since 1970.
    pub from: i64,
    /// When the last of it was.
    pub until: i64,
    /// What was read.
    pub read: Vec<Looked>,
}

/// What was read of one journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// The session; none for what belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The journal.
    pub journal: JournalId,
    /// The first seq.
    pub first: u64,
    /// The last seq.
    pub last: u64,
    /// How many entries, each as often as it was read.
    pub entries: u64,
    /// How many bytes they hold. What a tree or an artifact that was looked up leads to is not counted.
    pub bytes: u64,
}
