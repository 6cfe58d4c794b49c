//! Where the hashes of a tree are read from.

use super::{Hash, node_hash};
use samite_model::{Error, Result};

/// A complete subtree: the one over the leaves from `index` × 2^`height` on, 2^`height` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// How many levels it is above the leaves.
    pub height: u32,
    /// The how-manieth of its height it is, from the left.
    pub index: u64,
}

impl Node {
    /// The complete subtrees that a tree of `size` leaves is made of, the largest and leftmost first.
    pub fn peaks(size: u64) -> Vec<Self> {
        let heights = (0..u64::BITS).rev().filter(|height| size >> height & 1 == 1);
        heights.map(|height| Self { height, index: (size >> height) - 1 }).collect()
    }

    /// The index of its first leaf, and of the first one after it.
    pub fn leaves(self) -> (u64, u64) {
        let first = self.index << self.height;
        (first, first + (1 << self.height))
    }
}

/// Reads hashes of complete subtrees: from [tiles](crate::tile::TileReader), or from the hashes of all leaves.
pub trait HashReader {
    /// The root of a complete subtree.
    ///
    /// # Errors
    /// `corrupt` or `not_found` when it cannot be had.
    fn read(&mut self, node: Node) -> Result<Hash>;
}

/// The hashes of all leaves, in order. Each read hashes what is below the node.
impl HashReader for &[Hash] {
    fn read(&mut self, node: Node) -> Result<Hash> {
        let missing = || Error::not_found("no_leaf", format!("the tree has {} leaves, and no {node:?}", self.len()));
        let (first, end) = node.leaves();
        let range = usize::try_from(first).ok().zip(usize::try_from(end).ok());
        let leaves = range.and_then(|(first, end)| self.get(first..end)).ok_or_else(missing)?;
        complete_root(leaves).ok_or_else(missing)
    }
}

/// The root of the complete tree over these hashes, a power of two of them; nothing for any other number.
pub(crate) fn complete_root(hashes: &[Hash]) -> Option<Hash> {
    if let [hash] = hashes {
        return Some(*hash);
    }
    if !hashes.len().is_power_of_two() {
        return None;
    }
    // Level by level in one small buffer.
    let mut level: Vec<Hash> = pairs(hashes).collect();
    while level.len() > 1 {
        level = pairs(&level).collect();
    }
    level.pop()
}

fn pairs(hashes: &[Hash]) -> impl Iterator<Item = Hash> {
    hashes.as_chunks::<2>().0.iter().map(|[left, right]| node_hash(*left, *right))
}
