//! Ids, principals, entries, links, steps, trees and errors of samite: pure, without I/O.
//!
//! Everything above this floor agrees on these types; the bytes they are stored as are in docs/formats.md.

pub mod access;
pub mod artifact;
pub mod audit;
pub mod cadence;
pub mod closing;
pub mod envelope;
pub mod erasure;
mod error;
pub mod guarantees;
pub mod hash;
mod header;
pub mod history;
mod id;
pub mod json;
mod kind;
pub mod limits;
pub mod memory;
pub mod policy;
mod principal;
mod progress;
pub mod recovery;
pub mod settings;
pub mod step;
pub mod text;
pub mod thinning;
pub mod tree;

pub use error::{Error, ErrorKind, Result};
pub use header::{HEADER_SIZE, Header};
pub use id::{
    ArtifactId, BlockId, BranchId, Commitment, EntryId, FamilyId, Fingerprint, JournalId, KeyId, Link, PackId, PinId,
    Position, Pseudonym, RecordId, SessionId, SpaceId,
};
pub use kind::EntryKind;
pub use principal::{Owner, Principal, Tenant, user_name};
pub use progress::{Observer, Progress, stopped};
