//! The bytes around a sealed payload or block, and what is bound to it as additional data. The sealing itself is
//! samite-keys' work.

use crate::error::{Error, Result};
use crate::id::{BlockId, EntryId, JournalId, KeyId, Pseudonym};
use crate::principal::Tenant;

const VERSION: u8 = 1;
/// AES-256-GCM with a random nonce of 96 bits.
pub const AES_256_GCM: u8 = 1;
/// The nonce's bytes.
pub const NONCE_SIZE: usize = 12;
/// The tag's bytes.
pub const TAG_SIZE: usize = 16;
/// version ‖ algorithm ‖ key id ‖ nonce.
pub const PREFIX_SIZE: usize = 2 + 8 + NONCE_SIZE;

/// The parts of an envelope: version ‖ algorithm ‖ key id ‖ nonce ‖ ciphertext ‖ tag.
#[derive(Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The key that seals it.
    pub key: KeyId,
    /// The nonce.
    pub nonce: [u8; NONCE_SIZE],
    /// Ciphertext and tag.
    pub sealed: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// The bytes before the ciphertext.
    pub fn prefix(key: KeyId, nonce: [u8; NONCE_SIZE]) -> [u8; PREFIX_SIZE] {
        let mut bytes = [0; PREFIX_SIZE];
        let (head, rest) = bytes.split_at_mut(2);
        let (key_place, nonce_place) = rest.split_at_mut(8);
        head.copy_from_slice(&[VERSION, AES_256_GCM]);
        key_place.copy_from_slice(key.as_bytes());
        nonce_place.copy_from_slice(&nonce);
        bytes
    }

    /// Takes an envelope apart.
    ///
    /// # Errors
    /// `corrupt` when it is too short or its version or algorithm is unknown.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let parts = bytes
            .split_first_chunk::<2>()
            .filter(|(head, _)| **head == [VERSION, AES_256_GCM])
            .and_then(|(_, rest)| rest.split_first_chunk::<8>())
            .and_then(|(key, rest)| rest.split_first_chunk::<NONCE_SIZE>().map(|(nonce, rest)| (key, nonce, rest)))
            .filter(|(_, _, sealed)| sealed.len() >= TAG_SIZE);
        match parts {
            Some((key, nonce, sealed)) => Ok(Self { key: KeyId(*key), nonce: *nonce, sealed }),
            None => Err(Error::corrupt("bad_envelope", format!("{} bytes are not a sealed envelope", bytes.len()))),
        }
    }
}

fn additional(domain: &[u8], tenant: &Tenant, rest: &[&[u8]]) -> Vec<u8> {
    let name = tenant.as_str().as_bytes();
    let mut bytes = Vec::with_capacity(domain.len() + 1 + name.len() + 64);
    bytes.extend_from_slice(domain);
    // A tenant's name has at most 64 bytes.
    bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(name);
    for part in rest {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// What an entry's payload is bound to: not its seq, because sealing runs beside the writer and the link fixes order.
pub fn entry_additional_data(tenant: &Tenant, owner: Pseudonym, journal: JournalId, entry: EntryId) -> Vec<u8> {
    additional(b"samite/aad/entry/v1\0", tenant, &[owner.as_bytes(), journal.as_bytes(), entry.as_bytes()])
}

/// What a block is bound to: its tenant and its id.
pub fn block_additional_data(tenant: &Tenant, block: BlockId) -> Vec<u8> {
    additional(b"samite/aad/block/v1\0", tenant, &[block.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_documented_one() {
        let mut bytes = Envelope::prefix(KeyId([4; 8]), [6; 12]).to_vec();
        assert_eq!(data_encoding::HEXLOWER.encode(&bytes), "01010404040404040404060606060606060606060606");
        bytes.extend_from_slice(&[9; 20]);
        let envelope = Envelope::parse(&bytes).unwrap();
        assert_eq!(envelope, Envelope { key: KeyId([4; 8]), nonce: [6; 12], sealed: &[9; 20] });
    }

    #[test]
    fn short_or_unknown_envelopes_are_corrupt() {
        let mut bytes = Envelope::prefix(KeyId([4; 8]), [6; 12]).to_vec();
        bytes.extend_from_slice(&[9; 15]);
        assert!(Envelope::parse(&bytes).is_err());
        bytes.push(9);
        assert!(Envelope::parse(&bytes).is_ok());
        bytes[1] = 2;
        assert!(Envelope::parse(&bytes).is_err());
    }

    #[test]
    fn additional_data_names_the_tenant_with_its_length() {
        let tenant = Tenant::new("t1").unwrap();
        let expected = [b"samite/aad/block/v1\0".as_slice(), &[2], b"t1", &[8; 32]].concat();
        assert_eq!(block_additional_data(&tenant, BlockId([8; 32])), expected);
    }
}
