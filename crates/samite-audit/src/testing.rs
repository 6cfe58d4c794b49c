//! A signer for tests and benchmarks, whose key anybody can make.

use crate::note::{KeyKind, Signer, VerifierKey};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use samite_model::Result;

/// A key of one byte, repeated.
pub struct TestSigner {
    name: String,
    key: Ed25519KeyPair,
}

#[expect(clippy::unwrap_used, reason = "a seed of 32 bytes is a key, and its name is a test's own")]
impl TestSigner {
    /// The key of a byte under a name.
    pub fn new(name: &str, seed: u8) -> Self {
        Self { name: name.to_owned(), key: Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap() }
    }

    /// What verifies the notes that it signs.
    pub fn verifier(&self) -> VerifierKey {
        VerifierKey::of(self, KeyKind::Ed25519).unwrap()
    }
}

#[expect(clippy::unwrap_used, reason = "ring's keys and signatures have these lengths")]
impl Signer for TestSigner {
    fn name(&self) -> &str {
        &self.name
    }

    fn public_key(&self) -> [u8; 32] {
        self.key.public_key().as_ref().try_into().unwrap()
    }

    fn sign(&self, message: &[u8]) -> Result<[u8; 64]> {
        Ok(self.key.sign(message).as_ref().try_into().unwrap())
    }
}
