//! Writers over a faulty ledger, and an audit of what they were promised.
//!
//! Several writers append under leases with dedupe rows, count in registers, fork, doze past the end of their leases
//! and retry what they do not know the outcome of; their processes crash, the power fails, journals are deleted. At the
//! end (and partly meanwhile) the audit compares what is stored with what was acknowledged.

mod audit;
mod chaos;
pub mod collection;
mod operation;
mod record;
mod writer;

use super::{Executor, Faults, FaultyStore, Process, Seeded, SimulatedTime, Spawner};
use crate::{Commit, JournalKind, Ledger, NewJournal};
use record::Record;
use samite_model::{FamilyId, JournalId, Pseudonym};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How much happens in a simulation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Writers at once.
    pub writers: usize,
    /// What each of them does.
    pub operations: usize,
    /// Crashes, power cuts and deletions.
    pub disasters: usize,
    /// What fails how often.
    pub faults: Faults,
    /// A rule to break, to prove that the audit sees it.
    pub mischief: Option<Mischief>,
}

impl Default for Options {
    fn default() -> Self {
        Self { writers: 3, operations: 5, disasters: 5, faults: Faults::MANY, mischief: None }
    }
}

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mischief {
    /// Writers do not guard their epoch, so that a zombie's append goes through.
    NoEpochGuard,
    /// Writers do not guard their dedupe row, so that a retry appends again.
    NoDedupeGuard,
    /// Writers do not guard the version of registers, so that counts are lost.
    NoRegistersGuard,
    /// The storage loses the last entry of a journal that it had acknowledged.
    LoseEntry,
}

/// What happened in a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Operations that were acknowledged.
    pub acknowledged: u64,
    /// Of these, those that a retry found done already.
    pub found_done: u64,
    /// Commits that were refused because another writer had taken over.
    pub fenced: u64,
    /// Leases that were taken from another writer.
    pub takeovers: u64,
    /// Forks that were made.
    pub forks: u64,
    /// Journals that were deleted.
    pub deletions: u64,
    /// Processes that crashed, one by one or with all others.
    pub crashes: u64,
    /// Calls that failed as `unavailable`.
    pub unavailable: u64,
    /// Writes with an unknown outcome that had not happened.
    pub lost_requests: u64,
    /// Writes with an unknown outcome that had happened.
    pub lost_acknowledgements: u64,
    /// Commits that happened after their outcome was said to be unknown.
    pub late: u64,
    /// Writes that were under way in a crash.
    pub interrupted: u64,
    /// Entries stored at the end.
    pub entries: u64,
    /// A digest of all that is stored: the same seed gives the same.
    pub digest: u64,
}

impl Report {
    /// Adds another simulation's numbers.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.acknowledged, other.acknowledged),
            (&mut self.found_done, other.found_done),
            (&mut self.fenced, other.fenced),
            (&mut self.takeovers, other.takeovers),
            (&mut self.forks, other.forks),
            (&mut self.deletions, other.deletions),
            (&mut self.crashes, other.crashes),
            (&mut self.unavailable, other.unavailable),
            (&mut self.lost_requests, other.lost_requests),
            (&mut self.lost_acknowledgements, other.lost_acknowledgements),
            (&mut self.late, other.late),
            (&mut self.interrupted, other.interrupted),
            (&mut self.entries, other.entries),
        ] {
            *mine = mine.saturating_add(theirs);
        }
        self.digest ^= other.digest;
    }
}

/// Steps that no schedule needs.
const STEPS: u64 = 200_000;
/// How long a lease lasts, in nanoseconds.
const LEASE: i64 = 20_000_000;
const OWNER: Pseudonym = Pseudonym([0xa1; 16]);
const FAMILY: FamilyId = FamilyId([0xfa; 16]);

/// What all actors of a simulation share.
struct World {
    options: Options,
    time: SimulatedTime,
    spawner: Spawner,
    store: FaultyStore,
    record: RefCell<Record>,
    writers: Vec<WriterState>,
    unfinished: Cell<usize>,
}

/// What of a writer outlives its processes.
struct WriterState {
    id: Pseudonym,
    random: Seeded,
    /// What is still to do, the last one first.
    operations: RefCell<Vec<operation::Operation>>,
    running: Cell<Option<Process>>,
    handle: RefCell<Option<super::FaultyLedger>>,
}

/// Runs one schedule.
///
/// # Errors
/// What the audit found, or why the schedule did not come to its end.
pub fn run(seed: u64, options: &Options) -> Result<Report, String> {
    let random = Seeded::new(seed);
    let mut executor = Executor::new(random.next());
    let time = executor.time();
    let store = FaultyStore::new(random.branch(), Arc::new(time.clone()), Faults::NONE);
    let roots = [JournalId([1; 16]), JournalId([2; 16])];
    super::block_on(make_roots(&store, &roots))?;
    store.set_faults(options.faults);

    let writers = (1..=options.writers)
        .map(|number| {
            let random = random.branch();
            let operations = (0..options.operations).map(|_| operation::Operation::plan(&random)).collect();
            WriterState {
                id: Pseudonym([u8::try_from(number).unwrap_or(u8::MAX); 16]),
                random,
                operations: RefCell::new(operations),
                running: Cell::new(None),
                handle: RefCell::default(),
            }
        })
        .collect();
    let world = Rc::new(World {
        options: options.clone(),
        spawner: executor.spawner(),
        store,
        record: RefCell::new(Record::new(&roots)),
        writers,
        unfinished: Cell::new(options.writers),
        time,
    });
    for writer in 0..options.writers {
        writer::start(&world, writer);
    }
    let actors = world.spawner.process();
    world.spawner.spawn(actors, chaos::run(Rc::clone(&world), random.branch()));
    world.spawner.spawn(actors, audit::watch(Rc::clone(&world)));
    executor.run(STEPS).map_err(|stopped| format!("the schedule did not end: {stopped}"))?;
    drop(executor);
    finish(&world)
}

async fn make_roots(store: &FaultyStore, roots: &[JournalId]) -> Result<(), String> {
    let root =
        |id: &JournalId| NewJournal { id: *id, family: FAMILY, kind: JournalKind::Branch, owner: OWNER, parent: None };
    let commit = Commit { journals: roots.iter().map(root).collect(), ..Commit::default() };
    store.truth().commit(commit).await.map(drop).map_err(|error| error.to_string())
}

fn finish(world: &World) -> Result<Report, String> {
    let (entries, digest) = super::block_on(audit::at_end(world))?;
    let record = world.record.borrow();
    let injected = world.store.injected();
    Ok(Report {
        unavailable: injected.unavailable.load(Ordering::SeqCst),
        lost_requests: injected.lost_requests.load(Ordering::SeqCst),
        lost_acknowledgements: injected.lost_acknowledgements.load(Ordering::SeqCst),
        late: injected.late.load(Ordering::SeqCst),
        interrupted: injected.interrupted.load(Ordering::SeqCst),
        entries,
        digest,
        ..record.counts
    })
}
