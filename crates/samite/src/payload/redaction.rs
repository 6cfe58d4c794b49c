//! What was found in an entry, and what is looked for.

use samite_model::{BlockId, Error};
use samite_redact::{Class, Policy};
use serde::{Deserialize, Serialize};

/// The keyed fingerprint of what a caller submitted, where that is not what is stored: it tells whether the same comes
/// again. In JSON it is hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Submitted(pub [u8; 16]);

impl From<Submitted> for String {
    fn from(submitted: Submitted) -> Self {
        data_encoding::HEXLOWER.encode(&submitted.0)
    }
}

impl TryFrom<String> for Submitted {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        let bytes = data_encoding::HEXLOWER.decode(text.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| Error::corrupt("bad_payload", "a fingerprint is not 32 hexadecimal digits"))
    }
}

/// How often a kind of thing was found in an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundMany {
    /// What it is.
    pub class: Class,
    /// Of which kind.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// Whether placeholders took its place; it stays where the policy only reports.
    pub redacted: bool,
}

/// What was found in an entry as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// The fingerprint of what was submitted; none where nothing was replaced, or nothing compares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<Submitted>,
    /// What was found, by kind.
    pub found: Vec<FoundMany>,
}

/// A chunk of a file in which something was found when a checkpoint, a merge or an artifact stored it anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFound {
    /// The file's path.
    pub path: String,
    /// The chunk.
    pub block: BlockId,
    /// Whether it is under the owner's keys, and not the tenant's.
    pub separate: bool,
    /// What was found.
    pub found: Vec<KindFound>,
}

/// How often a kind of thing was found in a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindFound {
    /// What it is.
    pub class: Class,
    /// Of which kind.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// The beginnings of the keyed hashes of the first 16 that differ, as placeholders show them.
    pub fingerprints: Vec<String>,
}

/// `redaction_set`, in the tenant's control journal: what holds from here on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedactionSet {
    /// The policy.
    pub policy: Policy,
}

/// `secret_registered`, in the tenant's control journal.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretRegistered {
    /// What placeholders call it.
    pub name: String,
    /// Its bytes in base64; none forgets the secret of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}
