//! A contained step's place in the workspace: the tree before it, what it changed, putting that back.

use super::WorkspaceInfo;
use super::checkpoint::CheckpointOptions;
use super::restore::paths;
use crate::client::Client;
use crate::recover::Replaced;
use crate::step::StepRecord;
use crate::writer::Writer;
use samite_host::files;
use samite_model::cadence::Cause;
use samite_model::recovery::Workspace;
use samite_model::step::{Effect, Evidence, Verdict};
use samite_model::tree::{Action, Change, Content, Entry, Listing, Plan, TreePath, diff};
use samite_model::{BlockId, Error, JournalId, Position, Result};
use samite_workspace::{RestoreOptions, Tree, apply_restore, materialise, plan_restore_seen, scan};
use std::collections::BTreeSet;

/// Changes up to so long after the last sign of life are the step's, in nanoseconds: it is renewed twice a second.
const SIGN_OF_LIFE_SLACK: i64 = 1_000_000_000;

fn seen(verdict: Verdict, seen: impl Into<String>, paths: Vec<String>) -> Evidence {
    Evidence { verdict, seen: seen.into(), paths }
}

/// What was put back.
pub(crate) struct PutBack {
    /// The paths, or the directory where that was gone.
    pub(crate) paths: Vec<String>,
    /// Those of them that held what no tree has but the safety snapshot's.
    pub(crate) replaced: Vec<Replaced>,
    /// The safety snapshot; none where the directory was gone.
    pub(crate) safety: Option<Position>,
}

/// So many of the last trees of a workspace are looked through for what a path held.
const LOOKED_THROUGH: usize = 64;

/// What changed in a workspace since a step's start.
pub(super) struct SinceStart {
    /// What differs.
    pub(super) changes: Vec<Change>,
    /// What of it was changed after the step's last sign of life.
    later: Vec<TreePath>,
    /// What there is now.
    pub(super) current: Listing,
}

impl SinceStart {
    /// Whether all of it is the step's doing: then it is put back.
    pub(super) fn is_the_steps(&self) -> bool {
        !self.changes.is_empty() && self.later.is_empty()
    }
}

impl Client {
    /// What changed in a workspace, within some paths, since the tree at a step's start; `last` is when the step gave a sign of
    /// life last.
    pub(super) fn since_start(
        &self,
        workspace: &WorkspaceInfo,
        tree: BlockId,
        within: &[String],
        last: i64,
    ) -> Result<SinceStart> {
        let within = paths(within)?;
        let narrow = |listing: Listing| if within.is_empty() { listing } else { listing.within(&within) };
        let store = self.core.blocks();
        let owner = self.subject.pseudonym;
        let options = self.core.scan_options(workspace.id, &workspace.directory)?;
        let before = narrow(Tree::new(&store, owner, tree).listing()?);
        let scanned = scan(&store, &workspace.directory, owner, &options)?;
        let current = narrow(scanned.listing());
        let changes = diff(&before, &current);
        let last = last.saturating_add(SIGN_OF_LIFE_SLACK);
        // A file that was moved here, or copied with its times, has an old time of its last change.
        let touched = scanned.touched_after(last);
        let is_later = |change: &&Change| {
            let is_new = change.after.as_ref().is_some_and(|entry| entry.metadata.mtime > last);
            is_new || touched.contains(&change.path)
        };
        let later = changes.iter().filter(is_later).map(|change| change.path.clone()).collect();
        Ok(SinceStart { changes, later, current })
    }
}

impl Client {
    /// The files that a plan takes away or replaces, and whose content none of the last trees of the workspace has but one.
    async fn held_by_no_tree(&self, workspace: &WorkspaceInfo, plan: &Plan, but: BlockId) -> Result<Vec<Replaced>> {
        let mut held: Vec<(&TreePath, &Entry)> = plan.actions.iter().filter_map(taken_away).collect();
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let mut roots: Vec<BlockId> = Vec::new();
        for one in self.intervals(JournalId(workspace.id.0)).await?.iter().rev() {
            let root = one.interval.root;
            if root != but && !roots.contains(&root) && roots.len() < LOOKED_THROUGH {
                roots.push(root);
            }
        }
        let places = self.core.0.blocks.find_blocks(roots.clone()).await?;
        let store = self.core.blocks();
        for (root, _) in roots.into_iter().zip(places).filter(|(_, place)| place.is_some()) {
            let tree = Tree::new(&store, self.subject.pseudonym, root);
            // What cannot be read there is not there.
            held.retain(|(path, was)| !tree.entry(path).is_ok_and(|entry| entry.content.is_same(&was.content)));
        }
        let replaced =
            |(path, was): (&TreePath, &Entry)| Replaced { path: path.to_string(), modified: was.metadata.mtime };
        Ok(held.into_iter().map(replaced).collect())
    }
}

/// What an action takes away, where that is the content of a file or a link.
fn taken_away(action: &Action) -> Option<(&TreePath, &Entry)> {
    let (Action::Replace { path, was, .. } | Action::Remove { path, was }) = action else { return None };
    matches!(was.content, Content::File { .. } | Content::Symlink(_)).then_some((path, was))
}

impl Writer {
    /// The workspace's tree before a step starts that is to be put back to it, or compared with it.
    ///
    /// # Errors
    /// `invalid` (`no_workspace`) without one: there would be nothing to go back to after a crash.
    pub(crate) async fn tree_before(&self, key: &str) -> Result<BlockId> {
        if self.workspace().await?.is_none() {
            return Err(Error::invalid(
                "no_workspace",
                format!("step {key:?} is about the workspace, and branch {} has none", self.branch().short()),
            )
            .hint("attach one: `samite workspace attach SESSION DIR`, or declare another effect"));
        }
        let options =
            CheckpointOptions { no_environment: true, cause: Cause::StepStart, ..CheckpointOptions::default() };
        Ok(self.checkpoint(options).await?.root)
    }

    /// Where the workspace stands against the tree that a contained step recorded at its start.
    pub(crate) async fn workspace_of(
        &self,
        step: &StepRecord,
        within: &[String],
        lost_at: Option<i64>,
    ) -> Result<(Workspace, Evidence)> {
        let Some(tree) = step.started.tree else {
            let words = "no tree was recorded when the step started";
            return Ok((Workspace::Unknown, seen(Verdict::CannotTell, words, Vec::new())));
        };
        let Some(workspace) = self.workspace().await? else {
            let words = "no workspace is attached to this branch";
            return Ok((Workspace::Unknown, seen(Verdict::CannotTell, words, Vec::new())));
        };
        if !files::exists(&workspace.directory)? {
            let words = format!("the workspace {} is gone", workspace.directory.display());
            return Ok((Workspace::Gone, seen(Verdict::DidNot, words, Vec::new())));
        }
        // Without a sign of life only the start is certain.
        let last = lost_at.unwrap_or(step.started_at);
        let found = self.client.since_start(&workspace, tree, within, last)?;
        self.remember_assessed(step.id, found.changes.clone());
        let names = |paths: &[TreePath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        if found.changes.is_empty() {
            let words = "the workspace is as it was when the step started";
            return Ok((Workspace::Unchanged, seen(Verdict::DidNot, words, Vec::new())));
        }
        if found.later.is_empty() {
            let words = format!("{} paths differ from when the step started", found.changes.len());
            let paths = found.changes.iter().map(|change| change.path.to_string()).collect();
            Ok((Workspace::ChangedByStep, seen(Verdict::CannotTell, words, paths)))
        } else {
            let words = format!("{} paths were changed after the step's last sign of life", found.later.len());
            Ok((Workspace::ChangedByOthers, seen(Verdict::CannotTell, words, names(&found.later))))
        }
    }

    /// Puts a contained step's paths back to the tree at its start, after a safety snapshot.
    ///
    /// # Errors
    /// `conflict`: `workspace_changed` when it is not as it was when this writer assessed it, and then nothing is touched;
    /// `not_put_back` when a path could not be.
    pub(crate) async fn put_back(&self, step: &StepRecord) -> Result<PutBack> {
        let (Some(target), Effect::Contained { within }) = (step.started.tree, &step.started.effect) else {
            return Err(Error::conflict("no_tree", "the step recorded no tree to put back"));
        };
        let workspace = self
            .workspace()
            .await?
            .ok_or_else(|| Error::not_found("no_workspace", "no workspace is attached to this branch"))?;
        self.core().refresh_redactor().await?;
        let store = self.core().blocks();
        let owner = self.client.subject.pseudonym;
        let mut options = RestoreOptions::new(*step.id.as_bytes(), owner, None, target);
        options.scan = self.core().scan_options(workspace.id, &workspace.directory)?;
        if !files::exists(&workspace.directory)? {
            let made = materialise(&store, &workspace.directory, &options)?;
            if !made.failed.is_empty() {
                return Err(not_put_back(made.failed.len()));
            }
            let paths = vec![workspace.directory.to_string_lossy().into_owned()];
            return Ok(PutBack { paths, replaced: Vec::new(), safety: None });
        }
        let label = Some(format!("before putting back step {}", step.started.key));
        let cause = Cause::Safety;
        let options_of_safety =
            CheckpointOptions { label, no_environment: true, cause, ..CheckpointOptions::default() };
        let (safety, scanned) = self.checkpoint_knowing(options_of_safety, Some(target)).await?;
        options.base = Some(safety.root);
        options.within = paths(within)?;
        if let Some(assessed) = self.take_assessed(step.id) {
            let narrow = |listing: Listing| if within.is_empty() { listing } else { listing.within(&options.within) };
            let before = narrow(Tree::new(&store, owner, target).listing()?);
            let now = narrow(Tree::new(&store, owner, safety.root).listing()?);
            if let Some(path) = first_difference(&assessed, &diff(&before, &now)) {
                return Err(Error::conflict(
                    "workspace_changed",
                    format!("{path} changed after the workspace was looked at, so nothing was put back"),
                )
                .hint("recover again: it looks at the workspace again"));
            }
        }
        let planned = plan_restore_seen(&store, (scanned, safety.root), &options)?;
        let paths: Vec<String> = planned.plan.actions.iter().map(|action| action.path().to_string()).collect();
        let replaced = self.client.held_by_no_tree(&workspace, &planned.plan, safety.root).await?;
        let report = apply_restore(&store, &workspace.directory, planned, &options)?;
        if !report.is_complete() {
            return Err(not_put_back(report.kept.len() + report.failed.len()));
        }
        Ok(PutBack { paths, replaced, safety: Some(safety.position) })
    }
}

/// The first path that is not as it was in changes that were seen before.
fn first_difference(before: &[Change], now: &[Change]) -> Option<TreePath> {
    let paths = |changes: &[Change]| changes.iter().map(|change| change.path.clone()).collect::<BTreeSet<TreePath>>();
    if let Some(path) = paths(before).symmetric_difference(&paths(now)).next() {
        return Some(path.clone());
    }
    let after = |changes: &[Change]| {
        let entries = changes.iter().filter_map(|change| Some((change.path.clone(), change.after.clone()?)));
        Listing::new(entries.collect())
    };
    diff(&after(before), &after(now)).first().map(|change| change.path.clone())
}

fn not_put_back(paths: usize) -> Error {
    Error::conflict("not_put_back", format!("{paths} paths could not be put back"))
        .hint("`samite workspace status SESSION` shows them; put them right, then recover again")
}
