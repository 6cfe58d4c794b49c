//! Payloads that are too large for their journal: cut by content, so that what is repeated is stored once.

use crate::content::{Chunker, LARGEST};
use crate::output::{LivePin, Output};
use crate::snapshot::CommitParts;
use crate::store::Store;
use samite_keys::Domain;
use samite_ledger::BlockPlace;
use samite_model::tree::block_type;
use samite_model::{BlockId, Error, Pseudonym, Result};
use std::collections::HashSet;
use std::io::{Read, Write};

/// Bytes read before they are cut.
const STRETCH: usize = 2 * LARGEST;

/// A payload that is ready to be committed.
#[derive(Debug)]
pub struct StoredPayload {
    /// Its blocks, in order.
    pub blocks: Vec<BlockId>,
    /// How many bytes it has.
    pub length: u64,
    /// What to commit together with the entry that names them.
    pub parts: CommitParts,
}

/// Stores a payload in blocks of its owner's domain; `observe` sees all its bytes in order. When this returns, every
/// pack that the parts name is durable.
///
/// # Errors
/// `unavailable` when the source cannot be read or the store cannot be written; `denied` (`key_destroyed`) when the
/// owner was erased; `conflict` (`pin_lapsed`) when the process was stopped for longer than its pin lasts.
pub fn store_payload(
    store: &Store,
    owner: Pseudonym,
    source: &mut dyn Read,
    observe: &mut dyn FnMut(&[u8]),
) -> Result<StoredPayload> {
    let domain = Domain::Owner(owner);
    let chunker = Chunker::new(store.sealing.chunk_seed()?);
    let mut output = Output::new(store, LivePin::new(store, owner, None)?);
    let mut new = HashSet::new();
    let mut known = Vec::new();
    let mut blocks = Vec::new();
    let mut length = 0;
    let mut bytes = Vec::new();
    loop {
        let wanted = (STRETCH - bytes.len()) as u64;
        let read = source
            .take(wanted)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::unavailable("unreadable", "the payload cannot be read").because(error))?;
        let last = (read as u64) < wanted;
        let mut rest = bytes.as_slice();
        for size in chunker.cut(&bytes, last) {
            let (chunk, after) = rest.split_at_checked(size).unwrap_or((rest, &[]));
            rest = after;
            observe(chunk);
            length += chunk.len() as u64;
            let id = store.sealing.block_id(domain, block_type::PAYLOAD, chunk)?;
            blocks.push(id);
            if new.contains(&id) {
                continue;
            }
            if let Some(place) = store.find(&[id])?.pop().flatten() {
                if let BlockPlace::Pack { pack, .. } = place {
                    output.pin.note(pack);
                }
                known.push(id);
            } else {
                new.insert(id);
                output.add(id, owner, &store.sealing.seal_block(domain, id, block_type::PAYLOAD, chunk)?)?;
            }
        }
        bytes = rest.to_vec();
        if last {
            break;
        }
    }
    output.pin.record()?;
    let (rows, packs, pin) = output.finish()?;
    Ok(StoredPayload { blocks, length, parts: CommitParts::new(rows, packs, known, Some(pin)) })
}

/// Writes a payload that is in blocks, and returns how many bytes it has.
///
/// # Errors
/// `corrupt` naming the block; `denied` (`key_destroyed`) when its owner was erased; `unavailable` when it cannot be
/// written.
pub fn read_payload(store: &Store, owner: Pseudonym, blocks: &[BlockId], to: &mut dyn Write) -> Result<u64> {
    let mut length = 0;
    for block in blocks {
        let bytes = store.read_block(Domain::Owner(owner), *block)?;
        to.write_all(&bytes)
            .map_err(|error| Error::unavailable("unwritable", "the payload cannot be written").because(error))?;
        length += bytes.len() as u64;
    }
    Ok(length)
}
