//! The words of a text, folded and with their places, before any language is known.

use std::borrow::Cow;

use super::date::Dates;
use super::fold::{fold, normalised};
use super::language::Languages;
use super::scan::scan;
use super::script::Script;
use super::stop;

/// How many characters of a term are kept. What is longer is found by its beginning.
pub const MAX_CHARACTERS: usize = 64;

/// What a term was made of, so that a query can weigh it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A word or number, or a character that stands alone in a script without spaces.
    Word,
    /// What a word in several cases or of letters and digits is put together of: `user` and `id` of `userId`.
    Part,
    /// What is written as one though of several words: `node.js`, `user-id`, a path, an address.
    Whole,
    /// Two neighbours in a script without spaces.
    Pair,
    /// One character in a script without spaces, where it has neighbours.
    Single,
    /// An emoji or another sign.
    Symbol,
    /// A date, the same however it is written: `date:2023-05-07`, `date:2023-05`, `date:05-07`, `month:05`.
    Date,
}

impl Kind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Word, Self::Part, Self::Whole, Self::Pair, Self::Single, Self::Symbol, Self::Date];
}

/// One term of a text, not yet stemmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The folded text, of at most [`MAX_CHARACTERS`] characters.
    pub text: String,
    /// What it was made of.
    pub kind: Kind,
    /// The place among the words of the text, from 0. Terms that were made of the same words share it.
    pub position: u32,
    /// The script that all its letters are of, if it is a word that may have a stem; else [`Script::Other`].
    pub script: Script,
    /// The languages in which it is a stop word, as [`super::Language::bit`]s.
    pub stop: u32,
}

impl Token {
    /// The term that a document in these languages has for it.
    pub fn term(&self, languages: Languages) -> Cow<'_, str> {
        match languages.of_script(self.script) {
            Some(language) => language.stem(&self.text),
            None => Cow::Borrowed(&self.text),
        }
    }

    /// Whether it is a stop word in a document in these languages.
    pub fn is_stop(&self, languages: Languages) -> bool {
        self.stop != 0 && languages.of_script(self.script).is_some_and(|language| self.stop & language.bit() != 0)
    }
}

/// The terms of a text in the order of its words. Any text will do.
pub fn tokens(text: &str) -> Vec<Token> {
    let text = normalised(text);
    let mut sink = Sink::default();
    scan(&text, &mut sink);
    sink.flush_dates();
    sink.tokens
}

/// Takes what the scanner finds.
#[derive(Default)]
pub(super) struct Sink {
    tokens: Vec<Token>,
    /// The place of the next word.
    pub(super) position: u32,
    pub(super) dates: Dates,
}

impl Sink {
    /// Adds a term, folded and cut; nothing if nothing is left of it.
    pub(super) fn push(&mut self, kind: Kind, raw: &str, position: u32) {
        // Folding makes at most a few characters shorter, and must not be asked of a word of a megabyte.
        let folded = fold(cut(raw, 4 * MAX_CHARACTERS));
        self.push_folded(kind, cut(&folded, MAX_CHARACTERS), position);
    }

    /// Adds a term that is folded and short enough; nothing if it is empty.
    pub(super) fn push_folded(&mut self, kind: Kind, text: &str, position: u32) {
        if text.is_empty() {
            return;
        }
        let (script, stop) = match kind {
            Kind::Word | Kind::Part => (script_of(text), stop::languages(text)),
            _ => (Script::Other, 0),
        };
        self.tokens.push(Token { text: text.to_owned(), kind, position, script, stop });
    }

    /// The place of the next word, which is taken.
    pub(super) fn advance(&mut self) -> u32 {
        let position = self.position;
        self.position = position.saturating_add(1);
        position
    }

    /// Adds the dates that the numbers and months so far are.
    pub(super) fn flush_dates(&mut self) {
        for (position, text) in self.dates.take() {
            self.push_folded(Kind::Date, &text, position);
        }
    }
}

/// The first so many characters.
pub(super) fn cut(text: &str, characters: usize) -> &str {
    match text.char_indices().nth(characters) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// The script of a word's letters, if it is of letters of one that has stems.
fn script_of(word: &str) -> Script {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Script::Latin;
    }
    let mut scripts =
        word.chars().map(|character| if character.is_ascii_digit() { Script::Other } else { Script::of(character) });
    let first = scripts.next().unwrap_or(Script::Other);
    if first != Script::Unspaced && scripts.all(|script| script == first) { first } else { Script::Other }
}
