//! Runs as a set: whether an entry is in one, however many there are.

use super::Run;
use crate::{JournalId, Position};
use std::collections::HashMap;

/// Entries of many journals, looked up by position.
#[derive(Clone, Debug, Default)]
pub struct RunSet(HashMap<JournalId, Vec<Run>>);

impl RunSet {
    /// The entries of these runs, each once.
    pub fn new(runs: impl IntoIterator<Item = Run>) -> Self {
        let mut by_journal: HashMap<JournalId, Vec<Run>> = HashMap::new();
        for run in runs {
            by_journal.entry(run.journal).or_default().push(run);
        }
        for runs in by_journal.values_mut() {
            *runs = joined(std::mem::take(runs));
        }
        Self(by_journal)
    }

    /// Whether it has this entry.
    pub fn has(&self, at: Position) -> bool {
        let Some(runs) = self.0.get(&at.journal) else { return false };
        let next = runs.partition_point(|run| run.first <= at.seq);
        next.checked_sub(1).and_then(|place| runs.get(place)).is_some_and(|run| at.seq <= run.last)
    }

    /// Whether it has entries of this journal.
    pub fn has_of(&self, journal: JournalId) -> bool {
        self.0.contains_key(&journal)
    }

    /// The journals that it has entries of.
    pub fn journals(&self) -> impl Iterator<Item = JournalId> + '_ {
        self.0.keys().copied()
    }

    /// All of its runs, in order.
    pub fn runs(&self) -> Vec<Run> {
        joined(self.0.values().flatten().copied().collect())
    }

    /// Its runs in one journal, in order.
    pub fn of(&self, journal: JournalId) -> &[Run] {
        self.0.get(&journal).map_or(&[], Vec::as_slice)
    }
}

/// The same entries in as few runs as can be, each once.
pub(super) fn joined(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable();
    let mut joined: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        match joined.last_mut() {
            Some(last) if last.journal == run.journal && run.first <= last.last.saturating_add(1) => {
                last.last = last.last.max(run.last);
            }
            _ => joined.push(run),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_one_of_its_runs_has() {
        let journal = |number: u8| JournalId([number; 16]);
        let run = |number, first, last| Run { journal: journal(number), first, last };
        let all = [run(1, 5, 9), run(2, 1, 1), run(1, 2, 3), run(1, 4, 4), run(1, 7, 12), run(1, 20, 20)];
        let set = RunSet::new(all);
        for number in 1..=3 {
            for seq in 0..=22 {
                let at = Position { journal: journal(number), seq };
                let expected = all.iter().any(|run| run.journal == at.journal && run.first <= seq && seq <= run.last);
                assert_eq!(set.has(at), expected, "{number} {seq}");
            }
        }
        assert_eq!(set.of(journal(1)), [run(1, 2, 12), run(1, 20, 20)]);
        assert!(set.has_of(journal(2)) && !set.has_of(journal(3)) && set.of(journal(3)).is_empty());
        assert!(!RunSet::default().has(Position { journal: journal(1), seq: 1 }));
    }
}
