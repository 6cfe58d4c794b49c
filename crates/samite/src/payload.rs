//! What entries hold: callers' events in a small frame, samite's own entries as JSON. Unknown fields from a newer
//! version are ignored; none is ever removed.

mod access;
mod artifact;
mod audit;
mod erasure;
mod event;
mod handed_out;
mod merge;
mod policy;
mod redaction;

pub use access::{GrantRevoked, Granted, Looked, ReadRecorded};
pub use artifact::{
    ArtifactPublished, ArtifactRecord, ArtifactRetained, Input, Keep, KnownBy, Lineage, MadeBy, MadeWith, PublishedBy,
};
pub use audit::{Anchored, AnchoredJournal, AuditArchived, HeadPublished};
pub use erasure::{
    BackedUp, Counted, DerivedRoot, Erased, ErasureExtended, ErasureStarted, HoldLifted, HoldSet, KeptRow, KeptRows,
    NamedActor, Unreached,
};
pub use event::{EVENTS, Event, is_event};
pub use handed_out::{Handed, HandedOut};
pub use merge::{MergeAborted, MergeDecision, MergeStarted, Merged};
pub use policy::{
    CaptureSet, ConsentSet, DatasetExported, OrganisationSet, ProcessorSet, Refused, RegionSet, RetentionSet,
    TransferDecided,
};
pub use redaction::{FileFound, FoundMany, KindFound, Marks, RedactionSet, SecretRegistered, Submitted};

use samite_model::step::{Effect, Evidence, OutcomeKind, Probe};
use samite_model::thinning::Rule;
use samite_model::{BlockId, BranchId, EntryId, FamilyId, Position, Principal, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `session_created`: the first entry of a session's control journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCreated {
    /// The session.
    pub session: SessionId,
    /// The name that a person or harness gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its first branch.
    pub branch: BranchId,
    /// Who made it.
    pub principal: Principal,
    /// The session that it works for, with the step that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSession>,
    /// Where it was imported from, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Value>,
}

/// `session_keyed`: what a caller knows a session by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionKeyed {
    /// The key.
    pub key: String,
    /// The session.
    pub session: SessionId,
}

/// The session that a child session works for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentSession {
    /// The session.
    pub session: SessionId,
    /// The position of the step that started the child, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Position>,
}

/// Why a branch was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForkReason {
    /// A second line beside the first.
    Fork,
    /// Going back: the new branch became current.
    Rewind,
    /// Found in an imported log.
    Import,
}

/// `branch_forked`, in the control journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchForked {
    /// The new branch.
    pub branch: BranchId,
    /// Where it left its parent.
    pub at: Position,
    /// Why.
    pub reason: ForkReason,
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What a caller knows it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// When its workspace trees may go (ns since 1970) unless it becomes current; none keeps them for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trees_until: Option<i64>,
}

/// `branch_current`, in the control journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchCurrent {
    /// The branch that is now current.
    pub branch: BranchId,
    /// The branch that was.
    pub previous: BranchId,
    /// When the previous branch's workspace trees may go (ns since 1970), unless it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_trees_until: Option<i64>,
    /// Of the two, those of which was decided how long they last (`branch_lifetime`): that stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<BranchId>,
}

/// `branch_lifetime`, in the control journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchLifetime {
    /// The branch.
    pub branch: BranchId,
    /// When its workspace trees may go (ns since 1970); none keeps them for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trees_until: Option<i64>,
}

/// `branch_deleted`, in the control journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchDeleted {
    /// The branch.
    pub branch: BranchId,
    /// The last seq that forks of it still need: the journal ends there once the deletion is done.
    pub kept_to: u64,
    /// The roots of the workspace trees that go with what is cut off; several entries share a long list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<BlockId>,
    /// The blocks of the large payloads that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub payloads: Vec<BlockId>,
}

/// `checkpoints_thinned`, in the control journal: before a collection takes their trees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointsThinned {
    /// The branch.
    pub branch: BranchId,
    /// The checkpoints; several entries share a long list.
    pub trees: Vec<ThinnedTree>,
    /// How many bytes were to go with them; of several entries the first has it all.
    pub bytes: u64,
    /// By which rule.
    pub rule: Rule,
}

/// A checkpoint that was thinned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinnedTree {
    /// Its seq on the branch.
    pub seq: u64,
    /// Its tree.
    pub root: BlockId,
}

/// `turn_ended`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// The caller's id for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedupe: Option<String>,
    /// The workspace's tree, which the entry before records; none where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<BlockId>,
    /// Why there is no tree although there is a workspace: `overhead`, `failed`, or an error's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_tree: Option<String>,
}

/// `step_started`. The input is borrowed where it is only written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStarted<I = Value> {
    /// The step's key, chosen by the harness.
    pub key: String,
    /// The tool.
    pub tool: String,
    /// What it was called with.
    pub input: I,
    /// What it can do.
    pub effect: Effect,
    /// What it touches outside, normalised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// How to look whether it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// What the outside dedupes on.
    pub idempotency_key: String,
    /// When the first attempt with this idempotency key started, in nanoseconds since 1970; none when this is the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_started: Option<i64>,
    /// The workspace's tree at the start, for a contained step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<BlockId>,
    /// The processes that run it, as JSON of the supervisor's record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Value>,
    /// The entry that asked for it, in an imported log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<u64>,
    /// What was found in the input, and what it was before placeholders took the place of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<Marks>,
}

/// `step_completed`, `step_failed`, and `step_evidence`. The output is borrowed where it is only written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnded<O = Value> {
    /// The entry that started it.
    pub step: EntryId,
    /// Where that entry is.
    pub start: Position,
    /// How it ended.
    pub kind: OutcomeKind,
    /// What came of it.
    pub output: O,
    /// The step for whose sake the call was not run, when it was not: it may be the same act in other words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<NotRun>,
    /// How long it took, in nanoseconds, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// The entry that holds the result, in an imported log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<u64>,
}

/// The step for whose sake a call was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRun {
    /// Its key.
    pub key: String,
    /// The entry that started it.
    pub step: EntryId,
    /// Where that entry is.
    pub start: Position,
}

/// Who settled a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettledBy {
    /// A person said so.
    Person,
    /// A probe saw it.
    Probe,
    /// The effect's class decides.
    Effect,
}

/// `step_resolved` and `step_abandoned`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSettled {
    /// The entry that started it.
    pub step: EntryId,
    /// Where that entry is.
    pub start: Position,
    /// Whether it happened; `false` lets it run again.
    pub happened: bool,
    /// What stands for its output, when it happened.
    #[serde(default)]
    pub output: Value,
    /// Who settled it.
    pub by: SettledBy,
    /// What was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// What a person wants to say about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether its caller was not there: the next new call on the same tool or resource may then be this step in other
    /// words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
}

/// `step_seen`: the caller of a step that was settled as happened in its absence has been told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSeen {
    /// The entry that started it.
    pub step: EntryId,
    /// Where that entry is.
    pub start: Position,
}

/// `steps_inherited`: the steps that were open at a fork point are in doubt in the child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepsInherited {
    /// The entries that started them, and where those are.
    pub steps: Vec<(EntryId, Position)>,
    /// Of the steps that had been settled as happened by then, those whose callers had not been told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<(EntryId, Position)>,
}

/// `tree`: this position is a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRecorded {
    /// The tree's root node.
    pub root: BlockId,
    /// The workspace.
    pub workspace: FamilyId,
    /// A person's word for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Files, bytes, and what could not be carried, as the snapshot reported it.
    pub report: Value,
    /// The environment's fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Value>,
    /// The head of the workspace's own journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_head: Option<u64>,
    /// How far the owner's namespaces of long-term memory had come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Position>,
}

/// `workspace_attached`, on a branch and in the session's control journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceAttached {
    /// The workspace.
    pub workspace: FamilyId,
    /// Its directory, as an absolute path.
    pub path: String,
    /// The branch that works in it from now on.
    pub branch: BranchId,
    /// The workspace that the branch had before, whose directory is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<FamilyId>,
}

/// `workspace_interval`, in the workspace's own journal: it orders the trees of all sessions that share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceInterval {
    /// The session that the tree was recorded for.
    pub session: SessionId,
    /// The branch.
    pub branch: BranchId,
    /// The tree.
    pub root: BlockId,
    /// What the directory is known to hold by the session's own doing, when that is not the tree: snapshots before and
    /// after a restore also hold what others made, which the next restore must not take away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<BlockId>,
}

/// `workspace_closed`, on a branch and in the workspace's own journal: all of the workspace was durable at that moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceClosed {
    /// The workspace.
    pub workspace: FamilyId,
    /// The branch that closed it.
    pub branch: BranchId,
    /// The tree that has everything.
    pub root: BlockId,
    /// Where that is recorded.
    pub tree: Position,
    /// The last seq of the branch before this entry.
    pub head: u64,
    /// The artifacts that were published by the close.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// How many files, links, pipes and devices the tree has.
    pub files: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many paths the user's own rules left out: they are in no tree.
    pub excluded: u64,
}

/// What a compaction summarises: the attributes of an event of that kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// The first seq that it summarises.
    pub from: u64,
    /// The last.
    pub to: u64,
}
