//! What a store holds and what each branch costs.

use crate::artifact::ArtifactsStatus;
use crate::branch::{Branch, Lifetime};
use crate::client::Client;
use crate::embedded::Embedded;
use crate::policy::Captured;
use crate::redaction::FoundStatus;
use crate::session::SessionInfo;
use crate::workspace::{BranchCheckpoints, Receipt, SessionCheckpoints, WorkspaceInfo};
use samite_ledger::{BlockIndex, Statistics};
use samite_model::{Error, Result};

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
    /// What was dropped of events before they were written.
    pub captured: Captured,
    /// What redaction found in entries and files.
    pub found: FoundStatus,
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
    /// What its checkpoints cost, and what was at risk between them.
    pub checkpoints: SessionCheckpoints,
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
    /// What its own checkpoints cost; none where it was deleted.
    pub checkpoints: Option<BranchCheckpoints>,
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
        let captured = client.captured(&sessions).await?;
        let found = client.found_status(&sessions).await?;
        Ok(StoreStatus {
            captured,
            found,
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
            let checkpoints = client.session_checkpoints(session.id).await?;
            let mut branches = Vec::new();
            let workspaces = client.workspaces(session.id).await?;
            for branch in client.branches(session.id).await? {
                let workspace = workspaces.iter().find(|workspace| workspace.branch == branch.id);
                let own = checkpoints.branches.iter().find(|own| own.branch == branch.id);
                branches.push(self.branch_status(client, branch, own.cloned(), workspace).await?);
            }
            Ok(SessionStatus { session, branches, checkpoints })
        };
        read.await.map_err(|error: Error| error.context(format!("session {name}")))
    }

    async fn branch_status(
        &self,
        client: &Client,
        branch: Branch,
        checkpoints: Option<BranchCheckpoints>,
        workspace: Option<&WorkspaceInfo>,
    ) -> Result<BranchStatus> {
        let fork = branch.forked_at.map_or(0, |at| at.seq);
        let size = self.ledger().journal_size(branch.id, fork).await?;
        let tree_bytes = checkpoints.as_ref().map_or(0, |checkpoints| checkpoints.bytes);
        let closed = match workspace {
            Some(workspace) => client.receipt_on(&client.core.journal(branch.id).await?, workspace.id).await?,
            None => None,
        };
        let (entries, log_bytes) = (size.entries, size.bytes);
        Ok(BranchStatus { branch, entries, log_bytes, tree_bytes, closed, checkpoints })
    }
}
