//! Making proofs.

use super::{Hash, HashReader, Node, node_hash, split};
use samite_model::{Error, Result};

/// The root of the first `size` leaves.
///
/// # Errors
/// What the reader answers.
pub fn root(reader: &mut dyn HashReader, size: u64) -> Result<Hash> {
    if size == 0 { Ok(Hash::of_nothing()) } else { range_root(reader, 0, size) }
}

/// The root of the tree over the leaves from `first` on, up to `end`. It takes few reads where `first` is a multiple of the
/// length's next power of two, as it is for the parts of a tree, and one a leaf at worst.
///
/// # Errors
/// `invalid` (`bad_leaf_range`) when there are none; what the reader answers.
pub fn range_root(reader: &mut dyn HashReader, first: u64, end: u64) -> Result<Hash> {
    let count = end.saturating_sub(first);
    if count == 0 {
        return Err(Error::invalid("bad_leaf_range", format!("no leaf is from {first} up to {end}")));
    }
    if count.is_power_of_two() && first.is_multiple_of(count) {
        return reader.read(Node { height: count.ilog2(), index: first / count });
    }
    let middle = first + split(count);
    let left = range_root(reader, first, middle)?;
    Ok(node_hash(left, range_root(reader, middle, end)?))
}

/// The proof that the leaf at `index` is in the tree of the first `size` leaves: the hashes beside its way to the root, from
/// the bottom.
///
/// # Errors
/// `invalid` (`bad_leaf_range`) when the tree has no such leaf; what the reader answers.
pub fn prove_inclusion(reader: &mut dyn HashReader, index: u64, size: u64) -> Result<Vec<Hash>> {
    if index >= size {
        return Err(Error::invalid("bad_leaf_range", format!("a tree of {size} leaves has none at index {index}"))
            .hint("the first leaf is at index 0"));
    }
    let (mut first, mut end) = (0, size);
    let mut proof = Vec::new();
    while end - first > 1 {
        let middle = first + split(end - first);
        if index < middle {
            proof.push(range_root(reader, middle, end)?);
            end = middle;
        } else {
            proof.push(range_root(reader, first, middle)?);
            first = middle;
        }
    }
    proof.reverse();
    Ok(proof)
}

/// The proof that the tree of the first `old` leaves is the beginning of that of the first `new`. It is empty when both are the
/// same, and when `old` is 0, of which every tree is the continuation.
///
/// # Errors
/// `invalid` (`bad_leaf_range`) when `old` is more than `new`; what the reader answers.
pub fn prove_consistency(reader: &mut dyn HashReader, old: u64, new: u64) -> Result<Vec<Hash>> {
    if old > new {
        return Err(Error::invalid("bad_leaf_range", format!("a tree of {new} leaves does not continue one of {old}"))
            .hint("name the older tree first"));
    }
    let mut proof = Vec::new();
    if old == 0 || old == new {
        return Ok(proof);
    }
    let (mut first, mut end) = (0, new);
    // While the old tree ends within, and from then on its last complete subtree, unless that is the old tree itself.
    while end != old {
        let middle = first + split(end - first);
        if old <= middle {
            proof.push(range_root(reader, middle, end)?);
            end = middle;
        } else {
            proof.push(range_root(reader, first, middle)?);
            first = middle;
        }
    }
    if first > 0 {
        proof.push(range_root(reader, first, end)?);
    }
    proof.reverse();
    Ok(proof)
}
