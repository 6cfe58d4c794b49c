//! Randomness from a seed: the same seed gives the same run.

use samite_host::Random;
use samite_model::Result;
use std::sync::{Mutex, PoisonError};

/// A generator of 64 bits of state (`SplitMix64`): for choices in tests, never for keys.
#[derive(Debug)]
pub struct Seeded(Mutex<u64>);

impl Seeded {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    /// The next 64 bits.
    pub fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = *state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub fn below(&self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// True so many times in a thousand.
    pub fn chance(&self, in_thousand: u32) -> bool {
        self.below(1_000) < u64::from(in_thousand)
    }

    /// One of these; `None` when there are none.
    pub fn pick<'a, T>(&self, from: &'a [T]) -> Option<&'a T> {
        from.get(usize::try_from(self.below(u64::try_from(from.len()).unwrap_or(0))).unwrap_or(0))
    }

    /// Sixteen bytes, as most ids have them.
    pub fn bytes(&self) -> [u8; 16] {
        let (first, second) = (u128::from(self.next()), u128::from(self.next()));
        (first << 64 | second).to_be_bytes()
    }

    /// A generator of its own, whose choices do not depend on who else draws from this one later.
    #[must_use]
    pub fn branch(&self) -> Self {
        Self::new(self.next())
    }
}

impl Random for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        for part in bytes.chunks_mut(8) {
            let next = self.next().to_be_bytes();
            for (byte, random) in part.iter_mut().zip(next) {
                *byte = random;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_sequence() {
        let random = Seeded::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn choices_stay_in_their_range() {
        let random = Seeded::new(1);
        assert_eq!((random.below(0), random.pick::<u8>(&[])), (0, None));
        assert!((0..100).all(|_| random.below(3) < 3 && random.chance(1_000) && !random.chance(0)));
    }
}
