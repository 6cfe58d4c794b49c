//! The receipt: an entry that says that all of a workspace was durable, and whether it is still the last word.

use super::Closing;
use super::neighbours::Neighbour;
use crate::client::Client;
use crate::payload::WorkspaceClosed;
use crate::views::{self, Projection, row};
use crate::workspace::Taken;
use crate::writer::Writer;
use samite_ledger::{Guard, JournalState, Read, RowQuery};
use samite_model::{BranchId, EntryKind, FamilyId, Header, JournalId, Position, Result, SessionId};

/// The receipt of a closed workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Where it is.
    pub position: Position,
    /// When it was written, in nanoseconds since 1970.
    pub time: i64,
    /// What it says.
    pub closed: WorkspaceClosed,
}

/// All that a receipt vouches for.
pub(super) struct Saved {
    /// The last look, which found the directory as the tree has it.
    pub(super) taken: Taken,
    /// Where the tree is.
    pub(super) tree: Position,
    /// The branch's last seq before the receipt.
    pub(super) head: u64,
    /// What was published.
    pub(super) artifacts: Vec<String>,
}

impl Closing<'_> {
    /// Commits the receipt, on the branch and in the workspace's own journal. Nothing must have been written to the branch
    /// since the look, no step of who else works here have begun, and the tree must be there: all in the same commit.
    pub(super) async fn commit_receipt(
        &self,
        writer: &Writer,
        saved: Saved,
        neighbours: &[Neighbour],
    ) -> Result<Receipt> {
        let core = &self.client.core;
        let Saved { taken, tree, head, artifacts } = saved;
        let closed = WorkspaceClosed {
            workspace: self.workspace.id,
            branch: self.workspace.branch,
            root: taken.root,
            tree,
            head,
            artifacts,
            files: taken.report.files,
            bytes: taken.report.bytes,
            excluded: taken.report.excluded.len() as u64,
        };
        let mut commit = taken.commit;
        let own = core.draft(EntryKind::WORKSPACE_CLOSED, &closed, Projection::default())?;
        let own = core.seal(JournalId(self.workspace.id.0), &writer.author(), own)?;
        // After the interval of the tree, which stands there already.
        commit.appends.iter_mut().for_each(|append| append.entries.push(own.clone()));
        commit.guards.push(Guard::Head { journal: self.workspace.branch, seq: head });
        let here = neighbours.iter().filter(|neighbour| neighbour.is_here(&self.workspace));
        commit.guards.extend(here.map(Neighbour::guard));
        let draft = core.draft(EntryKind::WORKSPACE_CLOSED, &closed, views::workspace_closed(&closed))?;
        let seq = writer.commit_with(commit, vec![draft]).await?;
        let position = Position { journal: self.workspace.branch, seq };
        Ok(Receipt { position, time: core.entry_at(position).await?.header.time, closed })
    }
}

impl Client {
    /// The receipt of the workspace of a branch, while it is the last word: none when it was never closed, or when since
    /// then a step was begun on the branch, or a tree of its directory taken by whomever.
    ///
    /// # Errors
    /// `not_found` when there is no such branch; `corrupt` when an entry cannot be read.
    pub async fn receipt(&self, session: SessionId, branch: BranchId) -> Result<Option<Receipt>> {
        let state = self.branch_state(session, branch).await?;
        match self.workspace_of_branch(session, branch).await? {
            Some(workspace) => self.receipt_on(&state, workspace.id).await,
            None => Ok(None),
        }
    }

    /// The same for a workspace, on a branch whose state was just read.
    pub(crate) async fn receipt_on(&self, branch: &JournalState, workspace: FamilyId) -> Result<Option<Receipt>> {
        let at = Position { journal: branch.id, seq: branch.head };
        let last = async |kind: u16, hashes: Vec<[u8; 16]>| {
            let rows = self.core.0.ledger.rows(RowQuery { at, kind, hashes, limit: 1 }).await?;
            Ok::<_, samite_model::Error>(rows.first().map(|row| row.position))
        };
        let Some(position) = last(row::CLOSED, vec![*workspace.as_bytes()]).await? else { return Ok(None) };
        for kind in [row::STEP, row::TREE] {
            // Seqs go on along an ancestry.
            if last(kind, Vec::new()).await?.is_some_and(|later| later.seq > position.seq) {
                return Ok(None);
            }
        }
        // Whoever else takes a tree of the directory writes to its own journal.
        let journal = JournalId(workspace.0);
        let head = self.core.journal(journal).await?.head;
        let read = Read { payloads: false, ..Read::range(journal, head, head) };
        let stored = self.core.0.ledger.read(read).await?;
        let kind = stored.first().map(|entry| Header::decode(&entry.header)).transpose()?.map(|header| header.kind);
        if kind != Some(EntryKind::WORKSPACE_CLOSED) {
            return Ok(None);
        }
        let entry = self.core.entry_at(position).await?;
        Ok(Some(Receipt { position, time: entry.header.time, closed: entry.json()? }))
    }
}
