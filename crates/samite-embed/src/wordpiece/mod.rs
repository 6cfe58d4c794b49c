//! The tokenizer of BERT and of the encoders that were made from it: words, and pieces of words.
//!
//! Devlin et al., "BERT" (2018), section 3, in the form that the Python library `tokenizers` gives it (`BertNormalizer`,
//! `BertPreTokenizer`, `WordPiece`), which is what the models were trained with. One thing is different: the names of special tokens
//! in a text (`[SEP]`) are words like all others, so that no text ends itself.

mod load;
mod text;

use samite_model::Result;
use std::collections::HashMap;

pub(crate) use text::Normal;

/// A longer word, in characters, is unknown as a whole.
const LONGEST_WORD: usize = 100;

/// Words and pieces of words with their numbers.
pub(crate) struct WordPiece {
    ids: HashMap<Box<str>, i32>,
    normal: Normal,
    /// What stands before a piece that does not begin a word.
    continuing: String,
    longest_word: usize,
    unknown: i32,
    /// Before every text.
    first: i32,
    /// After it.
    last: i32,
    /// Where a batch has nothing.
    pub(crate) padding: i32,
}

impl WordPiece {
    /// Reads a `vocab.txt`: a token a line, and its number is the line's. The model takes lower-case texts without accents.
    ///
    /// # Errors
    /// `invalid` (`bad_tokenizer`).
    pub(crate) fn from_lines(lines: &str) -> Result<Self> {
        load::lines(lines)
    }

    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// `invalid` (`bad_tokenizer`), also when it describes another kind of tokenizer.
    pub(crate) fn from_json(json: &[u8]) -> Result<Self> {
        load::json(json)
    }

    /// The numbers of a text's tokens, the special ones at both ends among them: at most `limit`, which is at least 2. What comes
    /// after them is not looked at.
    pub(crate) fn encode(&self, text: &str, limit: usize) -> Vec<i32> {
        let room = limit.saturating_sub(1);
        let mut ids = vec![self.first];
        let mut word = String::new();
        let mut length = 0;
        for char in self.normal.characters(text) {
            let ends = char.is_whitespace();
            let alone = !ends && text::is_punctuation(char);
            if !ends && !alone {
                // No more of it is kept than shows that it is too long.
                if length <= self.longest_word {
                    word.push(char);
                }
                length += 1;
                continue;
            }
            self.add(&word, length, &mut ids);
            word.clear();
            length = 0;
            if alone {
                self.add(char.encode_utf8(&mut [0; 4]), 1, &mut ids);
            }
            if ids.len() >= room {
                break;
            }
        }
        self.add(&word, length, &mut ids);
        ids.truncate(room);
        ids.push(self.last);
        ids
    }

    /// Adds a word's pieces: the longest that there is from its beginning, then from there on. One that is made of no pieces is
    /// unknown as a whole.
    fn add(&self, word: &str, length: usize, ids: &mut Vec<i32>) {
        if word.is_empty() {
            return;
        }
        let before = ids.len();
        if length > self.longest_word || self.add_pieces(word, ids).is_none() {
            ids.truncate(before);
            ids.push(self.unknown);
        }
    }

    fn add_pieces(&self, word: &str, ids: &mut Vec<i32>) -> Option<()> {
        let mut piece = String::with_capacity(self.continuing.len() + word.len());
        let mut rest = word;
        while !rest.is_empty() {
            piece.clear();
            if rest.len() < word.len() {
                piece.push_str(&self.continuing);
            }
            let before = piece.len();
            piece.push_str(rest);
            let id = loop {
                if let Some(id) = self.ids.get(piece.as_str()) {
                    break *id;
                }
                piece.pop();
                if piece.len() <= before {
                    return None;
                }
            };
            ids.push(id);
            rest = rest.get(piece.len() - before..)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
