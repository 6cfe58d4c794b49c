//! A transformer in an ONNX file, from texts to vectors.

mod batch;
mod pooling;
mod run;

use crate::embedder::{Side, accept, prefixed, refuse_blank};
use crate::wordpiece::WordPiece;
use rten::ThreadPool;
pub(crate) use run::Bytes;
use run::Network;
use samite_model::memory::{Pooling, Space};
use samite_model::{Error, Result};
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

/// A model and its tokenizer. They are read only, so threads share them.
pub(crate) struct Encoder {
    network: Network,
    tokenizer: WordPiece,
    pooling: Pooling,
    /// The most tokens of a text, the special ones among them.
    tokens: usize,
}

impl Encoder {
    /// Of an ONNX model's bytes.
    ///
    /// # Errors
    /// `invalid` (`bad_model`).
    pub(crate) fn new(model: Bytes, tokenizer: WordPiece, pooling: Pooling, tokens: usize) -> Result<Self> {
        Ok(Self { network: Network::load(model)?, tokenizer, pooling, tokens: tokens.max(3) })
    }

    /// Vectors of texts that are not blank, as the model makes them.
    ///
    /// # Errors
    /// `invalid` (`bad_model`) when the model cannot run, or does not answer a vector a token.
    pub(crate) fn vectors(&self, texts: &[impl AsRef<str>], threads: &Threads) -> Result<Vec<Vec<f32>>> {
        let mut sequences = Vec::with_capacity(texts.len());
        for text in texts {
            sequences.push(self.tokenizer.encode(text.as_ref(), self.tokens));
        }
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        let mut placed = Vec::with_capacity(texts.len());
        for members in batch::plan(&lengths) {
            let batch: Vec<&[i32]> =
                members.iter().filter_map(|place| sequences.get(*place)).map(Vec::as_slice).collect();
            let hidden = self.network.run(&batch, self.tokenizer.padding, threads.pool())?;
            let lengths = batch.iter().map(|sequence| sequence.len());
            let pooled = pooling::pooled(&hidden, lengths, self.pooling);
            placed.extend(members.into_iter().zip(pooled));
        }
        placed.sort_unstable_by_key(|(place, _)| *place);
        Ok(placed.into_iter().map(|(_, vector)| vector).collect())
    }

    /// What an embedder answers that has this encoder.
    pub(crate) fn embed(&self, space: &Space, texts: &[&str], side: Side, threads: &Threads) -> Result<Vec<Vec<f32>>> {
        refuse_blank(texts)?;
        let prefixed: Vec<_> = texts.iter().map(|text| prefixed(space, text, side)).collect();
        accept(space, texts.len(), self.vectors(&prefixed, threads)?)
    }
}

/// How many threads multiply matrices. They are started when the first text comes.
pub(crate) struct Threads {
    number: NonZeroUsize,
    pool: OnceLock<Arc<ThreadPool>>,
}

impl Threads {
    pub(crate) const fn new(number: NonZeroUsize) -> Self {
        Self { number, pool: OnceLock::new() }
    }

    fn pool(&self) -> Arc<ThreadPool> {
        Arc::clone(self.pool.get_or_init(|| Arc::new(ThreadPool::with_num_threads(self.number.get()))))
    }
}

/// A model that cannot be used.
fn bad(what: &str) -> Error {
    Error::invalid("bad_model", format!("the model cannot be used: {what}")).hint(
        "take an ONNX file of an encoder such as sentence-transformers exports: from `input_ids` to a vector a token",
    )
}
