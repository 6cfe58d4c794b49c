//! Identifiers: sixteen random bytes each, shown as 32 lower-case hexadecimal digits.
//!
//! Ids carry no time: order is position, and ids made in one burst must differ in their first digits, because people
//! type unique prefixes of them.

use crate::error::{Error, Result};
use data_encoding::HEXLOWER;
use std::fmt;
use std::str::FromStr;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $size:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $size]);

        impl $name {
            /// The bytes as stored.
            pub const fn as_bytes(&self) -> &[u8; $size] {
                &self.0
            }

            /// The id with these stored bytes.
            ///
            /// # Errors
            /// `corrupt` when the length is not the id's.
            pub fn from_slice(bytes: &[u8]) -> Result<Self> {
                bytes.try_into().map(Self).map_err(|_| {
                    Error::corrupt("bad_id", format!("a stored {} has {} bytes", stringify!($name), bytes.len()))
                })
            }

            /// The first twelve digits, for tables.
            pub fn short(&self) -> String {
                self.to_string().chars().take(12).collect()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&HEXLOWER.encode(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                HEXLOWER
                    .decode(text.as_bytes())
                    .ok()
                    .and_then(|bytes| bytes.try_into().ok())
                    .map(Self)
                    .ok_or_else(|| {
                        Error::invalid("bad_id", format!("{text:?} is not an id"))
                            .hint(format!("an id is {} hexadecimal digits in lower case", 2 * $size))
                    })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// A journal. A session's branch is a journal, so this is also the id of a branch.
    JournalId, 16;
    /// What a family of journals belongs to: a session, a workspace, or a tenant's control journal.
    FamilyId, 16;
    /// An entry, chosen by its writer before its position is known.
    EntryId, 16;
    /// A keyed hash of a person's, an agent's or a writer's name: the only form in which a name stands in a header.
    Pseudonym, 16;
    /// An artifact: one version of something that was published for the user.
    ArtifactId, 16;
    /// A record of long-term memory.
    RecordId, 16;
    /// A keyed hash of what somebody submitted.
    Fingerprint, 16;
    /// A data key in the keystore.
    KeyId, 8;
    /// A block: a keyed BLAKE3 hash over its type and plaintext (docs/formats.md).
    BlockId, 32;
    /// A pack of blocks.
    PackId, 16;
    /// A writer's claim that keeps collection away from what it is about to reference.
    PinId, 16;
    /// A vector space: a hash of what it is described by (docs/formats.md).
    SpaceId, 16;
    /// A link of a journal's hash chain.
    Link, 32;
    /// A salted hash of a payload (docs/formats.md).
    Commitment, 32;
}

/// A session is the family of its branches and its control journal.
pub type SessionId = FamilyId;

/// A branch of a session is one journal.
pub type BranchId = JournalId;

/// A point of a journal: everything up to and including `seq`, with what the journal inherits before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Position {
    /// The journal.
    pub journal: JournalId,
    /// The last entry included. The first entry of a root journal is 1; 0 is before any entry.
    pub seq: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_shown_and_read_as_hexadecimal() {
        let id = EntryId([0xab; 16]);
        assert_eq!(id.to_string(), "abababababababababababababababab");
        assert_eq!("abababababababababababababababab".parse::<EntryId>().ok(), Some(id));
        assert_eq!(id.short(), "abababababab");
    }

    #[test]
    fn other_text_is_invalid() {
        for text in ["", "ab", "ABABABABABABABABABABABABABABABAB", "zz"] {
            assert!(text.parse::<EntryId>().is_err(), "{text}");
        }
    }
}
