//! The bytes of a keystore (docs/formats.md): wrapped keys, and what holds them together. Pure.

use crate::bytes::{Reader, split_trailer};
use crate::crypto::{Secret, checksum, cipher, derive, mac, mac_is_right, unwrap, wrap};
use crate::master::KeystoreName;
use ring::aead::LessSafeKey;
use samite_host::Random;
use samite_model::{Error, KeyId, Pseudonym, Result};
use std::collections::HashSet;
use zeroize::Zeroizing;

const MAGIC: &[u8; 16] = b"samite-keystore\0";
const VERSION: u16 = 1;
const SALT: &[u8] = b"samite/keystore/v1";
const KEY_DOMAIN: &[u8] = b"samite/aad/key/v1\0";
const CHECK_SIZE: usize = 8;
const MAC_SIZE: usize = 32;

/// What a key is for. Codes are permanent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Was destroyed; only its id is left.
    Destroyed,
    /// Seals payloads.
    Data,
    /// Hashes for index rows and fingerprints.
    Index,
    /// Makes the ids of a domain's blocks.
    BlockId,
    /// Seals a domain's blocks.
    BlockSeal,
    /// No key: the owner's name.
    OwnerName,
    /// Makes pseudonyms (the tenant's only).
    Pseudonym,
    /// The seed for cutting files into chunks (the tenant's only).
    ChunkSeed,
    /// Signs the audit log: the seed of an Ed25519 key (the tenant's only).
    AuditSign,
}

impl Purpose {
    const ALL: [Self; 9] = [
        Self::Destroyed,
        Self::Data,
        Self::Index,
        Self::BlockId,
        Self::BlockSeal,
        Self::OwnerName,
        Self::Pseudonym,
        Self::ChunkSeed,
        Self::AuditSign,
    ];

    fn code(self) -> u8 {
        match self {
            Self::Destroyed => 0,
            Self::Data => 1,
            Self::Index => 2,
            Self::BlockId => 3,
            Self::BlockSeal => 4,
            Self::OwnerName => 5,
            Self::Pseudonym => 6,
            Self::ChunkSeed => 7,
            Self::AuditSign => 8,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.code() == code)
    }
}

/// A key as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: KeyId,
    pub(crate) purpose: Purpose,
    pub(crate) subject: Pseudonym,
    /// nonce ‖ ciphertext ‖ tag; empty when destroyed.
    pub(crate) wrapped: Vec<u8>,
}

/// All keys of a tenant, as stored. All are wrapped under the secret of one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keystore {
    pub(crate) id: [u8; 16],
    /// Counts changes.
    pub(crate) generation: u64,
    /// The epoch whose secret wraps the entries.
    pub(crate) epoch: u64,
    /// The epoch before, while its secret must still be destroyed; 0 when nothing is left to do.
    pub(crate) retired: u64,
    pub(crate) entries: Vec<Entry>,
}

/// What the secret of an epoch gives.
pub(crate) struct EpochKeys {
    wrapping: LessSafeKey,
    mac: Secret,
}

impl EpochKeys {
    pub(crate) fn new(secret: &Secret) -> Result<Self> {
        Ok(Self {
            wrapping: cipher(&derive(secret.as_ref(), SALT, &[b"wrap"]))?,
            mac: derive(secret.as_ref(), SALT, &[b"mac"]),
        })
    }

    pub(crate) fn wrap(
        &self,
        name: &KeystoreName,
        (key, purpose, subject): (KeyId, Purpose, Pseudonym),
        plaintext: &[u8],
        random: &dyn Random,
    ) -> Result<Entry> {
        let wrapped = wrap(&self.wrapping, &additional(name, key, purpose, subject), plaintext, random)?;
        Ok(Entry { key, purpose, subject, wrapped })
    }

    pub(crate) fn unwrap(&self, name: &KeystoreName, entry: &Entry) -> Result<Zeroizing<Vec<u8>>> {
        let context = additional(name, entry.key, entry.purpose, entry.subject);
        unwrap(&self.wrapping, &context, &entry.wrapped).ok_or_else(|| {
            Error::corrupt("bad_keystore", format!("key {} of the keystore {name} cannot be unwrapped", entry.key))
        })
    }
}

fn additional(name: &KeystoreName, key: KeyId, purpose: Purpose, subject: Pseudonym) -> Vec<u8> {
    let tenant = name.tenant.as_str().as_bytes();
    let mut bytes = Vec::with_capacity(128);
    bytes.extend_from_slice(KEY_DOMAIN);
    bytes.push(u8::try_from(tenant.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(tenant);
    bytes.extend_from_slice(&name.id);
    bytes.extend_from_slice(key.as_bytes());
    bytes.push(purpose.code());
    bytes.extend_from_slice(subject.as_bytes());
    bytes
}

impl Keystore {
    pub(crate) fn encode(&self, keys: &EpochKeys) -> Vec<u8> {
        let size: usize = self.entries.iter().map(|entry| 27 + entry.wrapped.len()).sum();
        let mut bytes = Vec::with_capacity(128 + size);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_be_bytes());
        bytes.extend_from_slice(&self.id);
        for number in [self.generation, self.epoch, self.retired] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(&u32::try_from(self.entries.len()).unwrap_or(u32::MAX).to_be_bytes());
        for entry in &self.entries {
            bytes.extend_from_slice(entry.key.as_bytes());
            bytes.push(entry.purpose.code());
            bytes.extend_from_slice(entry.subject.as_bytes());
            // The longest is an owner's name of 512 bytes.
            bytes.extend_from_slice(&u16::try_from(entry.wrapped.len()).unwrap_or(u16::MAX).to_be_bytes());
            bytes.extend_from_slice(&entry.wrapped);
        }
        let tag = mac(&keys.mac, &bytes);
        bytes.extend_from_slice(&tag);
        let check = checksum(&bytes);
        bytes.extend_from_slice(check.first_chunk::<CHECK_SIZE>().unwrap_or(&[0; CHECK_SIZE]));
        bytes
    }

    /// Reads stored bytes, whose MAC is still to be checked by [`verify`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        split_trailer::<CHECK_SIZE>(bytes)
            .filter(|(body, check)| checksum(body).starts_with(*check))
            .and_then(|(body, _)| split_trailer::<MAC_SIZE>(body))
            .and_then(|(body, _)| Self::decode_body(body))
            .ok_or_else(|| {
                Error::corrupt("bad_keystore", "the keystore is damaged, or was written by a newer samite")
                    .hint("restore the keys directory of the store from a backup")
            })
    }

    fn decode_body(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        (reader.array::<16>()? == *MAGIC && reader.u16()? == VERSION).then_some(())?;
        let mut keystore = Self {
            id: reader.array()?,
            generation: reader.u64()?,
            epoch: reader.u64()?,
            retired: reader.u64()?,
            entries: Vec::new(),
        };
        for _ in 0..reader.u32()? {
            let (key, code, subject) = (KeyId(reader.array()?), reader.u8()?, Pseudonym(reader.array()?));
            let length = reader.u16()?;
            let wrapped = reader.slice(length.into())?.to_vec();
            keystore.entries.push(Entry { key, purpose: Purpose::from_code(code)?, subject, wrapped });
        }
        reader.is_empty().then_some(keystore)
    }

    /// Whether every key that `other` knows is known here, live or destroyed.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let known: HashSet<KeyId> = self.entries.iter().map(|entry| entry.key).collect();
        other.entries.iter().all(|entry| known.contains(&entry.key))
    }

    /// The keys of both, when they are wrapped alike and no subject has other keys in one than in the other.
    pub(crate) fn union(&self, other: &Self) -> Option<Self> {
        let known: HashSet<KeyId> = self.entries.iter().map(|entry| entry.key).collect();
        let subjects: HashSet<Pseudonym> = self.entries.iter().map(|entry| entry.subject).collect();
        let missing: Vec<&Entry> = other.entries.iter().filter(|entry| !known.contains(&entry.key)).collect();
        let alike = self.id == other.id
            && (self.epoch, self.retired) == (other.epoch, other.retired)
            && missing.iter().all(|entry| !subjects.contains(&entry.subject));
        alike.then(|| {
            let mut union = self.clone();
            union.generation = self.generation.max(other.generation);
            union.entries.extend(missing.into_iter().cloned());
            union
        })
    }
}

/// Checks the MAC of bytes that [`Keystore::decode`] accepted.
pub(crate) fn verify(bytes: &[u8], keys: &EpochKeys) -> bool {
    split_trailer::<CHECK_SIZE>(bytes)
        .and_then(|(body, _)| split_trailer::<MAC_SIZE>(body))
        .is_some_and(|(body, tag)| mac_is_right(&keys.mac, body, tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use samite_host::SeededRandom;
    use samite_model::Tenant;

    fn sample() -> (KeystoreName, EpochKeys, Keystore) {
        let name = KeystoreName { tenant: Tenant::new("local").unwrap(), id: [7; 16] };
        let keys = EpochKeys::new(&Secret::new([1; 32])).unwrap();
        let subject = Pseudonym([2; 16]);
        let random = SeededRandom::new(1);
        let entries = vec![
            keys.wrap(&name, (KeyId([3; 8]), Purpose::Data, subject), &[4; 32], &random).unwrap(),
            keys.wrap(&name, (KeyId([5; 8]), Purpose::OwnerName, subject), b"user:ada", &random).unwrap(),
            Entry { key: KeyId([6; 8]), purpose: Purpose::Destroyed, subject, wrapped: Vec::new() },
        ];
        (name, keys, Keystore { id: [7; 16], generation: 4, epoch: 2, retired: 1, entries })
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let (name, keys, keystore) = sample();
        let bytes = keystore.encode(&keys);
        assert_eq!(Keystore::decode(&bytes).unwrap(), keystore);
        assert!(verify(&bytes, &keys));
        assert_eq!(keys.unwrap(&name, &keystore.entries[1]).unwrap().as_slice(), b"user:ada");
        let other = EpochKeys::new(&Secret::new([2; 32])).unwrap();
        assert!(!verify(&bytes, &other));
        assert!(other.unwrap(&name, &keystore.entries[1]).is_err());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_corrupt() {
        let (_, keys, keystore) = sample();
        let mut bytes = keystore.encode(&keys);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Keystore::decode(&bytes).unwrap_err().code(), "bad_keystore", "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for length in 0..bytes.len() {
            assert!(Keystore::decode(&bytes[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn a_key_belongs_to_its_subject_and_purpose() {
        let (name, keys, keystore) = sample();
        for change in [
            |entry: &mut Entry| entry.subject = Pseudonym([9; 16]),
            |entry: &mut Entry| entry.purpose = Purpose::Index,
            |entry: &mut Entry| entry.key = KeyId([9; 8]),
        ] {
            let mut entry = keystore.entries[0].clone();
            change(&mut entry);
            assert!(keys.unwrap(&name, &entry).is_err());
        }
        let elsewhere = KeystoreName { tenant: Tenant::new("other").unwrap(), ..name };
        assert!(keys.unwrap(&elsewhere, &keystore.entries[0]).is_err());
    }

    #[test]
    fn keystores_are_united_unless_a_subject_differs() {
        let (_, _, keystore) = sample();
        let entry = |key, subject| Entry {
            key: KeyId([key; 8]),
            purpose: Purpose::Data,
            subject: Pseudonym([subject; 16]),
            wrapped: vec![1],
        };
        let (mut one, mut two) = (keystore.clone(), keystore.clone());
        one.entries.push(entry(20, 20));
        two.entries.push(entry(21, 21));
        assert!(one.covers(&keystore) && !keystore.covers(&one) && !one.covers(&two));
        let both = one.union(&two).unwrap();
        assert!(both.covers(&one) && both.covers(&two));
        two.entries.push(entry(22, 20));
        assert_eq!(one.union(&two), None);
    }
}
