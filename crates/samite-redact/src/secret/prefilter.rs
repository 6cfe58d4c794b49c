//! Finds where one of some hundred short texts may begin, whatever the case of its letters: a table that fits the processor's
//! nearest cache says of three bytes whether any of them begins so, and most places of a text end there.

use crate::alphabet::follows_any_case;

/// The bits of a hash of three bytes.
const BITS: u32 = 15;
const SIZE: usize = 1 << BITS;

/// The shortest pattern, in bytes.
pub(super) const LEAST: usize = 3;

/// Patterns, ready to be looked for.
pub(super) struct Prefilter {
    /// Which hashes any pattern has.
    known: Box<[u64; SIZE / 64]>,
    /// The patterns of each hash that is known: by hash, in order.
    buckets: Vec<(u16, Vec<usize>)>,
    patterns: Vec<Vec<u8>>,
}

/// Three bytes without the bit that tells capitals from small letters, as a hash.
#[inline]
fn hash(bytes: [u8; 4]) -> u16 {
    let folded = (u32::from_le_bytes(bytes) | 0x0020_2020) & 0x00ff_ffff;
    // The upper bits of a product depend on all bits below.
    (folded.wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as u16
}

impl Prefilter {
    /// The patterns have at least [`LEAST`] bytes; shorter ones are never found.
    pub(super) fn new(patterns: Vec<Vec<u8>>) -> Self {
        let mut known = Box::new([0; SIZE / 64]);
        let mut buckets: Vec<(u16, Vec<usize>)> = Vec::new();
        for (at, pattern) in patterns.iter().enumerate() {
            let [first, second, third, ..] = pattern.as_slice() else { continue };
            let hash = hash([*first, *second, *third, 0]);
            if let Some(word) = known.get_mut(usize::from(hash >> 6)) {
                *word |= 1_u64 << (hash & 63);
            }
            match buckets.binary_search_by_key(&hash, |bucket| bucket.0) {
                Ok(place) => {
                    if let Some(bucket) = buckets.get_mut(place) {
                        bucket.1.push(at);
                    }
                }
                Err(place) => buckets.insert(place, (hash, vec![at])),
            }
        }
        Self { known, buckets, patterns }
    }

    /// Tells of each pattern at each place, in the order of the text.
    pub(super) fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize, usize)) {
        for (at, window) in text.windows(4).enumerate() {
            let [first, second, third, fourth] = window else { return };
            self.look(text, at, hash([*first, *second, *third, *fourth]), &mut found);
        }
        if let [.., first, second, third] = text {
            self.look(text, text.len() - 3, hash([*first, *second, *third, 0]), &mut found);
        }
    }

    #[inline]
    fn look(&self, text: &[u8], at: usize, hash: u16, found: &mut impl FnMut(usize, usize, usize)) {
        if self.known.get(usize::from(hash >> 6)).is_some_and(|word| word >> (hash & 63) & 1 == 1) {
            self.compare(text, at, hash, found);
        }
    }

    #[cold]
    fn compare(&self, text: &[u8], at: usize, hash: u16, found: &mut impl FnMut(usize, usize, usize)) {
        let Ok(place) = self.buckets.binary_search_by_key(&hash, |bucket| bucket.0) else { return };
        let Some((_, bucket)) = self.buckets.get(place) else { return };
        for pattern in bucket {
            if let Some(text_of) = self.patterns.get(*pattern)
                && follows_any_case(text, at, text_of)
            {
                found(*pattern, at, at + text_of.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(patterns: &[&str], text: &str) -> Vec<(usize, usize, usize)> {
        let prefilter = Prefilter::new(patterns.iter().map(|pattern| pattern.as_bytes().to_vec()).collect());
        let mut found = Vec::new();
        prefilter.each(text.as_bytes(), |pattern, start, end| found.push((pattern, start, end)));
        found
    }

    #[test]
    fn every_pattern_is_found_wherever_it_begins() {
        let patterns = ["key", "passw", "://", "sk-", "keys"];
        assert_eq!(all(&patterns, "KEYS"), [(0, 0, 3), (4, 0, 4)]);
        assert_eq!(all(&patterns, "x PassWord://"), [(1, 2, 7), (2, 10, 13)]);
        assert_eq!(all(&patterns, "ask-"), [(3, 1, 4)]);
        assert_eq!(all(&patterns, "sk"), []);
        assert_eq!(all(&patterns, ""), []);
    }

    proptest! {
        #[test]
        fn it_finds_what_a_search_one_by_one_finds(text in "[a-cA-C:/]{0,40}") {
            let patterns = ["abc", "bca", "aab", "://", "cab:", "aaaa"];
            let mut expected = Vec::new();
            for at in 0..text.len() {
                for (number, pattern) in patterns.iter().enumerate() {
                    if text[at..].to_ascii_lowercase().starts_with(pattern) {
                        expected.push((number, at, at + pattern.len()));
                    }
                }
            }
            let mut found = all(&patterns, &text);
            found.sort_by_key(|one| (one.1, one.0));
            prop_assert_eq!(found, expected);
        }
    }
}
