//! Merges that wait for decisions: beginning, going on, giving up.

use super::layout::read_decisions;
use super::manifest::Decisions;
use super::plan::{Branches, Decided, changed, decide};
use super::sides::{Ours, Sides};
use super::{Choice, MergeReport, MergeRequest, MergeState};
use crate::client::Client;
use crate::payload::{MergeAborted, MergeStarted, Merged, StepStarted};
use crate::views;
use crate::workspace::{CheckpointOptions, RESTORE, Restored};
use crate::writer::{Writer, WriterOptions};
use samite_model::cadence::Cause;
use samite_model::{BranchId, EntryKind, Error, Position, Result, SessionId};
use samite_workspace::Tree;
use std::collections::BTreeMap;
use std::path::PathBuf;

impl Client {
    /// Merges the files of a branch into another (none: the current one), whose workspace is put to the merged tree. What
    /// only one side changed, and what both changed alike, is taken. Where something is left to decide, nothing of the
    /// workspace is touched: the conflicts are laid out, and the merge is open until [`Client::continue_merge`] or
    /// [`Client::abort_merge`]. When this returns, what it answers is durable; a merge that is cut off is finished by
    /// [`Client::recover`] or [`Client::continue_merge`].
    ///
    /// What is merged is the last tree of the branch, with the workspace as it is now. Effects outside and conversations are
    /// never merged.
    ///
    /// # Errors
    /// `denied` (`branching_denied`) where the session's settings do not allow it; `conflict`: `merge_open` when another is
    /// open, `lease_held` while another writer holds the branch, `step_in_doubt` when a restore of its workspace was cut off,
    /// `journal_closed` when one of the branches was deleted, `not_empty` when the layout's directory holds something;
    /// `not_found`: `no_workspace`, `no_tree`, `tree_collected`; `invalid`: `same_branch`, `no_conflict`, `bad_decision`,
    /// `merge_shape`, `layout_in_workspace`.
    pub async fn merge(
        &self,
        session: SessionId,
        from: BranchId,
        into: Option<BranchId>,
        writer: WriterOptions,
        request: &MergeRequest,
    ) -> Result<MergeReport> {
        let branches = self.branches_to_merge(session, from, into).await?;
        self.refuse_half_restored(branches.into).await?;
        let state = self.branch_state(session, branches.into).await?;
        if let Some((_, open)) = self.core.open_merge(&state).await? {
            let (into, other) = (branches.into.short(), open.from.short());
            return Err(Error::conflict("merge_open", format!("a merge of branch {other} into {into} is open"))
                .hint(format!("`samite merge --continue {}:{into}` ends it, --abort gives it up", session.short())));
        }
        if branches.up_to_date {
            return Ok(branches.report(MergeState::UpToDate));
        }
        self.remove_old_layouts().await?;
        let short = writer.id.is_none();
        let writer = self.writer(session, Some(branches.into), writer).await?;
        let begun = writer.begin_merge(&branches, request).await;
        writer.let_go(short, begun).await
    }

    /// Goes on with an open merge: reads the decisions, and looks at everything again. A decision about a path of which one of
    /// the three sides changed since is asked anew. When all is decided it is carried out.
    ///
    /// # Errors
    /// `not_found` (`no_open_merge`); `invalid`: `bad_manifest`, `layout_file_outside`, `layout_file_too_large`; and as
    /// [`Client::merge`].
    pub async fn continue_merge(
        &self,
        session: SessionId,
        into: Option<BranchId>,
        writer: WriterOptions,
        request: &MergeRequest,
    ) -> Result<MergeReport> {
        let into = self.or_current(session, into).await?;
        let open = self.opened(session, into).await?;
        let short = writer.id.is_none();
        let writer = self.writer(session, Some(into), writer).await?;
        let gone_on = writer.go_on(open, request).await;
        writer.let_go(short, gone_on).await
    }

    /// Gives an open merge up: the workspace is as it was, and what was laid out is removed.
    ///
    /// # Errors
    /// `not_found` (`no_open_merge`); `conflict` (`step_in_doubt`) when it is being carried out: it is then to be finished.
    pub async fn abort_merge(
        &self,
        session: SessionId,
        into: Option<BranchId>,
        writer: WriterOptions,
    ) -> Result<MergeReport> {
        let into = self.or_current(session, into).await?;
        self.opened(session, into).await?;
        self.refuse_half_restored(into).await?;
        let short = writer.id.is_none();
        let writer = self.writer(session, Some(into), writer).await?;
        let aborted = writer.abort_merge().await;
        writer.let_go(short, aborted).await
    }

    async fn opened(&self, session: SessionId, into: BranchId) -> Result<(Position, MergeStarted)> {
        let state = self.branch_state(session, into).await?;
        self.core.open_merge(&state).await?.ok_or_else(|| {
            Error::not_found("no_open_merge", format!("no merge into branch {} is open", into.short()))
                .hint("`samite session tree SESSION` shows where one is")
        })
    }
}

impl Writer {
    /// Records what the workspace holds now and merges it.
    async fn work_out(
        &self,
        branches: &Branches,
        request: &MergeRequest,
    ) -> Result<(Position, samite_model::BlockId, Sides)> {
        let options = CheckpointOptions {
            label: Some("before a merge".to_owned()),
            no_environment: true,
            cause: Cause::Safety,
            observer: request.observer.clone(),
        };
        // A merge that is asked for again adds nothing where nothing changed.
        let ours = self.checkpoint_of_change(options).await?;
        let store = self.core().blocks();
        let tree = Tree::new(&store, self.client.subject.pseudonym, ours.root);
        // The head, since a merge that was recorded after its tree has a second parent.
        let at = Position { journal: self.branch, seq: self.core().journal(self.branch).await?.head };
        let listed = Ours { at, listing: tree.listing()?, rules: tree.root()?.rules, directory: None };
        let theirs = (branches.theirs.position, branches.theirs.tree.root);
        let sides = self.client.work_out(&branches.history, listed, theirs).await?;
        Ok((ours.position, ours.root, sides))
    }

    async fn begin_merge(&self, branches: &Branches, request: &MergeRequest) -> Result<MergeReport> {
        let (ours, root, sides) = self.work_out(branches, request).await?;
        let decided = decide(&sides, request, &Decisions::default(), None)?;
        let started = |decided: &Decided, layout: Option<String>| MergeStarted {
            found: Vec::new(),
            from: branches.from,
            theirs: branches.theirs.position,
            theirs_root: branches.theirs.tree.root,
            ours,
            bases: sides.base_roots.clone(),
            layout,
            target: None,
            decisions: decided.decisions.clone(),
        };
        if decided.undecided.is_empty() {
            let started = started(&decided, None);
            return self.end_merge(branches, &sides, decided, root, started, request).await;
        }
        // What cannot be done so is refused before anything waits.
        sides.merged(&decided.by_place, None, 0)?;
        let directory = &branches.workspace.directory;
        let layout = self.client.make_layout(branches.into, request.layout.as_deref(), directory)?;
        self.lay_out(branches, (&layout, ours.seq), &sides, &Decisions::default(), &decided)?;
        samite_host::kill_point("merge.laid_out");
        let started = started(&decided, Some(layout.to_string_lossy().into_owned()));
        let draft = self.core().draft(EntryKind::MERGE_STARTED, &started, views::merge_started(&started))?;
        self.commit(Vec::new(), vec![draft]).await?;
        self.forget_steps();
        samite_host::kill_point("merge.started");
        Ok(report(branches, &sides, decided, layout, ours.seq))
    }

    fn lay_out(
        &self,
        branches: &Branches,
        (layout, ours): (&std::path::Path, u64),
        sides: &Sides,
        before: &Decisions,
        decided: &Decided,
    ) -> Result<()> {
        let word = |choice: &Choice| match choice {
            Choice::File(file) => file.to_string(),
            other => other.name().to_owned(),
        };
        let words: BTreeMap<usize, String> =
            decided.by_place.iter().map(|(place, choice)| (*place, word(choice))).collect();
        let repositories = branches.repositories(sides, |place| decided.choice(place), true, Some(ours));
        self.client.lay_out(layout, (self.session, branches.from, branches.into), sides, before, &words, repositories)
    }

    async fn end_merge(
        &self,
        branches: &Branches,
        sides: &Sides,
        decided: Decided,
        root: samite_model::BlockId,
        started: MergeStarted,
        request: &MergeRequest,
    ) -> Result<MergeReport> {
        let layout = started.layout.as_ref().map(PathBuf::from);
        let merged = sides.merged(&decided.by_place, layout.as_deref(), self.core().now())?;
        let ours = Some(started.ours.seq);
        let mut report = branches.filled(MergeState::Merged, sides, decided, layout.as_deref(), ours);
        let (position, restored) =
            self.carry_out_merge(&branches.workspace, started, root, &merged, &request.observer).await?;
        report.position = Some(position);
        report.restored = Some(restored);
        Ok(report)
    }

    async fn go_on(&self, (at, open): (Position, MergeStarted), request: &MergeRequest) -> Result<MergeReport> {
        if let Some(done) = self.finish_cut_off(at).await? {
            return Ok(done);
        }
        let mut branches = self.client.branches_to_merge(self.session, open.from, Some(self.branch)).await?;
        // What was begun is ended, although the branch went on since.
        if branches.theirs.position != open.theirs {
            branches.theirs = self.client.checkpoint_at(open.theirs).await?;
        }
        let layout = match &open.layout {
            Some(layout) => PathBuf::from(layout),
            None => self.client.default_layout(self.branch)?,
        };
        let manifest = read_decisions(&layout)?;
        let (ours, root, sides) = self.work_out(&branches, request).await?;
        if let Some(target) = open.target
            && request.take.is_empty()
            && self.client.checkpoint_at(open.ours).await?.tree.root == root
        {
            // It was decided, and cut off before any file of the workspace was touched.
            let put = self.put_to_merged(&branches.workspace, open.theirs, at, root, target, &request.observer);
            let (position, restored) = put.await?;
            let store = self.core().blocks();
            let merged = Tree::new(&store, self.client.subject.pseudonym, target).listing()?;
            let choice = |place: usize| {
                let path = sides.merge.conflicts.get(place)?.path.to_string();
                open.decisions.iter().find(|decision| decision.path == path).map(|decision| decision.choice.as_str())
            };
            return Ok(MergeReport {
                repositories: branches.repositories(&sides, choice, false, Some(open.ours.seq)),
                bases: sides.bases.clone(),
                decisions: open.decisions.clone(),
                changes: changed(&sides.ours, &merged),
                restored: Some(restored),
                position: Some(position),
                ..branches.report(MergeState::Merged)
            });
        }
        let decided = decide(&sides, request, &manifest, Some(&layout))?;
        let started = MergeStarted {
            found: Vec::new(),
            ours,
            bases: sides.base_roots.clone(),
            layout: Some(layout.to_string_lossy().into_owned()),
            target: None,
            decisions: decided.decisions.clone(),
            ..open
        };
        if decided.undecided.is_empty() {
            return self.end_merge(&branches, &sides, decided, root, started, request).await;
        }
        sides.merged(&decided.by_place, Some(&layout), 0)?;
        samite_host::files::create_private_dir(&layout)?;
        self.lay_out(&branches, (&layout, ours.seq), &sides, &manifest, &decided)?;
        samite_host::kill_point("merge.laid_out_anew");
        Ok(report(&branches, &sides, decided, layout, ours.seq))
    }

    /// Finishes a merge that was cut off while it was carried out; none when it was not begun.
    async fn finish_cut_off(&self, at: Position) -> Result<Option<MergeReport>> {
        let doubts = self.doubts().await?;
        let own = |doubt: &&crate::step::InDoubt| {
            let StepStarted { tool, .. } = &doubt.step.started;
            tool == RESTORE && doubt.step.start.journal == self.branch
        };
        let Some(doubt) = doubts.iter().find(own) else { return Ok(None) };
        let (_, outcome, report, safety) = self.finish_begun_restore(doubt).await?;
        let state = self.core().journal(self.branch).await?;
        if self.core().open_merge(&state).await?.is_some() {
            return Ok(None);
        }
        let position = Position { seq: outcome.seq.saturating_sub(1), ..outcome };
        let merged: Merged = self.core().entry_at(position).await?.json()?;
        let started: MergeStarted = self.core().entry_at(at).await?.json()?;
        let directory = self.workspace().await?.map(|workspace| workspace.directory).unwrap_or_default();
        Ok(Some(MergeReport {
            state: MergeState::Merged,
            from: merged.from,
            into: self.branch,
            theirs: merged.theirs,
            bases: Vec::new(),
            undecided: Vec::new(),
            decisions: started.decisions,
            repositories: Vec::new(),
            changes: Vec::new(),
            layout: None,
            unrecorded: 0,
            restored: Some(Restored {
                directory,
                target: merged.root,
                from: merged.theirs,
                safety,
                torn: Vec::new(),
                report,
            }),
            position: Some(position),
        }))
    }

    async fn abort_merge(&self) -> Result<MergeReport> {
        // Looked at again by whoever writes now: it may have ended meanwhile.
        let (at, open) = self.client.opened(self.session, self.branch).await?;
        let aborted = MergeAborted { from: open.from, theirs: open.theirs };
        let draft = self.core().draft(EntryKind::MERGE_ABORTED, &aborted, views::merge_aborted())?;
        let seq = self.commit(Vec::new(), vec![draft]).await?;
        self.forget_steps();
        samite_host::kill_point("merge.aborted");
        self.clear_layout(at).await;
        Ok(MergeReport {
            state: MergeState::Aborted,
            from: open.from,
            into: self.branch,
            theirs: open.theirs,
            bases: Vec::new(),
            undecided: Vec::new(),
            decisions: Vec::new(),
            repositories: Vec::new(),
            changes: Vec::new(),
            layout: None,
            unrecorded: 0,
            restored: None,
            position: Some(Position { journal: self.branch, seq }),
        })
    }
}

fn report(branches: &Branches, sides: &Sides, decided: Decided, layout: PathBuf, ours: u64) -> MergeReport {
    let mut report = branches.filled(MergeState::Open, sides, decided, Some(&layout), Some(ours));
    report.layout = Some(layout);
    report
}
