//! Which positions come before which, where branches fork and are merged, and what two branches have in common.

use crate::id::{JournalId, Position};
use std::collections::{BTreeMap, HashMap};

/// A branch's journal in a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Where it left its parent; none for a first branch.
    pub parent: Option<Position>,
    /// Its own entries that merged another branch: their seqs, and their second parents.
    pub merges: Vec<(u64, Position)>,
}

/// The branches of a session. A journal that is not in it has no parents that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History(HashMap<JournalId, Line>);

impl FromIterator<(JournalId, Line)> for History {
    fn from_iter<I: IntoIterator<Item = (JournalId, Line)>>(lines: I) -> Self {
        Self(lines.into_iter().collect())
    }
}

impl History {
    /// All that comes before a position, itself included: of each journal the last seq.
    pub fn reach(&self, at: Position) -> BTreeMap<JournalId, u64> {
        let mut reach: BTreeMap<JournalId, u64> = BTreeMap::new();
        let mut pending = vec![at];
        while let Some(at) = pending.pop() {
            let known = reach.get(&at.journal).copied();
            if known.is_some_and(|known| known >= at.seq) {
                continue;
            }
            reach.insert(at.journal, at.seq);
            let Some(line) = self.0.get(&at.journal) else { continue };
            // A position that is inherited is its owner's.
            pending.extend(line.parent.map(|parent| Position { seq: parent.seq.min(at.seq), ..parent }));
            let new = |seq: u64| seq <= at.seq && known.is_none_or(|known| seq > known);
            pending.extend(line.merges.iter().filter(|(seq, _)| new(*seq)).map(|(_, second)| *second));
        }
        reach
    }

    /// Whether a position comes before another, or is it.
    pub fn comes_before(&self, earlier: Position, later: Position) -> bool {
        self.reach(later).get(&earlier.journal).is_some_and(|seq| *seq >= earlier.seq)
    }

    /// The positions that come before both and before no other such position: one, unless branches were merged crosswise, or
    /// none at all. In the order of their journals.
    pub fn common(&self, a: Position, b: Position) -> Vec<Position> {
        let theirs = self.reach(b);
        let shared: Vec<Position> = self
            .reach(a)
            .into_iter()
            .filter_map(|(journal, seq)| Some(Position { journal, seq: seq.min(*theirs.get(&journal)?) }))
            .filter(|position| position.seq > 0)
            .collect();
        let is_best = |one: &Position| shared.iter().all(|other| other == one || !self.comes_before(*one, *other));
        shared.iter().copied().filter(is_best).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(journal: u8, seq: u64) -> Position {
        Position { journal: JournalId([journal; 16]), seq }
    }

    type Place = (u8, u64);
    type Row<'a> = (u8, Option<Place>, &'a [(u64, Place)]);

    fn history(lines: &[Row<'_>]) -> History {
        let position = |(journal, seq): (u8, u64)| at(journal, seq);
        lines
            .iter()
            .map(|(journal, parent, merges)| {
                let merges = merges.iter().map(|(seq, second)| (*seq, position(*second))).collect();
                (JournalId([*journal; 16]), Line { parent: parent.map(position), merges })
            })
            .collect()
    }

    #[test]
    fn two_branches_have_their_fork_point_in_common() {
        let history =
            history(&[(1, None, &[]), (2, Some((1, 5)), &[]), (3, Some((2, 8)), &[]), (4, Some((1, 3)), &[])]);
        assert_eq!(history.common(at(1, 9), at(2, 9)), [at(1, 5)]);
        assert_eq!(history.common(at(2, 9), at(1, 9)), [at(1, 5)]);
        assert_eq!(history.common(at(2, 20), at(3, 20)), [at(2, 8)]);
        assert_eq!(history.common(at(3, 20), at(4, 20)), [at(1, 3)]);
        assert_eq!(history.common(at(1, 4), at(2, 9)), [at(1, 4)]);
        assert_eq!(history.common(at(1, 4), at(9, 9)), []);
        assert!(history.comes_before(at(1, 5), at(3, 9)));
        assert!(!history.comes_before(at(1, 6), at(3, 9)));
    }

    #[test]
    fn what_was_merged_before_is_the_base_of_the_next_merge() {
        let history = history(&[(1, None, &[(10, (2, 7))]), (2, Some((1, 5)), &[])]);
        assert_eq!(history.common(at(1, 12), at(2, 15)), [at(2, 7)]);
        assert_eq!(history.common(at(2, 15), at(1, 12)), [at(2, 7)]);
        // Who goes back to before the merge has not merged.
        assert_eq!(history.common(at(1, 9), at(2, 15)), [at(1, 5)]);
        assert!(history.comes_before(at(2, 7), at(1, 10)) && !history.comes_before(at(2, 7), at(1, 9)));
        // A third branch that was merged into the second came with it.
        let history = super::tests::history(&[
            (1, None, &[(10, (2, 9))]),
            (2, Some((1, 5)), &[(8, (3, 6))]),
            (3, Some((1, 4)), &[]),
        ]);
        assert_eq!(history.common(at(1, 12), at(3, 20)), [at(3, 6)]);
    }

    #[test]
    fn branches_that_were_merged_crosswise_have_several_bases() {
        let history = history(&[(1, None, &[(10, (2, 7))]), (2, Some((1, 5)), &[(9, (1, 8))])]);
        assert_eq!(history.common(at(1, 12), at(2, 15)), [at(1, 8), at(2, 7)]);
    }

    #[test]
    fn a_history_that_turns_in_a_circle_ends() {
        let history = history(&[(1, Some((2, 5)), &[(6, (2, 9))]), (2, Some((1, 5)), &[(6, (1, 9))])]);
        assert_eq!(history.reach(at(1, 9)).len(), 2);
        // Such a history is damaged: nothing in it is certain to come first.
        assert_eq!(history.common(at(1, 9), at(2, 9)), []);
    }
}
