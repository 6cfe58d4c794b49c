//! How long branches last.

use super::Lifetime;
use crate::client::Client;
use crate::payload::{BranchDeleted, BranchLifetime};
use crate::views;
use samite_ledger::{Append, Commit, JournalFilter, JournalStatus};
use samite_model::{BranchId, EntryKind, Error, Result, SessionId};

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

    /// Deletes a branch: its log, but for what forks of it inherit. When this returns, it is durable.
    ///
    /// # Errors
    /// `conflict` (`branch_current`) for the current branch; `not_found` for an unknown one.
    pub async fn delete_branch(&self, session: SessionId, branch: BranchId) -> Result<BranchDeleted> {
        let control = self.control(session).await?;
        let state = self.branch_state(session, branch).await?;
        if self.current_of(&control).await? == branch {
            return Err(Error::conflict("branch_current", format!("branch {} is current", branch.short()))
                .hint("make another branch current first: `samite rewind`, or `samite branch use`"));
        }
        let children = JournalFilter { parent: Some(branch), ..JournalFilter::default() };
        let children = self.core.0.ledger.journals(children).await?;
        let first = state.parent.map_or(0, |parent| parent.seq);
        let kept_to = children
            .iter()
            .filter(|child| child.status == JournalStatus::Open || child.head > child.parent.map_or(0, |at| at.seq))
            .filter_map(|child| child.parent.map(|parent| parent.seq))
            .max()
            .unwrap_or(first);
        let deleted = BranchDeleted { branch, kept_to };
        if state.status == JournalStatus::Open {
            let draft = self.core.draft(EntryKind::BRANCH_DELETED, &deleted, views::Projection::default())?;
            let entry = self.core.seal(control.id, &self.author(0), draft)?;
            let append = Append { journal: control.id, entries: vec![entry] };
            self.core.0.ledger.commit(Commit { appends: vec![append], ..Commit::default() }).await?;
        }
        self.core.0.ledger.delete_journal(branch, kept_to).await?;
        Ok(deleted)
    }
}

impl Lifetime {
    /// Whether the trees may go at `now` (ns since 1970).
    pub fn is_over(self, now: i64) -> bool {
        matches!(self, Self::TreesUntil(until) if until <= now)
    }
}
