//! A model in a directory: an ONNX file and its vocabulary.

use crate::embedder::{Embedder, Side};
use crate::encoder::{Bytes, Encoder, Threads};
use crate::wordpiece::WordPiece;
use samite_model::hash::Sha256;
use samite_model::memory::{Normalisation, Pooling, Space, SpaceParts};
use samite_model::{Error, Result};
use std::num::NonZeroUsize;
use std::path::Path;

/// How a model is to be used, which its files do not say.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// Its name, for people.
    pub model: String,
    /// How the vectors of tokens become one: [`Pooling::Mean`] or [`Pooling::Cls`].
    pub pooling: Pooling,
    /// What is put before a query.
    pub query_prefix: String,
    /// What is put before a text that is to be found.
    pub passage_prefix: String,
    /// At how many tokens a text is cut, special ones among them; no model of this kind takes more than 512.
    pub tokens: usize,
    /// In how many threads it multiplies.
    pub threads: NonZeroUsize,
}

/// A model from files. The space's revision is the SHA-256 of `model.onnx` with the beginning of that of the vocabulary.
pub struct FileModel {
    space: Space,
    encoder: Encoder,
    threads: Threads,
}

impl FileModel {
    /// Reads `model.onnx`, and `tokenizer.json` or else `vocab.txt`, from a directory, and runs the model once. `read` answers a
    /// file's bytes, or none when it is not there, and limits how many it reads.
    ///
    /// # Errors
    /// `not_found` (`no_model`) when a file is missing; `invalid` (`bad_model`, `bad_tokenizer`, `bad_space`); what `read` answers.
    pub fn open(
        directory: &Path,
        options: FileOptions,
        read: &dyn Fn(&Path) -> Result<Option<Vec<u8>>>,
    ) -> Result<Self> {
        if options.pooling == Pooling::Provider {
            return Err(Error::invalid("bad_space", "a model from files does not pool by itself")
                .hint("its card says whether that is by the mean or by the first token"));
        }
        let missing = |what: &str| {
            Error::not_found("no_model", format!("there is no {what} in {}", directory.display()))
                .hint("name a directory with a model's `model.onnx`, and its `tokenizer.json` or `vocab.txt`")
        };
        let model = read(&directory.join("model.onnx"))?.ok_or_else(|| missing("model.onnx"))?;
        let (tokenizer, vocabulary) = if let Some(bytes) = read(&directory.join("tokenizer.json"))? {
            (WordPiece::from_json(&bytes)?, bytes)
        } else {
            let bytes =
                read(&directory.join("vocab.txt"))?.ok_or_else(|| missing("tokenizer.json and no vocab.txt"))?;
            (WordPiece::from_lines(&String::from_utf8_lossy(&bytes))?, bytes)
        };
        let short: String = digest(&vocabulary).chars().take(16).collect();
        let revision = format!("{}+{short}", digest(&model));
        let encoder = Encoder::new(Bytes::Read(model), tokenizer, options.pooling, options.tokens)?;
        let threads = Threads::new(options.threads);
        // What it answers to one word says how many dimensions there are, and that it runs.
        let dimensions = encoder.vectors(&["a"], &threads)?.first().map_or(0, Vec::len);
        let space = Space::new(SpaceParts {
            provider: "file".to_owned(),
            model: options.model,
            revision,
            dimensions: u32::try_from(dimensions).unwrap_or(u32::MAX),
            pooling: options.pooling,
            query_prefix: options.query_prefix,
            passage_prefix: options.passage_prefix,
            normalisation: Normalisation::Unit,
        })?;
        Ok(Self { space, encoder, threads })
    }
}

impl std::fmt::Debug for FileModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileModel({})", self.space)
    }
}

impl Embedder for FileModel {
    fn space(&self) -> &Space {
        &self.space
    }

    /// As [`Embedder::embed`].
    ///
    /// # Errors
    /// As there; `invalid` (`bad_model`) when the model fails.
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<Vec<f32>>> {
        self.encoder.embed(&self.space, texts, side, &self.threads)
    }
}

fn digest(bytes: &[u8]) -> String {
    let mut hash = Sha256::default();
    hash.update(bytes);
    hash.finish()
}
