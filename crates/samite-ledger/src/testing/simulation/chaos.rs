//! Crashes, power cuts and deletions.

use super::{LEASE, Mischief, World, writer};
use crate::testing::{Seeded, Tampering};
use crate::{JournalFilter, JournalStatus, Ledger};
use samite_host::Sleep;
use std::collections::BTreeMap;
use std::rc::Rc;

pub(super) async fn run(world: Rc<World>, random: Seeded) {
    for _ in 0..world.options.disasters {
        world.time.sleep(random.below(LEASE.unsigned_abs())).await;
        match random.below(6) {
            0..=2 => {
                let victim = random.below(u64::try_from(world.writers.len()).unwrap_or(0));
                crash(&world, &random, usize::try_from(victim).unwrap_or(0)).await;
            }
            3 => cut_power(&world, &random).await,
            _ => delete(&world, &random).await,
        }
    }
    if world.options.mischief == Some(Mischief::LoseEntry) {
        lose_entry(&world).await;
    }
}

/// Kills a writer's process where it stands. Returns whether it has one.
fn kill(world: &World, victim: usize) -> bool {
    let Some(state) = world.writers.get(victim) else { return false };
    let Some(process) = state.running.take() else { return false };
    world.spawner.kill(process);
    if let Some(handle) = state.handle.take() {
        handle.crash();
    }
    world.record.borrow_mut().counts.crashes += 1;
    true
}

async fn crash(world: &Rc<World>, random: &Seeded, victim: usize) {
    if kill(world, victim) {
        world.time.sleep(random.below(LEASE.unsigned_abs())).await;
        writer::start(world, victim);
    }
}

async fn cut_power(world: &Rc<World>, random: &Seeded) {
    let killed: Vec<usize> = (0..world.writers.len()).filter(|victim| kill(world, *victim)).collect();
    world.store.cut_power();
    world.time.sleep(random.below(LEASE.unsigned_abs())).await;
    for victim in killed {
        writer::start(world, victim);
    }
}

/// Deletes a fork, as much of it as no other needs.
async fn delete(world: &World, random: &Seeded) {
    let ledger = world.store.open();
    let Ok(journals) = ledger.journals(JournalFilter::default()).await else { return };
    let mut needed: BTreeMap<_, u64> = BTreeMap::new();
    for state in &journals {
        if let Some(parent) = state.parent {
            let seq = needed.entry(parent.journal).or_default();
            *seq = parent.seq.max(*seq);
        }
    }
    let forks: Vec<_> = journals.into_iter().filter(|state| state.parent.is_some()).collect();
    let Some(state) = random.pick(&forks) else { return };
    let keep_to = needed.get(&state.id).copied().unwrap_or(0);
    world.record.borrow_mut().deletions.entry(state.id).or_default().push(keep_to);
    match ledger.delete_journal(state.id, keep_to).await {
        Ok(()) => world.record.borrow_mut().counts.deletions += 1,
        // Forked meanwhile, or one of the injected faults.
        Err(error) if matches!(error.code(), "fork_depends" | "outcome_unknown" | "storage_unavailable") => {}
        Err(error) => {
            let text = format!("an unexpected error of a deletion: {} ({}): {error}", error.kind(), error.code());
            world.record.borrow_mut().violations.push(text);
        }
    }
}

/// Loses the last entry of the first journal that has one, head and all.
async fn lose_entry(world: &World) {
    while world.unfinished.get() > 0 {
        world.time.sleep(LEASE.unsigned_abs()).await;
    }
    let truth = world.store.truth();
    let Ok(journals) = truth.journals(JournalFilter::default()).await else { return };
    let open = |state: &&crate::JournalState| state.status == JournalStatus::Open && state.parent.is_none();
    for state in journals.iter().filter(open).filter(|state| state.head > 1) {
        let before = state.head - 1;
        if truth.tamper(state.id, Tampering::MoveHead { seq: before }).is_ok() {
            drop(truth.tamper(state.id, Tampering::Cut { after: before }));
            return;
        }
    }
}
