//! What a store holds and what each branch costs.

use crate::artifact::ArtifactsStatus;
use crate::branch::{Branch, Lifetime};
use crate::client::Client;
use crate::embedded::Embedded;
use crate::log::{ReadOptions, Reader};
use crate::payload::TreeRecorded;
use crate::session::SessionInfo;
use crate::workspace::{Receipt, WorkspaceInfo};
use samite_ledger::{BlockIndex, Statistics};
use samite_model::{EntryKind, Error, Position, Result};

/// What a store holds.
#[derive(Debug)]
pub struct StoreStatus {
    /// The ledger's sizes.
    pub ledger: Statistics,
    /// How many packs there are.
    pub packs: usize,
    /// How many bytes they have.
    pub pack_bytes: u64,
    /// The sessions that the principal may see.
    pub sessions: Vec<SessionStatus>,
    /// What was published, and what of it has no policy.
    pub artifacts: ArtifactsStatus,
    /// Sessions that cannot be read, and why: none is hidden.
    pub unreadable: Vec<Error>,
}

/// What a session holds.
#[derive(Clone, Debug)]
pub struct SessionStatus {
    /// The session.
    pub session: SessionInfo,
    /// Its branches with what they cost.
    pub branches: Vec<BranchStatus>,
}

/// What a branch holds and costs.
#[derive(Clone, Debug)]
pub struct BranchStatus {
    /// The branch.
    pub branch: Branch,
    /// How many entries it has of its own.
    pub entries: u64,
    /// The bytes of its own entries.
    pub log_bytes: u64,
    /// The bytes that its own checkpoints added when they were taken.
    pub tree_bytes: u64,
    /// The receipt of its workspace, while that is closed.
    pub closed: Option<Receipt>,
}

impl BranchStatus {
    /// Whether it could be given up: it is not current.
    pub fn is_current(&self) -> bool {
        self.branch.lifetime == Lifetime::Current
    }
}

impl Embedded {
    /// What the store holds, as a client sees it.
    ///
    /// # Errors
    /// `corrupt` when something cannot be read.
    pub async fn status(&self, client: &Client) -> Result<StoreStatus> {
        let packs = self.ledger().packs().await?;
        let mut sessions = Vec::new();
        let mut unreadable = Vec::new();
        for session in client.sessions().await? {
            let status = match session {
                Ok(session) => self.session_status(client, session).await,
                Err(error) => Err(error),
            };
            match status {
                Ok(status) => sessions.push(status),
                Err(error) => unreadable.push(error),
            }
        }
        let artifacts = match client.artifacts_status().await {
            Ok(artifacts) => artifacts,
            Err(error) => {
                unreadable.push(error.context("artifacts"));
                ArtifactsStatus::default()
            }
        };
        Ok(StoreStatus {
            ledger: self.ledger().statistics().await?,
            packs: packs.len(),
            pack_bytes: packs.iter().map(|pack| pack.size).sum(),
            sessions,
            artifacts,
            unreadable,
        })
    }

    async fn session_status(&self, client: &Client, session: SessionInfo) -> Result<SessionStatus> {
        let name = session.id;
        let read = async {
            let mut branches = Vec::new();
            let workspaces = client.workspaces(session.id).await?;
            for branch in client.branches(session.id).await? {
                let workspace = workspaces.iter().find(|workspace| workspace.branch == branch.id);
                branches.push(self.branch_status(client, branch, workspace).await?);
            }
            Ok(SessionStatus { session, branches })
        };
        read.await.map_err(|error: Error| error.context(format!("session {name}")))
    }

    async fn branch_status(
        &self,
        client: &Client,
        branch: Branch,
        workspace: Option<&WorkspaceInfo>,
    ) -> Result<BranchStatus> {
        let fork = branch.forked_at.map_or(0, |at| at.seq);
        let size = self.ledger().journal_size(branch.id, fork).await?;
        let mut tree_bytes = 0;
        if branch.head > fork {
            let options = ReadOptions { from: fork + 1, kinds: vec![EntryKind::TREE], ..ReadOptions::default() };
            let head = Position { journal: branch.id, seq: branch.head };
            for entry in Reader::new(client.core.clone(), head, options).await?.all().await? {
                let tree: TreeRecorded = entry.json()?;
                tree_bytes += tree.report.get("new_bytes").and_then(serde_json::Value::as_u64).unwrap_or(0);
            }
        }
        let closed = match workspace {
            Some(workspace) => client.receipt_on(&client.core.journal(branch.id).await?, workspace.id).await?,
            None => None,
        };
        Ok(BranchStatus { entries: size.entries, log_bytes: size.bytes, tree_bytes, closed, branch })
    }
}
