//! A clock and randomness that a test controls.

use crate::{Clock, Random};
use ring::digest::{SHA256, digest};
use samite_model::Result;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A clock that stands until it is moved.
#[derive(Debug, Default)]
pub struct TestClock(AtomicI64);

impl TestClock {
    /// A clock that stands at this time, in nanoseconds since 1970.
    pub fn new(now: i64) -> Self {
        Self(AtomicI64::new(now))
    }

    /// Sets the time.
    pub fn set(&self, now: i64) {
        self.0.store(now, Ordering::SeqCst);
    }

    /// Moves the time by so many nanoseconds.
    pub fn advance(&self, nanoseconds: i64) {
        self.0.fetch_add(nanoseconds, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Bytes that follow from a seed. Never for real keys.
#[derive(Debug)]
pub struct SeededRandom {
    seed: u64,
    counter: AtomicU64,
}

impl SeededRandom {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, counter: AtomicU64::new(0) }
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        for chunk in bytes.chunks_mut(32) {
            let number = self.counter.fetch_add(1, Ordering::SeqCst);
            let mut input = [0; 16];
            let (seed, count) = input.split_at_mut(8);
            seed.copy_from_slice(&self.seed.to_be_bytes());
            count.copy_from_slice(&number.to_be_bytes());
            for (place, byte) in chunk.iter_mut().zip(digest(&SHA256, &input).as_ref()) {
                *place = *byte;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_sequence() {
        let draw = |seed| {
            let random = SeededRandom::new(seed);
            let mut bytes = [0; 80];
            random.fill(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_ne!(draw(1)[..32], draw(1)[32..64]);
    }

    #[test]
    fn a_clock_moves_when_told() {
        let clock = TestClock::new(5);
        clock.advance(-7);
        assert_eq!(clock.now(), -2);
        clock.set(9);
        assert_eq!(clock.now(), 9);
    }
}
