//! What entries say of the audit log itself.

use samite_model::{JournalId, Link};
use serde::{Deserialize, Serialize};

/// `anchored`: how far other journals had come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchored {
    /// The journals.
    pub journals: Vec<AnchoredJournal>,
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
