//! Going back: conversation and files, together or not at all.

use super::restore::{RestoreInput, RestoreRequest, Restored, TOOL, in_doubt};
use super::{RecordedTree, WorkspaceInfo};
use crate::branch::{First, ForkOptions, ForkReport};
use crate::client::Client;
use crate::payload::{ForkReason, StepStarted};
use crate::views::{OpenStep, register};
use crate::writer::WriterOptions;
use samite_host::files;
use samite_model::{BranchId, Result, SessionId};

/// What a rewind does to the workspace.
struct Back {
    workspace: WorkspaceInfo,
    from: RecordedTree,
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
                directory: back.workspace.directory,
                target: back.input.target,
                from: back.from.position,
                safety,
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

    /// What going back does to the workspace of the current branch; none when it has none, or nothing to go back to.
    async fn way_back(
        &self,
        session: SessionId,
        current: BranchId,
        options: &ForkOptions,
        request: &RestoreRequest,
    ) -> Result<Option<Back>> {
        let Some(workspace) = self.workspace_of_branch(session, current).await? else { return Ok(None) };
        self.refuse_half_restored(current).await?;
        let state = self.branch_state(session, options.branch.unwrap_or(current)).await?;
        let at = self.position_on(&state, options.seq.unwrap_or(state.head)).await?;
        let Some(from) = self.tree_at(at).await? else { return Ok(None) };
        if !files::exists(&workspace.directory)? {
            return Ok(None);
        }
        // Before the fork: one that could not be ended would leave a restore in doubt.
        self.check_collected(&from).await?;
        let input = self.restore_input(session, current, &workspace, from.tree.root, request).await?;
        Ok(Some(Back { workspace, from, input }))
    }
}
