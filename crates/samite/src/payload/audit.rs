//! What entries say of the audit log itself.

use samite_model::{JournalId, Link};
use serde::{Deserialize, Serialize};

/// `anchored`: how far other journals had come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchored {
    /// The journals.
    pub journals: Vec<AnchoredJournal>,
    /// Which log they were put into. What an earlier one has is put into a later one again.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub log: u64,
}

fn first() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_first(log: &u64) -> bool {
    *log == 1
}

/// How far a journal had come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchoredJournal {
    /// The journal.
    pub journal: JournalId,
    /// Its head.
    pub seq: u64,
    /// Its link there.
    pub link: Link,
}

/// `audit_archived`: leaves of a log were moved to an archive, and left the store with this entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditArchived {
    /// The log's number.
    pub log: u64,
    /// The index of the first of them: a multiple of 256.
    pub from: u64,
    /// The index of the first one that stayed: a multiple of 256.
    pub to: u64,
    /// The folder that they were moved to.
    pub archive: String,
    /// The root over each 256 of them, 32 bytes each, in base64.
    pub bundles: String,
    /// The tree head whose place the log took, as its text, where the first of these leaves is the log's and names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

/// `head_published`: a signed head of the log left the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadPublished {
    /// The log's number.
    pub log: u64,
    /// Its origin.
    pub origin: String,
    /// How many leaves it had.
    pub size: u64,
    /// The root of its tree, in hexadecimal digits.
    pub root: String,
    /// Where it went: `export` or `witness`.
    pub to: String,
    /// The name of the witness, or the directory.
    pub name: String,
}
