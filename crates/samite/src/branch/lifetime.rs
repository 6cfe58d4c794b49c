//! How long branches last.

use super::Lifetime;
use crate::client::Client;
use crate::core::Core;
use crate::payload::{BranchCurrent, BranchDeleted, BranchLifetime};
use crate::views::{self, register};
use crate::writer::WriterOptions;
use samite_ledger::{Append, Commit, Guard, JournalFilter, JournalState, JournalStatus, Read, Register};
use samite_model::{BlockId, BranchId, EntryKind, Error, Header, JournalId, Result, SessionId};
use std::collections::BTreeSet;

/// How often a deletion looks again because the branches of its session changed under it.
const ROUNDS: usize = 64;

/// An entry about a deletion names at most so many trees, and so many blocks of payloads.
const NAMED: usize = 2048;

/// What the deletion of a branch cuts off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletionPlan {
    /// The last seq that other branches inherit, and that stays; 0 for none.
    pub kept_to: u64,
    /// How many entries cannot be reached from then on.
    pub entries: u64,
    /// How many workspace trees are among them.
    pub trees: usize,
    /// When the first of them was written, in nanoseconds since 1970.
    pub from: Option<i64>,
}

/// When a branch's trees may go, as its register says; none keeps them for ever.
pub(super) fn until_of(value: &[u8]) -> Option<i64> {
    <[u8; 8]>::try_from(value).ok().map(i64::from_be_bytes)
}

impl Client {
    /// Sets how long a branch that is not current keeps its workspace trees; none keeps them for ever.
    ///
    /// # Errors
    /// `not_found` for an unknown branch.
    pub async fn set_lifetime(&self, session: SessionId, branch: BranchId, trees_until: Option<i64>) -> Result<()> {
        let control = self.control(session).await?;
        self.branch_state(session, branch).await?;
        let lifetime = BranchLifetime { branch, trees_until };
        let draft = self.core.draft(EntryKind::BRANCH_LIFETIME, &lifetime, views::branch_lifetime(&lifetime))?;
        let entry = self.core.seal(control.id, &self.author(0), draft)?;
        let append = Append { journal: control.id, entries: vec![entry] };
        self.core.0.ledger.commit(Commit { appends: vec![append], ..Commit::default() }).await.map(|_| ())
    }

    /// What is said when another branch becomes current: what was decided of either's lifetime stands, whoever may fork.
    pub(super) async fn becomes_current(
        &self,
        control: &JournalState,
        registers: &[Register],
        branch: BranchId,
        previous: BranchId,
        until: Option<i64>,
    ) -> Result<BranchCurrent> {
        let mut becomes = BranchCurrent { branch, previous, previous_trees_until: until, decided: Vec::new() };
        for one in [branch, previous] {
            let is_its = |entry: &&Register| entry.kind == register::LIFETIME && JournalId(entry.hash) == one;
            let Some(stands) = registers.iter().find(is_its) else { continue };
            let read = Read { payloads: false, ..Read::range(control.id, stands.seq, stands.seq) };
            let said = self.core.0.ledger.read(read).await?;
            let Some(said) = said.first() else { continue };
            if Header::decode(&said.header)?.kind != EntryKind::BRANCH_LIFETIME {
                continue;
            }
            becomes.decided.push(one);
            if one == previous {
                becomes.previous_trees_until = until_of(&stands.value);
            }
        }
        Ok(becomes)
    }

    /// Deletes a branch: its log, but for what forks of it inherit. When this returns, it is durable, and an entry of the
    /// session says where the branch's journal ends now and what a collection may take for it. A deletion that was cut off
    /// is ended by another.
    ///
    /// # Errors
    /// `conflict`: `branch_current` for the current branch, `lease_held` while a writer holds it and lives;
    /// `not_found` for an unknown one.
    pub async fn delete_branch(&self, session: SessionId, branch: BranchId) -> Result<BranchDeleted> {
        let control = self.control(session).await?;
        self.refuse_if_held_back(session).await?;
        if self.current_of(&control).await? != branch {
            self.refuse_if_held(branch, &WriterOptions::default()).await?;
        }
        for _ in 0..ROUNDS {
            let kept_to = self.mark_deleted(&control, branch).await?;
            match self.core.0.ledger.delete_journal(branch, kept_to).await {
                Ok(()) => {
                    self.say_again_of_cut(branch, kept_to).await?;
                    return Ok(BranchDeleted { branch, kept_to, trees: Vec::new(), payloads: Vec::new() });
                }
                // A fork that had begun before came in between.
                Err(error) if error.code() == "fork_depends" => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::conflict("branch_contended", format!("branch {} keeps being forked", branch.short()))
            .hint("try again"))
    }

    /// Makes the views of what is kept of a deleted branch again where they need it: what a cut-off entry undid, such as
    /// that a step is open, holds again. Whoever dies before that leaves views that a verification names, and deleting the
    /// branch again mends.
    async fn say_again_of_cut(&self, branch: BranchId, kept_to: u64) -> Result<()> {
        let inherited = self.core.journal(branch).await?.parent.map_or(0, |parent| parent.seq);
        if kept_to > inherited && !self.core.views_agree(branch).await? {
            self.core.replace_views(branch).await?;
        }
        Ok(())
    }

    /// What [`Client::delete_branch`] would cut off now. Writes nothing.
    ///
    /// # Errors
    /// As [`Client::delete_branch`].
    pub async fn plan_deletion(&self, session: SessionId, branch: BranchId) -> Result<DeletionPlan> {
        let control = self.control(session).await?;
        let state = self.branch_state(session, branch).await?;
        let (_, registers) = self.core.0.ledger.registers(control.id).await?;
        if current_in(&registers)? == Some(branch) {
            return Err(is_current(branch));
        }
        self.refuse_if_held(branch, &WriterOptions::default()).await?;
        let kept_to = self.needed_by_forks(session, branch).await?;
        let gone = self.what_is_cut_off(&control, branch, kept_to).await?;
        let first = Read { limit: 1, payloads: false, ..Read::range(branch, kept_to.saturating_add(1), state.head) };
        let first = self.core.0.ledger.read(first).await?;
        let from = first.first().map(|entry| Header::decode(&entry.header)).transpose()?.map(|header| header.time);
        Ok(DeletionPlan {
            kept_to,
            entries: state.head.saturating_sub(kept_to),
            trees: gone.iter().map(|gone| gone.trees.len()).sum(),
            from,
        })
    }

    /// Records that a branch is deleted, which keeps it from being made current or forked from then on, and up to where
    /// its entries stay, which it returns.
    async fn mark_deleted(&self, control: &JournalState, branch: BranchId) -> Result<u64> {
        for _ in 0..ROUNDS {
            let not_held = self.refuse_if_held_back(control.family).await?;
            let kept_to = self.needed_by_forks(control.family, branch).await?;
            let (version, registers) = self.core.0.ledger.registers(control.id).await?;
            if is_deleted(&registers, branch) {
                let said = self.core.deletions(control).await?;
                if said.iter().flatten().any(|said| said.branch == branch && said.kept_to == kept_to) {
                    return Ok(kept_to);
                }
            }
            if current_in(&registers)? == Some(branch) {
                return Err(is_current(branch));
            }
            let mut entries = Vec::new();
            for deleted in self.what_is_cut_off(control, branch, kept_to).await? {
                let draft = self.core.draft(EntryKind::BRANCH_DELETED, &deleted, views::branch_deleted(&deleted))?;
                entries.push(self.core.seal(control.id, &self.author(0), draft)?);
            }
            let commit = Commit {
                guards: vec![Guard::Registers { journal: control.id, version }, not_held],
                appends: vec![Append { journal: control.id, entries }],
                ..Commit::default()
            };
            match self.core.0.ledger.commit(commit).await {
                Err(error) if matches!(error.code(), "registers_moved" | "outcome_unknown") => {}
                other => return other.map(|_| kept_to),
            }
        }
        Err(Error::conflict("session_contended", "the branches of the session keep changing").hint("try again"))
    }

    /// What is recorded of a deletion: its rows go with its entries, and a collection could not say whose trees it takes.
    async fn what_is_cut_off(
        &self,
        control: &JournalState,
        branch: BranchId,
        kept_to: u64,
    ) -> Result<Vec<BranchDeleted>> {
        let state = self.branch_state(control.family, branch).await?;
        let trees: BTreeSet<BlockId> = self
            .trees(&state)
            .await?
            .into_iter()
            .filter(|(at, _)| at.journal == branch && at.seq > kept_to)
            .map(|(_, root)| root)
            .collect();
        let mut roots = Vec::new();
        self.payloads(&state, kept_to, &mut roots).await?;
        let payloads: BTreeSet<BlockId> = roots.into_iter().map(|root| root.block).collect();
        let (trees, payloads): (Vec<BlockId>, Vec<BlockId>) =
            (trees.into_iter().collect(), payloads.into_iter().collect());
        let (mut trees, mut payloads) = (trees.chunks(NAMED), payloads.chunks(NAMED));
        let mut entries = Vec::new();
        loop {
            let (some, others) = (trees.next(), payloads.next());
            if some.is_none() && others.is_none() && !entries.is_empty() {
                return Ok(entries);
            }
            let [trees, payloads] = [some, others].map(|blocks| blocks.unwrap_or_default().to_vec());
            entries.push(BranchDeleted { branch, kept_to, trees, payloads });
        }
    }

    /// The last seq of a branch that live forks of it inherit.
    async fn needed_by_forks(&self, session: SessionId, branch: BranchId) -> Result<u64> {
        let state = self.branch_state(session, branch).await?;
        let children = JournalFilter { parent: Some(branch), ..JournalFilter::default() };
        let children = self.core.0.ledger.journals(children).await?;
        Ok(children
            .iter()
            .filter(|child| child.status == JournalStatus::Open || child.head > child.parent.map_or(0, |at| at.seq))
            .filter_map(|child| child.parent.map(|parent| parent.seq))
            .max()
            .unwrap_or_else(|| state.parent.map_or(0, |parent| parent.seq)))
    }
}

impl Core {
    /// What a session's control journal says of the branches that were deleted, in its order; none where an entry's words
    /// were erased with their owner.
    pub(crate) async fn deletions(&self, control: &JournalState) -> Result<Vec<Option<BranchDeleted>>> {
        let kinds = vec![EntryKind::BRANCH_DELETED];
        let read = Read { kinds, ..Read::range(control.id, 1, control.head) };
        let mut deletions = Vec::new();
        for stored in self.0.ledger.read(read).await? {
            let entry = self.open(control.id, &stored)?;
            deletions.push(if entry.payload.is_some() { Some(entry.json()?) } else { None });
        }
        Ok(deletions)
    }
}

fn is_current(branch: BranchId) -> Error {
    Error::conflict("branch_current", format!("branch {} is current", branch.short()))
        .hint("make another branch current first: `samite rewind`, or `samite branch use`")
}

/// Whether a session's registers say that a branch was deleted.
pub(super) fn is_deleted(registers: &[Register], branch: BranchId) -> bool {
    registers.iter().any(|entry| entry.kind == register::DELETED && entry.hash == branch.0)
}

/// The current branch that a session's registers name.
pub(super) fn current_in(registers: &[Register]) -> Result<Option<BranchId>> {
    let current = registers.iter().find(|entry| entry.kind == register::CURRENT);
    current.map(|entry| JournalId::from_slice(&entry.value)).transpose()
}

impl Lifetime {
    /// Whether the trees may go at `now` (ns since 1970).
    pub fn is_over(self, now: i64) -> bool {
        matches!(self, Self::TreesUntil(until) if until <= now)
    }
}
