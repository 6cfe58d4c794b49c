//! What is done to a namespace: each is the payload of an entry.

use super::model::ModelChanged;
use super::namespace::Namespace;
use super::record::{Record, WriterName};
use super::revoked::Revoked;
use super::settings::MemorySettings;
use crate::id::{Fingerprint, Position, RecordId, SpaceId};
use crate::kind::EntryKind;
use serde::{Deserialize, Serialize};

/// `memory_opened`: the first entry of a namespace's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The namespace.
    pub namespace: Namespace,
}

/// Why a record takes the place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// It was so, and is not any more.
    Superseded,
    /// It was never so.
    Corrected,
}

/// A record whose place another takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaces {
    /// The record.
    pub record: RecordId,
    /// Why.
    pub changed: Changed,
    /// Which of its lives ends: one more for each time that it came back.
    #[serde(default)]
    pub life: u32,
}

/// `memory_asserted`: a record, which may take the place of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asserted {
    /// The namespace, where the entry is on a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// The record.
    pub record: Record,
    /// The one whose place it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Replaces>,
    /// A keyed hash of what was submitted, by which the same is known when it comes again.
    pub content: Fingerprint,
    /// Where it was written, where it was taken over from a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Position>,
}

/// `memory_retracted`: a record does not hold any more, and nothing takes its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retracted {
    /// The namespace, where the entry is on a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// The record.
    pub record: RecordId,
    /// Which of its lives ends.
    #[serde(default)]
    pub life: u32,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `memory_pinned`: a record is in every prompt from now on, or not any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// The namespace, where the entry is on a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// The record.
    pub record: RecordId,
    /// Whether it is pinned.
    pub pinned: bool,
}

/// `memory_promoted`: what a branch wrote was taken over, so that all sessions see it (on the branch).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promoted {
    /// The namespace.
    pub namespace: Namespace,
    /// The entries of the branch that were taken over.
    pub entries: Vec<Position>,
}

/// What was decided of a record in quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is found like any other.
    Approved,
    /// It is found by nobody.
    Rejected,
}

/// `memory_decided`: somebody looked at records in quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The records.
    pub records: Vec<RecordId>,
    /// What was decided.
    pub verdict: Verdict,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `memory_searched`: what was found when somebody looked. It holds no word of the question and none of what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Searched {
    /// A keyed hash of the question.
    pub query: Fingerprint,
    /// The namespace's seq up to which records were seen.
    pub seq: u64,
    /// The position of a session on which it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Position>,
    /// Who asked.
    pub by: WriterName,
    /// The records that were answered with, the best first.
    pub records: Vec<RecordId>,
    /// Those in the list of what is apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<RecordId>,
    /// The vector spaces that were searched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spaces: Vec<SpaceId>,
}

/// What an entry does to a namespace.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A record came.
    Asserted(Box<Asserted>),
    /// One does not hold any more.
    Retracted(Retracted),
    /// One was pinned, or is not any more.
    Pinned(Pinned),
    /// Somebody decided of records in quarantine.
    Decided(Decided),
    /// A source was revoked.
    Revoked(Revoked),
    /// The namespace treats records otherwise from now on.
    Settled(MemorySettings),
    /// A step of a change of model.
    Model(Box<ModelChanged>),
}

impl Operation {
    /// The kinds of entries that do something to a namespace.
    pub const KINDS: [EntryKind; 7] = [
        EntryKind::MEMORY_ASSERTED,
        EntryKind::MEMORY_RETRACTED,
        EntryKind::MEMORY_PINNED,
        EntryKind::MEMORY_DECIDED,
        EntryKind::MEMORY_REVOKED,
        EntryKind::MEMORY_SETTINGS,
        EntryKind::MEMORY_MODEL,
    ];

    /// What an entry of a kind with this payload does; none for kinds that do nothing.
    ///
    /// # Errors
    /// What the JSON parser says of a payload that is none of the kind.
    pub fn parse(kind: EntryKind, payload: &[u8]) -> serde_json::Result<Option<Self>> {
        Ok(Some(match kind {
            EntryKind::MEMORY_ASSERTED => Self::Asserted(Box::new(serde_json::from_slice(payload)?)),
            EntryKind::MEMORY_RETRACTED => Self::Retracted(serde_json::from_slice(payload)?),
            EntryKind::MEMORY_PINNED => Self::Pinned(serde_json::from_slice(payload)?),
            EntryKind::MEMORY_DECIDED => Self::Decided(serde_json::from_slice(payload)?),
            EntryKind::MEMORY_REVOKED => Self::Revoked(serde_json::from_slice(payload)?),
            EntryKind::MEMORY_SETTINGS => Self::Settled(serde_json::from_slice(payload)?),
            EntryKind::MEMORY_MODEL => Self::Model(Box::new(serde_json::from_slice(payload)?)),
            _ => return Ok(None),
        }))
    }
}
