//! Steps in doubt on the lines that rewinds left: they are no doubts of the line that goes on, and still are doubts.

use crate::client::Client;
use crate::payload::{BranchCurrent, BranchForked, ForkReason};
use crate::step::StepRecord;
use crate::views::register;
use crate::workspace::RESTORE;
use samite_ledger::{JournalStatus, Read};
use samite_model::step::State;
use samite_model::{BranchId, EntryKind, Position, Result, SessionId};
use std::collections::{HashMap, HashSet};

/// A step in doubt on a line that was left by a rewind.
#[derive(Clone, Debug)]
pub struct LeftInDoubt {
    /// The branch that it is in doubt on.
    pub branch: BranchId,
    /// The step.
    pub step: StepRecord,
}

impl Client {
    /// The steps in doubt on the lines that a branch left by rewinds, the last left first, without those that the branch itself
    /// inherited.
    ///
    /// # Errors
    /// `not_found` when there is no such branch; `corrupt` when an entry cannot be read.
    pub async fn left_in_doubt(&self, session: SessionId, branch: BranchId) -> Result<Vec<LeftInDoubt>> {
        let lines = self.lines_left(session, branch).await?;
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let inherited = self.core.ancestry(self.head(session, branch).await?).await?;
        let is_inherited = |start: Position| {
            inherited.iter().any(|segment| segment.journal == start.journal && start.seq <= segment.to)
        };
        let mut left = Vec::new();
        let mut seen = HashSet::new();
        for line in lines {
            let state = self.core.journal(line).await?;
            let (_, registers) = self.core.0.ledger.registers(line).await?;
            let has_open = registers.iter().any(|entry| entry.kind == register::OPEN_STEP);
            if state.status != JournalStatus::Open || !has_open {
                continue;
            }
            for step in self.steps_from(line, 1, state.head).await? {
                let is_doubt = step.state == State::InDoubt && step.outcome.is_none() && step.started.tool != RESTORE;
                if is_doubt && !is_inherited(step.start) && seen.insert(step.id) {
                    left.push(LeftInDoubt { branch: line, step });
                }
            }
        }
        Ok(left)
    }

    /// The lines that a branch left by rewinds: the one that was current before it, before that one, and so on.
    async fn lines_left(&self, session: SessionId, branch: BranchId) -> Result<Vec<BranchId>> {
        let control = self.control(session).await?;
        let kinds = vec![EntryKind::BRANCH_FORKED, EntryKind::BRANCH_CURRENT];
        let read = Read { kinds, ..Read::range(control.id, 1, control.head) };
        let mut rewinds: HashSet<BranchId> = HashSet::new();
        let mut before: HashMap<BranchId, BranchId> = HashMap::new();
        for stored in self.core.0.ledger.read(read).await? {
            let entry = self.core.open(control.id, &stored)?;
            if entry.payload.is_none() {
                continue;
            }
            if entry.header.kind == EntryKind::BRANCH_FORKED {
                let forked: BranchForked = entry.json()?;
                if forked.reason == ForkReason::Rewind {
                    rewinds.insert(forked.branch);
                }
            } else {
                let current: BranchCurrent = entry.json()?;
                // The first time is when it was made.
                before.entry(current.branch).or_insert(current.previous);
            }
        }
        let mut lines: Vec<BranchId> = Vec::new();
        let mut last = branch;
        while let Some(previous) = before.get(&last).filter(|_| rewinds.contains(&last)) {
            if lines.contains(previous) || *previous == branch {
                break;
            }
            lines.push(*previous);
            last = *previous;
        }
        Ok(lines)
    }
}
