//! What a document's pieces are now, beside what they were.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::Piece;

/// Which pieces stay, come and go when a document is taken in again. All are numbers: of the old ones, of the new ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Those that are the same: which old one, which new one, in the order of the new.
    pub kept: Vec<(usize, usize)>,
    /// The new ones that were not there.
    pub added: Vec<usize>,
    /// The old ones that are there no more.
    pub gone: Vec<usize>,
}

/// Compares pieces by what identifies them: their text, a hash of it, or one of text and path.
///
/// What is there several times is kept as often as it is there on both sides, the first as the first. Where a piece was
/// moved, it is kept. Linear in the number of both.
pub fn difference<K: Eq + Hash>(old: &[K], new: &[Piece], key: impl Fn(&Piece) -> K) -> Difference {
    let mut places: HashMap<&K, VecDeque<usize>> = HashMap::new();
    for (number, identity) in old.iter().enumerate() {
        places.entry(identity).or_default().push_back(number);
    }
    let mut difference = Difference::default();
    for (number, piece) in new.iter().enumerate() {
        match places.get_mut(&key(piece)).and_then(VecDeque::pop_front) {
            Some(place) => difference.kept.push((place, number)),
            None => difference.added.push(number),
        }
    }
    difference.gone = places.into_values().flatten().collect();
    difference.gone.sort_unstable();
    difference
}
