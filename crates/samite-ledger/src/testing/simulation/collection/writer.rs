//! A writer of trees.

use super::{BLOCKS, FAMILY, Mischief, PIN, World, block_id};
use crate::testing::simulation::{OWNER, operation};
use crate::testing::{FaultyLedger, Seeded};
use crate::{
    Append, BlockIndex, BlockPlace, Commit, Guard, JournalKind, Ledger, NewBlock, NewEntry, NewJournal, NewPack,
    NewRow, Pin,
};
use samite_host::{Clock, Sleep};
use samite_model::{
    BlockId, Commitment, EntryId, EntryKind, Error, ErrorKind, JournalId, KeyId, PackId, PinId, Result,
};
use std::collections::BTreeSet;
use std::rc::Rc;

/// A tree to commit: an entry that references blocks.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    id: [u8; 16],
    blocks: Vec<u8>,
    /// Whether it goes to a journal of its own, or to the writer's last one.
    new_journal: bool,
}

impl Tree {
    pub(super) fn plan(random: &Seeded) -> Self {
        let count = random.below(3) + 1;
        let numbers: BTreeSet<u64> = (0..count).map(|_| random.below(BLOCKS)).collect();
        let blocks = numbers.into_iter().filter_map(|number| u8::try_from(number).ok()).collect();
        Self { id: random.bytes(), blocks, new_journal: random.chance(500) }
    }
}

pub(super) fn start(world: &Rc<World>, number: usize) {
    let Some(state) = world.writers.get(number) else { return };
    let (process, ledger) = (world.spawner.process(), world.store.open());
    state.running.replace(Some((process, ledger.clone())));
    world.spawner.spawn(process, run(Rc::clone(world), number, ledger));
}

async fn run(world: Rc<World>, number: usize, ledger: FaultyLedger) {
    let Some(state) = world.writers.get(number) else { return };
    let own = JournalId([u8::try_from(number).unwrap_or(0).saturating_add(1); 16]);
    loop {
        let tree = state.trees.borrow().last().cloned();
        let Some(tree) = tree else { break };
        match attempt(&world, &state.random, &ledger, &tree, own).await {
            Ok(()) => {
                world.count(|counts| counts.trees += 1);
                state.trees.borrow_mut().pop();
            }
            Err(error) => match (error.kind(), error.code()) {
                (_, "ledger_crashed") => return,
                (ErrorKind::Unavailable, _) => {}
                (ErrorKind::Conflict, "pin_lapsed" | "blocks_dying") => world.count(|counts| counts.refused += 1),
                // Done before, or deleted: nothing more to do for this tree.
                (ErrorKind::Conflict, "row_exists" | "journal_exists" | "journal_closed") => {
                    state.trees.borrow_mut().pop();
                }
                _ => {
                    world.violation(format!("an unexpected error: {} ({}): {error}", error.kind(), error.code()));
                    state.trees.borrow_mut().pop();
                }
            },
        }
        world.time.sleep(state.random.below(2_000_000)).await;
    }
    state.running.replace(None);
    world.unfinished.set(world.unfinished.get().saturating_sub(1));
}

async fn attempt(world: &World, random: &Seeded, ledger: &FaultyLedger, tree: &Tree, own: JournalId) -> Result<()> {
    let (pin, pack) = (PinId(random.bytes()), PackId(random.bytes()));
    let record = |packs| {
        let expires = world.time.now().saturating_add_unsigned(PIN);
        ledger.pin(Pin { id: pin, owner: OWNER, base: None, expires, packs })
    };
    record(vec![pack]).await?;
    let ids: Vec<BlockId> = tree.blocks.iter().map(|number| block_id(*number)).collect();
    let found_in = |places: Vec<Option<BlockPlace>>| {
        let packs = places.into_iter().flatten().filter_map(|place| match place {
            BlockPlace::Pack { pack, .. } => Some(pack),
            BlockPlace::Inline(_) => None,
        });
        packs.collect::<Vec<_>>()
    };
    let mut packs = found_in(ledger.find_blocks(ids.clone()).await?);
    packs.push(pack);
    if world.options.mischief != Some(Mischief::NoBlocksGuard) {
        record(packs).await?;
    }
    // What is found now is in a pack that the pin names, or the guard will tell.
    let places = ledger.find_blocks(ids.clone()).await?;
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (id, place) in ids.into_iter().zip(places) {
        if place.is_some() { found.push(id) } else { missing.push(id) }
    }
    if random.chance(200) {
        world.time.sleep(random.below(PIN.saturating_mul(3))).await;
    }
    let mut packs = Vec::new();
    if !missing.is_empty() {
        world.files.borrow_mut().insert(pack);
        packs.push(NewPack { id: pack, owner: OWNER, size: 100 });
    }
    if random.chance(100) {
        world.time.sleep(random.below(PIN.saturating_mul(3))).await;
    }
    let mut guards = Vec::new();
    if world.options.mischief != Some(Mischief::NoPinGuard) {
        guards.push(Guard::PinLive { pin });
    }
    if world.options.mischief != Some(Mischief::NoBlocksGuard) {
        guards.push(Guard::BlocksLive { blocks: found.clone() });
    }
    let place = |(at, id): (u64, &BlockId)| NewBlock {
        id: *id,
        owner: OWNER,
        place: BlockPlace::Pack { pack, offset: at * 10, length: 10 },
    };
    let (journal, journals) = target(ledger, tree, own).await?;
    if journals.is_empty() {
        guards.push(Guard::RowAbsent { journal, kind: operation::DEDUPE, hashes: vec![tree.id] });
    }
    let commit = Commit {
        guards,
        journals,
        appends: vec![Append { journal, entries: vec![entry(tree)] }],
        blocks: (0..).zip(&missing).map(place).collect(),
        packs,
        unpin: vec![pin],
        renew: None,
        prune: None,
    };
    ledger.commit(commit).await?;
    world.count(|counts| counts.deduped += u64::try_from(found.len()).unwrap_or(0));
    Ok(())
}

/// The journal to append to, and what to make of it first.
async fn target(ledger: &FaultyLedger, tree: &Tree, own: JournalId) -> Result<(JournalId, Vec<NewJournal>), Error> {
    let id = if tree.new_journal { JournalId(tree.id) } else { own };
    if ledger.journal(id).await?.is_some() {
        return Ok((id, Vec::new()));
    }
    let new = NewJournal { id, family: FAMILY, kind: JournalKind::Branch, owner: OWNER, parent: None };
    Ok((id, vec![new]))
}

fn entry(tree: &Tree) -> NewEntry {
    NewEntry {
        id: EntryId(tree.id),
        kind: EntryKind::TREE,
        epoch: 0,
        time: 0,
        actor: OWNER,
        owner: OWNER,
        key: KeyId([1; 8]),
        length: 1,
        commitment: Commitment([0; 32]),
        payload: tree.blocks.clone(),
        rows: vec![NewRow { kind: operation::DEDUPE, hash: tree.id, value: Vec::new() }],
        registers: Vec::new(),
        leaf: None,
    }
}
