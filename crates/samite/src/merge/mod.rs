//! Bringing the files of two branches back together.
//!
//! Conversations are never merged, and neither is what happened outside. The trees of the two branches and of their common
//! ancestor are merged by path ([`samite_model::tree::merge`]). While anything is undecided the workspace is not touched: the
//! conflicts are laid out in a directory with a manifest, and a register says that a merge is open. A merge that is decided is
//! carried out as a restore to the merged tree, whose outcome, the tree after it and the entry with the second parent are one
//! commit.

mod base;
mod carry_out;
mod commits;
mod decision;
mod diverge;
mod layout;
mod manifest;
mod open;
mod plan;
mod repository;
mod sides;

pub(crate) use carry_out::AFTER_MERGE;
pub use commits::RepositorySide;
pub use decision::Choice;
pub use diverge::{Divergence, SharedResource};
pub use repository::{RepositoryMerge, Stays};

use crate::payload::MergeDecision;
use crate::workspace::Restored;
use samite_model::tree::{Change, ConflictKind, TreePath};
use samite_model::{BranchId, Observer, Position};
use std::path::PathBuf;

/// What to merge, and what is decided already.
#[derive(Clone, Debug, Default)]
pub struct MergeRequest {
    /// Take every proposal.
    pub auto: bool,
    /// What to take for conflicts, by path. They count before what the manifest says.
    pub take: Vec<(String, Choice)>,
    /// Where to lay conflicts out; none means in the store.
    pub layout: Option<PathBuf>,
    /// Is told how many files were found, read and written.
    pub observer: Observer,
}

/// How a merge stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeState {
    /// All of the branch is merged already.
    UpToDate,
    /// It was only planned: nothing was touched.
    Planned,
    /// It waits for decisions.
    Open,
    /// It is done.
    Merged,
    /// It was given up.
    Aborted,
}

/// A conflict that nobody has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// Where.
    pub path: TreePath,
    /// Why.
    pub kind: ConflictKind,
    /// The old name of a file that was moved.
    pub from: Option<TreePath>,
    /// Whether something is proposed.
    pub proposed: bool,
    /// Whether there was a decision about it that does not count any more, since one of the three sides changed.
    pub asked_anew: bool,
}

/// How a merge stands, or what came of it.
#[derive(Clone, Debug)]
pub struct MergeReport {
    /// How it stands.
    pub state: MergeState,
    /// The branch that is merged.
    pub from: BranchId,
    /// The branch that it is merged into.
    pub into: BranchId,
    /// Where the tree that is merged was recorded.
    pub theirs: Position,
    /// The common ancestors: one, but for branches that were merged crosswise.
    pub bases: Vec<Position>,
    /// What is to be decided.
    pub undecided: Vec<Undecided>,
    /// How conflicts were decided.
    pub decisions: Vec<MergeDecision>,
    /// The git repositories that both sides changed, with the commits that leave one where the other is taken.
    pub repositories: Vec<RepositoryMerge>,
    /// What it changes in the workspace, as far as it is decided.
    pub changes: Vec<Change>,
    /// The directory in which conflicts are laid out.
    pub layout: Option<PathBuf>,
    /// How many paths of the merged branch's own directory differ from the tree that is merged: they are not merged.
    pub unrecorded: u64,
    /// What was done to the workspace.
    pub restored: Option<Restored>,
    /// Where the merge is recorded.
    pub position: Option<Position>,
}
