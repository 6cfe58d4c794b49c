//! Chance that follows from a seed.

/// A sequence of choices that follows from its seed alone.
#[derive(Clone, Debug)]
pub struct Choice(u64);

impl Choice {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number: splitmix64.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.number() % end).unwrap_or(0)
    }

    /// Whether something happens that does so in so many of a hundred cases.
    pub fn happens(&mut self, percent: u64) -> bool {
        self.number() % 100 < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_sequence() {
        let draw = |seed| {
            let mut choice = Choice::new(seed);
            [choice.number(), choice.number(), choice.number()]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        // The published first number of this generator.
        assert_eq!(Choice::new(0).number(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn never_and_always_are_what_they_say() {
        let mut choice = Choice::new(1);
        assert!((0..1000).all(|_| !choice.happens(0) && choice.happens(100) && choice.below(3) < 3));
        assert_eq!(choice.below(0), 0);
    }
}
