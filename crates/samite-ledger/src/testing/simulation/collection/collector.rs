//! The collector.

use super::{Mischief, PIN, World, block_id};
use crate::testing::FaultyLedger;
use crate::testing::simulation::OWNER;
use crate::{
    BlockIndex, BlockPlace, BlockRow, Collection, JournalFilter, JournalStatus, Ledger, NewBlock, NewPack, PackState,
    Read,
};
use samite_host::{Clock, Sleep};
use samite_model::{BlockId, ErrorKind, JournalId, Link, PackId, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub(super) fn start(world: &Rc<World>) {
    let (process, ledger) = (world.spawner.process(), world.store.open());
    world.collector.replace(Some((process, ledger.clone())));
    world.spawner.spawn(process, run(Rc::clone(world), ledger));
}

async fn run(world: Rc<World>, ledger: FaultyLedger) {
    while world.unfinished.get() > 0 {
        world.time.sleep(world.random.below(PIN / 2)).await;
        match round(&world, &ledger).await {
            Ok(()) => {}
            Err(error) if error.code() == "ledger_crashed" => return,
            Err(error) => match error.kind() {
                ErrorKind::Unavailable => {}
                ErrorKind::Conflict => world.count(|counts| counts.marked_again += 1),
                _ => world.violation(format!("an unexpected error of a collection: {} ({})", error, error.code())),
            },
        }
    }
    world.collector.replace(None);
}

/// What open journals reference, with what it was marked from.
struct Mark {
    reachable: BTreeSet<BlockId>,
    heads: Vec<(JournalId, Link)>,
    journals: u64,
}

pub(super) async fn mark(ledger: &dyn Ledger) -> Result<BTreeSet<BlockId>> {
    Ok(mark_all(ledger).await?.reachable)
}

async fn mark_all(ledger: &dyn Ledger) -> Result<Mark> {
    let states = ledger.journals(JournalFilter::default()).await?;
    let journals = u64::try_from(states.len()).unwrap_or(u64::MAX);
    let (mut reachable, mut heads) = (BTreeSet::new(), Vec::new());
    for state in states.into_iter().filter(|state| state.status == JournalStatus::Open) {
        for entry in ledger.read(Read::range(state.id, 0, state.head)).await? {
            reachable.extend(entry.payload.unwrap_or_default().into_iter().map(block_id));
        }
        heads.push((state.id, state.head_link));
    }
    Ok(Mark { reachable, heads, journals })
}

/// One round: drop lapsed pins, mark, collect, unlink.
pub(super) async fn round(world: &World, ledger: &FaultyLedger) -> Result<()> {
    let files = world.files.borrow().clone();
    let now = world.time.now();
    let seen_pins = ledger.pins(now).await?.into_iter().map(|pin| pin.id).collect();
    ledger.collect(Collection { seen_pins, now, ..Collection::default() }).await?;

    let now = world.time.now();
    let pins = ledger.pins(now).await?;
    let pinned: BTreeSet<PackId> = pins.iter().flat_map(|pin| pin.packs.iter().copied()).collect();
    let mark = mark_all(ledger).await?;
    let packs = ledger.packs().await?;
    let mut blocks: BTreeMap<PackId, Vec<BlockRow>> = BTreeMap::new();
    for row in ledger.blocks(None, usize::MAX).await? {
        if let BlockPlace::Pack { pack, .. } = &row.place {
            blocks.entry(*pack).or_default().push(row);
        }
    }

    let target = PackId(world.random.bytes());
    let mut step = Collection { seen_pins: pins.iter().map(|pin| pin.id).collect(), now, ..Collection::default() };
    for pack in &packs {
        let rows = blocks.get(&pack.id).map(Vec::as_slice).unwrap_or_default();
        let kept: Vec<&BlockRow> = rows.iter().filter(|row| mark.reachable.contains(&row.id)).collect();
        match pack.state {
            // It was dying before this round marked, so whatever references it is marked.
            PackState::Dying => step.forget.push(pack.id),
            PackState::Live if pinned.contains(&pack.id) => continue,
            PackState::Live if kept.is_empty() => step.dying.push(pack.id),
            // Half empty: what is referenced moves.
            PackState::Live if kept.len() < rows.len() => step.dying.push(pack.id),
            PackState::Live => continue,
        }
        step.moved.extend(kept.iter().map(|row| NewBlock {
            id: row.id,
            owner: OWNER,
            place: BlockPlace::Pack { pack: target, offset: 0, length: 10 },
        }));
    }
    if !step.moved.is_empty() {
        world.files.borrow_mut().insert(target);
        step.packs.push(NewPack { id: target, owner: OWNER, size: 100 });
    }
    if world.options.mischief != Some(Mischief::NoSeenHeads) {
        step.seen_heads = mark.heads;
        step.seen_journals = Some(mark.journals);
    }
    let (forgotten, moved) = (step.forget.clone(), step.moved.len());
    ledger.collect(step).await?;
    world.count(|counts| {
        counts.forgotten += u64::try_from(forgotten.len()).unwrap_or(0);
        counts.moved += u64::try_from(moved).unwrap_or(0);
    });

    // Forgotten packs, and those of writers that died: neither known nor pinned, though they were there before.
    let known: BTreeSet<PackId> = packs.into_iter().map(|pack| pack.id).collect();
    let orphans = files.into_iter().filter(|file| !known.contains(file) && !pinned.contains(file));
    for file in forgotten.into_iter().chain(orphans) {
        if world.files.borrow_mut().remove(&file) {
            world.count(|counts| counts.unlinked += 1);
        }
    }
    Ok(())
}
