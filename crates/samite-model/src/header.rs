//! The header of an entry: fixed width, integers and hashes only, and never a caller's string.
//!
//! The layout is in docs/formats.md. Links are over these stored bytes; nothing serialises a header again to check it.

use crate::error::{Error, Result};
use crate::id::{Commitment, EntryId, KeyId, Pseudonym};
use crate::kind::EntryKind;

/// The bytes of a header of version 1.
pub const HEADER_SIZE: usize = 124;
const VERSION: u8 = 1;

/// What is known of an entry without any key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the entry is.
    pub kind: EntryKind,
    /// Its place in its journal.
    pub seq: u64,
    /// The writer's epoch.
    pub epoch: u64,
    /// The writer's clock, in nanoseconds since 1970; never used for order.
    pub time: i64,
    /// The entry's id.
    pub id: EntryId,
    /// Who wrote it.
    pub actor: Pseudonym,
    /// Whose data it is.
    pub owner: Pseudonym,
    /// The data key that seals its payload.
    pub key: KeyId,
    /// The length of the payload's plaintext.
    pub length: u64,
    /// The salted hash of the payload.
    pub commitment: Commitment,
}

impl Header {
    /// The stored bytes.
    pub fn encode(&self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            if let Some(place) = bytes.get_mut(at..at + part.len()) {
                place.copy_from_slice(part);
            }
            at += part.len();
        };
        put(&[VERSION, 0]);
        put(&self.kind.code().to_be_bytes());
        put(&self.seq.to_be_bytes());
        put(&self.epoch.to_be_bytes());
        put(&self.time.to_be_bytes());
        put(self.id.as_bytes());
        put(self.actor.as_bytes());
        put(self.owner.as_bytes());
        put(self.key.as_bytes());
        put(&self.length.to_be_bytes());
        put(self.commitment.as_bytes());
        bytes
    }

    /// Reads stored bytes.
    ///
    /// # Errors
    /// `corrupt` when the length or version is unknown.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        if bytes.len() != HEADER_SIZE || bytes.first() != Some(&VERSION) {
            return Err(Error::corrupt(
                "bad_header",
                format!(
                    "an entry's header has {} bytes and version {}, not {HEADER_SIZE} and {VERSION}",
                    bytes.len(),
                    bytes.first().copied().unwrap_or(0)
                ),
            )
            .hint("was the store written by a newer samite?"));
        }
        let mut reader = Reader(bytes.get(2..).unwrap_or_default());
        Ok(Self {
            kind: EntryKind::from_code(u16::from_be_bytes(reader.take())),
            seq: u64::from_be_bytes(reader.take()),
            epoch: u64::from_be_bytes(reader.take()),
            time: i64::from_be_bytes(reader.take()),
            id: EntryId(reader.take()),
            actor: Pseudonym(reader.take()),
            owner: Pseudonym(reader.take()),
            key: KeyId(reader.take()),
            length: u64::from_be_bytes(reader.take()),
            commitment: Commitment(reader.take()),
        })
    }
}

/// Takes fixed parts off bytes whose length was checked.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (part, rest) = self.0.split_first_chunk::<N>().map_or(([0; N], &[][..]), |(part, rest)| (*part, rest));
        self.0 = rest;
        part
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use data_encoding::HEXLOWER;

    pub(crate) fn example() -> Header {
        Header {
            kind: EntryKind::MESSAGE,
            seq: 7,
            epoch: 2,
            time: 1_700_000_000_000_000_001,
            id: EntryId([1; 16]),
            actor: Pseudonym([2; 16]),
            owner: Pseudonym([3; 16]),
            key: KeyId([4; 8]),
            length: 42,
            commitment: Commitment([5; 32]),
        }
    }

    #[test]
    fn the_stored_bytes_are_the_documented_ones() {
        let expected = concat!(
            "0100",
            "0001",
            "0000000000000007",
            "0000000000000002",
            "17979cfe362a0001",
            "01010101010101010101010101010101",
            "02020202020202020202020202020202",
            "03030303030303030303030303030303",
            "0404040404040404",
            "000000000000002a",
            "0505050505050505050505050505050505050505050505050505050505050505",
        );
        assert_eq!(HEXLOWER.encode(&example().encode()), expected);
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(Header::decode(&example().encode()).unwrap(), example());
    }

    #[test]
    fn a_newer_version_or_another_length_is_corrupt() {
        let mut bytes = example().encode();
        assert!(Header::decode(&bytes[..100]).is_err());
        bytes[0] = 2;
        assert_eq!(Header::decode(&bytes).unwrap_err().code(), "bad_header");
    }
}
