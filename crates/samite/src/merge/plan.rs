//! What is known of a merge before anything is written: what is decided, and what is not.

use super::decision::{Choice, means};
use super::manifest::{Decisions, id};
use super::repository::Names;
use super::sides::{Ours, Sides};
use super::{MergeReport, MergeRequest, MergeState, RepositoryMerge, Undecided};
use crate::client::Client;
use crate::payload::MergeDecision;
use crate::settings::check_merging;
use crate::workspace::{RecordedTree, WorkspaceInfo, no_workspace};
use samite_ledger::JournalStatus;
use samite_model::history::History;
use samite_model::tree::{Change, ChangeKind, ConflictKind, Listing, diff};
use samite_model::{BranchId, Error, Result, SessionId};
use samite_workspace::{Tree, scan};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The branches of a merge, looked up.
pub(super) struct Branches {
    pub(super) session: SessionId,
    pub(super) into: BranchId,
    pub(super) from: BranchId,
    /// The tree that is merged.
    pub(super) theirs: RecordedTree,
    pub(super) workspace: WorkspaceInfo,
    pub(super) history: History,
    /// The merged branch's own directory, if it has one.
    pub(super) their_directory: Option<PathBuf>,
    /// How many paths of the merged branch's own directory are not as in its last tree.
    pub(super) unrecorded: u64,
    /// Whether all of it is merged already.
    pub(super) up_to_date: bool,
}

/// What is decided, by the place of the conflict.
pub(super) struct Decided {
    pub(super) by_place: BTreeMap<usize, Choice>,
    pub(super) undecided: Vec<Undecided>,
    pub(super) decisions: Vec<MergeDecision>,
}

impl Decided {
    /// What is taken for the conflict at a place, if that is decided.
    pub(super) fn choice(&self, place: usize) -> Option<&'static str> {
        self.by_place.get(&place).map(Choice::name)
    }
}

impl Client {
    /// Looks up what is to be merged, and refuses what cannot be.
    pub(super) async fn branches_to_merge(
        &self,
        session: SessionId,
        from: BranchId,
        into: Option<BranchId>,
    ) -> Result<Branches> {
        let control = self.control(session).await?;
        let (_, registers) = self.core.0.ledger.registers(control.id).await?;
        check_merging(session, &self.settings_in(&control, &registers).await?)?;
        let into = self.or_current(session, into).await?;
        if into == from {
            return Err(Error::invalid("same_branch", format!("branch {} cannot be merged into itself", from.short()))
                .hint("name another branch: `samite merge SESSION:BRANCH --into BRANCH`"));
        }
        for branch in [from, into] {
            if self.branch_state(session, branch).await?.status != JournalStatus::Open {
                return Err(Error::conflict("journal_closed", format!("branch {} was deleted", branch.short()))
                    .hint("`samite branch list SESSION` shows what there is"));
            }
        }
        let workspace = self.workspace_of_branch(session, into).await?.ok_or_else(|| no_workspace(into))?;
        let theirs = self.checkpoint_at(self.head(session, from).await?).await?;
        let history = self.merge_history(session).await?;
        let up_to_date = history.comes_before(theirs.position, self.head(session, into).await?);
        let mut unrecorded = 0;
        let their_directory = self.workspace_of_branch(session, from).await?.map(|workspace| workspace.directory);
        if their_directory.is_some() {
            let status = self.workspace_status(session, Some(from)).await?;
            let is_change = |change: &&Change| change.kind != ChangeKind::Time;
            unrecorded = status.changes.iter().filter(is_change).count() as u64;
        }
        Ok(Branches { session, into, from, theirs, workspace, history, their_directory, unrecorded, up_to_date })
    }

    /// What merging a branch into another (none: the current one) would do. Touches nothing.
    ///
    /// # Errors
    /// As [`Client::merge`].
    pub async fn plan_merge(
        &self,
        session: SessionId,
        from: BranchId,
        into: Option<BranchId>,
        request: &MergeRequest,
    ) -> Result<MergeReport> {
        let branches = self.branches_to_merge(session, from, into).await?;
        if branches.up_to_date {
            return Ok(branches.report(MergeState::UpToDate));
        }
        let mut options = self.core.scan_options(branches.workspace.id, &branches.workspace.directory)?;
        options.observer = request.observer.clone();
        self.core.refresh_redactor().await?;
        let store = self.core.blocks();
        let owner = self.subject.pseudonym;
        let scanned = scan(&store, &branches.workspace.directory, owner, &options)?;
        let at = self.head(session, branches.into).await?;
        let last = self.tree_at(at).await?;
        // The rules that a snapshot would find are those of the last one, or it would be another plan.
        let rules = match last {
            Some(last) => Tree::new(&store, owner, last.tree.root).root().map(|root| root.rules).unwrap_or_default(),
            None => Vec::new(),
        };
        let directory = Some(branches.workspace.directory.clone());
        let ours = Ours { at, listing: scanned.listing(), rules, directory };
        let theirs = (branches.theirs.position, branches.theirs.tree.root);
        let sides = self.work_out(&branches.history, ours, theirs).await?;
        let decided = decide(&sides, request, &Decisions::default(), None)?;
        Ok(branches.filled(MergeState::Planned, &sides, decided, None, None))
    }
}

impl Branches {
    pub(super) fn report(&self, state: MergeState) -> MergeReport {
        MergeReport {
            state,
            from: self.from,
            into: self.into,
            theirs: self.theirs.position,
            bases: Vec::new(),
            undecided: Vec::new(),
            decisions: Vec::new(),
            repositories: Vec::new(),
            changes: Vec::new(),
            layout: None,
            unrecorded: self.unrecorded,
            restored: None,
            position: None,
        }
    }

    /// How a merge of these sides stands. `ours_at` is where ours was recorded, if it was.
    pub(super) fn filled(
        &self,
        state: MergeState,
        sides: &Sides,
        decided: Decided,
        layout: Option<&Path>,
        ours_at: Option<u64>,
    ) -> MergeReport {
        let mut report = self.report(state);
        report.repositories =
            self.repositories(sides, |place| decided.choice(place), state == MergeState::Open, ours_at);
        report.fill(sides, decided, layout);
        report
    }

    /// What becomes of the repositories that both sides changed.
    pub(super) fn repositories<'a>(
        &self,
        sides: &Sides,
        choice: impl Fn(usize) -> Option<&'a str>,
        is_open: bool,
        ours_at: Option<u64>,
    ) -> Vec<RepositoryMerge> {
        let session = self.session.short();
        let (from, into) = (format!("{session}:{}", self.from.short()), format!("{session}:{}", self.into.short()));
        let names = Names {
            from: &from,
            into: &into,
            theirs_at: self.theirs.position.seq,
            ours_at,
            workspace: &self.workspace.directory,
            their_directory: self.their_directory.as_deref(),
            is_open,
        };
        sides.repositories(choice, &names)
    }
}

impl MergeReport {
    fn fill(&mut self, sides: &Sides, decided: Decided, layout: Option<&Path>) {
        self.bases.clone_from(&sides.bases);
        // What cannot be made of the decisions so far says so when all are there.
        if let Ok(merged) = sides.merged(&decided.by_place, layout, 0) {
            self.changes = changed(&sides.ours, &merged.listing);
        }
        self.undecided = decided.undecided;
        self.decisions = decided.decisions;
    }
}

/// What a merge changes.
pub(super) fn changed(ours: &Listing, merged: &Listing) -> Vec<Change> {
    diff(ours, merged).into_iter().filter(|change| change.kind != ChangeKind::Time).collect()
}

/// What is decided: by the caller, else by the manifest, else, when proposals are taken, by them.
///
/// # Errors
/// `invalid`: `no_conflict` when the caller decides what is no conflict, `bad_decision`.
pub(super) fn decide(
    sides: &Sides,
    request: &MergeRequest,
    manifest: &Decisions,
    layout: Option<&Path>,
) -> Result<Decided> {
    let conflicts = &sides.merge.conflicts;
    if let Some((words, _)) =
        request.take.iter().find(|(words, _)| !conflicts.iter().any(|conflict| means(words, conflict)))
    {
        return Err(Error::invalid("no_conflict", format!("there is no conflict at {words:?}"))
            .hint("`samite merge … --plan` and the manifest list the conflicts by their paths"));
    }
    let mut decided = Decided { by_place: BTreeMap::new(), undecided: Vec::new(), decisions: Vec::new() };
    for (place, conflict) in conflicts.iter().enumerate() {
        let taken = request.take.iter().rfind(|(words, _)| means(words, conflict)).map(|(_, choice)| choice.clone());
        let has_proposal = sides.has_proposal(place);
        let choice = taken
            .or_else(|| manifest.by_id.get(&id(conflict)).cloned())
            .or_else(|| (request.auto && has_proposal).then_some(Choice::Proposed));
        let path = conflict.path.to_string();
        match choice {
            Some(Choice::Proposed) if !has_proposal => {
                return Err(super::carry_out::bad_decision(conflict, "nothing is proposed there"));
            }
            Some(choice) => {
                if let Choice::File(file) = &choice {
                    super::layout::refuse_missing(conflict, layout, file)?;
                }
                let decision = MergeDecision { path, kind: conflict.kind, choice: choice.name().to_owned() };
                decided.decisions.push(decision);
                decided.by_place.insert(place, choice);
            }
            None => decided.undecided.push(Undecided {
                path: conflict.path.clone(),
                kind: conflict.kind,
                from: conflict.from.clone().filter(|_| conflict.kind == ConflictKind::Rename),
                proposed: has_proposal,
                asked_anew: manifest.paths.contains(&path),
            }),
        }
    }
    Ok(decided)
}
