//! Which documents of a part of an index are visible.

/// A set of document numbers below a fixed count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    count: u32,
}

impl Bits {
    /// None of so many documents.
    pub fn none(count: u32) -> Self {
        Self { words: vec![0; (count as usize).div_ceil(64)], count }
    }

    /// All of so many documents.
    pub fn all(count: u32) -> Self {
        let mut bits = Self::none(count);
        for document in 0..count {
            bits.insert(document);
        }
        bits
    }

    /// How many documents there are, in the set or not.
    pub const fn documents(&self) -> u32 {
        self.count
    }

    /// How many are in the set.
    pub fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Whether a document is in the set; one that does not exist is not.
    pub fn contains(&self, document: u32) -> bool {
        self.words.get(document as usize / 64).is_some_and(|word| word >> (document % 64) & 1 == 1)
    }

    /// Puts a document in; one that does not exist is left out.
    pub fn insert(&mut self, document: u32) {
        if document < self.count
            && let Some(word) = self.words.get_mut(document as usize / 64)
        {
            *word |= 1 << (document % 64);
        }
    }

    /// Takes a document out.
    pub fn remove(&mut self, document: u32) {
        if let Some(word) = self.words.get_mut(document as usize / 64) {
            *word &= !(1 << (document % 64));
        }
    }

    /// Those in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.count).filter(|document| self.contains(*document))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in_and_nothing_that_does_not_exist() {
        let mut bits = Bits::none(130);
        assert!(bits.is_empty());
        for document in [0, 63, 64, 129, 130, 4000] {
            bits.insert(document);
        }
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        bits.remove(64);
        bits.remove(4000);
        assert_eq!((bits.len(), bits.documents()), (3, 130));
        assert!(bits.contains(129) && !bits.contains(130) && !bits.contains(64));
        assert_eq!(Bits::all(65).len(), 65);
    }
}
