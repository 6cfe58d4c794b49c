//! How a merge stands, as an answer.

use super::{ChangeShape, PositionShape, RestoredShape};
use crate::printer::words::{count, short_id};
use crate::printer::{Answer, Page, Style};
use samite::merge::{MergeReport, MergeState, RepositoryMerge, RepositorySide, Undecided};
use samite::payload::MergeDecision;
use samite_model::SessionId;
use samite_model::tree::ConflictKind;
use serde::Serialize;

/// How a merge stands, or what came of it.
#[derive(Debug, Serialize)]
pub(crate) struct MergeShape {
    session: String,
    state: MergeState,
    from: String,
    into: String,
    theirs: PositionShape,
    bases: Vec<PositionShape>,
    undecided: Vec<UndecidedShape>,
    decisions: Vec<MergeDecision>,
    repositories: Vec<RepositoryMerge>,
    changes: Vec<ChangeShape>,
    layout: Option<String>,
    unrecorded: u64,
    position: Option<PositionShape>,
    workspace: Option<RestoredShape>,
    #[serde(skip)]
    reference: String,
    #[serde(skip)]
    merged: String,
}

/// A conflict that nobody has decided.
#[derive(Debug, Serialize)]
struct UndecidedShape {
    path: String,
    kind: ConflictKind,
    renamed_from: Option<String>,
    proposed: bool,
    asked_anew: bool,
}

impl UndecidedShape {
    fn new(undecided: &Undecided) -> Self {
        Self {
            path: undecided.path.to_string(),
            kind: undecided.kind,
            renamed_from: undecided.from.as_ref().map(ToString::to_string),
            proposed: undecided.proposed,
            asked_anew: undecided.asked_anew,
        }
    }

    const fn why(&self) -> &'static str {
        match self.kind {
            ConflictKind::Edited => "both changed it",
            ConflictKind::Added => "both made one",
            ConflictKind::DeleteEdit => "one removed what the other changed",
            ConflictKind::Metadata => "both changed its permissions, owner or attributes",
            ConflictKind::Symlink => "both changed where it points",
            ConflictKind::Type => "both made something else of it",
            ConflictKind::Directory => "a directory on one side alone: decided whole",
            ConflictKind::Rename => "moved by one, and not left alone by the other",
            ConflictKind::Repository => "both changed this git repository: decided whole",
        }
    }
}

impl MergeShape {
    /// The shape of a report.
    pub(crate) fn new(session: SessionId, report: &MergeReport) -> Self {
        Self {
            session: session.to_string(),
            state: report.state,
            from: report.from.to_string(),
            into: report.into.to_string(),
            theirs: report.theirs.into(),
            bases: report.bases.iter().map(|base| PositionShape::from(*base)).collect(),
            undecided: report.undecided.iter().map(UndecidedShape::new).collect(),
            decisions: report.decisions.clone(),
            repositories: report.repositories.clone(),
            changes: ChangeShape::all(&report.changes),
            layout: report.layout.as_ref().map(|layout| layout.display().to_string()),
            unrecorded: report.unrecorded,
            position: report.position.map(PositionShape::from),
            workspace: report.restored.as_ref().map(RestoredShape::new),
            merged: format!("{}:{}", session.short(), report.from.short()),
            reference: format!("{}:{}", session.short(), report.into.short()),
        }
    }
}

/// What leaves a git repository where the other side is taken, and how to keep both; or what left it, and where that stays.
fn show_repository(repository: &RepositoryMerge, page: &mut Page) {
    let RepositoryMerge { path, ours, theirs, choice, stays, keep_both } = repository;
    for stays in stays {
        let known = if stays.side == "ours" { ours } else { theirs };
        page.styled(Style::Care, format!("{path} is without what {} had: {}", stays.side, commits(known)));
        page.line(format!("  the checkpoint {} has it: {}", stays.at, stays.command));
    }
    if choice.is_some() {
        return;
    }
    for (side, known, other) in [("ours", ours, "theirs"), ("theirs", theirs, "ours")] {
        let what = if known.leaves() {
            format!("{}; --take {path}={other} leaves them out", commits(known))
        } else {
            format!("no commit that {other} has not")
        };
        page.line(format!("   {side} has {what}"));
    }
    if !keep_both.is_empty() {
        page.line("   to keep both, with what you have here committed:");
    }
    for command in keep_both {
        page.line(format!("     {command}"));
    }
}

/// What a side has alone, in words.
fn commits(known: &RepositorySide) -> String {
    let at_least = if known.exact { "" } else { "at least " };
    let branch = known.branch.as_deref().unwrap_or("no branch");
    let tip = known.tip.as_ref().map_or_else(String::new, |tip| {
        let short: String = tip.chars().take(10).collect();
        let subject = known.subject.as_ref().map_or_else(String::new, |subject| format!(" {subject:?}"));
        format!(" at {short}{subject}")
    });
    format!("{at_least}{} of its own ({branch}{tip})", count(known.commits, "commit"))
}

impl Answer for MergeShape {
    fn show(&self, page: &mut Page) {
        let (from, into) = (short_id(&self.from), short_id(&self.into));
        let at = self.position.as_ref().map_or_else(String::new, |at| format!(" at seq {}", at.seq));
        let what = match self.state {
            MergeState::UpToDate if self.unrecorded > 0 => {
                format!("all that is in a checkpoint of branch {from} is in {into} already")
            }
            MergeState::UpToDate => format!("all of branch {from} is in {into} already"),
            MergeState::Planned => format!("merging branch {from} into {into} would do this; nothing was touched"),
            MergeState::Open => {
                format!("the merge of branch {from} into {into} waits for decisions; no file was touched")
            }
            MergeState::Merged => format!("branch {from} is merged into {into}{at}"),
            MergeState::Aborted => format!("the merge of branch {from} into {into} was given up"),
        };
        page.line(what);
        if self.state != MergeState::Open {
            ChangeShape::show_all(&self.changes, page);
        }
        for decision in &self.decisions {
            page.styled(Style::Dim, format!("  {}: {}", decision.path, decision.choice));
        }
        for conflict in &self.undecided {
            let proposed = if conflict.proposed { " (a merge is proposed)" } else { "" };
            let anew = if conflict.asked_anew { " (changed since it was decided)" } else { "" };
            let from = conflict.renamed_from.as_ref().map_or_else(String::new, |from| format!(" (was {from})"));
            let why = format!("  {}{proposed}{anew}", conflict.why());
            page.spans(&[
                (Style::Care, "C  "),
                (Style::Plain, &format!("{}{from}", conflict.path)),
                (Style::Dim, &why),
            ]);
        }
        for repository in &self.repositories {
            show_repository(repository, page);
        }
        if self.unrecorded > 0 {
            let paths = count(self.unrecorded, "path");
            page.styled(
                Style::Care,
                format!("not merged: {paths} of branch {from}'s own directory changed since its last checkpoint"),
            );
            page.line(format!("to merge that too, first: samite checkpoint {}", self.merged));
        }
        if let Some(layout) = &self.layout {
            page.line(format!("decide in {layout}/manifest.json, then: samite merge --continue {}", self.reference));
        }
        if let Some(workspace) = &self.workspace {
            workspace.show_kept(page);
        }
    }
}
