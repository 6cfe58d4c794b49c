//! A record, and where it comes from.

use super::trust::Trust;
use crate::error::{Error, Result};
use crate::id::{BranchId, EntryId, Position, RecordId, SessionId};
use crate::limits;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// A record's text has at most so many bytes: 1 MiB.
pub const TEXT: usize = 1 << 20;

/// A record's metadata, as JSON, has at most so many bytes.
const METADATA: usize = 64 << 10;

/// A record names at most so many entries or records that it was made of.
const NAMED: usize = 1024;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// Something that happened, such as a turn of a conversation.
    Episodic,
    /// A fact.
    Semantic,
    /// How something is done.
    Procedural,
    /// What is in every prompt.
    Pinned,
    /// A piece of a document.
    Chunk,
    /// A relation between two entities.
    Edge,
}

impl RecordKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Episodic, Self::Semantic, Self::Procedural, Self::Pinned, Self::Chunk, Self::Edge];

    /// The name in commands and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Episodic => "episodic",
            Self::Semantic => "semantic",
            Self::Procedural => "procedural",
            Self::Pinned => "pinned",
            Self::Chunk => "chunk",
            Self::Edge => "edge",
        }
    }

    /// The kind of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A relation between two entities, over the records that say so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// The entity that it goes out from.
    pub from: String,
    /// The relation.
    pub relation: String,
    /// The entity that it leads to.
    pub to: String,
}

/// When what a record says is so, in nanoseconds since 1970: from the first, and not any more at the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validity {
    /// From when; none means ever since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Until when; none means for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
}

impl Validity {
    /// Whether it is so at a time.
    pub fn holds_at(self, time: i64) -> bool {
        self.from.is_none_or(|from| from <= time) && self.to.is_none_or(|to| time < to)
    }
}

/// A part of an entry that a record was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The entry.
    #[serde(flatten)]
    pub position: Position,
    /// From which byte of its body to which; none means all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<(u64, u64)>,
}

/// Who wrote a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriterName {
    /// The user.
    pub user: String,
    /// The agent.
    pub agent: String,
    /// The workload.
    pub workload: String,
}

/// What made a record of something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extractor {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Where a record comes from. It is fixed when the record is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The session that it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchId>,
    /// The entries that it was made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Span>,
    /// The step that brought it, by its started entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<EntryId>,
    /// The records that it was made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<RecordId>,
    /// Where that came from: an address, a path, a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extractor: Option<Extractor>,
    /// Who wrote it.
    pub writer: WriterName,
    /// How far its source is trusted.
    pub trust: Trust,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its id. One that takes the place of another has an id of its own.
    #[serde(rename = "id")]
    pub record: RecordId,
    /// What it is.
    pub kind: RecordKind,
    /// What it says.
    pub text: String,
    /// What else is to be known of it. `speaker`, `date`, `title` and `entities` mean something to the search.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The relation, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<Edge>,
    /// When what it says is so.
    #[serde(default)]
    pub valid: Validity,
    /// The record before it in what it is a part of: the turn before, the piece before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<RecordId>,
    /// Where it comes from.
    pub provenance: Provenance,
}

impl Record {
    /// Checks what a caller chose.
    ///
    /// # Errors
    /// `invalid`: `empty_text`, `text_too_long`, `bad_metadata`, `bad_validity`, `bad_edge` where a relation is missing or there is one
    /// on another kind, `too_many_sources`, `not_pinnable`, or what [`limits::check_name`] says of names.
    pub fn check(&self) -> Result<()> {
        if self
            .text
            .chars()
            .all(|one| one.is_whitespace() || one.is_control() || one == '\u{200b}' || one == '\u{feff}')
        {
            return Err(Error::invalid("empty_text", "the record says nothing").hint("give it a text"));
        }
        if self.text.len() > TEXT {
            return Err(Error::invalid(
                "text_too_long",
                format!("the text has {} bytes; at most {TEXT}", self.text.len()),
            )
            .hint("ingest it as a document: it is cut into pieces"));
        }
        let metadata = serde_json::to_vec(&self.metadata).map_or(usize::MAX, |bytes| bytes.len());
        if metadata > METADATA {
            return Err(Error::invalid(
                "bad_metadata",
                format!("the metadata has {metadata} bytes; at most {METADATA}"),
            ));
        }
        if let (Some(from), Some(to)) = (self.valid.from, self.valid.to)
            && from >= to
        {
            return Err(Error::invalid("bad_validity", "it ends before it begins to be valid")
                .hint("give --valid-from a time before --valid-to"));
        }
        match (&self.edge, self.kind) {
            (Some(edge), RecordKind::Edge) => {
                limits::check_name("the entity that the edge goes out from", &edge.from)?;
                limits::check_name("the relation", &edge.relation)?;
                limits::check_name("the entity that the edge leads to", &edge.to)?;
            }
            (None, RecordKind::Edge) => {
                return Err(Error::invalid("bad_edge", "an edge names two entities and a relation")
                    .hint("give --from, --relation and --to"));
            }
            (Some(_), kind) => {
                return Err(Error::invalid("bad_edge", format!("a record of kind {kind} is no edge")));
            }
            (None, _) => {}
        }
        let provenance = &self.provenance;
        let named = provenance.entries.len().max(provenance.inputs.len());
        if named > NAMED {
            return Err(Error::invalid("too_many_sources", format!("it was made of {named} things; at most {NAMED}")));
        }
        if let Some(source) = &provenance.source {
            limits::check_name("the source", source)?;
        }
        if let Some(extractor) = &provenance.extractor {
            limits::check_name("the extractor's name", &extractor.name)?;
            limits::check_name("the extractor's version", &extractor.version)?;
        }
        if self.kind == RecordKind::Pinned && !provenance.trust.may_be_pinned() {
            return Err(not_pinnable(provenance.trust));
        }
        Ok(())
    }
}

/// What is said where a record is not trusted enough to be in every prompt.
pub fn not_pinnable(trust: Trust) -> Error {
    Error::denied("not_pinnable", format!("what comes from {trust} is not pinned: it would be in every prompt"))
        .hint("what the user or an operator says is pinned; say it in their name, if it is theirs")
}
