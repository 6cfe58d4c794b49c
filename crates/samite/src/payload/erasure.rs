//! What entries say of erasures and holds. All of them are sealed under the tenant's own key, and hold no name, path or
//! word of the person whose data it is.

use crate::tenant::By;
use samite_audit::leaf::Actor;
use samite_model::erasure::{Derived, HoldOn, Run, Scope};
use samite_model::{ArtifactId, FamilyId, JournalId, KeyId, Pseudonym, RecordId, SessionId};
use serde::{Deserialize, Serialize};

/// `erasure_started`: what is to be erased, before anything is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureStarted {
    /// The erasure.
    pub erasure: FamilyId,
    /// What of the person's data.
    pub scope: Scope,
    /// Whose data.
    pub subject: Pseudonym,
    /// Who asked for it.
    pub actor: Pseudonym,
    /// The same, as the audit log has it.
    pub named: NamedActor,
    /// Why, as it was given.
    pub reason: String,
    /// When it was asked for, in nanoseconds since 1970.
    pub begun: i64,
    /// The keys that are destroyed; none where less than all of a person's data goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyId>,
    /// The epoch of the keystore's secret before it.
    pub epoch: u64,
    /// The entries that become tombstones; where keys are destroyed, those under them do, and these are in journals of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
    /// For each of the runs the first eight bytes of the commitment of each of its entries, in base64; nothing for a run of a
    /// journal that is closed, and nothing at all in what older versions recorded. A copy of the store that went on by itself
    /// has other entries at these places, which are not erased there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commitments: Vec<String>,
    /// The journals that are closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub close: Vec<JournalId>,
    /// The sessions that go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionId>,
    /// The artifacts that go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactId>,
    /// Hashes, under the tenant's key, of what callers knew the sessions by: none is made by that again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session_keys: Vec<FamilyId>,
    /// Hashes of the names and bytes of the artifacts that go, under their owners' keys: none is published by that again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifact_hashes: Vec<FamilyId>,
    /// The records of long-term memory that go one by one, and not with their namespace: nothing names them from then on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordId>,
    /// Hashes of what they say, under their owners' keys: nobody but the user says it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub record_hashes: Vec<FamilyId>,
    /// The rows of erased entries that stay, so that a repetition of one is told; none in what older versions recorded, which
    /// kept none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Vec<KeptRows>>,
    /// The workspaces whose stat caches go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<FamilyId>,
    /// The signs of life that go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lives: Vec<String>,
    /// How many layouts of open merges lie outside of the store, where they are not reached.
    #[serde(default, skip_serializing_if = "is_none")]
    pub layouts_outside: u64,
    /// What was found.
    pub found: Vec<Counted>,
    /// What was made of it, and what was decided about that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<Derived>,
    /// Whether it is done again, in a copy of the store that is older than it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

impl ErasureStarted {
    /// Who asked for it.
    pub(crate) fn by(&self) -> By {
        let NamedActor { user, agent, workload } = self.named;
        By { actor: self.actor, named: Actor { user, agent, workload } }
    }
}

/// Who did something, as the audit log has it: their keys may be gone when it is said again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedActor {
    /// The person.
    pub user: Pseudonym,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Pseudonym>,
    /// The workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Pseudonym>,
}

impl NamedActor {
    pub(crate) fn of(actor: &Actor) -> Self {
        Self { user: actor.user, agent: actor.agent, workload: actor.workload }
    }
}

/// `erasure_extended`: entries in journals of others that came while an erasure was planned. They go with it too. The last one
/// says that there are no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureExtended {
    /// The erasure.
    pub erasure: FamilyId,
    /// The entries.
    pub runs: Vec<Run>,
    /// Their rows that stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptRows>,
    /// Whether all that is in journals of others was found: what comes later under the person's name is not the person's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reached: bool,
}

/// Rows of erased entries of a journal that stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRows {
    /// The journal.
    pub journal: JournalId,
    /// The rows.
    pub rows: Vec<KeptRow>,
}

/// A row of an erased entry that stays: the entry's seq, the row's kind, its hash, and its value in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRow(pub u64, pub u16, pub FamilyId, pub String);

/// How much of something was found, deleted and retained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Of what: `entries`, `views`, `blocks`, `artifacts`, `sessions`, `keys`, `caches`, `packs`, …
    pub store: String,
    /// How many were found.
    pub found: u64,
    /// How many were deleted.
    pub deleted: u64,
    /// How many were retained.
    pub retained: u64,
    /// How many bytes were deleted, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Why some were retained, or what else there is to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Something that an erasure did not reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreached {
    /// What: `backup`, `processor`, `dataset`, `key_export`, `disk`, …
    pub what: String,
    /// Which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub which: Option<String>,
    /// Why, and what is left in it.
    pub why: String,
    /// Until when, in words: what ends it.
    pub until: String,
}

/// `erased`: the proof of deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    /// The erasure.
    pub erasure: FamilyId,
    /// What of the person's data.
    pub scope: Scope,
    /// Whose data.
    pub subject: Pseudonym,
    /// Who asked for it.
    pub actor: Pseudonym,
    /// Why, as it was given.
    pub reason: String,
    /// When it was asked for, in nanoseconds since 1970.
    pub begun: i64,
    /// When all of it was done, in nanoseconds since 1970.
    pub done: i64,
    /// The Merkle root (RFC 6962) of the commitments of the erased entries, in the order of their journals and seqs, as 64
    /// hexadecimal digits.
    pub root: String,
    /// How many entries that stands for.
    pub entries: u64,
    /// The keys that were destroyed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyId>,
    /// The epoch of the keystore's secret before and after it.
    pub epochs: (u64, u64),
    /// What was found, deleted and retained, store by store.
    pub stores: Vec<Counted>,
    /// What was not reached, and until when.
    pub unreached: Vec<Unreached>,
    /// What was made of it, and what was decided about that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<Derived>,
    /// Where that is more than a proof has room for: how much it is, and what stands for it. `erasure_started` has the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived_root: Option<DerivedRoot>,
    /// Whether it was done again, in a copy of the store that is older than it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// What stands for a long list of what was made of what was erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DerivedRoot {
    /// How many things there are.
    pub count: u64,
    /// The Merkle root (RFC 6962) over them, in the order of the list, as 64 hexadecimal digits; a leaf's bytes are the 16 of a
    /// thing's id, the 16 of its owner's pseudonym, and a byte that is 1 where it goes too.
    pub root: String,
}

/// `hold_set`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldSet {
    /// What is held.
    pub on: HoldOn,
    /// Why.
    pub reason: String,
}

/// `hold_lifted`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldLifted {
    /// What was held.
    pub on: HoldOn,
    /// Why it is no more.
    pub reason: String,
}

/// `backed_up`: the store was copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackedUp {
    /// Where to.
    pub to: String,
}
