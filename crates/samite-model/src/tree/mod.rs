//! Trees: a directory as Merkle nodes, and the pure decisions about them.
//!
//! A tree is a [`Root`] block that names the top directory and the exclusion rules. A directory is one or more *nodes*:
//! leaves hold entries sorted by name, inner nodes hold the first name and the id of each node below. Nodes are cut by
//! content alone ([`split`]), so that equal directories have equal nodes whatever their history, and one changed entry
//! rewrites one node a level. The bytes are in docs/formats.md.
//!
//! Nothing here reads a file or a block: nodes come in as bytes and go out as bytes, and ids are made by a function
//! that the caller passes in, because they are keyed.

mod code;
mod content;
mod diff;
mod entry;
mod listing;
mod merge;
mod node;
mod path;
mod plan;
mod root;
mod split;

pub use content::{Body, ChunkList, Segment, build_content};
pub use diff::{Change, ChangeKind, diff};
pub use entry::{Content, Entry, EntryType, LinkGroup, Metadata, Xattr};
pub use listing::Listing;
pub use merge::{Conflict, ConflictKind, Merge, MergeOptions, Scope, Side, Taken, merge};
pub use node::{Node, build_directory};
pub use path::TreePath;
pub use plan::{Action, IsExcluded, Kept, KeptReason, Other, Plan, PlanOptions, Torn, Whose, plan};
pub use root::{Root, RuleFile};
pub use split::{LEAF_CAP, SMALL_DIRECTORY, split};

/// The type of a block, part of what its id is a hash of. Codes are permanent.
pub mod block_type {
    /// Bytes of a file.
    pub const CHUNK: u8 = 1;
    /// A node of a directory.
    pub const NODE: u8 = 2;
    /// A list of the chunks of one large file.
    pub const CHUNK_LIST: u8 = 3;
    /// A tree's root.
    pub const ROOT: u8 = 4;
    /// A payload that is too large for its journal, or a part of one.
    pub const PAYLOAD: u8 = 5;
}

/// A block that was built: its id and its plaintext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The keyed id.
    pub id: crate::BlockId,
    /// One of [`block_type`].
    pub block_type: u8,
    /// The plaintext.
    pub bytes: Vec<u8>,
}

/// Makes the keyed id of a block from its type and plaintext.
pub type Identify<'a> = dyn FnMut(u8, &[u8]) -> crate::Result<crate::BlockId> + 'a;
