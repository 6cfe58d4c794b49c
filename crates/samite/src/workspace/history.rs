//! What the checkpoints of a session cost, and what was at risk between them.

use super::RecordedTree;
use crate::client::Client;
use crate::session::branches_of;
use samite_ledger::{JournalState, JournalStatus};
use samite_model::cadence::{Cause, Spent};
use samite_model::settings::{Bounds, Cadence};
use samite_model::{BlockId, BranchId, Position, Result, SessionId};
use std::collections::HashSet;

/// A checkpoint, with what it cost.
#[derive(Clone, Debug)]
pub struct CheckpointRecord {
    /// What was recorded.
    pub tree: RecordedTree,
    /// Why it was taken; none where an older samite took it.
    pub cause: Option<Cause>,
    /// How many bytes it added, sealed.
    pub new_bytes: u64,
    /// How long it took, in nanoseconds; none where the workspace was known to hold its tree, or an older samite took it.
    pub duration: Option<u64>,
    /// How long work had gone on that no tree had yet, in nanoseconds; 0 where nothing had changed.
    pub exposed: u64,
    /// Whether it was thinned out: its tree is gone, or goes with the next collection.
    pub thinned: bool,
    /// Whether its tree is there.
    pub there: bool,
}

/// What the checkpoints of one branch cost.
#[derive(Clone, Debug)]
pub struct BranchCheckpoints {
    /// The branch.
    pub branch: BranchId,
    /// How many of its own it has that were not thinned out.
    pub count: usize,
    /// The bytes that all its own added when they were taken.
    pub bytes: u64,
    /// The longest that work went on before a checkpoint of it, in nanoseconds: what a loss would have cost at worst.
    pub worst_loss: u64,
    /// For how long work has gone on that no checkpoint has, in nanoseconds; none where nothing was done since the last.
    pub unsaved: Option<u64>,
    /// How long they took together, in nanoseconds.
    pub duration: u64,
    /// The part of the time that they took.
    pub spent: Spent,
}

/// What the checkpoints of a session cost, against its bounds.
#[derive(Clone, Debug)]
pub struct SessionCheckpoints {
    /// By branch; those that were deleted are left out.
    pub branches: Vec<BranchCheckpoints>,
    /// What the trees hold, in bytes: what each added, without what was freed by thinning.
    pub held: u64,
    /// How many were thinned out.
    pub thinned: usize,
    /// The bounds, when it has any.
    pub bounds: Option<Bounds>,
    /// With bounds: the loss that they allow as things are, in nanoseconds: the bound, or more where the overhead allows no
    /// checkpoint as often.
    pub loss_kept: Option<u64>,
}

impl SessionCheckpoints {
    /// How many checkpoints there are.
    pub fn count(&self) -> usize {
        self.branches.iter().map(|branch| branch.count).sum()
    }

    /// The worst loss of all branches, in nanoseconds.
    pub fn worst_loss(&self) -> u64 {
        self.branches.iter().map(|branch| branch.worst_loss).max().unwrap_or(0)
    }

    /// How long all checkpoints took, in nanoseconds.
    pub fn duration(&self) -> u64 {
        self.branches.iter().map(|branch| branch.duration).sum()
    }

    /// The part of the time that checkpoints took, in thousandths, on all branches; none where no branch has a second one.
    pub fn overhead(&self) -> Option<u64> {
        self.branches.iter().fold(Spent::default(), |spent, branch| spent.and(branch.spent)).permille()
    }

    /// Whether the trees hold as many bytes as they may: only turns are still kept.
    pub fn is_full(&self) -> bool {
        self.bounds.is_some_and(|bounds| self.held >= bounds.max_bytes)
    }
}

impl Client {
    /// The checkpoints of a branch (none: the current one) that it took itself, in their order.
    ///
    /// # Errors
    /// `not_found` for an unknown session or branch; `corrupt` when one cannot be read.
    pub async fn checkpoints(&self, session: SessionId, branch: Option<BranchId>) -> Result<Vec<CheckpointRecord>> {
        let branch = self.or_current(session, branch).await?;
        let state = self.branch_state(session, branch).await?;
        let thinned = self.thinned(session).await?.positions;
        let mut records = self.records(&state, &thinned).await?;
        let roots = records.iter().map(|record| record.tree.tree.root).collect();
        let places = self.core.0.blocks.find_blocks(roots).await?;
        for (record, place) in records.iter_mut().zip(places) {
            record.there = place.is_some();
        }
        Ok(records)
    }

    async fn records(&self, state: &JournalState, thinned: &HashSet<Position>) -> Result<Vec<CheckpointRecord>> {
        let mut before: Option<(i64, BlockId)> = None;
        let mut records = Vec::new();
        for tree in self.own_trees(state).await? {
            let cost = tree.tree.cost();
            // An older samite left only the times: no more can have been lost than lies between them.
            let between = before
                .filter(|(_, root)| *root != tree.tree.root)
                .map_or(0, |(time, _)| u64::try_from(tree.time.saturating_sub(time)).unwrap_or(0));
            before = Some((tree.time, tree.tree.root));
            records.push(CheckpointRecord {
                cause: cost.map(|cost| cost.cause),
                new_bytes: tree.tree.new_bytes(),
                duration: cost.and_then(|cost| cost.took()),
                exposed: cost.map_or(between, |cost| cost.exposed),
                thinned: thinned.contains(&tree.position),
                there: true,
                tree,
            });
        }
        Ok(records)
    }

    /// What the checkpoints of a session cost, and what was at risk between them.
    ///
    /// # Errors
    /// `not_found` when there is no such session; `corrupt` when a checkpoint cannot be read.
    pub async fn session_checkpoints(&self, session: SessionId) -> Result<SessionCheckpoints> {
        let thinned = self.thinned(session).await?;
        let now = self.core.now();
        let mut branches = Vec::new();
        let mut latest: Option<(i64, u64)> = None;
        for state in self.core.0.ledger.journals(branches_of(session)).await? {
            if state.status != JournalStatus::Open {
                continue;
            }
            let records = self.records(&state, &thinned.positions).await?;
            let last = self.tree_at(Position { journal: state.id, seq: state.head }).await?;
            let unsaved = match last {
                Some(last) => self.unsaved_since(&state, Some(&last)).await?,
                // What has no workspace has nothing to lose.
                None => None,
            };
            if let Some(cost) = records.last().and_then(|record| record.tree.tree.cost()) {
                latest = latest.max(Some((cost.costs.begun, cost.costs.expected)));
            }
            let costs = records.iter().filter_map(|record| record.tree.tree.cost());
            let spent = Spent::by(costs.filter_map(|cost| Some((cost.costs.begun, cost.took()?))));
            branches.push(BranchCheckpoints {
                branch: state.id,
                count: records.iter().filter(|record| !record.thinned).count(),
                bytes: records.iter().map(|record| record.new_bytes).sum(),
                worst_loss: records.iter().map(|record| record.exposed).max().unwrap_or(0),
                unsaved: unsaved.map(|since| u64::try_from(now.saturating_sub(since)).unwrap_or(0)),
                duration: records.iter().filter_map(|record| record.duration).sum(),
                spent,
            });
        }
        let bounds = match self.settings(session).await?.cadence {
            Cadence::Adaptive(bounds) => Some(bounds),
            Cadence::Turn | Cadence::Step => None,
        };
        let expected = latest.map_or(0, |(_, expected)| expected);
        Ok(SessionCheckpoints {
            branches,
            held: self.held_by_session(session).await?,
            thinned: thinned.positions.len(),
            bounds,
            loss_kept: bounds.map(|bounds| bounds.loss_kept(expected)),
        })
    }
}
