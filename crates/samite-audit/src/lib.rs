//! The audit log of a tenant as a transparency log that anybody can verify with a public key: what its entries (leaves) say,
//! the Merkle tree over them, signed tree heads, tiles, proofs, and exports into plain folders.
//!
//! Bytes are those of C2SP's tlog-tiles, signed-note, tlog-checkpoint, tlog-cosignature, tlog-witness and tlog-proof, so that
//! verifiers that nobody here wrote accept them; docs/formats.md ("Audit log") has them. All of it is pure (no clock, no I/O),
//! but for [`export`], which works on folders, and [`witness::submit`], which asks a witness over HTTP. Private keys are not here:
//! who signs is a [`Signer`].

pub mod consistency;
#[cfg(test)]
mod documented;
pub mod export;
pub mod leaf;
pub mod log;
pub mod merkle;
pub mod note;
pub mod proof;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tile;
pub mod tree_head;
pub mod witness;

pub use leaf::Leaf;
pub use merkle::{Frontier, Hash};
pub use note::{Note, Signer, VerifierKey};
pub use proof::Proof;
pub use tree_head::TreeHead;
