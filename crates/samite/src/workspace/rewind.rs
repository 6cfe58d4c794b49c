//! Going back: conversation and files, together or not at all.

use super::restore::{RestoreInput, RestoreRequest, Restored, TOOL, in_doubt};
use super::{RecordedTree, WorkspaceInfo};
use crate::branch::{First, ForkOptions, ForkReport};
use crate::client::Client;
use crate::payload::{ForkReason, StepStarted};
use crate::views::{OpenStep, register};
use crate::writer::WriterOptions;
use samite_host::files;
use samite_model::tree::Torn;
use samite_model::{BranchId, Position, Result, SessionId};
use samite_workspace::PlannedRestore;
use std::path::PathBuf;

/// Why a rewind leaves all files as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilesStay {
    /// The current branch has no workspace.
    NoWorkspace,
    /// There is no checkpoint up to the position.
    NoCheckpoint {
        /// The workspace's directory.
        directory: PathBuf,
    },
    /// The workspace's directory is gone.
    DirectoryGone {
        /// The directory.
        directory: PathBuf,
    },
}

impl FilesStay {
    /// The stable name, for JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NoWorkspace => "no_workspace",
            Self::NoCheckpoint { .. } => "no_checkpoint",
            Self::DirectoryGone { .. } => "directory_gone",
        }
    }
}

/// What a rewind would do to the workspace.
#[derive(Debug)]
pub enum RewindPlan {
    /// These files change, and those are kept.
    Files(Box<PlannedRestore>),
    /// None changes.
    Stay(FilesStay),
}

/// What a rewind puts back.
struct Way {
    workspace: WorkspaceInfo,
    from: RecordedTree,
    torn: Vec<Torn>,
}

/// What a rewind does to the workspace.
struct Back {
    way: Way,
    input: RestoreInput,
}

impl Client {
    /// Goes back: a fork at a position becomes current, takes the workspace over, and puts it back to the last
    /// checkpoint there. The discarded tail stays and is listed. The fork, the handing over and the start of the restore
    /// are one commit: a rewind that is cut off after it is finished by [`Client::recover`].
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while a writer holds the current branch and lives, or (`step_in_doubt`) when a restore of
    /// its workspace was cut off; `not_found` (`tree_collected`) when the tree there is gone; as [`Client::fork`] and [`Client::restore`].
    pub async fn rewind(
        &self,
        session: SessionId,
        options: ForkOptions,
        writer: WriterOptions,
        request: &RestoreRequest,
    ) -> Result<(ForkReport, Option<Restored>)> {
        let current = self.current_branch(session).await?;
        self.refuse_if_held(current, &writer).await?;
        let back = self.way_back(session, current, &options, request).await?;
        let step = back.as_ref().map(|back| back.input.step()).transpose()?;
        let options = ForkOptions { reason: ForkReason::Rewind, ..options };
        let report = self.fork_and_begin(session, options, First { step: step.as_ref(), event: None }).await?;
        let Some(back) = back else { return Ok((report, None)) };
        samite_host::kill_point("rewind.forked");
        let short = writer.id.is_none();
        let writer = self.writer(session, Some(report.branch), writer).await?;
        let restored = async {
            let doubts = writer.doubts().await?;
            let own = |doubt: &&crate::step::InDoubt| {
                doubt.step.started.tool == TOOL && doubt.step.start.journal == report.branch
            };
            // Somebody recovered the new branch meanwhile.
            let Some(doubt) = doubts.iter().find(own) else { return Ok(None) };
            let (_, _, restored, safety) = writer.finish_begun_restore(doubt).await?;
            Ok(Some(Restored {
                directory: back.way.workspace.directory,
                target: back.input.target,
                from: back.way.from.position,
                safety,
                torn: back.way.torn.iter().map(|torn| torn.path.to_string()).collect(),
                report: restored,
            }))
        }
        .await;
        let restored = writer.let_go(short, restored).await.map_err(|error| {
            let branch = report.branch.short();
            error.hint(format!("branch {branch} is current already: `samite recover SESSION` puts its files back"))
        })?;
        Ok((report, restored))
    }

    /// Refuses while a restore of the branch's workspace was cut off: it is finished before the next begins.
    pub(crate) async fn refuse_half_restored(&self, branch: BranchId) -> Result<()> {
        let (_, registers) = self.core.0.ledger.registers(branch).await?;
        for entry in registers.iter().filter(|entry| entry.kind == register::OPEN_STEP) {
            let start = OpenStep::decode(branch, entry)?.start;
            let started: StepStarted = self.core.entry_at(start).await?.json()?;
            if started.tool == TOOL && start.journal == branch {
                return Err(in_doubt(&started.key, start));
            }
        }
        Ok(())
    }

    /// Decides what a rewind would do to the workspace, and touches nothing.
    ///
    /// # Errors
    /// `conflict` (`step_in_doubt`) when a restore of the workspace was cut off; `not_found` (`no_position`,
    /// `tree_collected`).
    pub async fn plan_rewind(
        &self,
        session: SessionId,
        options: &ForkOptions,
        request: &RestoreRequest,
    ) -> Result<RewindPlan> {
        let current = self.current_branch(session).await?;
        let Way { workspace, from, torn } = match self.way(session, current, options, request).await? {
            Ok(way) => way,
            Err(stay) => return Ok(RewindPlan::Stay(stay)),
        };
        let planned = self.plan_over(session, current, &workspace, from.tree.root, torn, request).await?;
        Ok(RewindPlan::Files(Box::new(planned)))
    }

    /// Why a rewind to a position, after which a branch is current, left all files as they are; none where it need not have.
    ///
    /// # Errors
    /// `not_found` when there is no such session; `corrupt` when an entry cannot be read.
    pub async fn files_stay(&self, session: SessionId, branch: BranchId, at: Position) -> Result<Option<FilesStay>> {
        let Some(workspace) = self.workspace_of_branch(session, branch).await? else {
            return Ok(Some(FilesStay::NoWorkspace));
        };
        let directory = workspace.directory;
        if self.tree_at(at).await?.is_none() {
            return Ok(Some(FilesStay::NoCheckpoint { directory }));
        }
        Ok((!files::exists(&directory)?).then_some(FilesStay::DirectoryGone { directory }))
    }

    /// What going back puts where, or why it puts nothing anywhere.
    async fn way(
        &self,
        session: SessionId,
        current: BranchId,
        options: &ForkOptions,
        request: &RestoreRequest,
    ) -> Result<Result<Way, FilesStay>> {
        let state = self.branch_state(session, options.branch.unwrap_or(current)).await?;
        let at = self.position_on(&state, options.seq.unwrap_or(state.head)).await?;
        let Some(workspace) = self.workspace_of_branch(session, current).await? else {
            return Ok(Err(FilesStay::NoWorkspace));
        };
        self.refuse_half_restored(current).await?;
        if let Some(stay) = self.files_stay(session, current, at).await? {
            return Ok(Err(stay));
        }
        // Before the fork: one that could not be ended would leave a restore in doubt.
        let from = self.checkpoint_at(at).await?;
        let torn = match &request.site {
            Some(site) => self.torn(current, &workspace, site).await?,
            None => Vec::new(),
        };
        Ok(Ok(Way { workspace, from, torn }))
    }

    /// What going back does to the workspace of the current branch; none when it has none, or nothing to go back to.
    async fn way_back(
        &self,
        session: SessionId,
        current: BranchId,
        options: &ForkOptions,
        request: &RestoreRequest,
    ) -> Result<Option<Back>> {
        let Ok(way) = self.way(session, current, options, request).await? else { return Ok(None) };
        let input =
            self.restore_input(session, current, &way.workspace, way.from.tree.root, &way.torn, request).await?;
        Ok(Some(Back { way, input }))
    }
}
