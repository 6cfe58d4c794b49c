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

    /// Those of so many documents from one on, numbered from 0.
    #[must_use]
    pub fn range(&self, begin: u32, count: u32) -> Self {
        let mut range = Self::none(count);
        let (first, shift) = (begin as usize / 64, begin % 64);
        for (place, word) in range.words.iter_mut().enumerate() {
            let at = |place: usize| self.words.get(place).copied().unwrap_or(0);
            *word = at(first + place) >> shift;
            if shift > 0 {
                *word |= at(first + place + 1) << (64 - shift);
            }
        }
        let beyond = count % 64;
        if beyond > 0
            && let Some(last) = range.words.last_mut()
        {
            *last &= (1 << beyond) - 1;
        }
        range
    }

    /// Those in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).step_by(64).zip(&self.words).flat_map(|(begin, word)| {
            let rest = |word: &u64| Some(*word & word.wrapping_sub(1)).filter(|rest| *rest != 0);
            let words = std::iter::successors(Some(*word).filter(|word| *word != 0), rest);
            words.map(move |word| begin + word.trailing_zeros())
        })
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

    #[test]
    fn a_range_is_numbered_from_its_first() {
        let mut bits = Bits::none(300);
        for document in [0, 5, 63, 64, 100, 130, 191, 192, 299] {
            bits.insert(document);
        }
        for (begin, count) in
            [(0, 300), (5, 60), (64, 64), (63, 130), (100, 1), (130, 170), (299, 1), (0, 0), (290, 50)]
        {
            let range = bits.range(begin, count);
            let expected: Vec<u32> =
                (begin..begin + count).filter(|one| bits.contains(*one)).map(|one| one - begin).collect();
            assert_eq!((range.iter().collect::<Vec<_>>(), range.documents()), (expected, count), "{begin} {count}");
        }
    }
}
