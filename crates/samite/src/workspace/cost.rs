//! What checkpoints cost, and which are due.

use super::RecordedTree;
use crate::client::Client;
use crate::log::{ReadOptions, Reader};
use crate::payload::TreeRecorded;
use crate::session::branches_of;
use crate::views::row;
use crate::writer::Writer;
use samite_ledger::{JournalState, JournalStatus, Read, RowQuery};
use samite_model::cadence::{Boundary, Cause, Costs, Decision, Moment, Why, decide};
use samite_model::settings::{Bounds, Cadence};
use samite_model::{EntryKind, Header, Position, Result, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is recorded in a tree's report of its costs, under `cost`. The next snapshot, of whatever process, goes on from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeCost {
    /// Why it was recorded.
    pub cause: Cause,
    /// What snapshots of the branch cost so far, this one included.
    #[serde(flatten)]
    pub costs: Costs,
    /// How long work had gone on by then of which no earlier tree has anything, in nanoseconds: what would have been lost
    /// just before it. Nothing where the tree is as the one before.
    pub exposed: u64,
    /// What the branch's own trees added by then, in bytes.
    pub held: u64,
    /// Whether steps went on while it was taken.
    pub busy: bool,
    /// Whether the workspace was known to hold the tree, so that nobody looked: it took no time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
}

impl TreeCost {
    /// How long the look took, in nanoseconds; none where there was none.
    pub fn took(&self) -> Option<u64> {
        (!self.known).then_some(self.costs.duration)
    }
}

impl TreeRecorded {
    /// What it cost; none where an older samite recorded it.
    pub fn cost(&self) -> Option<TreeCost> {
        self.report.get("cost").and_then(|cost| serde_json::from_value(cost.clone()).ok())
    }

    /// How many bytes it added, sealed.
    pub fn new_bytes(&self) -> u64 {
        self.report.get("new_bytes").and_then(Value::as_u64).unwrap_or(0)
    }
}

/// What stands in the journal before a snapshot is made that has to do with its costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    /// Those of the tree before, whichever branch has it.
    costs: Option<Costs>,
    /// The part of the time that snapshots may take, in thousandths.
    permille: u32,
    /// Since when work goes on that no tree has.
    pub(super) since: Option<i64>,
    /// What the branch's own trees hold.
    held: u64,
    /// Whether a step goes on.
    busy: bool,
}

impl Before {
    /// What is recorded of a snapshot that began and ended then.
    pub(super) fn cost(&self, cause: Cause, (begun, ended): (i64, i64), new_bytes: u64, unchanged: bool) -> TreeCost {
        let nanoseconds = |from: i64| u64::try_from(ended.saturating_sub(from)).unwrap_or(0);
        TreeCost {
            cause,
            costs: Costs::after(self.costs.as_ref(), begun, nanoseconds(begun), self.permille),
            exposed: if unchanged { 0 } else { self.since.map_or(0, nanoseconds) },
            held: self.held.saturating_add(new_bytes),
            busy: self.busy,
            known: false,
        }
    }

    /// What is recorded of a tree that the workspace is known to hold, without a look.
    pub(super) fn unseen(&self, cause: Cause, now: i64) -> TreeCost {
        let costs = self.costs.map_or_else(Costs::default, |costs| costs.at(now, self.permille));
        let costs = Costs { begun: now, ..costs };
        TreeCost { cause, costs, exposed: 0, held: self.held, busy: self.busy, known: true }
    }
}

/// What may come right after a tree and is the end of something, not the beginning of work.
const ENDS: [EntryKind; 7] = [
    EntryKind::STEP_COMPLETED,
    EntryKind::STEP_FAILED,
    EntryKind::STEP_RESOLVED,
    EntryKind::STEP_ABANDONED,
    EntryKind::STEP_SEEN,
    EntryKind::TURN_ENDED,
    EntryKind::ARTIFACT_PUBLISHED,
];

/// So many entries after a tree are looked at for the beginning of work.
const LOOKED_AT: usize = 16;

impl Client {
    /// Since when work goes on of which a branch has no tree, in nanoseconds since 1970; none where nothing was done.
    pub(crate) async fn unsaved_since(
        &self,
        branch: &JournalState,
        last: Option<&RecordedTree>,
    ) -> Result<Option<i64>> {
        if let Some(cost) = last.and_then(|last| last.tree.cost()).filter(|cost| cost.busy) {
            return Ok(Some(cost.costs.begun));
        }
        let first = branch.parent.map_or(1, |parent| parent.seq + 1);
        let from = last.filter(|last| last.position.journal == branch.id).map_or(first, |last| last.position.seq + 1);
        if from > branch.head {
            return Ok(None);
        }
        let read = Read { limit: LOOKED_AT, payloads: false, ..Read::range(branch.id, from, branch.head) };
        for stored in self.core.0.ledger.read(read).await? {
            let header = Header::decode(&stored.header)?;
            if !ENDS.contains(&header.kind) {
                return Ok(Some(header.time));
            }
        }
        Ok(None)
    }

    /// What the own trees of a branch added, in bytes.
    async fn held_by(&self, branch: &JournalState) -> Result<u64> {
        let at = Position { journal: branch.id, seq: branch.head };
        let query = RowQuery { at, kind: row::TREE, hashes: Vec::new(), limit: 1 };
        let own = self.core.0.ledger.rows(query).await?;
        let Some(last) = own.first().filter(|last| last.position.journal == branch.id) else { return Ok(0) };
        let tree: TreeRecorded = self.core.entry_at(last.position).await?.json()?;
        match tree.cost() {
            Some(cost) => Ok(cost.held),
            None => Ok(self.own_trees(branch).await?.iter().map(|tree| tree.tree.new_bytes()).sum()),
        }
    }

    /// The trees that a branch recorded itself, in their order.
    pub(crate) async fn own_trees(&self, branch: &JournalState) -> Result<Vec<RecordedTree>> {
        let first = branch.parent.map_or(1, |parent| parent.seq + 1);
        if branch.head < first {
            return Ok(Vec::new());
        }
        let options = ReadOptions { from: first, kinds: vec![EntryKind::TREE], ..ReadOptions::default() };
        let head = Position { journal: branch.id, seq: branch.head };
        let entries = Reader::new(self.core.clone(), head, options).await?.all().await?;
        entries
            .iter()
            // What was erased with its owner says nothing any more.
            .filter(|entry| entry.payload.is_some())
            .map(|entry| Ok(RecordedTree { position: entry.position, time: entry.header.time, tree: entry.json()? }))
            .collect()
    }

    /// What the trees of a session hold, in bytes: what each added, without what was freed by thinning, and without branches
    /// whose time is over: a collection takes those.
    pub(super) async fn held_by_session(&self, session: SessionId) -> Result<u64> {
        let control = self.control(session).await?;
        let (lifetimes, thinned) = (self.core.lifetimes(&control).await?, self.core.thinned(&control).await?);
        let now = self.core.now();
        let mut held = 0_u64;
        for branch in self.core.0.ledger.journals(branches_of(session)).await? {
            let over = lifetimes.get(&branch.id).is_some_and(|lifetime| lifetime.is_over(now));
            if branch.status == JournalStatus::Open && !over {
                let freed = thinned.bytes.get(&branch.id).copied().unwrap_or_default();
                held = held.saturating_add(self.held_by(&branch).await?.saturating_sub(freed));
            }
        }
        Ok(held)
    }
}

impl Writer {
    /// What is known before a snapshot of the branch is made.
    pub(super) async fn before(&self, last: Option<&RecordedTree>, cause: Cause) -> Result<Before> {
        let branch = self.core().journal(self.branch()).await?;
        let permille = match self.client.settings(self.session()).await?.cadence {
            Cadence::Adaptive(bounds) => bounds.max_overhead,
            Cadence::Turn | Cadence::Step => Bounds::default().max_overhead,
        };
        let (_, open) = self.open_steps(true).await?;
        // Those of another epoch are in doubt: nobody is at them.
        let going_on = open.iter().filter(|step| !step.inherited && step.epoch == self.epoch()).count();
        let others = going_on.saturating_sub(usize::from(cause == Cause::StepEnd));
        Ok(Before {
            costs: last.and_then(|last| last.tree.cost()).map(|cost| cost.costs),
            permille,
            since: self.client.unsaved_since(&branch, last).await?,
            held: self.client.held_by(&branch).await?,
            busy: others > 0,
        })
    }

    /// Whether a checkpoint is due at a boundary. `checked` is what a look that found nothing changed since cost.
    ///
    /// # Errors
    /// `corrupt` when what is recorded cannot be read.
    pub(crate) async fn due(&self, boundary: Boundary, checked: Option<Costs>) -> Result<Decision> {
        let cadence = self.client.settings(self.session()).await?.cadence;
        let none = Decision::Wait { nanoseconds: u64::MAX, why: Why::Cadence };
        if (cadence == Cadence::Turn && boundary != Boundary::TurnEnd) || self.workspace().await?.is_none() {
            return Ok(none);
        }
        let mut moment = Moment { boundary, now: self.core().now(), costs: None, held: 0, changed: true };
        if let Cadence::Adaptive(_) = cadence {
            let costs = self.last_tree().await?.and_then(|last| last.tree.cost()).map(|cost| cost.costs);
            moment.costs = costs.into_iter().chain(checked).max_by_key(|costs| costs.begun);
            moment.held = self.client.held_by_session(self.session()).await?;
        }
        Ok(decide(&cadence, &moment))
    }
}
