//! Tokens that are known by their form: a prefix, then runs of given alphabets and lengths.

use super::harmless::is_placeholder;
use crate::alphabet::{Alphabet, WORD, begins_word, byte, follows, slice};
use crate::shape::Shape;

/// A piece of a token after its prefix.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// So many characters of an alphabet: as many as there are, between the two bounds.
    Run(Alphabet, usize, usize),
    /// These characters.
    Text(&'static [u8]),
}

/// A form of tokens.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    /// What placeholders call it.
    pub(crate) kind: &'static str,
    /// What it begins with, in the case that is written here.
    pub(crate) prefix: &'static [u8],
    /// What follows.
    pub(crate) parts: &'static [Part],
    /// How sure the form is.
    pub(crate) sure: Sure,
}

/// How much a form says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sure {
    /// The prefix is nobody else's.
    Prefix,
    /// The rest must look drawn by lot as well.
    Random,
}

impl Format {
    /// Where the token that begins at a place ends.
    pub(crate) fn end(&self, text: &[u8], at: usize) -> Option<usize> {
        if !follows(text, at, self.prefix) || !begins_word(text, at) {
            return None;
        }
        let body = at + self.prefix.len();
        let mut end = body;
        let mut last = None;
        for part in self.parts {
            match part {
                Part::Run(alphabet, fewest, most) => {
                    let run = alphabet.run(text, end, *most + 1);
                    if run < *fewest || run > *most {
                        return None;
                    }
                    end += run;
                    last = Some(*alphabet);
                }
                Part::Text(what) => {
                    if !follows(text, end, what) {
                        return None;
                    }
                    end += what.len();
                    last = None;
                }
            }
        }
        // A longer word that only begins so is something else, unless it may hold hyphens and what follows is one.
        let next = byte(text, end);
        if last.is_some() && WORD.has(next) {
            return None;
        }
        let value = slice(text, body, end);
        if is_placeholder(value) {
            return None;
        }
        let drawn = match self.sure {
            Sure::Prefix => true,
            Sure::Random => Shape::of(value).is_drawn(),
        };
        drawn.then_some(trimmed(text, body, end))
    }
}

/// An alphabet with hyphens may take in what ends a sentence or joins it to the next word.
fn trimmed(text: &[u8], from: usize, end: usize) -> usize {
    let marks = slice(text, from, end).iter().rev().take_while(|byte| matches!(byte, b'.')).count();
    end - marks
}

#[cfg(test)]
mod tests {
    use super::super::formats::FORMATS;

    fn find(text: &str) -> Option<(&'static str, String)> {
        let bytes = text.as_bytes();
        (0..bytes.len()).find_map(|at| {
            FORMATS.iter().find_map(|format| format.end(bytes, at).map(|end| (format.kind, text[at..end].to_owned())))
        })
    }

    #[test]
    fn tokens_are_known_by_their_forms() {
        for (token, kind) in [
            ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "github-token"),
            ("glpat-kR9wPq2LmXv7TzBn4YcD", "gitlab-token"),
            ("AKIAQ3EGRKZ5JH7XWN4T", "aws-access-key"),
            ("xoxb-123456789012-123456789013-kR9wPq2LmXv7TzBn4YcD8sHf", "slack-token"),
            ("npm_kR9wPq2LmXv7TzBn4YcD8sHfkR9wPq2LmXv7", "npm-token"),
            ("AIzaSyD4kR9wPq2LmXv7TzBn4YcD8sHfkR9wPq2", "google-api-key"),
        ] {
            let text = format!("use {token}, then");
            assert_eq!(find(&text), Some((kind, token.to_owned())));
        }
        for text in [
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "aghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "AKIAIOSFODNN7EXAMPLE",
            "AKIAQ3EGRKZ5JH7XWN4TQ",
            "npm_config_registry",
            "hf_hub_download",
            "sk-learn and sk-image",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
