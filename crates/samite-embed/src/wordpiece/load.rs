//! Vocabularies from files.

use super::{LONGEST_WORD, Normal, WordPiece};
use samite_model::{Error, Result};
use serde::Deserialize;
use std::collections::HashMap;

/// The most tokens. Those of many languages together have 250,000.
const MOST_TOKENS: usize = 1_000_000;

fn bad(what: &str) -> Error {
    Error::invalid("bad_tokenizer", format!("the model's tokenizer cannot be used: {what}"))
        .hint("take a model with a WordPiece tokenizer, as BERT's descendants have (MiniLM, BGE, E5, GTE), or ask it over an endpoint")
}

struct Vocabulary {
    ids: HashMap<Box<str>, i32>,
    normal: Normal,
    continuing: String,
    longest_word: usize,
    unknown: String,
}

impl Vocabulary {
    fn build(self) -> Result<WordPiece> {
        if self.ids.len() > MOST_TOKENS {
            return Err(bad("it has more than a million tokens"));
        }
        let id = |token: &str| self.ids.get(token).copied().ok_or_else(|| bad(&format!("it has no token {token:?}")));
        let (unknown, first, last, padding) = (id(&self.unknown)?, id("[CLS]")?, id("[SEP]")?, id("[PAD]")?);
        Ok(WordPiece {
            normal: self.normal,
            continuing: self.continuing,
            longest_word: self.longest_word,
            unknown,
            first,
            last,
            padding,
            ids: self.ids,
        })
    }
}

pub(super) fn lines(lines: &str) -> Result<WordPiece> {
    let ids = (0_i32..).zip(lines.lines()).map(|(id, token)| (token.into(), id)).collect();
    let vocabulary = Vocabulary {
        ids,
        normal: Normal::UNCASED,
        continuing: "##".to_owned(),
        longest_word: LONGEST_WORD,
        unknown: "[UNK]".to_owned(),
    };
    vocabulary.build()
}

// What is used of a tokenizer.json, as https://huggingface.co/docs/tokenizers describes it.

#[derive(Deserialize)]
struct File {
    normalizer: Normalizer,
    pre_tokenizer: Typed,
    model: Model,
}

#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Normalizer {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default = "yes")]
    clean_text: bool,
    #[serde(default = "yes")]
    handle_chinese_chars: bool,
    #[serde(default)]
    strip_accents: Option<bool>,
    #[serde(default = "yes")]
    lowercase: bool,
}

const fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: Option<String>,
    vocab: serde_json::Value,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    max_input_chars_per_word: Option<usize>,
}

pub(super) fn json(json: &[u8]) -> Result<WordPiece> {
    let file: File = serde_json::from_slice(json).map_err(|error| bad(&format!("tokenizer.json: {error}")))?;
    let kinds = [
        (file.normalizer.kind.as_str(), "BertNormalizer"),
        (file.pre_tokenizer.kind.as_str(), "BertPreTokenizer"),
        (file.model.kind.as_deref().unwrap_or("WordPiece"), "WordPiece"),
    ];
    if let Some((kind, known)) = kinds.into_iter().find(|(kind, known)| kind != known) {
        return Err(bad(&format!("it has a {kind:?} where only a {known} is known")));
    }
    let serde_json::Value::Object(vocab) = file.model.vocab else { return Err(bad("its vocabulary is no object")) };
    let id = |value: &serde_json::Value| value.as_i64().and_then(|id| i32::try_from(id).ok()).filter(|id| *id >= 0);
    let ids = vocab.iter().map(|(token, value)| Some((token.as_str().into(), id(value)?))).collect::<Option<_>>();
    let normal = file.normalizer;
    let vocabulary = Vocabulary {
        ids: ids.ok_or_else(|| bad("a token's number is none"))?,
        normal: Normal {
            clean: normal.clean_text,
            ideographs: normal.handle_chinese_chars,
            strip_accents: normal.strip_accents.unwrap_or(normal.lowercase),
            lowercase: normal.lowercase,
        },
        continuing: file.model.continuing_subword_prefix.unwrap_or_else(|| "##".to_owned()),
        longest_word: file.model.max_input_chars_per_word.unwrap_or(LONGEST_WORD).min(1_000),
        unknown: file.model.unk_token.unwrap_or_else(|| "[UNK]".to_owned()),
    };
    vocabulary.build()
}
