//! The Merkle root of what was erased: one hash that stands for all commitments, in their order.

use crate::Commitment;
use crate::hash::digest;

/// A tree of RFC 6962 that is built leaf by leaf: a leaf is `00` and a commitment, a node `01` and its two halves, cut at
/// the largest power of two. Holds one hash for each bit of the number of leaves.
#[derive(Clone, Debug, Default)]
pub struct Root {
    /// The roots of the full trees so far, the largest first, with their numbers of leaves.
    full: Vec<(u64, [u8; 32])>,
    leaves: u64,
}

impl Root {
    /// Adds a commitment.
    pub fn push(&mut self, commitment: &Commitment) {
        self.push_bytes(commitment.as_bytes());
    }

    /// Adds a leaf of these bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        let mut last = (1, digest(&[&[0], bytes]));
        while let Some((size, left)) = self.full.pop_if(|(size, _)| *size == last.0) {
            last = (size.saturating_add(last.0), digest(&[&[1], &left, &last.1]));
        }
        self.full.push(last);
        self.leaves = self.leaves.saturating_add(1);
    }

    /// How many there are.
    pub fn leaves(&self) -> u64 {
        self.leaves
    }

    /// The root; of no leaves, the hash of nothing.
    pub fn finish(&self) -> [u8; 32] {
        let mut from_the_right = self.full.iter().rev().map(|(_, hash)| *hash);
        let Some(mut root) = from_the_right.next() else { return digest(&[]) };
        for left in from_the_right {
            root = digest(&[&[1], &left, &root]);
        }
        root
    }
}
