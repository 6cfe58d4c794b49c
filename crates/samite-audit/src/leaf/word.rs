//! Words of fixed lists.

use samite_model::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The most letters of a word.
const LONGEST: usize = 64;

/// A word of a fixed list, such as what an act is called: lower-case letters, digits and `_`. It is nobody's own word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(String);

impl Word {
    /// The word with these letters.
    ///
    /// # Errors
    /// `invalid` (`bad_word`) when it is empty, longer than 64, or has other characters.
    pub fn new(word: &str) -> Result<Self> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if word.is_empty() || word.len() > LONGEST || !word.bytes().all(plain) {
            let what =
                format!("{word:?} is no word for a leaf: it has 1 to {LONGEST} lower-case letters, digits and `_`");
            return Err(Error::invalid("bad_word", what));
        }
        Ok(Self(word.to_owned()))
    }

    /// Its letters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Word {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(text)
    }
}
