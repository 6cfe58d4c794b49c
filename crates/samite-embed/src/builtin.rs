//! The encoder that is part of the program: all-MiniLM-L6-v2 (`data/NOTICE`).

use crate::embedder::{Embedder, Side};
use crate::encoder::{Bytes, Encoder, Threads};
use crate::wordpiece::WordPiece;
use samite_model::memory::{Normalisation, Pooling, Space, SpaceParts};
use samite_model::{Error, Result};
use std::num::NonZeroUsize;
use std::sync::OnceLock;

static MODEL: &[u8] = include_bytes!("../data/model.onnx");
static VOCABULARY: &str = include_str!("../data/vocab.txt");

/// SHA-256 of the model, and the beginning of that of the vocabulary. A test compares both.
const REVISION: &str = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6+07eced375cec144d";
const DIMENSIONS: u32 = 384;
/// What the model's makers cut texts at.
const TOKENS: usize = 256;

/// The model, loaded once a process by whoever needs it first.
static ENCODER: OnceLock<std::result::Result<Encoder, String>> = OnceLock::new();

/// The built-in encoder. It reads no file and asks nobody; the model is loaded when the first text comes, and shared by all threads.
pub struct Builtin {
    space: Space,
    threads: Threads,
}

impl Builtin {
    /// The encoder, which multiplies in so many threads.
    ///
    /// # Errors
    /// None: what [`Space::new`] would say of a description that is fixed.
    pub fn new(threads: NonZeroUsize) -> Result<Self> {
        let space = Space::new(SpaceParts {
            provider: "builtin".to_owned(),
            model: "all-MiniLM-L6-v2".to_owned(),
            revision: REVISION.to_owned(),
            dimensions: DIMENSIONS,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalisation: Normalisation::Unit,
        })?;
        Ok(Self { space, threads: Threads::new(threads) })
    }
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Builtin({})", self.space)
    }
}

impl Embedder for Builtin {
    fn space(&self) -> &Space {
        &self.space
    }

    /// As [`Embedder::embed`]; texts are cut at 256 tokens, some 200 words.
    ///
    /// # Errors
    /// As there; `internal` (`model_failed`) when the model that is part of the program cannot be loaded.
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<Vec<f32>>> {
        encoder()?.embed(&self.space, texts, side, &self.threads)
    }
}

fn encoder() -> Result<&'static Encoder> {
    let load = || {
        let tokenizer = WordPiece::from_lines(VOCABULARY)?;
        Encoder::new(Bytes::Static(MODEL), tokenizer, Pooling::Mean, TOKENS)
    };
    let loaded = ENCODER.get_or_init(|| load().map_err(|error: Error| error.to_string()));
    loaded.as_ref().map_err(|what| Error::internal("model_failed", format!("the built-in encoder: {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use samite_model::hash::Sha256;

    #[test]
    fn the_data_are_those_that_the_space_names() {
        let digest = |bytes: &[u8]| {
            let mut hash = Sha256::default();
            hash.update(bytes);
            hash.finish()
        };
        let vocabulary = digest(VOCABULARY.as_bytes());
        assert_eq!(vocabulary, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3");
        assert_eq!(REVISION, format!("{}+{}", digest(MODEL), &vocabulary[..16]));
    }
}
