//! What language a document is in, and the stems of its words.

use std::borrow::Cow;
use std::collections::HashSet;

use frostem::{Algorithm, Stemmer};
use samite_model::{Error, Result};

use super::script::Script;
use super::token::Token;

/// A language whose stop words, or whose stems, are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// English, which a text in Latin letters is in unless its words say otherwise.
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
    /// Italian.
    Italian,
    /// Portuguese.
    Portuguese,
    /// Dutch.
    Dutch,
    /// Swedish.
    Swedish,
    /// Danish.
    Danish,
    /// Norwegian.
    Norwegian,
    /// Finnish.
    Finnish,
    /// Polish.
    Polish,
    /// Turkish.
    Turkish,
    /// Russian, which a text in Cyrillic letters is in unless its words say otherwise.
    Russian,
    /// Ukrainian.
    Ukrainian,
    /// Arabic, which a text in Arabic letters is in unless its words say otherwise.
    Arabic,
    /// Persian.
    Persian,
    /// Greek.
    Greek,
    /// Hindi.
    Hindi,
    /// Tamil.
    Tamil,
}

impl Language {
    /// Every language, in the order of its bits.
    pub const ALL: [Self; 20] = [
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
        Self::Swedish,
        Self::Danish,
        Self::Norwegian,
        Self::Finnish,
        Self::Polish,
        Self::Turkish,
        Self::Russian,
        Self::Ukrainian,
        Self::Arabic,
        Self::Persian,
        Self::Greek,
        Self::Hindi,
        Self::Tamil,
    ];

    /// Those in Latin letters, in the order of their codes.
    const LATIN: [Self; 13] = [
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
        Self::Swedish,
        Self::Danish,
        Self::Norwegian,
        Self::Finnish,
        Self::Polish,
        Self::Turkish,
    ];

    /// Its bit in a set of languages.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }

    const fn algorithm(self) -> Algorithm {
        match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Italian => Algorithm::Italian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Dutch => Algorithm::Dutch,
            Self::Swedish => Algorithm::Swedish,
            Self::Danish => Algorithm::Danish,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Finnish => Algorithm::Finnish,
            Self::Polish => Algorithm::Polish,
            Self::Turkish => Algorithm::Turkish,
            Self::Russian => Algorithm::Russian,
            Self::Ukrainian => Algorithm::Ukrainian,
            Self::Arabic => Algorithm::Arabic,
            Self::Persian => Algorithm::Persian,
            Self::Greek => Algorithm::Greek,
            Self::Hindi => Algorithm::Hindi,
            Self::Tamil => Algorithm::Tamil,
        }
    }

    /// The stem of a folded word of this language's script (Snowball's algorithms, <https://snowballstem.org>).
    ///
    /// Marks are folded before, so that a word has one stem with and without them. A stem that would be empty is the word.
    pub fn stem(self, word: &str) -> Cow<'_, str> {
        let stem = Stemmer::new(self.algorithm()).stem(word);
        if stem.is_empty() { Cow::Borrowed(word) } else { stem }
    }
}

/// The languages of one document: one for each script that several share. One byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Languages(u8);

/// How many bytes there are that may be [`Languages`].
pub(crate) const LANGUAGES: usize = 64;

impl Languages {
    /// What a document's words say, all of its fields' together.
    ///
    /// A language is taken for another than the script's usual one when at least two different stop words of it are there and clearly
    /// more than of the usual one: a wrong guess costs more than none, since most short texts are in the usual one, and a
    /// word is found as it was typed in any case.
    pub fn of<'a>(tokens: impl IntoIterator<Item = &'a Token>) -> Self {
        let mut counts = [0_u32; Language::ALL.len()];
        let mut shared = counts;
        let (mut ukrainian, mut persian) = (0_u32, 0_u32);
        let mut seen = HashSet::new();
        for token in tokens {
            // Each word tells once: "La La Land" is not twice as French as "La Land".
            let mut stop = if token.stop != 0 && seen.insert(token.text.as_str()) { token.stop } else { 0 };
            while stop != 0 {
                let language = stop.trailing_zeros() as usize;
                if let (Some(count), Some(shared)) = (counts.get_mut(language), shared.get_mut(language)) {
                    *count += 1;
                    *shared += u32::from(token.stop & Language::English.bit() != 0);
                }
                stop &= stop - 1;
            }
            match token.script {
                Script::Cyrillic => ukrainian += u32::from(token.text.contains(['і', 'ї', 'є', 'ґ'])),
                Script::Arabic => persian += u32::from(token.text.contains(['پ', 'چ', 'ژ', 'گ'])),
                _ => {}
            }
        }
        let count = |language: Language| counts.get(language as usize).copied().unwrap_or(0);
        let mut code = 0_u8;
        let mut most = 0;
        for (other, language) in (0_u8..).zip(Language::LATIN).skip(1) {
            // Words that both languages have, such as "in", tell nothing.
            let shared = shared.get(language as usize).copied().unwrap_or(0);
            let (found, english) = (count(language) - shared, count(Language::English) - shared);
            if found >= 2 && found > most && found > english * 2 {
                (code, most) = (other, found);
            }
        }
        ukrainian += count(Language::Ukrainian);
        code |= u8::from(ukrainian >= 2 && ukrainian > count(Language::Russian)) << 4;
        persian += count(Language::Persian);
        code |= u8::from(persian >= 2 && persian > count(Language::Arabic)) << 5;
        Self(code)
    }

    /// As a byte of an index.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// From a byte of an index.
    ///
    /// # Errors
    ///
    /// `bad_lexical_part` when no languages have it.
    pub fn from_code(code: u8) -> Result<Self> {
        if code < 64 && usize::from(code & 15) < Language::LATIN.len() {
            Ok(Self(code))
        } else {
            Err(Error::corrupt("bad_lexical_part", format!("a lexical part names unknown languages: {code}")))
        }
    }

    /// The language of the words in a script; none where no language is known.
    pub fn of_script(self, script: Script) -> Option<Language> {
        match script {
            Script::Latin => Language::LATIN.get(usize::from(self.0 & 15)).copied(),
            Script::Cyrillic => Some(if self.0 & 16 == 0 { Language::Russian } else { Language::Ukrainian }),
            Script::Arabic => Some(if self.0 & 32 == 0 { Language::Arabic } else { Language::Persian }),
            Script::Greek => Some(Language::Greek),
            Script::Devanagari => Some(Language::Hindi),
            Script::Tamil => Some(Language::Tamil),
            Script::Hebrew | Script::Unspaced | Script::Other => None,
        }
    }
}
