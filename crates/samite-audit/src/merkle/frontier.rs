//! What a tree is appended to with: the roots of the complete subtrees that it is made of, and nothing of what is in them.

use super::{Hash, HashReader, LARGEST_TREE, Node, node_hash};
use samite_model::{Error, Result};

const VERSION: u8 = 1;
const PREFIX: usize = 1 + 8;

/// The right edge of a tree: its size and one hash for each bit of it that is set, the largest subtree first. It takes the next
/// leaf in O(log n) and gives the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    peaks: Vec<Hash>,
}

impl Frontier {
    /// That of the tree without leaves.
    pub const fn new() -> Self {
        Self { size: 0, peaks: Vec::new() }
    }

    /// That of a tree of `size` leaves whose hashes can be read: at most 63 of them are.
    ///
    /// # Errors
    /// What the reader answers.
    pub fn read(reader: &mut dyn HashReader, size: u64) -> Result<Self> {
        let peaks = Node::peaks(size).into_iter().map(|node| reader.read(node)).collect::<Result<_>>()?;
        Ok(Self { size, peaks })
    }

    /// That of a tree of which only the roots over each 256 leaves are left: they are all that bundles and tiles of leaves stand for.
    pub fn of_bundles(roots: &[Hash]) -> Self {
        let mut frontier = Self::new();
        for root in roots {
            frontier.push_bundle(*root);
        }
        frontier
    }

    /// Appends 256 leaves by the root over them, to a tree of a multiple of 256; to any other it does nothing.
    pub fn push_bundle(&mut self, root: Hash) {
        self.push_complete(root, 8);
    }

    /// How many leaves the tree has.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The roots of its complete subtrees, the largest and leftmost first.
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Appends a leaf by its [hash](super::leaf_hash).
    pub fn push(&mut self, leaf: Hash) {
        self.push_complete(leaf, 0);
    }

    /// Appends the complete tree of 2^`height` leaves with this root. The size must be a multiple of 2^`height`; otherwise
    /// nothing changes, and this is false.
    pub(crate) fn push_complete(&mut self, root: Hash, height: u32) -> bool {
        let Some(after) = 1_u64.checked_shl(height).and_then(|leaves| self.size.checked_add(leaves)) else {
            return false;
        };
        if self.size.trailing_zeros() < height && self.size != 0 {
            return false;
        }
        // Each subtree of the same size as what comes is its left neighbour.
        let mut root = root;
        for _ in 0..(self.size >> height).trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                root = node_hash(left, root);
            }
        }
        self.peaks.push(root);
        self.size = after;
        true
    }

    /// The root of the tree.
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev().copied();
        peaks.next().map_or_else(Hash::of_nothing, |last| peaks.fold(last, |right, left| node_hash(left, right)))
    }

    /// The bytes to store: version ‖ size ‖ hashes, at most 2,025 (docs/formats.md).
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PREFIX + self.peaks.len() * Hash::SIZE);
        bytes.push(VERSION);
        bytes.extend(self.size.to_be_bytes());
        for peak in &self.peaks {
            bytes.extend(peak.0);
        }
        bytes
    }

    /// The frontier with these stored bytes.
    ///
    /// # Errors
    /// `corrupt` (`bad_frontier`) when [`Frontier::encode`] did not write them.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = |what: &str| Error::corrupt("bad_frontier", format!("the stored frontier of the audit log {what}"));
        let (&version, rest) = bytes.split_first().ok_or_else(|| bad("is empty"))?;
        if version != VERSION {
            return Err(bad(&format!("has the unknown version {version}")));
        }
        let (size, hashes) = rest.split_first_chunk::<8>().ok_or_else(|| bad("is cut off"))?;
        let size = u64::from_be_bytes(*size);
        let (chunks, remainder) = hashes.as_chunks::<{ Hash::SIZE }>();
        let expected = size.count_ones() as usize;
        if size > LARGEST_TREE || chunks.len() != expected || !remainder.is_empty() {
            return Err(bad(&format!("has {} bytes of hashes for a tree of {size} leaves", hashes.len())));
        }
        Ok(Self { size, peaks: chunks.iter().map(|bytes| Hash(*bytes)).collect() })
    }
}
