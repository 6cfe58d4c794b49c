//! Putting a workspace back to a checkpoint: in place as a step of its own, or into a directory of a fork.

use super::checkpoint::CheckpointOptions;
use super::look::no_workspace;
use crate::branch::{ForkOptions, ForkReport};
use crate::client::Client;
use crate::log::{ReadOptions, Reader};
use crate::payload::{ForkReason, WorkspaceInterval};
use crate::step::{Begin, Completion, InDoubt, NewStep, StepHandle};
use crate::writer::{Writer, WriterOptions};
use data_encoding::HEXLOWER;
use samite_host::files;
use samite_model::step::Effect;
use samite_model::tree::{TreePath, diff};
use samite_model::{BlockId, BranchId, EntryKind, Error, JournalId, Position, Result, SessionId};
use samite_workspace::{PlannedRestore, RestoreOptions, RestoreReport, Tree, apply_restore, materialise, plan_restore};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The tool of a restore's own step.
pub(crate) const TOOL: &str = "samite.restore";

/// What to put back.
#[derive(Clone, Debug, Default)]
pub struct RestoreRequest {
    /// Only these paths and what is in them; empty means all.
    pub within: Vec<String>,
    /// Overwrite what was changed since the last tree, by whomever.
    pub force: bool,
}

/// What a restore or fork did to directories.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The directory.
    pub directory: PathBuf,
    /// The tree that it was put to.
    pub target: BlockId,
    /// The checkpoint that it was taken from.
    pub from: Position,
    /// The safety snapshot taken before, for a restore in place.
    pub safety: Option<Position>,
    /// What was done and what was kept.
    pub report: RestoreReport,
}

/// A restore as its step's input: enough to go on after a crash.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RestoreInput {
    operation: String,
    target: BlockId,
    base: Option<BlockId>,
    within: Vec<String>,
    /// Paths in hexadecimal: a name may be no text, and names that look alike are not the same.
    others: Vec<String>,
    force: bool,
}

impl Client {
    /// Decides what putting a branch's workspace back to a position would do, and touches nothing.
    ///
    /// # Errors
    /// `not_found` (`no_workspace`, `no_tree`).
    pub async fn plan_restore(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        to: Position,
        request: &RestoreRequest,
    ) -> Result<PlannedRestore> {
        let branch = self.or_current(session, branch).await?;
        let workspace = self.workspace_of_branch(session, branch).await?.ok_or_else(|| no_workspace(branch))?;
        let target = self.root_at(to).await?;
        let head = self.head(session, branch).await?;
        let base = self.tree_at(head).await?.map(|tree| tree.tree.root);
        let mut options = RestoreOptions::new([0; 16], self.subject.pseudonym, base, target);
        options.scan = self.core.scan_options(workspace.id, &workspace.directory)?;
        options.within = paths(&request.within)?;
        options.others = self.others_paths(session, JournalId(workspace.id.0), target).await?;
        options.force = request.force;
        plan_restore(&self.core.blocks(), &workspace.directory, &options)
    }

    /// Paths that other sessions in the same directory changed since a tree was recorded.
    async fn others_paths(&self, session: SessionId, journal: JournalId, since: BlockId) -> Result<Vec<TreePath>> {
        let Some(state) = self.core.0.ledger.journal(journal).await? else { return Ok(Vec::new()) };
        let at = Position { journal, seq: state.head };
        let options = ReadOptions { kinds: vec![EntryKind::WORKSPACE_INTERVAL], ..ReadOptions::default() };
        let intervals: Vec<WorkspaceInterval> = Reader::new(self.core.clone(), at, options)
            .await?
            .all()
            .await?
            .iter()
            // Trees of another person's sessions cannot be opened by this one.
            .filter(|entry| entry.header.owner == self.subject.pseudonym)
            .map(crate::log::Entry::json)
            .collect::<Result<_>>()?;
        let start = intervals.iter().rposition(|interval| interval.root == since && interval.session == session);
        let store = self.core.blocks();
        let owner = self.subject.pseudonym;
        let mut others = Vec::new();
        for pair in intervals.get(start.unwrap_or(0)..).unwrap_or_default().windows(2) {
            let [before, after] = pair else { continue };
            if after.session == session || before.root == after.root {
                continue;
            }
            let (before, after) =
                Tree::new(&store, owner, before.root).differing(&Tree::new(&store, owner, after.root))?;
            others.extend(diff(&before, &after).into_iter().map(|change| change.path));
        }
        Ok(others)
    }

    /// Puts a branch's workspace back to a position, in place. It is a step of its own, so that half of it is never
    /// the end. When this returns, its outcome is durable.
    ///
    /// # Errors
    /// `not_found` (`no_workspace`, `no_tree`); `conflict` (`lease_held`) while another writer holds the branch.
    pub async fn restore(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        to: Position,
        writer: WriterOptions,
        request: &RestoreRequest,
    ) -> Result<Restored> {
        let from = self
            .tree_at(to)
            .await?
            .ok_or_else(|| Error::not_found("no_tree", "there is no checkpoint to go back to"))?;
        let short = writer.id.is_none();
        let writer = self.writer(session, branch, writer).await?;
        let restored = writer.restore(from.position, from.tree.root, request).await;
        if short {
            writer.release().await?;
        }
        restored
    }

    /// Goes back: a fork at a position becomes current, takes the workspace over, and puts it back to the last
    /// checkpoint there. The discarded tail stays and is listed.
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while a writer holds the current branch and lives; as [`Client::fork`] and [`Client::restore`].
    pub async fn rewind(
        &self,
        session: SessionId,
        options: ForkOptions,
        writer: WriterOptions,
        request: &RestoreRequest,
    ) -> Result<(ForkReport, Option<Restored>)> {
        let current = self.current_branch(session).await?;
        self.refuse_if_held(current, &writer).await?;
        let report = self.fork(session, ForkOptions { reason: ForkReason::Rewind, ..options }).await?;
        let Some(workspace) = self.workspace_of_branch(session, report.previous).await? else {
            return Ok((report, None));
        };
        // The last tree of the line that is left is what the directory is known to hold.
        let head = self.head(session, report.previous).await?;
        let base = self.tree_at(head).await?.map(|tree| tree.tree.root);
        self.hand_over_workspace(session, report.previous, report.branch).await?;
        let Some(from) = self.tree_at(report.at).await? else { return Ok((report, None)) };
        if !files::exists(&workspace.directory)? {
            return Ok((report, None));
        }
        let short = writer.id.is_none();
        let writer = self.writer(session, Some(report.branch), writer).await?;
        let restored = writer.restore_from(base, from.position, from.tree.root, request).await;
        if short {
            writer.release().await?;
        }
        Ok((report, Some(restored?)))
    }

    /// Makes the workspace of a fork: the last tree at its fork point, in a directory of its own.
    ///
    /// # Errors
    /// `not_found` (`no_tree`) when there is no checkpoint up to there; `conflict` (`not_empty`) when the directory holds
    /// something.
    pub async fn materialise(&self, session: SessionId, branch: BranchId, directory: &Path) -> Result<Restored> {
        let head = self.head(session, branch).await?;
        let from = self.tree_at(head).await?.ok_or_else(|| {
            Error::not_found("no_tree", format!("branch {} has no checkpoint to make a directory of", branch.short()))
                .hint("take one first: `samite checkpoint SESSION`")
        })?;
        let mut options = RestoreOptions::new(self.core.random_id()?, self.subject.pseudonym, None, from.tree.root);
        let other = self.workspaces(session).await?.into_iter().find(|workspace| workspace.id == from.tree.workspace);
        if let Some(other) = other.filter(|other| other.directory.is_dir()) {
            let scan = self.core.scan_options(other.id, &other.directory)?;
            options.clone_from = Some((other.directory, scan));
        }
        let report = materialise(&self.core.blocks(), directory, &options)?;
        let attached = self.attach(session, Some(branch), directory).await?;
        Ok(Restored {
            directory: attached.directory,
            target: from.tree.root,
            from: from.position,
            safety: None,
            report,
        })
    }
}

impl Writer {
    async fn restore(&self, from: Position, target: BlockId, request: &RestoreRequest) -> Result<Restored> {
        let base = self.last_tree().await?.map(|tree| tree.tree.root);
        self.restore_from(base, from, target, request).await
    }

    async fn restore_from(
        &self,
        base: Option<BlockId>,
        from: Position,
        target: BlockId,
        request: &RestoreRequest,
    ) -> Result<Restored> {
        let workspace = self.workspace().await?.ok_or_else(|| no_workspace(self.branch))?;
        let others = self.client.others_paths(self.session, JournalId(workspace.id.0), target).await?;
        let label = Some("before a restore".to_owned());
        let safety = self.checkpoint(CheckpointOptions { label, no_environment: true }).await?;
        let operation = self.core().entry_id()?;
        let input = RestoreInput {
            operation: operation.to_string(),
            target,
            base,
            within: request.within.clone(),
            others: others.iter().map(|path| HEXLOWER.encode(path.as_bytes())).collect(),
            force: request.force,
        };
        let step = NewStep {
            effect: Effect::Contained { within: request.within.clone() },
            tree: Some(safety.root),
            ..NewStep::new(format!("restore {operation}"), TOOL, crate::core::to_value(&input)?)
        };
        let handle = match self.begin(&step).await? {
            Begin::Run(handle) => handle,
            Begin::InDoubt(doubt) => return Err(in_doubt(&doubt)),
            Begin::Replay(_) | Begin::Busy(_) => {
                return Err(Error::conflict("restore_busy", "another restore of this workspace is under way"));
            }
        };
        samite_host::kill_point("restore.begun");
        let report = self.apply(&workspace, &input)?;
        self.finish_restore(&handle, &report).await?;
        Ok(Restored { directory: workspace.directory, target, from, safety: Some(safety.position), report })
    }

    async fn finish_restore(&self, handle: &StepHandle, report: &RestoreReport) -> Result<()> {
        samite_host::kill_point("restore.before_outcome");
        let output = crate::core::to_value(report)?;
        self.finish(handle, &Completion::completed(output)).await?;
        let label = Some("after a restore".to_owned());
        self.checkpoint(CheckpointOptions { label, no_environment: true }).await?;
        Ok(())
    }

    fn apply(&self, workspace: &super::WorkspaceInfo, input: &RestoreInput) -> Result<RestoreReport> {
        let operation: samite_model::EntryId = input.operation.parse()?;
        let mut options = RestoreOptions::new(operation.0, self.client.subject.pseudonym, input.base, input.target);
        options.scan = self.core().scan_options(workspace.id, &workspace.directory)?;
        options.within = paths(&input.within)?;
        options.others = input.others.iter().map(|path| path_of_hex(path)).collect::<Result<_>>()?;
        options.force = input.force;
        let store = self.core().blocks();
        let planned = plan_restore(&store, &workspace.directory, &options)?;
        apply_restore(&store, &workspace.directory, planned, &options)
    }

    /// Rolls a restore that was cut off forward: what is equal to its target is done, what is as before is put back,
    /// and the rest is kept and listed.
    pub(crate) async fn finish_cut_restore(&self, doubt: &InDoubt) -> Result<Value> {
        let input: RestoreInput = serde_json::from_value(doubt.step.started.input.clone()).map_err(|error| {
            Error::corrupt("bad_payload", "a restore's step does not say what it restores").because(error)
        })?;
        let workspace = self.workspace().await?.ok_or_else(|| no_workspace(self.branch))?;
        if !files::exists(&workspace.directory)? {
            let operation: samite_model::EntryId = input.operation.parse()?;
            let mut options = RestoreOptions::new(operation.0, self.client.subject.pseudonym, None, input.target);
            options.scan = self.core().scan_options(workspace.id, &workspace.directory)?;
            return crate::core::to_value(&materialise(&self.core().blocks(), &workspace.directory, &options)?);
        }
        crate::core::to_value(&self.apply(&workspace, &input)?)
    }
}

fn in_doubt(doubt: &InDoubt) -> Error {
    Error::conflict(
        "step_in_doubt",
        format!("step {:?} (seq {}) is in doubt", doubt.step.started.key, doubt.step.start.seq),
    )
    .hint("run `samite recover SESSION` first")
}

fn paths(texts: &[String]) -> Result<Vec<TreePath>> {
    texts.iter().map(|path| TreePath::new(path.trim_end_matches('/').as_bytes())).collect()
}

fn path_of_hex(hex: &str) -> Result<TreePath> {
    let damaged = |_| Error::corrupt("bad_payload", "a restore's step does not say what it restores");
    TreePath::new(HEXLOWER.decode(hex.as_bytes()).map_err(damaged)?)
}
