//! What must hold of blocks, at every time and in the end.

use super::{PIN, World, collector};
use crate::{BlockIndex, BlockPlace};
use samite_host::Sleep;
use samite_model::{BlockId, PackId, Result};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Looks on while the writers work.
pub(super) async fn watch(world: Rc<World>) {
    while world.unfinished.get() > 0 {
        check(&world).await;
        world.time.sleep(PIN / 8).await;
    }
}

/// Everything that is referenced is there.
async fn check(world: &World) {
    match missing(world).await {
        Ok(Some(text)) if world.violations.borrow().is_empty() => world.violation(text),
        // What is missing stays so: told once.
        Ok(_) => {}
        Err(error) => world.violation(format!("the audit failed: {error}")),
    }
}

async fn missing(world: &World) -> Result<Option<String>> {
    let truth = world.store.truth();
    let reachable: Vec<BlockId> = collector::mark(truth).await?.into_iter().collect();
    let places = truth.find_blocks(reachable.clone()).await?;
    for (block, place) in reachable.iter().zip(places) {
        match place {
            Some(BlockPlace::Pack { pack, .. }) if world.files.borrow().contains(&pack) => {}
            Some(place) => {
                return Ok(Some(format!("block {} is referenced, but its file is gone: {place:?}", block.short())));
            }
            None => return Ok(Some(format!("block {} is referenced, but not found", block.short()))),
        }
    }
    Ok(None)
}

/// After two more collections nothing is kept but what is referenced.
pub(super) async fn at_end(world: &World) {
    check(world).await;
    // All pins lapse.
    world.time.sleep(PIN.saturating_mul(2)).await;
    let ledger = world.store.open();
    for _ in 0..3 {
        if let Err(error) = collector::round(world, &ledger).await {
            world.violation(format!("a collection without writers failed: {error}"));
        }
        check(world).await;
    }
    if let Err(error) = nothing_else(world).await {
        world.violation(format!("the audit failed: {error}"));
    }
}

async fn nothing_else(world: &World) -> Result<()> {
    let truth = world.store.truth();
    let reachable = collector::mark(truth).await?;
    let stored: BTreeSet<BlockId> = truth.blocks(None, usize::MAX).await?.into_iter().map(|row| row.id).collect();
    if stored != reachable {
        world.violation(format!("{} blocks are stored, {} are referenced", stored.len(), reachable.len()));
    }
    let packs: BTreeSet<PackId> = truth.packs().await?.into_iter().map(|pack| pack.id).collect();
    let files = world.files.borrow();
    if packs != *files {
        world.violation(format!("{} packs are known, {} files exist", packs.len(), files.len()));
    }
    Ok(())
}
