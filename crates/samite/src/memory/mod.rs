//! Long-term memory: records that outlive sessions, each namespace in a journal of its own.
//!
//! Which journal that is follows from who asks and from the whole name of the namespace. There is no way to ask for all of them,
//! for somebody else's, or for one by a part of its name.

mod batch;
mod branch;
mod cache;
mod edges;
mod erased;
mod file;
mod files;
mod govern;
mod graph;
mod ingest;
mod journal;
mod kept;
mod prompt;
mod query;
mod search;
mod tool;
mod vectors;
pub(crate) mod views;
mod visible;
mod write;

pub use branch::{BranchMemory, NotAdopted, Promotion};
pub(crate) use cache::Cache;
pub(crate) use file::LOCK;
use files::bad_call;
pub use files::{FileAnswer, FileCommand};
pub use govern::Revocation;
pub use graph::{Deletion, Entity, GraphAnswer, GraphCall, KnowledgeGraph, Observations, Relation};
pub use ingest::{
    DOCUMENT_EXTRACTOR, Document, DocumentFile, DocumentFormat, DocumentTree, HeldDocument, Ingested, Ingester,
    NotRead, document_tree, read_document,
};
pub use prompt::{Brief, fenced};
pub(crate) use query::no_record;
pub use query::{MemoryFilter, RecordedIn};
pub use samite_embed::Embedder;
pub use samite_memory::search::Scored;
pub use samite_memory::{Ended, Saying, Standing, Standings};
pub use samite_model::memory::*;
pub use search::{FoundRecord, Recalled, Search, Seen, SeenBy};
pub use tool::ToolWriter;
pub use vectors::{Behind, ModelOutcome, ModelSource, SpaceState};
pub use write::{NewRecord, Written};

use crate::client::Client;
use samite_model::{Error, Position, Result};

/// One namespace of one owner, as a principal sees it.
#[derive(Clone)]
pub struct Memory {
    client: Client,
    namespace: Namespace,
    /// What was written along the ancestry of this position is seen as well.
    on: Option<Position>,
    /// Nothing that was written to the namespace after this seq is seen.
    until: Option<u64>,
    /// What it is searched with besides words.
    encoding: vectors::Encoding,
}

impl Client {
    /// A namespace of this principal's user. It is made by the first record that is written to it.
    pub fn memory(&self, namespace: Namespace) -> Memory {
        Memory { client: self.clone(), namespace, on: None, until: None, encoding: vectors::Encoding::default() }
    }
}

impl Memory {
    /// The name.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The namespace as it is seen at a position of a session: with what was written along its ancestry and is no other session's yet.
    /// What is written through it goes to the namespace all the same.
    #[must_use]
    pub fn on(&self, position: Position) -> Self {
        Self { on: Some(position), ..self.clone() }
    }

    /// The namespace as it was seen at a position of a session when the last checkpoint up to there was taken.
    ///
    /// # Errors
    /// `not_found` (`no_tree`) when there is no checkpoint up to there.
    pub async fn at_checkpoint(&self, position: Position) -> Result<Self> {
        let tree = self.client.tree_at(position).await?.ok_or_else(|| {
            Error::not_found("no_tree", format!("there is no checkpoint up to seq {}", position.seq))
                .hint("take one: `samite checkpoint SESSION`")
        })?;
        // One that was made later was not there.
        let of = match self.state().await? {
            Some(state) => tree.tree.memory.iter().find(|at| at.journal == state.id).map_or(0, |at| at.seq),
            None => 0,
        };
        Ok(Self { on: Some(tree.position), until: Some(of), ..self.clone() })
    }
}
