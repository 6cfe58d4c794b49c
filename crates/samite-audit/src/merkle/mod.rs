//! The Merkle tree of RFC 6962 over SHA-256: the root of n leaves is the hash of the roots of the first k and of the rest,
//! where k is the largest power of two below n.

mod frontier;
mod hash;
mod prove;
mod reader;
mod verify;

pub use frontier::Frontier;
pub use hash::{Hash, leaf_hash, node_hash};
pub use prove::{prove_consistency, prove_inclusion, range_root, root};
pub(crate) use reader::complete_root;
pub use reader::{HashReader, Node};
pub use verify::{verify_consistency, verify_inclusion};

/// The most leaves that a tree may have: what every verifier can count.
pub const LARGEST_TREE: u64 = i64::MAX.unsigned_abs();

/// The largest power of two below `count`, which is at least 2.
fn split(count: u64) -> u64 {
    debug_assert!(count > 1, "a leaf is not split");
    1 << (count - 1).ilog2()
}

#[cfg(test)]
mod tests;
