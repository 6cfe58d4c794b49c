//! Checking that everything roots reach is there, and is what its name says.

use super::Root;
use crate::store::Store;
use crate::tree::references;
use samite_keys::Domain;
use samite_model::{BlockId, Error, ErrorKind, Observer, Result};
use std::collections::HashSet;

/// So many blocks are read at once.
const BATCH: usize = 64;

/// Is told of a block that is missing or damaged, with the first root that reaches it.
pub type OnDamage<'a> = &'a mut (dyn FnMut(&Root, BlockId, Error) + Send);

/// Reads and opens every block that trees reach, each once. Roots that are no trees are left to whoever reads them. The
/// observer is told how many roots were followed.
///
/// # Errors
/// Those of the index and the pack store, except that a block is missing or damaged.
pub fn check_blocks(store: &Store, roots: &[Root], observer: &Observer, damaged: OnDamage<'_>) -> Result<()> {
    let mut seen: HashSet<BlockId> = HashSet::new();
    for (root, done) in roots.iter().zip(0..).filter(|(root, _)| root.tree) {
        observer.tell("verifying trees", done, Some(roots.len() as u64));
        let mut pending: Vec<BlockId> = Some(root.block).filter(|block| seen.insert(*block)).into_iter().collect();
        let mut chunks = Vec::new();
        while !pending.is_empty() {
            let batch = pending.split_off(pending.len().saturating_sub(BATCH));
            open(store, root, Of::Tree, &batch, &mut *damaged, &mut |of, bytes| {
                let found = references(of, bytes)?;
                pending.extend(found.blocks.into_iter().filter(|block| seen.insert(*block)));
                chunks.extend(found.chunks.into_iter().filter(|chunk| seen.insert(*chunk)));
                Ok(())
            })?;
        }
        for batch in chunks.chunks(BATCH) {
            open(store, root, Of::File, batch, &mut *damaged, &mut |_, _| Ok(()))?;
        }
    }
    Ok(())
}

/// What blocks are parts of.
#[derive(Clone, Copy)]
enum Of {
    Tree,
    File,
}

/// Opens blocks and hands over their types and contents, or tells what is wrong with them.
fn open(
    store: &Store,
    root: &Root,
    of: Of,
    blocks: &[BlockId],
    damaged: OnDamage<'_>,
    each: &mut (dyn FnMut(u8, &[u8]) -> Result<()> + Send),
) -> Result<()> {
    store.read_sealed(blocks, &mut |at, sealed| {
        let Some(block) = blocks.get(at) else { return Ok(()) };
        let opened = sealed
            .and_then(|sealed| {
                let domain = match of {
                    Of::Tree => Domain::Owner(root.owner),
                    Of::File => store.sealing.chunk_domain(root.owner, sealed),
                };
                store.sealing.open_typed_block(domain, *block, sealed)
            })
            .and_then(|(of, bytes)| each(of, &bytes));
        match opened.map_err(|error| store.naming(*block, error)) {
            // What an erased owner left is as it should be.
            Err(error) if error.code() == "key_destroyed" => Ok(()),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                damaged(root, *block, error);
                Ok(())
            }
            other => other,
        }
    })
}
