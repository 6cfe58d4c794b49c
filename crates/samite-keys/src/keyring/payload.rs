//! Sealing and opening payloads (docs/formats.md): codec ‖ salt ‖ body, in an envelope.

use super::{Keyring, key_destroyed};
use crate::compression;
use crate::crypto::{open_in_place, seal_in_place};
use crate::keystore::Purpose;
use samite_host::random_id;
use samite_model::envelope::{Envelope, NONCE_SIZE, PREFIX_SIZE, TAG_SIZE, entry_additional_data};
use samite_model::{BlockId, Commitment, EntryId, Error, Header, JournalId, KeyId, Pseudonym, Result, hash, limits};

/// The body is a list of block ids.
const BLOCK_LIST: u8 = 3;
const SALT_SIZE: usize = 32;
const BLOCK_ID_SIZE: usize = 32;

/// A payload as it goes into an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedPayload {
    /// The key that seals it.
    pub key: KeyId,
    /// The length of the plaintext in bytes.
    pub length: u64,
    /// The salted hash of the plaintext.
    pub commitment: Commitment,
    /// The envelope.
    pub bytes: Vec<u8>,
}

/// What an envelope held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPayload {
    /// The payload, or where it is.
    pub body: Body,
    /// What the commitment is salted with.
    pub salt: [u8; SALT_SIZE],
}

/// A payload, or where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The payload.
    Inline(Vec<u8>),
    /// The payload is the plaintexts of these blocks of its owner's domain, in this order.
    Blocks(Vec<BlockId>),
}

impl OpenPayload {
    /// The payload itself.
    ///
    /// # Errors
    /// `invalid` (`payload_in_blocks`) when it lies in blocks.
    pub fn into_inline(self) -> Result<Vec<u8>> {
        match self.body {
            Body::Inline(payload) => Ok(payload),
            Body::Blocks(blocks) => {
                Err(Error::invalid("payload_in_blocks", format!("the payload lies in {} blocks", blocks.len()))
                    .hint("read it block by block"))
            }
        }
    }
}

/// Checks a payload against the commitment in its header.
///
/// # Errors
/// `corrupt` (`commitment_mismatch`).
pub fn check_commitment(salt: &[u8; SALT_SIZE], payload: &[u8], commitment: Commitment) -> Result<()> {
    if hash::commitment(salt, payload) == commitment {
        return Ok(());
    }
    Err(Error::corrupt("commitment_mismatch", format!("the payload is not the one that {commitment} commits to")))
}

impl Keyring {
    /// Compresses and seals a payload for an entry.
    ///
    /// # Errors
    /// `invalid` (`payload_not_inline`) when it has more than 1 MiB: that goes to blocks; as [`Keyring::subject_of`].
    pub fn seal_payload(
        &self,
        subject: impl Into<Pseudonym>,
        journal: JournalId,
        entry: EntryId,
        payload: &[u8],
    ) -> Result<SealedPayload> {
        let length = payload.len() as u64;
        if length > limits::INLINE_PAYLOAD {
            return Err(Error::invalid(
                "payload_not_inline",
                format!("the payload has {length} bytes; more than {} go to blocks", limits::INLINE_PAYLOAD),
            ));
        }
        // One call for both: it is a visible part of the cost of a small payload.
        let random = random_id::<{ SALT_SIZE + NONCE_SIZE }>(&*self.0.storage.random)?;
        let (salt, nonce) = random.split_first_chunk::<SALT_SIZE>().unwrap_or((&[0; SALT_SIZE], &[]));
        let nonce = nonce.try_into().unwrap_or_default();
        let commitment = hash::commitment(salt, payload);
        compression::compress(payload, |codec, body| {
            self.seal(subject.into(), (journal, entry), (codec, salt, body), (length, commitment), nonce)
        })
    }

    /// Seals the list of the blocks that hold a payload. The commitment is over the payload itself: make it with
    /// [`hash::CommitmentHasher`] and a salt of 32 random bytes.
    ///
    /// # Errors
    /// As [`Keyring::subject_of`].
    #[expect(clippy::too_many_arguments, reason = "each is a part of one entry, and none has a default")]
    pub fn seal_block_list(
        &self,
        subject: impl Into<Pseudonym>,
        journal: JournalId,
        entry: EntryId,
        salt: &[u8; SALT_SIZE],
        commitment: Commitment,
        length: u64,
        blocks: &[BlockId],
    ) -> Result<SealedPayload> {
        limits::check_payload(length)?;
        let mut body = Vec::with_capacity(blocks.len() * BLOCK_ID_SIZE);
        for block in blocks {
            body.extend_from_slice(block.as_bytes());
        }
        let nonce = random_id(&*self.0.storage.random)?;
        self.seal(subject.into(), (journal, entry), (BLOCK_LIST, salt, &body), (length, commitment), nonce)
    }

    fn seal(
        &self,
        subject: Pseudonym,
        (journal, entry): (JournalId, EntryId),
        (codec, salt, body): (u8, &[u8; SALT_SIZE], &[u8]),
        (length, commitment): (u64, Commitment),
        nonce: [u8; NONCE_SIZE],
    ) -> Result<SealedPayload> {
        let keys = self.keys(subject)?;
        let additional = entry_additional_data(self.tenant(), subject, journal, entry);
        let mut bytes = Vec::with_capacity(PREFIX_SIZE + 1 + SALT_SIZE + body.len() + TAG_SIZE);
        bytes.extend_from_slice(&Envelope::prefix(keys.data_key, nonce));
        bytes.push(codec);
        bytes.extend_from_slice(salt);
        bytes.extend_from_slice(body);
        seal_in_place(&keys.data, nonce, &additional, &mut bytes, PREFIX_SIZE)?;
        Ok(SealedPayload { key: keys.data_key, length, commitment, bytes })
    }

    /// Opens the payload of an entry, whose header bounds its length. The commitment is not checked: that is
    /// [`check_commitment`].
    ///
    /// # Errors
    /// `corrupt` (`bad_envelope`, `bad_payload`) naming the entry when anything was changed or belongs elsewhere;
    /// `denied` (`key_destroyed`) when the owner was erased; `not_found` (`unknown_key`).
    pub fn open_payload(&self, header: &Header, journal: JournalId, envelope: &[u8]) -> Result<OpenPayload> {
        let name_entry = |error: Error| error.context(format!("entry {} of journal {journal}", header.id));
        self.open_envelope(header, journal, envelope).map_err(name_entry)
    }

    fn open_envelope(&self, header: &Header, journal: JournalId, envelope: &[u8]) -> Result<OpenPayload> {
        let parts = Envelope::parse(envelope)?;
        if parts.key != header.key {
            return Err(Error::corrupt("bad_payload", "the payload is sealed by another key than its header says"));
        }
        let keys = self.keys_with(header.owner, parts.key)?;
        if keys.data_key != parts.key {
            return Err(self.explain_key(header.owner, parts.key));
        }
        let additional = entry_additional_data(self.tenant(), header.owner, journal, header.id);
        let mut sealed = parts.sealed.to_vec();
        let damaged = |what: &str| Error::corrupt("bad_payload", format!("the sealed payload {what}"));
        let plaintext = open_in_place(&keys.data, parts.nonce, &additional, &mut sealed)
            .ok_or_else(|| damaged("was changed, or belongs to another entry"))?;
        let (codec, rest) = plaintext.split_first_mut().ok_or_else(|| damaged("is empty"))?;
        let (salt_place, _) = rest.split_first_chunk::<SALT_SIZE>().ok_or_else(|| damaged("has no salt"))?;
        let salt = *salt_place;
        let body = if *codec == BLOCK_LIST {
            let (list, left) = rest.get(SALT_SIZE..).unwrap_or_default().as_chunks::<BLOCK_ID_SIZE>();
            if !left.is_empty() {
                return Err(damaged("has a torn list of blocks"));
            }
            Body::Blocks(list.iter().map(|id| BlockId(*id)).collect())
        } else {
            if header.length > limits::INLINE_PAYLOAD {
                return Err(damaged("is inline, but its header says that it is larger"));
            }
            let length = usize::try_from(header.length).unwrap_or(usize::MAX);
            let body = compression::decompress(*codec, rest, SALT_SIZE, length);
            Body::Inline(body.ok_or_else(|| damaged("does not have the length and form that its header says"))?)
        };
        Ok(OpenPayload { body, salt })
    }

    /// Why a subject has no such key: it was destroyed before the subject came back, or nobody knows it.
    fn explain_key(&self, subject: Pseudonym, key: KeyId) -> Error {
        let loaded = self.loaded();
        match loaded.entries(subject).find(|entry| entry.key == key).map(|entry| entry.purpose) {
            Some(Purpose::Destroyed) => key_destroyed(format!("key {key} was destroyed")),
            Some(_) => Error::corrupt("bad_payload", format!("key {key} does not seal payloads")),
            None => Error::not_found("unknown_key", format!("the keystore has no key {key}"))
                .hint("was the keystore restored from a backup that is older than the ledger?"),
        }
    }
}
