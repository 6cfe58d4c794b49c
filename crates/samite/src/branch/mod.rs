//! Branches: the lines of a session, and which of them is current.

mod fork;
mod left_behind;
mod lifetime;

use crate::client::Client;
use crate::core::Core;
use crate::payload::{BranchForked, ForkReason};
use crate::session::branches_of;
use crate::step::StepRecord;
use crate::views::register;
use samite_ledger::{JournalState, JournalStatus, Read};
use samite_model::{BranchId, EntryKind, Error, Header, JournalId, Position, Result, SessionId};
use std::collections::{HashMap, HashSet};

pub(crate) use fork::First;
pub use fork::ForkOptions;
pub use lifetime::DeletionPlan;

/// How long a branch that is not current keeps its workspace trees after it was left, or after its last entry, whichever is
/// later, unless something else is said: 30 days, in nanoseconds.
pub const DEFAULT_TREES_KEPT: i64 = 30 * 24 * 3600 * 1_000_000_000;

/// How long a branch's workspace trees are kept. Its log always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// It is current.
    Current,
    /// For ever.
    Kept,
    /// Until then (ns since 1970).
    TreesUntil(i64),
}

/// A branch of a session.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Its id.
    pub id: BranchId,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it left its parent; none for the first branch.
    pub forked_at: Option<Position>,
    /// Why it was made; none for the first branch.
    pub reason: Option<ForkReason>,
    /// When, in nanoseconds since 1970; none for the first branch.
    pub forked_at_time: Option<i64>,
    /// Its last seq.
    pub head: u64,
    /// How long its trees are kept.
    pub lifetime: Lifetime,
    /// Whether it was deleted.
    pub deleted: bool,
    /// How many of its steps have no outcome: they run, or are in doubt.
    pub open_steps: usize,
    /// What was merged into it.
    pub merged: Vec<MergedFrom>,
    /// The branch that is being merged into it: that merge waits for decisions.
    pub merging: Option<BranchId>,
}

/// A merge into a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergedFrom {
    /// The seq of the merge on the branch.
    pub seq: u64,
    /// The second parent: where the tree that was merged was recorded.
    pub from: Position,
}

/// A step after a fork point that touched something outside, or may have, which a fork cannot undo.
#[derive(Clone, Debug)]
pub struct LeftBehind {
    /// The step.
    pub step: StepRecord,
    /// What it touched; empty when it may have touched anything outside.
    pub touches: Vec<String>,
}

/// What a fork or rewind did.
#[derive(Clone, Debug)]
pub struct ForkReport {
    /// The new branch.
    pub branch: BranchId,
    /// Where it left.
    pub at: Position,
    /// The branch that was current before.
    pub previous: BranchId,
    /// Effects after the fork point that stay in the world.
    pub left_behind: Vec<LeftBehind>,
    /// Steps that were open at the fork point: in doubt in the new branch.
    pub in_doubt: Vec<StepRecord>,
    /// When workspace trees of the branch that is not current may go (ns since 1970).
    pub trees_until: Option<i64>,
}

impl Client {
    /// The branches of a session, in the order in which they were made.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn branches(&self, session: SessionId) -> Result<Vec<Branch>> {
        let control = self.control(session).await?;
        let forks = self.core.forks(&control).await?;
        let lifetimes = self.core.lifetimes(&control).await?;
        let states = self.core.0.ledger.journals(branches_of(session)).await?;
        let (_, registers) = self.core.0.ledger.registers(control.id).await?;
        let deleted: HashSet<JournalId> = registers
            .iter()
            .filter(|entry| entry.kind == register::DELETED)
            .map(|entry| JournalId(entry.hash))
            .collect();
        let mut branches = Vec::with_capacity(states.len());
        for state in states {
            let lifetime = lifetimes.get(&state.id).copied().unwrap_or(Lifetime::Kept);
            let (forked, time) = forks.get(&state.id).map_or((None, None), |(fork, time)| (Some(fork), Some(*time)));
            // Registers count their changes: where there was none, nothing is open.
            let (mut open_steps, mut merged, mut merging) = (0, Vec::new(), None);
            if state.registers > 0 {
                let (_, registers) = self.core.0.ledger.registers(state.id).await?;
                open_steps = registers.iter().filter(|entry| entry.kind == register::OPEN_STEP).count();
                let open = registers.iter().find(|entry| entry.kind == register::OPEN_MERGE);
                merging = open.map(|open| JournalId::from_slice(&open.value)).transpose()?;
                let parents = self.core.second_parents(&state).await?;
                let own = parents.iter().filter(|(at, _)| at.journal == state.id);
                merged.extend(own.map(|(at, second)| MergedFrom { seq: at.seq, from: second.theirs }));
            }
            branches.push(Branch {
                id: state.id,
                name: forked.and_then(|fork| fork.name.clone()),
                forked_at: state.parent.or_else(|| forked.map(|fork| fork.at)),
                reason: forked.map(|fork| fork.reason),
                forked_at_time: time,
                head: state.head,
                lifetime,
                deleted: state.status == JournalStatus::Deleted || deleted.contains(&state.id),
                open_steps,
                merged,
                merging,
            });
        }
        Ok(branches)
    }

    /// The own entry that `seq` means on a branch: the branch's own, or one that it inherits.
    ///
    /// # Errors
    /// `not_found` when the branch does not reach `seq`.
    pub async fn position(&self, session: SessionId, branch: BranchId, seq: u64) -> Result<Position> {
        let state = self.branch_state(session, branch).await?;
        self.position_on(&state, seq).await
    }

    /// The same on a branch whose state was just read.
    pub(crate) async fn position_on(&self, state: &JournalState, seq: u64) -> Result<Position> {
        if seq > state.head {
            return Err(Error::not_found(
                "no_position",
                format!(
                    "branch {} of session {} ends at seq {}, before {seq}",
                    state.id.short(),
                    state.family.short(),
                    state.head
                ),
            )
            .hint("`samite session tree SESSION` shows which branch goes that far: name it, as SESSION:BRANCH@SEQ"));
        }
        let mut at = Position { journal: state.id, seq };
        let mut parent = state.parent;
        // What a fork inherits belongs to its parent.
        while let Some(inherited) = parent.filter(|parent| at.seq <= parent.seq) {
            at.journal = inherited.journal;
            parent = self.core.journal(at.journal).await?.parent;
        }
        Ok(at)
    }
}

impl Core {
    /// The forks that a session's control journal records, each with its time.
    async fn forks(&self, control: &JournalState) -> Result<HashMap<BranchId, (BranchForked, i64)>> {
        let kinds = vec![EntryKind::BRANCH_FORKED];
        let read = Read { kinds, ..Read::range(control.id, 1, control.head) };
        let mut forks = HashMap::new();
        for stored in self.0.ledger.read(read).await? {
            let entry = self.open(control.id, &stored)?;
            // What was erased with its session says nothing any more.
            if entry.payload.is_none() {
                continue;
            }
            let forked: BranchForked = entry.json()?;
            forks.insert(forked.branch, (forked, entry.header.time));
        }
        Ok(forks)
    }

    /// Where a fork left its parent, as its session's control journal has it.
    async fn forked_at(&self, control: &JournalState, branch: BranchId) -> Result<Option<Position>> {
        Ok(self.forks(control).await?.remove(&branch).map(|(fork, _)| fork.at))
    }

    /// How long the branches of a session keep their trees; one that is not named keeps them for ever.
    pub(crate) async fn lifetimes(&self, control: &JournalState) -> Result<HashMap<BranchId, Lifetime>> {
        // A fork's first lifetime is in its entry; registers hold what was said later.
        let mut lifetimes: HashMap<BranchId, Lifetime> = self
            .forks(control)
            .await?
            .into_iter()
            .map(|(branch, (fork, _))| (branch, fork.trees_until.map_or(Lifetime::Kept, Lifetime::TreesUntil)))
            .collect();
        let (_, registers) = self.0.ledger.registers(control.id).await?;
        let kinds = vec![EntryKind::BRANCH_LIFETIME];
        let read = Read { kinds, payloads: false, ..Read::range(control.id, 1, control.head) };
        let said: HashSet<u64> = self.0.ledger.read(read).await?.iter().map(|entry| entry.seq).collect();
        let mut current = None;
        // A lifetime that somebody set holds as it is.
        let mut set = HashSet::new();
        for entry in &registers {
            match entry.kind {
                register::CURRENT => current = Some(JournalId::from_slice(&entry.value)?),
                register::LIFETIME => {
                    let until = lifetime::until_of(&entry.value);
                    let branch = JournalId(entry.hash);
                    lifetimes.insert(branch, until.map_or(Lifetime::Kept, Lifetime::TreesUntil));
                    if said.contains(&entry.seq) {
                        set.insert(branch);
                    }
                }
                _ => {}
            }
        }
        for (branch, lifetime) in lifetimes.iter_mut().filter(|(branch, _)| !set.contains(branch)) {
            if let Lifetime::TreesUntil(until) = lifetime
                && let Some(last) = self.last_written(*branch).await?
            {
                *until = (*until).max(last.saturating_add(DEFAULT_TREES_KEPT));
            }
        }
        lifetimes.extend(current.map(|branch| (branch, Lifetime::Current)));
        Ok(lifetimes)
    }

    /// When a branch got its last own entry, in nanoseconds since 1970; none when it has none.
    async fn last_written(&self, branch: BranchId) -> Result<Option<i64>> {
        let Some(state) = self.0.ledger.journal(branch).await? else { return Ok(None) };
        if state.head <= state.parent.map_or(0, |parent| parent.seq) {
            return Ok(None);
        }
        let read = Read { payloads: false, ..Read::range(branch, state.head, state.head) };
        match self.0.ledger.read(read).await?.first() {
            Some(last) => Ok(Some(Header::decode(&last.header)?.time)),
            None => Ok(None),
        }
    }
}
