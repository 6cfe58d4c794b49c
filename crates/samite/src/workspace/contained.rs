//! A contained step's place in the workspace: the tree before it, what it changed, putting that back.

use super::checkpoint::CheckpointOptions;
use super::restore::paths;
use crate::step::StepRecord;
use crate::writer::Writer;
use samite_host::files;
use samite_model::cadence::Cause;
use samite_model::recovery::Workspace;
use samite_model::step::{Effect, Evidence, Verdict};
use samite_model::tree::{Change, Listing, TreePath, diff};
use samite_model::{BlockId, Error, Position, Result};
use samite_workspace::{RestoreOptions, Tree, apply_restore, materialise, plan_restore_seen, scan};
use std::collections::BTreeSet;

/// Changes up to so long after the last sign of life are the step's, in nanoseconds: it is renewed twice a second.
const SIGN_OF_LIFE_SLACK: i64 = 1_000_000_000;

fn seen(verdict: Verdict, seen: impl Into<String>, paths: Vec<String>) -> Evidence {
    Evidence { verdict, seen: seen.into(), paths }
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
        let within = paths(within)?;
        let narrow = |listing: Listing| if within.is_empty() { listing } else { listing.within(&within) };
        let store = self.core().blocks();
        let owner = self.client.subject.pseudonym;
        let options = self.core().scan_options(workspace.id, &workspace.directory)?;
        let before = narrow(Tree::new(&store, owner, tree).listing()?);
        let scanned = scan(&store, &workspace.directory, owner, &options)?;
        let changes = diff(&before, &narrow(scanned.listing()));
        self.remember_assessed(step.id, changes.clone());
        if changes.is_empty() {
            let words = "the workspace is as it was when the step started";
            return Ok((Workspace::Unchanged, seen(Verdict::DidNot, words, Vec::new())));
        }
        let paths = changes.iter().map(|change| change.path.to_string()).collect();
        // Without a sign of life only the start is certain.
        let last = lost_at.unwrap_or(step.started_at).saturating_add(SIGN_OF_LIFE_SLACK);
        // A file that was moved here, or copied with its times, has an old time of its last change.
        let touched = scanned.touched_after(last);
        let is_later = |change: &&Change| {
            let is_new = change.after.as_ref().is_some_and(|entry| entry.metadata.mtime > last);
            is_new || touched.contains(&change.path)
        };
        let later: Vec<String> = changes.iter().filter(is_later).map(|change| change.path.to_string()).collect();
        if later.is_empty() {
            let words = format!("{} paths differ from when the step started", changes.len());
            Ok((Workspace::ChangedByStep, seen(Verdict::CannotTell, words, paths)))
        } else {
            let words = format!("{} paths were changed after the step's last sign of life", later.len());
            Ok((Workspace::ChangedByOthers, seen(Verdict::CannotTell, words, later)))
        }
    }

    /// Puts a contained step's paths back to the tree at its start, after a safety snapshot, and names them and where the
    /// snapshot is; there is none where the directory was gone.
    ///
    /// # Errors
    /// `conflict`: `workspace_changed` when it is not as it was when this writer assessed it, and then nothing is touched;
    /// `not_put_back` when a path could not be.
    pub(crate) async fn put_back(&self, step: &StepRecord) -> Result<(Vec<String>, Option<Position>)> {
        let (Some(target), Effect::Contained { within }) = (step.started.tree, &step.started.effect) else {
            return Err(Error::conflict("no_tree", "the step recorded no tree to put back"));
        };
        let workspace = self
            .workspace()
            .await?
            .ok_or_else(|| Error::not_found("no_workspace", "no workspace is attached to this branch"))?;
        let store = self.core().blocks();
        let owner = self.client.subject.pseudonym;
        let mut options = RestoreOptions::new(*step.id.as_bytes(), owner, None, target);
        options.scan = self.core().scan_options(workspace.id, &workspace.directory)?;
        if !files::exists(&workspace.directory)? {
            let made = materialise(&store, &workspace.directory, &options)?;
            if !made.failed.is_empty() {
                return Err(not_put_back(made.failed.len()));
            }
            return Ok((vec![workspace.directory.to_string_lossy().into_owned()], None));
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
        let report = apply_restore(&store, &workspace.directory, planned, &options)?;
        if !report.is_complete() {
            return Err(not_put_back(report.kept.len() + report.failed.len()));
        }
        Ok((paths, Some(safety.position)))
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
