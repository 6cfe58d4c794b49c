//! Tokens that are known by their form: a prefix, then runs of given alphabets and lengths.

use super::formats::FORMATS;
use super::harmless::is_placeholder;
use crate::alphabet::{Alphabet, WORD, begins_word, byte, follows, slice};
use crate::shape::Shape;
use std::ops::Range;

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
    /// Where the token that begins at a place ends. Within a word one begins where another ended, or where its prefix is long enough
    /// to be there by no chance.
    pub(crate) fn end(&self, text: &[u8], at: usize, after_another: bool) -> Option<usize> {
        if !follows(text, at, self.prefix) {
            return None;
        }
        let within = !after_another && !begins_word(text, at);
        if within && self.prefix.len() < TELLING {
            return None;
        }
        let body = at + self.prefix.len();
        let mut end = body;
        let mut last = None;
        for (number, part) in self.parts.iter().enumerate() {
            match part {
                Part::Run(alphabet, fewest, most) => {
                    let run = alphabet.run(text, end, *most + 1);
                    let rest = self.parts.get(number + 1..).unwrap_or_default();
                    let is_last = rest.iter().all(|part| matches!(part, Part::Run(_, 0, _)));
                    let longer = run > *most || is_last && WORD.has(byte(text, end + run));
                    if run < *fewest {
                        return None;
                    }
                    last = Some(*alphabet);
                    if longer {
                        // A longer word that only begins so is something else, unless another token begins in it.
                        let between = end + fewest..end + run.min(*most);
                        end = is_last.then(|| self.joint(text, between, most == fewest)).flatten()?;
                        last = None;
                        break;
                    }
                    end += run;
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
        if last.is_some() && WORD.has(byte(text, end)) {
            return None;
        }
        let value = slice(text, body, end);
        if is_placeholder(value) {
            return None;
        }
        let drawn = match self.sure {
            Sure::Random if within => Shape::of(value).is_random(),
            Sure::Prefix => true,
            Sure::Random => Shape::of(value).is_drawn(),
        };
        drawn.then_some(trimmed(text, body, end))
    }

    /// Where another token begins right after this one, which ends between two places. What may be of more than one length ends
    /// where one of its own form begins, or just before what its alphabet lacks.
    fn joint(&self, text: &[u8], between: Range<usize>, fixed: bool) -> Option<usize> {
        if fixed {
            return begins_another(text, between.end).then_some(between.end);
        }
        let again = memchr::memmem::find(slice(text, between.start, between.end + self.prefix.len()), self.prefix);
        if let Some(again) = again.map(|again| between.start + again).filter(|again| begins_another(text, *again)) {
            return Some(again);
        }
        let first = between.start.max(between.end.saturating_sub(MOST));
        (first..=between.end).find(|at| begins_another(text, *at))
    }
}

/// So long a prefix is by no chance within a word.
const TELLING: usize = 6;
/// How much of a prefix may be taken for the end of the token before it.
const MOST: usize = 12;

/// Whether a form's prefix is at a place, with the least that follows it.
fn begins_another(text: &[u8], at: usize) -> bool {
    FORMATS.iter().any(|format| {
        let body = at + format.prefix.len();
        let fits = match format.parts.first() {
            Some(Part::Run(alphabet, fewest, _)) => alphabet.run(text, body, *fewest) == *fewest,
            Some(Part::Text(what)) => follows(text, body, what),
            None => false,
        };
        format.prefix.len() > 2 && follows(text, at, format.prefix) && fits
    })
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
            FORMATS
                .iter()
                .find_map(|format| format.end(bytes, at, false).map(|end| (format.kind, text[at..end].to_owned())))
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
