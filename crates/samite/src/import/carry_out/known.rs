//! What the branches of a session have: each row once, however many branches inherit it.

use crate::client::Client;
use crate::views::row;
use samite_ledger::{Row, RowQuery};
use samite_model::{BranchId, Position, Result};
use std::collections::HashMap;

type Hash = [u8; 16];

#[derive(Debug, Default)]
pub(super) struct Known {
    /// Entries by their dedupe hashes: where they are, with their fingerprints.
    entries: HashMap<Hash, Vec<(Position, Hash)>>,
    /// Starts and ends of steps by their keys.
    steps: HashMap<Hash, Vec<Position>>,
    /// Where each branch that was read left its parent.
    parents: HashMap<BranchId, Option<Position>>,
}

impl Known {
    /// Reads a branch and those that it comes from, each once.
    pub(super) async fn read(&mut self, client: &Client, branch: BranchId) -> Result<()> {
        let mut next = Some(branch);
        while let Some(branch) = next.take().filter(|branch| !self.parents.contains_key(branch)) {
            let state = client.core.journal(branch).await?;
            let at = Position { journal: branch, seq: state.head };
            let own = state.head - state.parent.map_or(0, |parent| parent.seq).min(state.head);
            for row in own_rows(client, at, row::DEDUPE, own).await? {
                if let Ok(fingerprint) = Hash::try_from(row.value.as_slice()) {
                    self.add(row.hash, row.position, fingerprint);
                }
            }
            for row in own_rows(client, at, row::STEP, own).await? {
                self.add_step(row.hash, row.position);
            }
            self.parents.insert(branch, state.parent);
            next = state.parent.map(|parent| parent.journal);
        }
        Ok(())
    }

    /// The entry that a branch has by a dedupe hash.
    pub(super) fn entry(&self, branch: BranchId, hash: &Hash) -> Option<(Position, Hash)> {
        let all = self.entries.get(hash)?;
        all.iter().rev().find(|(position, _)| self.has(branch, *position)).copied()
    }

    /// Whether a branch has a step with a key, whatever became of it.
    pub(super) fn has_step(&self, branch: BranchId, key: &Hash) -> bool {
        self.steps.get(key).is_some_and(|all| all.iter().any(|position| self.has(branch, *position)))
    }

    pub(super) fn add(&mut self, hash: Hash, position: Position, fingerprint: Hash) {
        self.entries.entry(hash).or_default().push((position, fingerprint));
    }

    pub(super) fn add_step(&mut self, key: Hash, position: Position) {
        self.steps.entry(key).or_default().push(position);
    }

    /// Whether an entry is a branch's own, or inherited by it.
    fn has(&self, branch: BranchId, position: Position) -> bool {
        let (mut branch, mut until) = (branch, u64::MAX);
        loop {
            if branch == position.journal {
                return position.seq <= until;
            }
            let Some(parent) = self.parents.get(&branch).copied().flatten() else { return false };
            (branch, until) = (parent.journal, until.min(parent.seq));
        }
    }
}

/// The rows of a kind that a branch has itself, in `own` entries. Most give one.
async fn own_rows(client: &Client, at: Position, kind: u16, own: u64) -> Result<Vec<Row>> {
    let mut limit = usize::try_from(own).unwrap_or(usize::MAX);
    while limit > 0 {
        let mut rows = client.core.0.ledger.rows(RowQuery { at, kind, hashes: Vec::new(), limit }).await?;
        let found = rows.len();
        // The newest come first, so its own come before those that it inherits.
        rows.retain(|row| row.position.journal == at.journal);
        if found < limit || rows.len() < found {
            return Ok(rows);
        }
        limit = limit.saturating_mul(2);
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use samite_model::JournalId;

    #[test]
    fn a_branch_has_what_it_inherits_up_to_its_fork_and_no_more() {
        let [root, child, grandchild, other] = [1, 2, 3, 4].map(|id| JournalId([id; 16]));
        let at = |journal, seq| Position { journal, seq };
        let mut known = Known::default();
        // The grandchild leaves the child before the child's first own entry.
        known.parents.extend([
            (root, None),
            (child, Some(at(root, 5))),
            (grandchild, Some(at(child, 4))),
            (other, Some(at(child, 9))),
        ]);
        for (hash, position) in [(1, at(root, 4)), (2, at(root, 5)), (3, at(root, 6)), (4, at(child, 6))] {
            known.add([hash; 16], position, [9; 16]);
            known.add_step([hash; 16], position);
        }
        let has = |branch| -> Vec<u8> {
            let found: Vec<u8> = (1..=4).filter(|hash| known.entry(branch, &[*hash; 16]).is_some()).collect();
            assert_eq!(found, (1..=4).filter(|hash| known.has_step(branch, &[*hash; 16])).collect::<Vec<_>>());
            found
        };
        assert_eq!(
            (has(root), has(child), has(grandchild), has(other)),
            (vec![1, 2, 3], vec![1, 2, 4], vec![1], vec![1, 2, 4],)
        );
        known.add([1; 16], at(child, 7), [8; 16]);
        assert_eq!(known.entry(child, &[1; 16]), Some((at(child, 7), [8; 16])));
        assert_eq!(known.entry(root, &[1; 16]), Some((at(root, 4), [9; 16])));
    }
}
