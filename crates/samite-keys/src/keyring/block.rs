//! Naming, sealing and opening blocks (docs/formats.md): codec ‖ type ‖ length ‖ body, in an envelope.

use super::{Keyring, key_destroyed};
use crate::bytes::Reader;
use crate::compression;
use crate::crypto::{open_in_place, seal_in_place};
use crate::keyring::subject::Keys;
use crate::keystore::Purpose;
use samite_host::random_id;
use samite_model::envelope::{Envelope, NONCE_SIZE, PREFIX_SIZE, TAG_SIZE, block_additional_data};
use samite_model::{BlockId, Error, Pseudonym, Result};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The largest block, in bytes of plaintext.
pub const MAXIMUM_BLOCK: usize = 16 << 20;
/// codec ‖ type ‖ length.
const HEAD_SIZE: usize = 6;

/// A thread keeps no larger buffer than this for what it opened: enough for the largest chunks.
const KEPT_OPENED: usize = 5 << 20;

thread_local! {
    /// Where a thread opens blocks: they come in bytes that others may look at too.
    static SEALED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Where it puts type ‖ plaintext, as they are hashed: in one piece, which takes a third less time for small blocks.
    static OPENED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Whose blocks: the same bytes have different ids in different domains, and nobody can tell that they are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// The tenant's: chunks of workspaces' files.
    Tenant,
    /// An owner's: tree nodes, large payloads, artifacts.
    Owner(Pseudonym),
}

impl Keyring {
    /// The id of a block: a keyed hash over its type and plaintext.
    ///
    /// # Errors
    /// As [`Keyring::subject_of`].
    pub fn block_id(&self, domain: Domain, block_type: u8, plaintext: &[u8]) -> Result<BlockId> {
        let keys = self.domain_keys(domain)?;
        Ok(id_of(&keys, block_type, plaintext))
    }

    /// The pseudonym that a domain's rows carry.
    pub fn domain_pseudonym(&self, domain: Domain) -> Pseudonym {
        match domain {
            Domain::Tenant => self.tenant_pseudonym(),
            Domain::Owner(owner) => owner,
        }
    }

    /// Whose a sealed chunk of a file is, in a tree of this owner: the tenant's, or the owner's where something was found in it
    /// and the policy stores such chunks separately. The envelope names the key. Of bytes that are no envelope, the tenant's.
    pub fn chunk_domain(&self, owner: Pseudonym, sealed: &[u8]) -> Domain {
        match Envelope::parse(sealed) {
            Ok(parts) if parts.key != self.0.tenant_keys.block_key => Domain::Owner(owner),
            _ => Domain::Tenant,
        }
    }

    /// Compresses and seals a block, whose id is the caller's from [`Keyring::block_id`].
    ///
    /// # Errors
    /// `invalid` (`block_too_large`) beyond [`MAXIMUM_BLOCK`]; as [`Keyring::subject_of`].
    pub fn seal_block(&self, domain: Domain, id: BlockId, block_type: u8, plaintext: &[u8]) -> Result<Vec<u8>> {
        let length =
            u32::try_from(plaintext.len()).ok().filter(|_| plaintext.len() <= MAXIMUM_BLOCK).ok_or_else(|| {
                Error::invalid(
                    "block_too_large",
                    format!("a block has {} bytes; at most {MAXIMUM_BLOCK}", plaintext.len()),
                )
            })?;
        let keys = self.domain_keys(domain)?;
        let nonce = random_id::<NONCE_SIZE>(&*self.0.storage.random)?;
        let additional = block_additional_data(self.tenant(), id);
        compression::compress_block(plaintext, |codec, body| {
            let mut bytes = Vec::with_capacity(PREFIX_SIZE + HEAD_SIZE + body.len() + TAG_SIZE);
            bytes.extend_from_slice(&Envelope::prefix(keys.block_key, nonce));
            bytes.extend_from_slice(&[codec, block_type]);
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(body);
            seal_in_place(&keys.block, nonce, &additional, &mut bytes, PREFIX_SIZE)?;
            Ok(bytes)
        })
    }

    /// The plaintext of a block, which is checked against its id.
    ///
    /// # Errors
    /// `corrupt` (`bad_block`) naming the block when anything was changed or it is another block; `denied`
    /// (`key_destroyed`) when its owner was erased; `not_found` (`unknown_key`).
    pub fn open_block(&self, domain: Domain, id: BlockId, bytes: &[u8]) -> Result<Vec<u8>> {
        self.open_typed_block(domain, id, bytes).map(|(_, plaintext)| plaintext)
    }

    /// The type and plaintext of a block, which is checked against its id.
    ///
    /// # Errors
    /// As [`Keyring::open_block`].
    pub fn open_typed_block(&self, domain: Domain, id: BlockId, bytes: &[u8]) -> Result<(u8, Vec<u8>)> {
        self.with_block(domain, id, bytes, |block_type, plaintext| (block_type, plaintext.to_vec()))
    }

    /// Calls `then` with the type and plaintext of a block, which is checked against its id: whoever opens many blocks
    /// one after the other keeps none of them.
    ///
    /// # Errors
    /// As [`Keyring::open_block`].
    pub fn with_block<T>(
        &self,
        domain: Domain,
        id: BlockId,
        bytes: &[u8],
        then: impl FnOnce(u8, &[u8]) -> T,
    ) -> Result<T> {
        // Taken, so that `then` may open blocks too.
        let mut opened = OPENED.take();
        let result =
            self.open_into(domain, id, bytes, &mut opened).map(|(block_type, plaintext)| then(block_type, plaintext));
        if opened.capacity() <= KEPT_OPENED {
            OPENED.set(opened);
        }
        result
    }

    /// Puts type and plaintext at the beginning of `opened`, which only grows, and returns them.
    fn open_into<'a>(
        &self,
        domain: Domain,
        id: BlockId,
        bytes: &[u8],
        opened: &'a mut Vec<u8>,
    ) -> Result<(u8, &'a [u8])> {
        let damaged = |what: &str| Error::corrupt("bad_block", format!("block {id} {what}"));
        let parts = Envelope::parse(bytes).map_err(|error| damaged("is not sealed").because(error))?;
        let keys = self.keys_with(self.domain_pseudonym(domain), parts.key)?;
        if keys.block_key != parts.key {
            let loaded = self.loaded();
            let known = loaded.entries(keys.pseudonym).find(|entry| entry.key == parts.key);
            return Err(match known.map(|entry| entry.purpose) {
                Some(Purpose::Destroyed) => key_destroyed(format!("the key of block {id} was destroyed")),
                Some(_) => damaged("is sealed by a key that is not for blocks"),
                None => Error::not_found("unknown_key", format!("no key {} of its domain opens block {id}", parts.key)),
            });
        }
        let additional = block_additional_data(self.tenant(), id);
        let length = SEALED.with_borrow_mut(|sealed| {
            sealed.clear();
            sealed.extend_from_slice(parts.sealed);
            let content = open_in_place(&keys.block, parts.nonce, &additional, sealed)
                .ok_or_else(|| damaged("was changed, or is another block"))?;
            let head = || {
                let mut reader = Reader::new(content);
                Some((reader.u8()?, reader.u8()?, usize::try_from(reader.u32()?).ok()?))
            };
            let (codec, block_type, length) =
                head().filter(|(_, _, length)| *length <= MAXIMUM_BLOCK).ok_or_else(|| damaged("has a bad head"))?;
            if opened.len() <= length {
                opened.resize(length + 1, 0);
            }
            let place = opened.split_first_mut().and_then(|(first, rest)| {
                *first = block_type;
                rest.get_mut(..length)
            });
            place
                .and_then(|plaintext| compression::decompress_into(codec, content, HEAD_SIZE, plaintext))
                .ok_or_else(|| damaged("does not have the length that it says"))?;
            if sealed.capacity() > compression::KEPT_BUFFER {
                *sealed = Vec::new();
            }
            Ok(length)
        })?;
        opened
            .get(..=length)
            .filter(|typed| *blake3::keyed_hash(&keys.block_id, typed).as_bytes() == id.0)
            .and_then(|typed| typed.split_first())
            .map(|(block_type, plaintext)| (*block_type, plaintext))
            .ok_or_else(|| damaged("does not have the content that its id names"))
    }

    fn domain_keys(&self, domain: Domain) -> Result<Arc<Keys>> {
        self.keys(self.domain_pseudonym(domain))
    }
}

fn id_of(keys: &Keys, block_type: u8, plaintext: &[u8]) -> BlockId {
    let mut hasher = blake3::Hasher::new_keyed(&keys.block_id);
    hasher.update(&[block_type]);
    hasher.update(plaintext);
    BlockId(*hasher.finalize().as_bytes())
}
