//! The plan: what the fabric is to do, as data.

use super::context::ContextRole;
use super::damage::Flaw;
use samite_model::EntryKind;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// A session of one plan: 0 is the transcript's own, others are its sidechains in the order of their first lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionRef(pub usize);

/// A branch of a session of one plan: 0 is the first, others are numbered by their forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchRef(pub usize);

/// Lines of the transcript, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineRange {
    /// The first line.
    pub first: u64,
    /// The last line.
    pub last: u64,
}

/// What an entry is known by within its session: at most 128 bytes of printable ASCII, the same at every import.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DedupeId(pub(super) String);

impl DedupeId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DedupeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The class of a line that is kept (see the module's documentation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineClass {
    /// Nothing is wrong with it.
    Imported,
    /// It has a finding.
    Reported,
}

/// One thing to do, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'a> {
    /// A session starts: create it, or open it again by its key.
    Begin(Begin),
    /// A branch starts: fork it, or find it again by its key. It comes before the branch's first entry.
    Fork(Fork),
    /// An entry to append.
    Append(Append<'a>),
    /// The entry just appended holds a call of a tool: a step starts, with an undeclared effect.
    CallStarted(CallStarted),
    /// The entry just appended holds the result of a call: its step ends.
    CallEnded {
        /// The session of the entry.
        session: SessionRef,
        /// The branch of the entry.
        branch: BranchRef,
        /// The line of the result.
        line: u64,
        /// The call's id, as in [`CallStarted::tool_use`].
        tool_use: String,
        /// Whether the result is an error.
        failed: bool,
    },
    /// A sub-agent was started by a call of the entry's session.
    AgentLinked {
        /// The session of the call.
        session: SessionRef,
        /// The line that says so.
        line: u64,
        /// The sub-agent.
        agent: String,
        /// The call's id.
        tool_use: String,
    },
    /// The line repeats an earlier one: nothing is to be done.
    Duplicate {
        /// The line.
        line: u64,
        /// The line that it repeats.
        first: u64,
    },
    /// The line is blank, or no file: nothing is to be done.
    Blank {
        /// The line.
        line: u64,
    },
}

/// The start of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Begin {
    /// The session.
    pub session: SessionRef,
    /// What it was imported from, such as `claude-code`.
    pub harness: &'static str,
    /// What the session is known by: the same at every import; printable, at most 512 bytes.
    pub key: String,
    /// The session's id in the harness.
    pub session_id: String,
    /// The sub-agent's id, when this is a sub-agent's session. Of a sidechain without one: that of its first record.
    pub agent: Option<String>,
    /// The key of the session that this one is a child of.
    pub parent: Option<String>,
    /// The call in the parent session that started it, where that is known already; else see [`Item::AgentLinked`].
    pub tool_use: Option<String>,
    /// The working directory of the first record that names one.
    pub cwd: Option<String>,
    /// The harness's version in the first record that names one.
    pub version: Option<String>,
    /// The git branch of the first record that names one.
    pub git_branch: Option<String>,
    /// The line that starts it; 1 for the transcript's own session.
    pub line: u64,
    /// More that is to be known of where it came from.
    pub more: Map<String, Value>,
}

/// The start of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The session.
    pub session: SessionRef,
    /// The new branch.
    pub branch: BranchRef,
    /// The branch that holds the fork point itself, not only by inheritance.
    pub from: BranchRef,
    /// The fork point: the last line of `from` that the new branch inherits.
    pub at_line: u64,
    /// The line of the new branch's first entry.
    pub line: u64,
    /// What the branch is known by within its session: the id of its first entry.
    pub key: DedupeId,
}

/// An entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Append<'a> {
    /// The session.
    pub session: SessionRef,
    /// The branch.
    pub branch: BranchRef,
    /// The line's number; the first is 1.
    pub line: u64,
    /// Where the line starts in the file, in bytes.
    pub offset: u64,
    /// The payload: the record's bytes; of a line without the line feed.
    pub payload: Cow<'a, [u8]>,
    /// What the entry is known by.
    pub dedupe: DedupeId,
    /// What it is to be known by when the store already knows `dedupe` with other bytes (the transcript was changed
    /// since): append it under this id, and report it.
    pub dedupe_if_changed: DedupeId,
    /// What an earlier import may have known it by, with bytes that need not be the same: then it is there already.
    pub known_as: Option<DedupeId>,
    /// `message`, `model_response`, `compaction` or `event`.
    pub kind: EntryKind,
    /// What the entry is to the model's context.
    pub context: ContextRole,
    /// The lines that it summarises: of a compaction those on its own branch; of a title those up to its leaf.
    pub summarises: Option<LineRange>,
    /// What is wrong with its bytes.
    pub flaw: Option<Flaw>,
    /// Where in the payload the record is: all of it, but for damage, a byte order mark and a carriage return.
    pub record: Range<usize>,
    /// The line's class when the store did not know it; nothing for an entry derived from a line, which is none itself.
    pub class: Option<LineClass>,
    /// What stands in the payload for itself: published as artifacts before the entry.
    pub attachments: Vec<Attachment>,
    /// More attributes of the entry.
    pub more: Map<String, Value>,
}

/// Bytes that stand in a record for themselves, such as an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// What it is called; no control characters, at most 512 bytes.
    pub name: String,
    /// Its media type, where the source says one.
    pub mime: Option<String>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Append<'_> {
    /// What is to be known of the entry beside its kind and bytes, as a JSON object; nothing when there is nothing.
    ///
    /// `context`: its role's name, when that is not its kind's; `flaw`: what is wrong with its bytes; `record`: the
    /// start and end of the record in the payload, when it does not fill it; `lines`: the first and last line that it
    /// summarises; and what the planner adds ([`Append::more`]).
    pub fn attributes(&self) -> Option<Value> {
        let mut attributes = Map::new();
        if self.context != ContextRole::of_kind(self.kind) {
            attributes.insert("context".to_owned(), self.context.name().into());
        }
        if let Some(flaw) = self.flaw {
            attributes.insert("flaw".to_owned(), flaw.name().into());
        }
        let filled = self.payload.strip_suffix(b"\r").unwrap_or(&self.payload).len();
        if self.record != (0..filled) && self.record != (0..self.payload.len()) {
            attributes.insert("record".to_owned(), json!([self.record.start, self.record.end]));
        }
        if let Some(range) = self.summarises {
            attributes.insert("lines".to_owned(), json!([range.first, range.last]));
        }
        attributes.extend(self.more.clone());
        if attributes.is_empty() { None } else { Some(Value::Object(attributes)) }
    }
}

/// The start of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct CallStarted {
    /// The session of the entry.
    pub session: SessionRef,
    /// The branch of the entry.
    pub branch: BranchRef,
    /// The line of the call.
    pub line: u64,
    /// The call's id: the step's key. At most 256 bytes; a longer one stands as its hash.
    pub tool_use: String,
    /// The tool; at most 120 characters, none of them a control.
    pub tool: String,
    /// The input; nothing when there is none or it cannot be read as a value. Its bytes are in the entry.
    pub input: Option<Value>,
}
