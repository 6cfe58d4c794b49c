//! Writers that dedupe blocks beside a collector, over a faulty ledger.
//!
//! Writers pin, look for blocks, write packs and commit trees that reference them; journals are deleted; a collector
//! marks, compacts, forgets and unlinks; processes crash. Whatever happens, every block that an open journal references
//! can be found in a pack whose file exists, and in the end nothing else is kept.

mod audit;
mod collector;
mod writer;

use super::FAMILY;
use crate::testing::{Executor, Faults, FaultyLedger, FaultyStore, Process, Seeded, SimulatedTime, Spawner};
use crate::{JournalFilter, Ledger};
use samite_host::Sleep;
use samite_model::{BlockId, JournalId, PackId};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// How much happens in a simulation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Writers at once.
    pub writers: usize,
    /// Trees that each of them commits.
    pub trees: usize,
    /// Crashes and deletions.
    pub disasters: usize,
    /// What fails how often.
    pub faults: Faults,
    /// A rule to break, to prove that the audit sees it.
    pub mischief: Option<Mischief>,
}

impl Default for Options {
    fn default() -> Self {
        Self { writers: 3, trees: 4, disasters: 6, faults: Faults::MANY, mischief: None }
    }
}

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mischief {
    /// Writers neither name the packs that they found blocks in nor guard the blocks.
    NoBlocksGuard,
    /// Writers do not guard their pin.
    NoPinGuard,
    /// The collector does not say which heads and journals it marked from.
    NoSeenHeads,
}

/// What happened in a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Trees that were committed.
    pub trees: u64,
    /// Blocks that were not written again, since they were found.
    pub deduped: u64,
    /// Commits that were refused because a pin or a block was gone.
    pub refused: u64,
    /// Collections that were refused because something moved.
    pub marked_again: u64,
    /// Packs that were forgotten.
    pub forgotten: u64,
    /// Blocks that were moved to another pack.
    pub moved: u64,
    /// Files that were unlinked.
    pub unlinked: u64,
    /// Journals that were deleted.
    pub deletions: u64,
    /// Processes that crashed.
    pub crashes: u64,
}

impl Report {
    /// Adds another simulation's numbers.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.trees, other.trees),
            (&mut self.deduped, other.deduped),
            (&mut self.refused, other.refused),
            (&mut self.marked_again, other.marked_again),
            (&mut self.forgotten, other.forgotten),
            (&mut self.moved, other.moved),
            (&mut self.unlinked, other.unlinked),
            (&mut self.deletions, other.deletions),
            (&mut self.crashes, other.crashes),
        ] {
            *mine = mine.saturating_add(theirs);
        }
    }
}

const STEPS: u64 = 200_000;
/// How long a pin lasts, in nanoseconds.
const PIN: u64 = 20_000_000;
/// So many different blocks there are.
const BLOCKS: u64 = 10;

struct World {
    options: Options,
    time: SimulatedTime,
    spawner: Spawner,
    store: FaultyStore,
    random: Seeded,
    /// The files of packs. They are durable as soon as they are here.
    files: RefCell<BTreeSet<PackId>>,
    writers: Vec<WriterState>,
    collector: RefCell<Option<(Process, FaultyLedger)>>,
    unfinished: Cell<usize>,
    violations: RefCell<Vec<String>>,
    counts: RefCell<Report>,
}

struct WriterState {
    random: Seeded,
    trees: RefCell<Vec<writer::Tree>>,
    running: RefCell<Option<(Process, FaultyLedger)>>,
}

impl World {
    fn count(&self, change: impl FnOnce(&mut Report)) {
        change(&mut self.counts.borrow_mut());
    }

    fn violation(&self, text: String) {
        self.violations.borrow_mut().push(text);
    }
}

fn block_id(number: u8) -> BlockId {
    BlockId([number; 32])
}

/// Runs one schedule.
///
/// # Errors
/// What the audit found, or why the schedule did not come to its end.
pub fn run(seed: u64, options: &Options) -> Result<Report, String> {
    let random = Seeded::new(seed);
    let mut executor = Executor::new(random.next());
    let time = executor.time();
    let store = FaultyStore::new(random.branch(), Arc::new(time.clone()), options.faults);
    let writers = (0..options.writers)
        .map(|_| {
            let random = random.branch();
            let trees = (0..options.trees).map(|_| writer::Tree::plan(&random)).collect();
            WriterState { random, trees: RefCell::new(trees), running: RefCell::default() }
        })
        .collect();
    let world = Rc::new(World {
        options: options.clone(),
        spawner: executor.spawner(),
        store,
        random: random.branch(),
        files: RefCell::default(),
        writers,
        collector: RefCell::default(),
        unfinished: Cell::new(options.writers),
        violations: RefCell::default(),
        counts: RefCell::default(),
        time,
    });
    for number in 0..options.writers {
        writer::start(&world, number);
    }
    collector::start(&world);
    let actors = world.spawner.process();
    world.spawner.spawn(actors, disasters(Rc::clone(&world)));
    world.spawner.spawn(actors, audit::watch(Rc::clone(&world)));
    executor.run(STEPS).map_err(|stopped| format!("the schedule did not end: {stopped}"))?;

    // Without writers and faults, two collections leave exactly what is referenced.
    world.store.set_faults(Faults::NONE);
    let last = Rc::clone(&world);
    let ended = executor.block_on(async move { audit::at_end(&last).await }, STEPS);
    ended.map_err(|stopped| format!("the last collections did not end: {stopped}"))?;
    let violations = world.violations.take();
    if violations.is_empty() { Ok(*world.counts.borrow()) } else { Err(violations.join("\n")) }
}

async fn disasters(world: Rc<World>) {
    for _ in 0..world.options.disasters {
        world.time.sleep(world.random.below(PIN)).await;
        match world.random.below(4) {
            0 => {
                let running = world.collector.take();
                kill(&world, running);
                world.time.sleep(world.random.below(PIN)).await;
                collector::start(&world);
            }
            1 => {
                let count = u64::try_from(world.writers.len()).unwrap_or(0);
                let victim = usize::try_from(world.random.below(count)).unwrap_or(0);
                let running = world.writers.get(victim).and_then(|state| state.running.take());
                if kill(&world, running) {
                    world.time.sleep(world.random.below(PIN)).await;
                    writer::start(&world, victim);
                }
            }
            _ => delete(&world).await,
        }
    }
}

fn kill(world: &World, running: Option<(Process, FaultyLedger)>) -> bool {
    let Some((process, ledger)) = running else { return false };
    world.spawner.kill(process);
    ledger.crash();
    world.count(|counts| counts.crashes += 1);
    true
}

/// Deletes a journal, and with it what it references.
async fn delete(world: &World) {
    let ledger = world.store.open();
    let Ok(journals) = ledger.journals(JournalFilter::default()).await else { return };
    let ids: Vec<JournalId> = journals.iter().map(|state| state.id).collect();
    if let Some(id) = world.random.pick(&ids)
        && ledger.delete_journal(*id, 0).await.is_ok()
    {
        world.count(|counts| counts.deletions += 1);
    }
}
