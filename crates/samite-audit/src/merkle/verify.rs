//! Verifying proofs, as RFC 9162 (2.1.3.2 and 2.1.4.2) says.

use super::{Hash, node_hash};
use samite_model::{Error, Result};

/// Verifies that the leaf with this hash is at `index` of the tree with this size and root.
///
/// # Errors
/// `corrupt` (`not_included`) when the proof does not show it.
pub fn verify_inclusion(leaf: Hash, index: u64, size: u64, proof: &[Hash], root: Hash) -> Result<()> {
    let refused = |why: &str| {
        let what = format!("the proof does not show that the leaf is at index {index} of a tree of {size}: {why}");
        Error::corrupt("not_included", what).hint("do not rely on it: the leaf, the proof or the tree head was changed")
    };
    if index >= size {
        return Err(refused("there is no such index"));
    }
    let (mut place, mut last, mut hash) = (index, size - 1, leaf);
    for &beside in proof {
        if last == 0 {
            return Err(refused("it has more hashes than the tree has levels"));
        }
        if place & 1 == 1 || place == last {
            hash = node_hash(beside, hash);
            // Levels on which a last node without a neighbour moves up as it is.
            while place & 1 == 0 && place != 0 {
                (place, last) = (place >> 1, last >> 1);
            }
        } else {
            hash = node_hash(hash, beside);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    if last != 0 {
        return Err(refused("it has fewer hashes than the tree has levels"));
    }
    if hash == root { Ok(()) } else { Err(refused("its hashes lead to another root")) }
}

/// Verifies that the tree with the old size and root is the beginning of the tree with the new ones.
///
/// # Errors
/// `corrupt` (`not_consistent`) when the proof does not show it.
pub fn verify_consistency(old: (u64, Hash), new: (u64, Hash), proof: &[Hash]) -> Result<()> {
    let ((old_size, old_root), (new_size, new_root)) = (old, new);
    let refused = |why: &str| {
        let what =
            format!("the proof does not show that the tree of {new_size} leaves continues that of {old_size}: {why}");
        Error::corrupt("not_consistent", what)
            .hint("keep both tree heads: together they may show that history was changed")
    };
    if old_size > new_size {
        return Err(refused("it is smaller"));
    }
    if old_size == 0 || old_size == new_size {
        return match () {
            () if !proof.is_empty() => Err(refused("it has hashes where none is needed")),
            () if old_size == 0 && old_root != Hash::of_nothing() => {
                Err(refused("the old root is not that of no leaves"))
            }
            () if old_size == new_size && old_root != new_root => Err(refused("the two have different roots")),
            () => Ok(()),
        };
    }
    // A complete old tree is itself the first hash, and is left out.
    let mut hashes = proof.iter().copied();
    let first = if old_size.is_power_of_two() { Some(old_root) } else { hashes.next() };
    let Some(first) = first else { return Err(refused("it is empty")) };
    let (mut place, mut last) = (old_size - 1, new_size - 1);
    let below = place.trailing_ones();
    (place, last) = (place >> below, last >> below);
    let (mut from_old, mut from_new) = (first, first);
    for beside in hashes {
        if last == 0 {
            return Err(refused("it has more hashes than the tree has levels"));
        }
        if place & 1 == 1 || place == last {
            from_old = node_hash(beside, from_old);
            from_new = node_hash(beside, from_new);
            while place & 1 == 0 && place != 0 {
                (place, last) = (place >> 1, last >> 1);
            }
        } else {
            from_new = node_hash(from_new, beside);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    match () {
        () if last != 0 => Err(refused("it has fewer hashes than the tree has levels")),
        () if from_old != old_root => Err(refused("its hashes lead to another old root")),
        () if from_new != new_root => Err(refused("its hashes lead to another new root")),
        () => Ok(()),
    }
}
