//! Randomness, as a value that is passed in.

use ring::rand::{SecureRandom, SystemRandom};
use samite_model::{Error, Result};

/// Fills bytes at random.
pub trait Random: Send + Sync + 'static {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// `unavailable` when the operating system has no randomness to give.
    fn fill(&self, bytes: &mut [u8]) -> Result<()>;
}

/// So many random bytes, such as an id's.
///
/// # Errors
/// As [`Random::fill`].
pub fn random_id<const N: usize>(random: &dyn Random) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    random.fill(&mut bytes)?;
    Ok(bytes)
}

/// The operating system's randomness, fit for keys.
#[derive(Clone, Debug)]
pub struct SystemRandomness(SystemRandom);

impl SystemRandomness {
    /// The operating system's source.
    #[expect(clippy::disallowed_methods, reason = "this is the randomness that the others take")]
    pub fn new() -> Self {
        Self(SystemRandom::new())
    }
}

impl Default for SystemRandomness {
    fn default() -> Self {
        Self::new()
    }
}

impl Random for SystemRandomness {
    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        self.0.fill(bytes).map_err(|_| Error::unavailable("no_randomness", "the operating system gave no randomness"))
    }
}
