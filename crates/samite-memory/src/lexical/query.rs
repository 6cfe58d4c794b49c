//! What is looked for.

use std::collections::HashSet;

use crate::text::{Kind, LANGUAGES, Languages, Token, tokens};

/// The most distinct terms of a query that are looked for; of a longer text the first.
pub const MAX_TERMS: usize = 1024;

/// The terms of a query's text. There are no operators: every character is text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub(super) tokens: Vec<Token>,
    /// What its own words say, if it is long enough: its stop words are none of what is looked for in any document.
    languages: Languages,
}

/// A query's term as documents have it: the same word has other stems in other languages.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) term: String,
    /// What it weighs in a document, by the code of the document's languages; 0 where it is another term or none.
    pub(super) factors: [f32; LANGUAGES],
}

/// A query's term with its variants.
#[derive(Debug)]
pub(super) struct Sought<'a> {
    pub(super) token: &'a Token,
    pub(super) variants: Vec<Variant>,
}

impl Query {
    /// The query that a text is.
    pub fn new(text: &str) -> Self {
        let mut seen = HashSet::new();
        let mut tokens = tokens(text);
        // A word before what is made of the same letters otherwise, so that it is weighed as a word.
        tokens.sort_by_key(|token| token.kind as u8);
        tokens.retain(|token| seen.insert(token.text.clone()));
        tokens.sort_by_key(|token| token.position);
        tokens.truncate(MAX_TERMS);
        Self { languages: Languages::of(&tokens), tokens }
    }

    /// Its distinct terms before they are stemmed.
    pub fn terms(&self) -> &[Token] {
        &self.tokens
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The terms that documents in these languages have. What two words have in common as a stem is one term, the first's.
    pub(super) fn sought(&self, languages: &[Languages], stop_words: f32) -> Vec<Sought<'_>> {
        let is_stop = |token: &Token, languages: Languages| token.is_stop(languages) || token.is_stop(self.languages);
        let only_stop_words: Vec<bool> = languages
            .iter()
            .map(|languages| self.tokens.iter().all(|token| token.kind == Kind::Part || is_stop(token, *languages)))
            .collect();
        let mut seen: HashSet<(u8, String)> = HashSet::new();
        let mut all = Vec::new();
        for token in &self.tokens {
            let mut variants: Vec<Variant> = Vec::new();
            for (languages, only_stop_words) in languages.iter().zip(&only_stop_words) {
                let factor = if is_stop(token, *languages) && !only_stop_words { stop_words } else { 1.0 };
                let term = token.term(*languages);
                if factor == 0.0 || !seen.insert((languages.code(), term.clone().into_owned())) {
                    continue;
                }
                let place = variants.iter().position(|variant| variant.term == term).unwrap_or(variants.len());
                if place == variants.len() {
                    variants.push(Variant { term: term.into_owned(), factors: [0.0; LANGUAGES] });
                }
                let variant = variants.get_mut(place);
                if let Some(slot) = variant.and_then(|variant| variant.factors.get_mut(usize::from(languages.code()))) {
                    *slot = factor;
                }
            }
            if !variants.is_empty() {
                all.push(Sought { token, variants });
            }
        }
        all
    }
}
