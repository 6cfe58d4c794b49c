//! What entries say of what is handed out. They are sealed under the tenant's own key, and hold no name or word of the person.

use samite_model::erasure::Scope;
use samite_model::{FamilyId, Position, Pseudonym, SessionId};
use serde::{Deserialize, Serialize};

/// What is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Handed {
    /// All data of a person, in a directory.
    SubjectExport,
    /// The master key, sealed under a passphrase.
    KeyExport,
    /// What one entry says, in a receipt.
    Revealed,
}

/// `handed_out`: data of a person, or the master key, is about to leave the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOut {
    /// A random id.
    pub handover: FamilyId,
    /// What.
    pub what: Handed,
    /// Whose data; none of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Pseudonym>,
    /// The entry, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Position>,
    /// The session that the entry is of, where it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// How many entries there are in it at most.
    pub entries: u64,
}

impl HandedOut {
    /// Whether it may hold something of what is erased.
    pub(crate) fn may_hold(&self, scope: &Scope, subject: Pseudonym) -> bool {
        match (self.what, scope) {
            (Handed::KeyExport, _) => false,
            (Handed::Revealed, Scope::Session { session } | Scope::Entries { session, .. }) => {
                self.session == Some(*session)
            }
            _ => self.subject == Some(subject),
        }
    }
}
