//! Thinning: old checkpoints are given up by a rule, so that a collection may take their trees. The log stays.

use super::RecordedTree;
use crate::client::Client;
use crate::core::Core;
use crate::log::{ReadOptions, Reader};
use crate::payload::{CheckpointsThinned, Merged, ThinnedTree, WorkspaceClosed};
use crate::session::branches_of;
use crate::views::Projection;
use samite_ledger::{Append, Commit, Guard, JournalState, JournalStatus, Read};
use samite_model::cadence::Cause;
use samite_model::thinning::{Candidate, Rule, keep};
use samite_model::{BlockId, BranchId, EntryKind, Error, Position, Result, SessionId};
use std::collections::{HashMap, HashSet};

/// What thinning gives up of a branch.
#[derive(Clone, Debug)]
pub struct ThinnedBranch {
    /// The branch.
    pub branch: BranchId,
    /// How many checkpoints of its own it has, those that are to go included.
    pub checkpoints: usize,
    /// How many of them something needs: a fork, a merge, an open step, an artifact, a person's word, or going on.
    pub needed: usize,
    /// Those that go, in their order.
    pub thinned: Vec<RecordedTree>,
    /// How many bytes a collection then takes that it would not take without.
    pub bytes: u64,
}

/// What thinning gives up.
#[derive(Clone, Debug, Default)]
pub struct ThinningPlan {
    /// By branch, in the order in which they were made; branches that lose nothing too.
    pub branches: Vec<ThinnedBranch>,
}

impl ThinningPlan {
    /// How many checkpoints go.
    pub fn count(&self) -> usize {
        self.branches.iter().map(|branch| branch.thinned.len()).sum()
    }

    /// Where the checkpoints are that go.
    fn positions(&self) -> HashSet<Position> {
        self.branches.iter().flat_map(|branch| &branch.thinned).map(|tree| tree.position).collect()
    }

    /// How many bytes a collection then takes.
    pub fn bytes(&self) -> u64 {
        self.branches.iter().map(|branch| branch.bytes).sum()
    }
}

/// What was thinned out of a session.
#[derive(Clone, Debug, Default)]
pub struct Thinned {
    /// Where the checkpoints are.
    pub positions: HashSet<Position>,
    /// How many bytes were to go with them, by branch.
    pub bytes: HashMap<BranchId, u64>,
}

/// An entry names at most so many trees.
const NAMED: usize = 2048;

/// How often it is planned again because the session changed meanwhile.
const ROUNDS: usize = 64;

/// What names trees for good, in the log of a branch.
const NAMING: [EntryKind; 2] = [EntryKind::MERGED, EntryKind::WORKSPACE_CLOSED];

impl Client {
    /// What thinning out the checkpoints of a branch (none: of every branch of the session) by a rule gives up. Writes
    /// nothing.
    ///
    /// # Errors
    /// `not_found` for an unknown session or branch; `corrupt` when what is kept cannot be read.
    pub async fn plan_thinning(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        rule: &Rule,
    ) -> Result<ThinningPlan> {
        let plan = self.thinning(session, branch, rule).await?;
        self.with_bytes(plan).await
    }

    /// A plan with the bytes that go.
    async fn with_bytes(&self, mut plan: ThinningPlan) -> Result<ThinningPlan> {
        let bytes = self.bytes_without(&plan.positions()).await?;
        for branch in &mut plan.branches {
            // One tree may stand in several places.
            let roots: HashSet<BlockId> = branch.thinned.iter().map(|tree| tree.tree.root).collect();
            branch.bytes = roots.iter().filter_map(|root| bytes.get(&(branch.branch, *root))).sum();
        }
        Ok(plan)
    }

    /// Gives up what [`Client::plan_thinning`] said, but for what is needed meanwhile, and nothing else. Answers with what
    /// went. When this returns, an entry of the session says so durably, and the next collection takes the trees. What was
    /// given up and not yet collected can still be restored.
    ///
    /// # Errors
    /// As [`Client::plan_thinning`]; `conflict` (`session_contended`) when the session keeps changing.
    pub async fn thin(&self, session: SessionId, rule: &Rule, agreed: &ThinningPlan) -> Result<ThinningPlan> {
        let agreed = agreed.positions();
        let mut unknown: Option<ThinningPlan> = None;
        for _ in 0..ROUNDS {
            let not_held = self.refuse_if_held_back(session).await?;
            // A fork that comes in between needs what was not needed before: it moves this head.
            let control = self.control(session).await?;
            if let Some(tried) = unknown.take()
                && tried.positions().is_subset(&self.core.thinned(&control).await?.positions)
            {
                return Ok(tried);
            }
            let mut plan = self.thinning(session, None, rule).await?;
            for branch in &mut plan.branches {
                branch.thinned.retain(|tree| agreed.contains(&tree.position));
            }
            let plan = self.with_bytes(plan).await?;
            if plan.count() == 0 {
                return Ok(plan);
            }
            let mut entries = Vec::new();
            for branch in plan.branches.iter().filter(|branch| !branch.thinned.is_empty()) {
                let mut bytes = branch.bytes;
                for trees in branch.thinned.chunks(NAMED) {
                    let tree = |tree: &RecordedTree| ThinnedTree { seq: tree.position.seq, root: tree.tree.root };
                    let thinned = CheckpointsThinned {
                        branch: branch.branch,
                        trees: trees.iter().map(tree).collect(),
                        bytes: std::mem::take(&mut bytes),
                        rule: *rule,
                    };
                    let kind = EntryKind::CHECKPOINTS_THINNED;
                    let draft = self.core.draft(kind, &thinned, Projection::default())?;
                    entries.push(self.core.seal(control.id, &self.author(0), draft)?);
                }
            }
            let commit = Commit {
                guards: vec![Guard::Head { journal: control.id, seq: control.head }, not_held],
                appends: vec![Append { journal: control.id, entries }],
                ..Commit::default()
            };
            samite_host::kill_point("thin.before_commit");
            match self.core.0.ledger.commit(commit).await {
                Err(error) if error.code() == "outcome_unknown" => unknown = Some(plan),
                Err(error) if matches!(error.code(), "head_moved" | "registers_moved") => {}
                Err(error) => return Err(error),
                Ok(_) => {
                    samite_host::kill_point("thin.after_commit");
                    return Ok(plan);
                }
            }
        }
        Err(Error::conflict("session_contended", "the session keeps changing").hint("try again"))
    }

    /// What was thinned out of a session so far.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn thinned(&self, session: SessionId) -> Result<Thinned> {
        let control = self.control(session).await?;
        self.core.thinned(&control).await
    }

    /// The plan, without bytes.
    async fn thinning(&self, session: SessionId, branch: Option<BranchId>, rule: &Rule) -> Result<ThinningPlan> {
        if let Some(branch) = branch {
            self.branch_state(session, branch).await?;
        }
        let already = self.thinned(session).await?.positions;
        let states = self.core.0.ledger.journals(branches_of(session)).await?;
        let open: Vec<&JournalState> = states.iter().filter(|state| state.status == JournalStatus::Open).collect();
        let (positions, roots) = self.needed(session, &open).await?;
        let now = self.core.now();
        let mut plan = ThinningPlan::default();
        for state in open.into_iter().filter(|state| branch.is_none_or(|branch| branch == state.id)) {
            let mut own = self.own_trees(state).await?;
            own.retain(|tree| !already.contains(&tree.position));
            let places = self.core.0.blocks.find_blocks(own.iter().map(|tree| tree.tree.root).collect()).await?;
            let mut places = places.into_iter();
            // What a collection took for other reasons is gone already.
            own.retain(|_| places.next().is_some_and(|place| place.is_some()));
            let candidate = |tree: &RecordedTree| Candidate {
                time: tree.time,
                needed: positions.contains(&tree.position) || roots.contains(&tree.tree.root) || is_meant(tree),
            };
            let candidates: Vec<Candidate> = own.iter().map(candidate).collect();
            let needed = candidates.iter().filter(|candidate| candidate.needed).count();
            let checkpoints = own.len();
            let kept = keep(rule, now, &candidates);
            let thinned = own.into_iter().zip(kept).filter(|(_, kept)| !kept).map(|(tree, _)| tree).collect();
            plan.branches.push(ThinnedBranch { branch: state.id, checkpoints, needed, thinned, bytes: 0 });
        }
        Ok(plan)
    }

    /// The positions and the trees that must stay: what branches go on from, what forks go on from, what open steps would be
    /// put back to, and what merges, artifacts and receipts name.
    async fn needed(
        &self,
        session: SessionId,
        open: &[&JournalState],
    ) -> Result<(HashSet<Position>, HashSet<BlockId>)> {
        let mut positions = self.checkpoints_of_artifacts(session).await?;
        let mut roots = HashSet::new();
        for state in open {
            positions.extend(gone_on_from(&self.trees(state).await?));
            roots.extend(self.trees_of_open_steps(state).await?);
            if let Some((_, merge)) = self.core.open_merge(state).await? {
                roots.extend(merge.trees());
                positions.extend([merge.ours, merge.theirs]);
            }
            for (_, merged) in self.core.second_parents(state).await? {
                roots.insert(merged.root);
                positions.insert(merged.theirs);
            }
            let first = state.parent.map_or(1, |parent| parent.seq + 1);
            if state.head < first {
                continue;
            }
            let head = Position { journal: state.id, seq: state.head };
            let options = ReadOptions { from: first, kinds: NAMING.to_vec(), ..ReadOptions::default() };
            // What was erased with its owner names nothing any more.
            let entries = Reader::new(self.core.clone(), head, options).await?.all().await?;
            for entry in entries.into_iter().filter(|entry| entry.payload.is_some()) {
                if entry.header.kind == EntryKind::MERGED {
                    let merged: Merged = entry.json()?;
                    positions.insert(merged.ours);
                    roots.insert(merged.root);
                } else {
                    let closed: WorkspaceClosed = entry.json()?;
                    positions.insert(closed.tree);
                    roots.insert(closed.root);
                }
            }
        }
        Ok((positions, roots))
    }
}

/// Whether somebody meant it: it has a person's word, or is what was there before something was put back.
fn is_meant(tree: &RecordedTree) -> bool {
    match tree.tree.cost().map(|cost| cost.cause) {
        // An older samite did not say who chose the word.
        None | Some(Cause::Asked) => tree.tree.label.is_some(),
        Some(cause) => cause == Cause::Safety,
    }
}

/// Of a branch's trees, newest first, those that it cannot go on without: its newest, the one that it began with, and those
/// that the branches in between began with, since a merge with any of them compares with such a one.
pub(crate) fn gone_on_from(trees: &[(Position, BlockId)]) -> Vec<Position> {
    let mut journals = HashSet::new();
    trees.iter().map(|(at, _)| *at).filter(|at| journals.insert(at.journal)).collect()
}

impl Core {
    /// What a session's control journal says was thinned out.
    pub(crate) async fn thinned(&self, control: &JournalState) -> Result<Thinned> {
        let kinds = vec![EntryKind::CHECKPOINTS_THINNED];
        let read = Read { kinds, ..Read::range(control.id, 1, control.head) };
        let mut thinned = Thinned::default();
        for stored in self.0.ledger.read(read).await? {
            let entry = self.open(control.id, &stored)?;
            if entry.payload.is_some() {
                let said: CheckpointsThinned = entry.json()?;
                let at = |tree: &ThinnedTree| Position { journal: said.branch, seq: tree.seq };
                thinned.positions.extend(said.trees.iter().map(at));
                let bytes = thinned.bytes.entry(said.branch).or_default();
                *bytes = bytes.saturating_add(said.bytes);
            }
        }
        Ok(thinned)
    }
}

/// How many bytes go with each tree of each branch.
pub(crate) type BytesByTree = HashMap<(BranchId, BlockId), u64>;
