//! The keys of one subject.

use crate::crypto::{Secret, cipher};
use crate::keystore::{Entry, Purpose};
use crate::storage::Loaded;
use ring::aead::LessSafeKey;
use samite_model::{Error, KeyId, Pseudonym, Result};

/// What every subject has a key for.
pub(super) const SUBJECT_KEYS: [Purpose; 4] = [Purpose::Data, Purpose::Index, Purpose::BlockId, Purpose::BlockSeal];

/// A data subject whose keys live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// How it stands in headers.
    pub pseudonym: Pseudonym,
    /// The key that seals its payloads.
    pub key: KeyId,
}

impl From<Subject> for Pseudonym {
    fn from(subject: Subject) -> Self {
        subject.pseudonym
    }
}

impl From<&Subject> for Pseudonym {
    fn from(subject: &Subject) -> Self {
        subject.pseudonym
    }
}

/// A key that was not destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LiveKey {
    /// Its id.
    pub key: KeyId,
    /// What it is for.
    pub purpose: Purpose,
    /// Whose it is.
    pub subject: Pseudonym,
}

/// A subject's keys, ready for use.
pub(super) struct Keys {
    pub(super) pseudonym: Pseudonym,
    pub(super) data_key: KeyId,
    pub(super) data: LessSafeKey,
    pub(super) index: Secret,
    pub(super) block_id: Secret,
    pub(super) block_key: KeyId,
    pub(super) block: LessSafeKey,
}

impl Keys {
    /// The keys of a subject, if the keystore has them.
    pub(super) fn of(loaded: &Loaded, pseudonym: Pseudonym) -> Result<Option<Self>> {
        let [Some(data), Some(index), Some(block_id), Some(block)] =
            SUBJECT_KEYS.map(|purpose| loaded.entry(pseudonym, purpose))
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            pseudonym,
            data_key: data.key,
            data: cipher(&key_of(loaded, data)?)?,
            index: key_of(loaded, index)?,
            block_id: key_of(loaded, block_id)?,
            block_key: block.key,
            block: cipher(&key_of(loaded, block)?)?,
        }))
    }

    pub(super) fn subject(&self) -> Subject {
        Subject { pseudonym: self.pseudonym, key: self.data_key }
    }
}

/// The key in an entry.
pub(super) fn key_of(loaded: &Loaded, entry: &Entry) -> Result<Secret> {
    let bytes = loaded.keys.unwrap(&loaded.name, entry)?;
    bytes.as_slice().try_into().map(Secret::new).map_err(|_| {
        Error::corrupt(
            "bad_keystore",
            format!("key {} of the keystore {} has {} bytes", entry.key, loaded.name, bytes.len()),
        )
    })
}
