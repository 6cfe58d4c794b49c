//! What entries say of artifacts.

use super::FileFound;
use samite_model::{ArtifactId, BlockId, BranchId, EntryId, Position, SessionId};
use samite_workspace::FileStamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `artifact_published`, on the branch: that it was published here. Its record is in the owner's artifacts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactPublished {
    /// The artifact.
    pub artifact: ArtifactId,
    /// What it is called: its path in the workspace, or what its caller named it. The same name again is a new version.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub of_type: String,
    /// How many bytes it has.
    pub size: u64,
    /// The plain SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// The caller's id for it, when it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedupe: Option<String>,
    /// Where redaction found something in its bytes, under its name, and in its inputs, under their paths, when they were stored
    /// anew; the first 1,000 chunks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<FileFound>,
}

/// `artifact_published`, in the owner's artifacts: the record, which outlives the branch and the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRecord {
    /// The artifact.
    pub artifact: ArtifactId,
    /// What it is called.
    pub name: String,
    /// Its type: `image`, `file`, `table`, `chart`, `document`, or any other word.
    #[serde(rename = "type")]
    pub of_type: String,
    /// Its media type, as it was given or guessed: not to be trusted.
    pub mime: String,
    /// What a person or an agent says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many bytes it has.
    pub size: u64,
    /// The plain SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// Its content id.
    pub content: BlockId,
    /// The tree that holds its bytes and its inputs.
    pub root: BlockId,
    /// Which version of its name it is on its branch; the first is 1.
    pub version: u64,
    /// When it was published, in nanoseconds since 1970.
    pub published: i64,
    /// The user for whom, and the agent and workload by which it was published.
    pub by: PublishedBy,
    /// Where it comes from.
    pub lineage: Lineage,
    /// What its file looked like, when it was one: one that looks the same later is not read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<FileStamp>,
}

/// Who published something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedBy {
    /// The user.
    pub user: String,
    /// The agent.
    pub agent: String,
    /// The workload.
    pub workload: String,
}

/// Where an artifact comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The session.
    pub session: SessionId,
    /// The branch.
    pub branch: BranchId,
    /// The entry of the branch that says so.
    pub entry: EntryId,
    /// The last checkpoint before, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Position>,
    /// The step that made it, when that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<MadeBy>,
    /// What it was made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// The command that made it, when that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<MadeWith>,
}

/// The step that made an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeBy {
    /// Its key.
    pub key: String,
    /// Its tool.
    pub tool: String,
    /// The entry that started it.
    pub step: EntryId,
    /// Where that entry was.
    pub start: Position,
    /// How this is known.
    pub known_by: KnownBy,
}

/// How it is known which step made an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// Its caller said so.
    Caller,
    /// The trees before and after the step differ in it.
    Trees,
}

/// Something that an artifact was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its path: relative to the workspace where it was in it, else absolute.
    pub path: String,
    /// Where it is in the artifact's tree.
    pub place: String,
    /// Its content id.
    pub content: BlockId,
    /// How many bytes it has; those of all files in it, for a directory.
    pub size: u64,
    /// Whether it is what the step found when it started, and not what was there when the artifact was published.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before_step: bool,
}

impl Input {
    /// What a path in the artifact's tree is for people, when it is of this input.
    pub(crate) fn shown(&self, at: &str) -> Option<String> {
        let below = at.strip_prefix(&self.place)?;
        (below.is_empty() || below.starts_with('/')).then(|| format!("{}{below}", self.path))
    }
}

/// A command that made an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeWith {
    /// The command and its arguments: text where it is UTF-8, else an object with `base64`.
    pub argv: Value,
    /// Where it ran: relative to the workspace where that is in it (empty for its top), else absolute.
    pub directory: String,
}

/// `artifact_retained`, in the owner's artifacts: how long one, or all of a type, are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRetained {
    /// The artifact; none for a type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactId>,
    /// The type; none for one artifact.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub of_type: Option<String>,
    /// How long.
    pub keep: Keep,
}

/// How long something is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// For ever.
    Forever,
    /// So many days after it was published.
    Days(u32),
    /// Up to this time, in nanoseconds since 1970.
    Until(i64),
    /// As its type's policy says; for a type, nothing is decided.
    Default,
}
