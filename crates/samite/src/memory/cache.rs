//! What this process keeps ready of namespaces: where their records stand, and the index of those, as far as it was read.
//!
//! It is never what a namespace says: each read asks the ledger how far it has come, and takes in what came since, whoever wrote it.
//! Nothing is kept over an erasure.

use super::visible::Found;
use samite_ledger::JournalState;
use samite_memory::search::Index;
use samite_memory::{Bits, Standings};
use samite_model::memory::{Operation, Treatment};
use samite_model::{JournalId, Link, Position, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// All that is kept takes at most about so many bytes: 256 MiB.
const LIMIT: usize = 256 << 20;

/// What so many branches see of a namespace is kept.
const BRANCHES: usize = 4;

/// The namespaces that are kept ready, those that were used last.
#[derive(Debug)]
pub(crate) struct Cache {
    slots: Mutex<Slots>,
    /// The version of the tenant's registers at which no erasure was under way, when that was looked at last.
    settled: AtomicU64,
}

impl Default for Cache {
    fn default() -> Self {
        Self { slots: Mutex::default(), settled: AtomicU64::new(u64::MAX) }
    }
}

#[derive(Debug, Default)]
struct Slots {
    /// What was kept is from after so many erasures.
    erasures: u64,
    /// Counts uses.
    uses: u64,
    by: HashMap<JournalId, Used>,
}

#[derive(Debug, Default)]
struct Used {
    last: u64,
    weight: usize,
    slot: Slot,
}

/// What is kept of one namespace.
pub(super) type Slot = Arc<Mutex<Kept>>;

/// Where the records of a namespace stand after an entry of its journal, and their index.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Up to which seq; 0 where nothing was read yet.
    pub(super) seq: u64,
    /// The link of that entry.
    pub(super) link: Option<Link>,
    pub(super) standings: Arc<Standings>,
    /// It may be behind.
    pub(super) index: Arc<Index>,
    /// What searches see, once one asked.
    pub(super) found: Arc<OnceLock<Found>>,
    /// Up to which seq the file is; none where nobody has looked for it.
    pub(super) filed: Option<u64>,
    branches: Vec<OfBranch>,
    /// How many bytes the standings take, as of a seq.
    weighed: (u64, usize),
}

/// What a branch sees.
#[derive(Debug)]
struct OfBranch {
    /// Of the namespace up to this seq.
    seq: u64,
    /// With these entries of its own.
    entries: Vec<Position>,
    standings: Arc<Standings>,
    index: Arc<Index>,
    found: Arc<OnceLock<Found>>,
}

/// A namespace as it is seen, shared with whoever looks at it too.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// Of the namespace up to this seq.
    pub(super) seq: u64,
    pub(super) standings: Arc<Standings>,
    /// Of all records, where that was asked for.
    pub(super) index: Arc<Index>,
    found: Arc<OnceLock<Found>>,
    slot: Option<Slot>,
    entries: Vec<Position>,
}

impl Kept {
    /// Nothing, where the file was looked at and is of no use.
    pub(super) fn anew() -> Self {
        Self { filed: Some(0), ..Self::default() }
    }

    /// What a file has.
    pub(super) fn filed(seq: u64, link: Link, standings: Arc<Standings>, index: Arc<Index>) -> Self {
        Self { seq, link: Some(link), standings, index, filed: Some(seq), ..Self::default() }
    }

    /// The same, to be written: shared, and without what branches see.
    pub(super) fn copy(kept: &Self) -> Self {
        let (standings, index) = (kept.standings.clone(), kept.index.clone());
        Self { seq: kept.seq, link: kept.link, standings, index, filed: kept.filed, ..Self::default() }
    }

    /// Whether it is of another history than the ledger has.
    pub(super) fn is_of_another(&self, state: &JournalState) -> bool {
        self.seq > state.head || (self.seq == state.head && self.seq > 0 && self.link != Some(state.head_link))
    }

    fn memory(&mut self) -> usize {
        if self.weighed.0 != self.seq {
            self.weighed = (self.seq, self.standings.memory());
        }
        // Records are the same.
        let branches: usize =
            self.branches.iter().map(|one| one.index.memory() + size_of_val(one.standings.all())).sum();
        self.weighed.1 + self.index.memory() + branches
    }
}

impl Cache {
    fn locked(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept of a namespace, which may be nothing yet.
    pub(super) fn slot(&self, journal: JournalId, erasures: u64) -> Slot {
        let mut slots = self.locked();
        if slots.erasures < erasures {
            *slots = Slots { erasures, uses: slots.uses, by: HashMap::new() };
        }
        if slots.erasures > erasures {
            // What is read by who does not know of an erasure yet is kept by nobody.
            return Slot::default();
        }
        slots.uses += 1;
        let last = slots.uses;
        let used = slots.by.entry(journal).or_default();
        used.last = last;
        used.slot.clone()
    }

    /// Notes how much is kept of a namespace, and lets go of those that nobody used for longest where all is too much.
    pub(super) fn weigh(&self, journal: JournalId, slot: &Slot) {
        let weight = locked(slot).memory();
        self.locked().weigh(journal, weight, LIMIT);
    }

    /// Lets go of everything.
    pub(crate) fn clear(&self) {
        self.locked().by.clear();
    }

    /// Whether no erasure was under way at this version of the tenant's registers, as far as is known.
    pub(crate) fn is_settled(&self, version: u64) -> bool {
        self.settled.load(Ordering::Relaxed) == version
    }

    /// Notes that none was.
    pub(crate) fn settle(&self, version: u64) {
        self.settled.store(version, Ordering::Relaxed);
    }
}

impl Slots {
    fn weigh(&mut self, journal: JournalId, weight: usize, limit: usize) {
        if let Some(used) = self.by.get_mut(&journal) {
            used.weight = weight;
        }
        while self.by.values().map(|used| used.weight).sum::<usize>() > limit {
            let Some(oldest) = self.by.iter().min_by_key(|(_, used)| used.last).map(|(id, _)| *id) else { return };
            self.by.remove(&oldest);
        }
    }
}

/// What is kept of a namespace, while nobody else changes it.
pub(super) fn locked(slot: &Slot) -> MutexGuard<'_, Kept> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl View {
    /// What is kept now.
    pub(super) fn of(slot: &Slot) -> Self {
        let kept = locked(slot);
        let (standings, index, found) = (kept.standings.clone(), kept.index.clone(), kept.found.clone());
        Self { seq: kept.seq, standings, index, found, slot: Some(slot.clone()), entries: Vec::new() }
    }

    /// One that was folded apart, and is kept by nobody.
    pub(super) fn apart(seq: u64, standings: Standings, indexed: bool) -> Result<Self> {
        let mut index = Index::default();
        if indexed {
            index.catch_up(&standings)?;
        }
        let (standings, index) = (Arc::new(standings), Arc::new(index));
        Ok(Self { seq, standings, index, ..Self::default() })
    }

    /// With what a branch wrote for itself.
    pub(super) fn with(self, operations: Vec<(Position, i64, Operation)>, indexed: bool) -> Result<Self> {
        if operations.is_empty() {
            return Ok(self);
        }
        let entries: Vec<Position> = operations.iter().map(|(at, ..)| *at).collect();
        if let Some(slot) = &self.slot
            && let Some(known) = locked(slot).branches.iter().find(|one| one.seq == self.seq && one.entries == entries)
            && (!indexed || known.index.documents() as usize == known.standings.all().len())
        {
            let (standings, index, found) = (known.standings.clone(), known.index.clone(), known.found.clone());
            return Ok(Self { seq: self.seq, standings, index, found, entries, slot: self.slot.clone() });
        }
        let mut standings = Standings::clone(&self.standings);
        for (at, time, operation) in operations {
            standings.apply(at, time, operation);
        }
        let mut index = Index::clone(&self.index);
        if indexed {
            index.catch_up(&standings)?;
        }
        let (standings, index, found) = (Arc::new(standings), Arc::new(index), Arc::default());
        if let Some(slot) = &self.slot {
            let mut kept = locked(slot);
            kept.branches.retain(|one| one.seq == self.seq && one.entries != entries);
            if kept.branches.len() >= BRANCHES {
                kept.branches.remove(0);
            }
            let (standings, index, found) = (standings.clone(), index.clone(), Arc::clone(&found));
            kept.branches.push(OfBranch { seq: self.seq, entries: entries.clone(), standings, index, found });
        }
        Ok(Self { seq: self.seq, standings, index, found, entries, slot: self.slot })
    }

    /// The records of a treatment that are found at a time.
    pub(super) fn visible(&self, treatment: Treatment, time: i64) -> Bits {
        self.found.get_or_init(|| Found::of(&self.standings)).at(treatment, time)
    }

    /// Keeps the vectors that a copy of its index got.
    pub(super) fn keep_vectors(&self, copy: &Index) {
        let Some(slot) = &self.slot else { return };
        let mut kept = locked(slot);
        let index = if self.entries.is_empty() {
            Some(&mut kept.index)
        } else {
            let mut branches = kept.branches.iter_mut();
            branches.find(|one| one.seq == self.seq && one.entries == self.entries).map(|one| &mut one.index)
        };
        if let Some(index) = index {
            Arc::make_mut(index).take_rows(copy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_used_for_longest_goes_when_all_is_too_much() {
        let cache = Cache::default();
        let id = |number: u8| JournalId([number; 16]);
        let there = || {
            let slots = cache.locked();
            let mut there: Vec<u8> = slots.by.keys().filter_map(|id| id.0.first().copied()).collect();
            there.sort_unstable();
            there
        };
        for number in 1..=3 {
            cache.slot(id(number), 7);
            cache.locked().weigh(id(number), 40, 100);
        }
        assert_eq!(there(), [2, 3]);
        cache.slot(id(2), 7);
        cache.slot(id(4), 7);
        cache.locked().weigh(id(4), 40, 100);
        assert_eq!(there(), [2, 4]);
        // What is too much by itself is not kept.
        cache.locked().weigh(id(4), 101, 100);
        assert_eq!(there(), [0; 0]);
        // Nothing is kept over an erasure, and not by who does not know of it.
        cache.slot(id(2), 7);
        locked(&cache.slot(id(3), 8)).seq = 5;
        assert_eq!(there(), [3]);
        assert_eq!(locked(&cache.slot(id(3), 7)).seq, 0);
        assert_eq!(locked(&cache.slot(id(3), 8)).seq, 5);
    }
}
