//! Every place where a text may be cut: those of its format, and between sentences, words and characters.

use unicode_segmentation::UnicodeSegmentation;

use super::layout::{CHARACTER, CLAUSE, INSIDE, Layout, SENTENCE, Strength, WORD};
use super::limits::{Limits, is_silent, weight};

/// A place to cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Break {
    /// Where, in the flat text.
    pub at: usize,
    /// What the text counts up to here.
    pub weight: u64,
    /// How good it is.
    pub strength: Strength,
    /// Whether it is within what is better left whole.
    pub whole: bool,
}

/// So many in a row without a blank may be cut anywhere: a script without spaces, or what nobody wrote as words.
const RUN: u64 = 64;

/// All places, the text's beginning and end among them, in order.
pub(super) fn breaks(layout: &Layout, limits: &Limits) -> Vec<Break> {
    let text = layout.flat.text();
    let mut found = vec![Break { at: 0, weight: 0, strength: CHARACTER, whole: false }];
    let mut given = layout.breaks.iter().copied().peekable();
    let mut total = 0;
    let mut run_from = 0;
    let mut before = Before::default();
    for (start, grapheme) in text.grapheme_indices(true) {
        let mut strength = before.strength(grapheme, layout.code);
        while let Some((_, better)) = given.next_if(|(at, _)| *at <= start) {
            strength = Some(strength.unwrap_or(CHARACTER).max(better));
        }
        if strength.is_some() {
            run_from = total;
        } else if total - run_from >= RUN {
            strength = Some(CHARACTER);
        }
        if let Some(strength) = strength.filter(|_| start > 0) {
            found.push(Break { at: start, weight: total, strength, whole: false });
        }
        let within = total;
        for (place, character) in grapheme.char_indices() {
            // What is seen as one character but has hundreds of marks is no text: it is cut as if it had no limits.
            if total - within >= RUN {
                found.push(Break { at: start + place, weight: total, strength: CHARACTER, whole: false });
            }
            total += weight(character);
        }
        before.see(grapheme);
    }
    found.push(Break { at: text.len(), weight: total, strength: Strength::MAX, whole: false });
    keep_whole(&mut found, layout, limits);
    found
}

/// Makes places within what is short and better left whole worse than those around it.
fn keep_whole(breaks: &mut [Break], layout: &Layout, limits: &Limits) {
    let mut from = 0;
    for whole in &layout.whole {
        let rest = breaks.get_mut(from..).unwrap_or_default();
        let first = rest.partition_point(|place| place.at <= whole.start);
        let last = rest.partition_point(|place| place.at < whole.end);
        from += last;
        let Some(within) = rest.get_mut(first..last) else { continue };
        let long =
            within.first().zip(within.last()).is_some_and(|(first, last)| last.weight - first.weight > limits.most());
        if !long {
            for place in within {
                place.strength = place.strength.min(INSIDE);
                place.whole = true;
            }
        }
    }
}

/// What came before a place, as far as it matters to whether it is one.
#[derive(Default)]
struct Before {
    /// The last character was a blank.
    blank: bool,
    /// What the characters before the blanks ended.
    ended: Option<Strength>,
    /// How many letters the last word has so far, and whether the first was a capital.
    letters: usize,
    capital: bool,
}

impl Before {
    /// How good it is to cut before this, if it is a place at all.
    fn strength(&self, grapheme: &str, code: bool) -> Option<Strength> {
        let next = grapheme.chars().next().filter(|next| !next.is_whitespace())?;
        if !self.blank {
            // The full stops of scripts without spaces, and what closes after them.
            let wide = self.ended.filter(|ended| *ended > WORD && !is_closing(next) && !is_stop(next));
            return wide.filter(|_| !code && !is_silent(next) && !self.spaced());
        }
        match self.ended {
            Some(SENTENCE) if !code && !next.is_lowercase() => Some(SENTENCE),
            Some(SENTENCE | CLAUSE) if !code => Some(CLAUSE),
            _ => Some(WORD),
        }
    }

    /// Whether what ended ends only before a blank.
    fn spaced(&self) -> bool {
        self.letters != usize::MAX
    }

    fn see(&mut self, grapheme: &str) {
        let Some(character) = grapheme.chars().next() else { return };
        if character.is_whitespace() {
            self.blank = true;
            return;
        }
        if std::mem::take(&mut self.blank) {
            (self.ended, self.letters, self.capital) = (None, 0, false);
        }
        match character {
            '。' | '！' | '？' | '｡' => (self.ended, self.letters) = (Some(SENTENCE), usize::MAX),
            '、' | '，' | '；' | '：' => (self.ended, self.letters) = (Some(CLAUSE), usize::MAX),
            // An initial or an abbreviation of one letter ends nothing.
            '.' if self.letters == 1 => self.ended = None,
            '.' if self.capital && self.letters < 4 && self.letters > 0 && self.letters != usize::MAX => {
                self.ended = Some(CLAUSE);
            }
            '.' | '!' | '?' | '…' | '।' | '॥' | '؟' | '۔' | '։' | '።' => self.ended = Some(SENTENCE),
            ',' | ';' | ':' | '،' | '؛' => self.ended = Some(CLAUSE),
            _ if is_closing(character) && self.ended.is_some() => {}
            _ => {
                if self.ended.take().is_some() || self.letters == usize::MAX {
                    self.letters = 0;
                }
                if self.letters == 0 {
                    self.capital = character.is_uppercase();
                }
                self.letters += usize::from(character.is_alphanumeric());
            }
        }
    }
}

fn is_stop(character: char) -> bool {
    matches!(character, '。' | '！' | '？' | '｡' | '、' | '，' | '；' | '：' | '.' | '!' | '?' | '…')
}

/// What may stand between the end of a sentence and the blank after it.
fn is_closing(character: char) -> bool {
    matches!(
        character,
        ')' | ']'
            | '}'
            | '"'
            | '\''
            | '»'
            | '“'
            | '”'
            | '’'
            | '*'
            | '_'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
            | '〉'
            | '›'
    )
}
