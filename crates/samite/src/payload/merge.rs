//! What the entries of merges hold.

use super::FileFound;
use samite_model::tree::{ConflictKind, Kept};
use samite_model::{BlockId, BranchId, Position};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `merge_started`: a merge waits for decisions, or, with a `target`, is decided and about to be carried out. The last one of a
/// branch counts until `merged` or `merge_aborted`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeStarted {
    /// The branch that is merged.
    pub from: BranchId,
    /// Where the tree that is merged was recorded.
    pub theirs: Position,
    /// That tree.
    pub theirs_root: BlockId,
    /// The checkpoint of the branch that it is merged into.
    pub ours: Position,
    /// The trees of the common ancestors, of which there are several when branches were merged crosswise.
    pub bases: Vec<BlockId>,
    /// The directory in which the conflicts are laid out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The merged tree, once all is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<BlockId>,
    /// How each conflict was decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<MergeDecision>,
    /// Where redaction found something in what both sides together made of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<FileFound>,
}

impl MergeStarted {
    /// The trees that are needed until its end.
    pub fn trees(&self) -> Vec<BlockId> {
        self.bases.iter().copied().chain([self.theirs_root]).chain(self.target).collect()
    }
}

/// How a conflict of a merge was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeDecision {
    /// Where the conflict was.
    pub path: String,
    /// What it was.
    pub kind: ConflictKind,
    /// `ours`, `theirs`, `base`, `proposed`, `removed`, or `file`.
    pub choice: String,
}

/// `merged`: this position has two parents, the entry before it and `theirs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// The branch that was merged.
    pub from: BranchId,
    /// The second parent: where the tree that was merged was recorded.
    pub theirs: Position,
    /// That tree.
    pub theirs_root: BlockId,
    /// The checkpoint of this branch that it was merged with.
    pub ours: Position,
    /// The merged tree. What the workspace then held is in the tree of the entry before.
    pub root: BlockId,
    /// How each conflict was decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<MergeDecision>,
    /// Paths of the workspace that were kept as they are, because somebody changed them meanwhile: a list of `path` and
    /// `reason`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub kept: Value,
}

impl Merged {
    /// What a merge came to, with what the restore of its tree kept.
    pub fn new(started: MergeStarted, root: BlockId, kept: &[Kept]) -> Self {
        let kept = if kept.is_empty() { Value::Null } else { serde_json::to_value(kept).unwrap_or_default() };
        let MergeStarted { from, theirs, theirs_root, ours, decisions, .. } = started;
        Self { from, theirs, theirs_root, ours, root, decisions, kept }
    }
}

/// `merge_aborted`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeAborted {
    /// The branch that was not merged.
    pub from: BranchId,
    /// Where its tree was recorded.
    pub theirs: Position,
}
