//! Artifacts: what is published for the user, and outlives the session that made it.
//!
//! The bytes are durable first; then one commit records on the branch that it was published there, and in the owner's
//! artifacts what it is and where it comes from. A small tree holds its bytes and its inputs, so that one root keeps all.

mod deliver;
mod journal;
mod lineage;
mod list;
mod place;
mod put;
mod reproduce;
mod retain;
mod usage;
pub(crate) mod views;

pub use deliver::{Delivered, NotDelivered};
pub(crate) use journal::no_artifact;
pub use list::{Artifact, ArtifactFilter};
pub use put::{ArtifactSource, Put, PutArtifact};
pub use reproduce::{Compared, Reproduction};
pub use retain::Policy;
pub(crate) use retain::{Retained, unmoved};
pub use usage::{ArtifactsStatus, Usage, UsageBy};

pub use samite_model::artifact::{ByteRange, Kept, TYPES};
