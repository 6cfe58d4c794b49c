//! The rows that may be among the best, as a scan goes on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A float in the order of floats.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered(pub(super) f32);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

/// A row that may be among the best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    /// What its score is at most.
    pub(super) most: f32,
    pub(super) part: usize,
    pub(super) document: u32,
}

/// The candidates for the best so many, by what their scores are at least and at most.
#[derive(Debug)]
pub(super) struct Best {
    top: usize,
    /// The greatest of what scores are at least: as many as are wanted, the least of them first.
    least: BinaryHeap<Reverse<Ordered>>,
    candidates: Vec<Candidate>,
    /// So many candidates there may be before those that are out are looked for.
    room: usize,
}

impl Best {
    pub(super) const fn new(top: usize) -> Self {
        Self { top, least: BinaryHeap::new(), candidates: Vec::new(), room: 0 }
    }

    /// What a score must reach to be among the best, as far as is known.
    pub(super) fn floor(&self) -> f32 {
        match self.least.peek() {
            Some(Reverse(Ordered(floor))) if self.least.len() >= self.top => *floor,
            _ => f32::NEG_INFINITY,
        }
    }

    /// Adds a row whose score is at least and at most so much.
    pub(super) fn add(&mut self, least: f32, candidate: Candidate) {
        self.raise(least);
        if candidate.most < self.floor() {
            return;
        }
        if self.candidates.len() >= self.room {
            self.drop_out();
            // Those that were looked through in vain are paid for by as many that come.
            self.room = (2 * self.candidates.len()).max(1024);
        }
        self.candidates.push(candidate);
    }

    fn raise(&mut self, least: f32) {
        if self.least.len() < self.top {
            self.least.push(Reverse(Ordered(least)));
        } else if let Some(mut floor) = self.least.peek_mut()
            && least > floor.0.0
        {
            floor.0.0 = least;
        }
    }

    fn drop_out(&mut self) {
        let floor = self.floor();
        self.candidates.retain(|candidate| candidate.most >= floor);
    }

    /// Adds those of another scan.
    pub(super) fn join(&mut self, other: Self) {
        for Reverse(Ordered(least)) in other.least {
            self.raise(least);
        }
        self.candidates.extend(other.candidates);
    }

    /// The candidates, those first whose scores may be greatest.
    pub(super) fn into_candidates(mut self) -> Vec<Candidate> {
        self.drop_out();
        self.candidates.sort_unstable_by(|a, b| b.most.total_cmp(&a.most));
        self.candidates
    }
}
