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
    /// Which hashes of four bytes: a second look, since three bytes are the beginning of many a word.
    longer: Box<[u64; SIZE / 64]>,
    /// The number of the bucket of each hash that is known, from 1; a search among them took a third of the time.
    slots: Box<[u16]>,
    /// The patterns that begin with a hash.
    buckets: Vec<Vec<usize>>,
    patterns: Vec<Vec<u8>>,
}

/// Three bytes without the bit that tells capitals from small letters, as a hash.
#[inline]
fn hash(bytes: [u8; 4]) -> u16 {
    let folded = (u32::from_le_bytes(bytes) | 0x0020_2020) & 0x00ff_ffff;
    // The upper bits of a product depend on all bits below.
    (folded.wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as u16
}

/// The same of four bytes.
#[inline]
fn hash_of_four(bytes: [u8; 4]) -> u16 {
    ((u32::from_le_bytes(bytes) | 0x2020_2020).wrapping_mul(0x85eb_ca6b) >> (32 - BITS)) as u16
}

#[inline]
fn has(set: &[u64; SIZE / 64], hash: u16) -> bool {
    set.get(usize::from(hash >> 6)).is_some_and(|word| word >> (hash & 63) & 1 == 1)
}

fn put(set: &mut [u64; SIZE / 64], hash: u16) {
    if let Some(word) = set.get_mut(usize::from(hash >> 6)) {
        *word |= 1_u64 << (hash & 63);
    }
}

impl Prefilter {
    /// The patterns have at least [`LEAST`] bytes; shorter ones are never found.
    pub(super) fn new(patterns: Vec<Vec<u8>>) -> Self {
        let (mut known, mut longer) = (Box::new([0; SIZE / 64]), Box::new([0; SIZE / 64]));
        let mut slots = vec![0_u16; SIZE].into_boxed_slice();
        let mut buckets: Vec<Vec<usize>> = Vec::new();
        for (at, pattern) in patterns.iter().enumerate() {
            let [first, second, third, ..] = pattern.as_slice() else { continue };
            let hash = hash([*first, *second, *third, 0]);
            put(&mut known, hash);
            // Anything may follow a pattern of three.
            let followed = pattern.get(3).map_or(0..=u8::MAX, |fourth| *fourth..=*fourth);
            for fourth in followed {
                put(&mut longer, hash_of_four([*first, *second, *third, fourth]));
            }
            let Some(slot) = slots.get_mut(usize::from(hash)) else { continue };
            if *slot == 0 {
                buckets.push(Vec::new());
                *slot = u16::try_from(buckets.len()).unwrap_or(0);
            }
            if let Some(bucket) = usize::from(*slot).checked_sub(1).and_then(|place| buckets.get_mut(place)) {
                bucket.push(at);
            }
        }
        Self { known, longer, slots, buckets, patterns }
    }

    /// Tells of each pattern at each place, in the order of the text.
    pub(super) fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize, usize)) {
        for (at, window) in text.windows(4).enumerate() {
            let [first, second, third, fourth] = window else { return };
            let four = [*first, *second, *third, *fourth];
            let hash = hash(four);
            if has(&self.known, hash) && has(&self.longer, hash_of_four(four)) {
                self.compare(text, at, hash, &mut found);
            }
        }
        if let [.., first, second, third] = text {
            let hash = hash([*first, *second, *third, 0]);
            if has(&self.known, hash) {
                self.compare(text, text.len() - 3, hash, &mut found);
            }
        }
    }

    #[cold]
    fn compare(&self, text: &[u8], at: usize, hash: u16, found: &mut impl FnMut(usize, usize, usize)) {
        let slot = self.slots.get(usize::from(hash)).copied().unwrap_or(0);
        let Some(bucket) = usize::from(slot).checked_sub(1).and_then(|place| self.buckets.get(place)) else { return };
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
