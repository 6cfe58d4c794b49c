//! Putting a workspace back to a checkpoint: in place as a step of its own, or into a directory of a fork.

use super::WorkspaceInfo;
use super::checkpoint::{Checkpoint, CheckpointOptions, Taken};
use super::look::no_workspace;
use super::restore_input::{Others, TornPath};
use crate::client::Client;
use crate::core::Core;
use crate::merge::AFTER_MERGE;
use crate::payload::{SettledBy, StepStarted};
use crate::recover::Site;
use crate::step::{Begin, Beside, Completion, InDoubt, NewStep, Resolution, Settled};
use crate::writer::{Writer, WriterOptions};
use samite_host::files;
use samite_model::cadence::Cause;
use samite_model::step::Effect;
use samite_model::tree::{Torn, TreePath};
use samite_model::{BlockId, BranchId, Error, JournalId, Observer, Position, Result, SessionId};
use samite_workspace::{
    PlannedRestore, RestoreOptions, RestoreReport, ScanReport, Scanned, apply_restore, materialise, plan_restore,
    plan_restore_seen,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The tool of a restore's own step.
pub const TOOL: &str = "samite.restore";

/// What to put back.
#[derive(Clone, Debug, Default)]
pub struct RestoreRequest {
    /// Only these paths and what is in them; empty means all.
    pub within: Vec<String>,
    /// Overwrite what was changed since the last tree, by whomever.
    pub force: bool,
    /// Is told how many files were found, read and written.
    pub observer: Observer,
    /// Where the signs of life of lost steps are: a rewind puts back what a contained step left that was cut off, as far as they
    /// tell what that is.
    pub site: Option<Site>,
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
    /// The paths that a rewind found as a contained step left them that was cut off, and put back for that.
    pub torn: Vec<String>,
    /// What was done and what was kept.
    pub report: RestoreReport,
}

/// A restore as its step's input: enough to go on after a crash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RestoreInput {
    operation: String,
    pub(super) target: BlockId,
    base: Option<BlockId>,
    within: Vec<String>,
    #[serde(flatten)]
    others: Others,
    /// What a step left that was cut off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    torn: Vec<TornPath>,
    force: bool,
    /// The entry of the merge that it is for, when it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    merge: Option<Position>,
    /// Whoever waits for this attempt.
    #[serde(skip)]
    observer: Observer,
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
        self.plan_over(session, branch, &workspace, target, Vec::new(), request).await
    }

    /// What putting a workspace back to a tree would do; `torn` goes back too.
    pub(super) async fn plan_over(
        &self,
        session: SessionId,
        branch: BranchId,
        workspace: &WorkspaceInfo,
        target: BlockId,
        torn: Vec<Torn>,
        request: &RestoreRequest,
    ) -> Result<PlannedRestore> {
        let base = self.known_tree(session, branch, workspace).await?;
        self.core.refresh_redactor().await?;
        let mut options = RestoreOptions::new([0; 16], self.subject.pseudonym, base, target);
        options.scan = self.core.scan_options(workspace.id, &workspace.directory)?;
        options.scan.observer = request.observer.clone();
        options.within = paths(&request.within)?;
        options.others = self.others(session, JournalId(workspace.id.0), target).await?;
        options.torn = torn;
        options.force = request.force;
        plan_restore(&self.core.blocks(), &workspace.directory, &options)
    }

    /// What a restore of a branch's workspace to a tree is to do.
    pub(super) async fn restore_input(
        &self,
        session: SessionId,
        branch: BranchId,
        workspace: &WorkspaceInfo,
        target: BlockId,
        torn: &[Torn],
        request: &RestoreRequest,
    ) -> Result<RestoreInput> {
        // Before anything is begun: a restore that cannot work leaves no step in doubt.
        paths(&request.within)?;
        let others = self.others(session, JournalId(workspace.id.0), target).await?;
        Ok(RestoreInput {
            operation: self.core.entry_id()?.to_string(),
            target,
            base: self.known_tree(session, branch, workspace).await?,
            within: request.within.clone(),
            others: Others::new(&others),
            torn: torn.iter().map(TornPath::new).collect(),
            force: request.force,
            merge: None,
            observer: request.observer.clone(),
        })
    }

    /// What a workspace's directory is known to hold by this session's doing, whichever of its branches did it.
    pub(super) async fn known_tree(
        &self,
        session: SessionId,
        branch: BranchId,
        workspace: &WorkspaceInfo,
    ) -> Result<Option<BlockId>> {
        let intervals = self.intervals(JournalId(workspace.id.0)).await?;
        let own = self.whom(session, &intervals).await.own;
        let known = match intervals.iter().rfind(|one| own.contains(&one.interval.session)) {
            Some(last) => Some(last.interval.known.unwrap_or(last.interval.root)),
            None => self.tree_at(self.head(session, branch).await?).await?.map(|tree| tree.tree.root),
        };
        // Against a tree that was collected nothing can be told: what is there then counts as changed.
        let Some(known) = known else { return Ok(None) };
        let places = self.core.0.blocks.find_blocks(vec![known]).await?;
        Ok(Some(known).filter(|_| places.iter().all(Option::is_some)))
    }

    /// Puts a branch's workspace back to a position, in place. It is a step of its own, so that half of it is never
    /// the end. When this returns, its outcome is durable.
    ///
    /// # Errors
    /// `not_found` (`no_workspace`, `no_tree`, `tree_collected`); `conflict` (`lease_held`) while another writer holds the
    /// branch.
    pub async fn restore(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        to: Position,
        writer: WriterOptions,
        request: &RestoreRequest,
    ) -> Result<Restored> {
        let from = self.checkpoint_at(to).await?;
        let short = writer.id.is_none();
        let writer = self.writer(session, branch, writer).await?;
        let restored = writer.restore(from.position, from.tree.root, request).await;
        writer.let_go(short, restored).await
    }

    /// Makes the workspace of a fork: the last tree at its fork point, in a directory of its own.
    ///
    /// # Errors
    /// `not_found` (`no_tree`, `tree_collected`) when there is no checkpoint up to there, or its tree is gone; `conflict`
    /// (`not_empty`) when the directory holds something; `invalid` (`inside_repository`, `nested_workspace`).
    pub async fn materialise(&self, session: SessionId, branch: BranchId, directory: &Path) -> Result<Restored> {
        let head = self.head(session, branch).await?;
        let from = self.tree_at(head).await?.ok_or_else(|| {
            Error::not_found("no_tree", format!("branch {} has no checkpoint to make a directory of", branch.short()))
                .hint("take one first: `samite checkpoint SESSION`")
        })?;
        self.check_collected(&from).await?;
        self.refuse_place(session, Some(branch), directory, true).await?;
        let mut options = RestoreOptions::new(self.core.random_id()?, self.subject.pseudonym, None, from.tree.root);
        let other = self.workspaces(session).await?.into_iter().find(|workspace| workspace.id == from.tree.workspace);
        if let Some(other) = other.filter(|other| other.directory.is_dir()) {
            let scan = self.core.scan_options(other.id, &other.directory)?;
            options.clone_from = Some((other.directory, scan));
        }
        self.core.refresh_redactor().await?;
        let report = materialise(&self.core.blocks(), directory, &options)?;
        let attached = self.attach(session, Some(branch), directory).await?;
        Ok(Restored {
            directory: attached.directory,
            target: from.tree.root,
            from: from.position,
            safety: None,
            torn: Vec::new(),
            report,
        })
    }
}

/// The trees that a restore needs to go on after a crash; none of another step.
pub(crate) fn trees_of_restore(step: &StepStarted) -> Vec<BlockId> {
    if step.tool != TOOL {
        return Vec::new();
    }
    let input: Option<RestoreInput> = serde_json::from_value(step.input.clone()).ok();
    input.map_or_else(Vec::new, |input| [Some(input.target), input.base].into_iter().flatten().collect())
}

impl RestoreInput {
    /// Puts a workspace from the tree that was just recorded of it to a merged one.
    pub(crate) fn of_merge(
        core: &Core,
        base: BlockId,
        target: BlockId,
        merge: Position,
        observer: Observer,
    ) -> Result<Self> {
        Ok(Self {
            operation: core.entry_id()?.to_string(),
            target,
            base: Some(base),
            within: Vec::new(),
            others: Others::default(),
            torn: Vec::new(),
            force: false,
            merge: Some(merge),
            observer,
        })
    }

    pub(crate) fn step(&self) -> Result<NewStep> {
        let what = if self.merge.is_some() { "merge" } else { "restore" };
        Ok(NewStep {
            effect: Effect::Contained { within: self.within.clone() },
            ..NewStep::new(format!("{what} {}", self.operation), TOOL, crate::core::to_value(self)?)
        })
    }
}

impl Writer {
    async fn restore(&self, from: Position, target: BlockId, request: &RestoreRequest) -> Result<Restored> {
        let workspace = self.workspace().await?.ok_or_else(|| no_workspace(self.branch))?;
        let input = self.client.restore_input(self.session, self.branch, &workspace, target, &[], request).await?;
        let (safety, scanned) = self.safety_snapshot(&input).await?;
        let step = NewStep { tree: Some(safety.root), ..input.step()? };
        let handle = match self.begin(&step).await? {
            Begin::Run(handle) => handle,
            Begin::InDoubt(doubt) => return Err(in_doubt(&doubt.step.started.key, doubt.step.start)),
            Begin::Replay(_) | Begin::Busy(_) => {
                return Err(Error::conflict("restore_busy", "another restore of this workspace is under way"));
            }
        };
        samite_host::kill_point("restore.begun");
        let (report, outcome) = self.apply(&workspace, &input, Some((scanned, safety.root)))?;
        samite_host::kill_point("restore.before_outcome");
        self.finish(&handle, &Completion::completed(crate::core::to_value(&report)?)).await?;
        self.after_restore(&input, outcome.as_ref()).await;
        Ok(Restored {
            directory: workspace.directory,
            target,
            from,
            safety: Some(safety.position),
            torn: Vec::new(),
            report,
        })
    }

    /// Keeps what is there before a restore. The directory is still known to hold only what it was.
    async fn safety_snapshot(&self, input: &RestoreInput) -> Result<(Checkpoint, Scanned)> {
        let label = Some("before a restore".to_owned());
        let observer = input.observer.clone();
        let cause = Cause::Safety;
        self.checkpoint_knowing(CheckpointOptions { label, no_environment: true, observer, cause }, input.base).await
    }

    /// Records what is there after a restore. What it kept is not known to be of the session's doing. The restore is done
    /// and recorded by then, and one that is cut off here is as good: the next keeps what it cannot tell.
    /// `outcome` is what is there now, where that is the target and nothing else: it is then not looked at once more.
    async fn after_restore(&self, input: &RestoreInput, outcome: Option<&ScanReport>) {
        let label = "after a restore".to_owned();
        let known = input.within.is_empty().then_some(input.target);
        if let Some(report) = outcome
            && self.record_tree(label.clone(), input.target, known, report).await.is_ok()
        {
            return;
        }
        let (label, observer, cause) = (Some(label), input.observer.clone(), Cause::Restored);
        let options = CheckpointOptions { label, no_environment: true, observer, cause };
        self.checkpoint_knowing(options, known).await.ok();
    }

    /// Puts the directory to the target; `seen` is what a snapshot of it just found, and its tree. Also returns what is there then,
    /// where that is known without looking.
    pub(crate) fn apply(
        &self,
        workspace: &WorkspaceInfo,
        input: &RestoreInput,
        seen: Option<(Scanned, BlockId)>,
    ) -> Result<(RestoreReport, Option<ScanReport>)> {
        let operation: samite_model::EntryId = input.operation.parse()?;
        let mut options = RestoreOptions::new(operation.0, self.client.subject.pseudonym, input.base, input.target);
        options.scan = self.core().scan_options(workspace.id, &workspace.directory)?;
        options.scan.observer = input.observer.clone();
        options.within = paths(&input.within)?;
        options.others = input.others.paths()?;
        options.torn = input.torn.iter().map(TornPath::torn).collect::<Result<_>>()?;
        options.force = input.force;
        let store = self.core().blocks();
        let planned = match seen {
            Some(seen) => plan_restore_seen(&store, seen, &options)?,
            None => plan_restore(&store, &workspace.directory, &options)?,
        };
        let outcome = planned.outcome().cloned();
        let report = apply_restore(&store, &workspace.directory, planned, &options)?;
        let outcome = outcome.filter(|_| report.is_complete());
        Ok((report, outcome))
    }

    /// Rolls a restore that was begun forward, and records that: what is equal to its target is done, what is as before
    /// is put back, and the rest is kept and listed. Also returns the safety snapshot, when it had none yet.
    pub(crate) async fn finish_begun_restore(
        &self,
        doubt: &InDoubt,
    ) -> Result<(Resolution, Position, RestoreReport, Option<Position>)> {
        let input: RestoreInput = serde_json::from_value(doubt.step.started.input.clone()).map_err(|error| {
            Error::corrupt("bad_payload", "a restore's step does not say what it restores").because(error)
        })?;
        let workspace = self.workspace().await?.ok_or_else(|| no_workspace(self.branch))?;
        self.core().refresh_redactor().await?;
        let mut safety = None;
        let (report, outcome) = if files::exists(&workspace.directory)? {
            let mut seen = None;
            if doubt.step.started.tree.is_none() {
                let (taken, found) = self.safety_snapshot(&input).await?;
                (safety, seen) = (Some(taken.position), Some((found, taken.root)));
            }
            samite_host::kill_point("restore.resumed");
            self.apply(&workspace, &input, seen)?
        } else {
            let operation: samite_model::EntryId = input.operation.parse()?;
            let mut options = RestoreOptions::new(operation.0, self.client.subject.pseudonym, None, input.target);
            options.scan = self.core().scan_options(workspace.id, &workspace.directory)?;
            (materialise(&self.core().blocks(), &workspace.directory, &options)?, None)
        };
        let resolution = Resolution {
            what: Settled::Happened(crate::core::to_value(&report)?),
            by: SettledBy::Effect,
            evidence: None,
            note: None,
        };
        let position = if let Some(merge) = input.merge {
            let draft = self.merged_draft(merge, &report).await?;
            let record = async |tree: Option<&Taken>| {
                let more = Beside { tree, also: Some(&draft), ..Beside::default() };
                self.resolve_beside(doubt.step.id, &resolution, more).await
            };
            let settled = self.with_tree(AFTER_MERGE.to_owned(), Some(input.target), record).await?.0;
            self.clear_layout(merge).await;
            settled
        } else {
            let position = self.resolve(doubt.step.id, &resolution).await?;
            self.after_restore(&input, outcome.as_ref()).await;
            position
        };
        Ok((resolution, position, report, safety))
    }
}

pub(crate) fn in_doubt(key: &str, start: Position) -> Error {
    Error::conflict("step_in_doubt", format!("step {key:?} (seq {}) is in doubt", start.seq))
        .hint("run `samite recover SESSION` first")
}

/// Paths as callers write them, relative to the workspace.
pub(super) fn paths(texts: &[String]) -> Result<Vec<TreePath>> {
    texts.iter().map(|path| TreePath::new(path.trim_end_matches('/').as_bytes())).collect()
}
