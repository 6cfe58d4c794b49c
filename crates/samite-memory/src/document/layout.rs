//! What a format knows of a text: where it may be cut, under what each place stands, and what is better left whole.

use std::ops::Range;

use super::flat::Flat;

/// How good a place to cut is. Higher is better.
pub(super) type Strength = u8;

/// Between characters as they are seen (graphemes).
pub(super) const CHARACTER: Strength = 0;
/// Between words.
pub(super) const WORD: Strength = 1;
/// Between parts of a sentence, or lines of which nothing else is known.
pub(super) const CLAUSE: Strength = 2;
/// Between sentences or lines of what is better left whole, and between a heading and what it heads.
pub(super) const INSIDE: Strength = 3;
/// Between sentences.
pub(super) const SENTENCE: Strength = 4;
/// Between list items, rows, lines of code.
pub(super) const LINE: Strength = 5;
/// Between paragraphs.
pub(super) const PARAGRAPH: Strength = 6;
/// Before the deepest heading; each level above it is one more.
const SECTION: Strength = 7;
/// The deepest level of headings.
pub(super) const DEEPEST: u8 = 7;
/// How much of a heading is kept, in characters.
const TITLE: usize = 160;

/// How good it is to cut before a heading of this level: 0 is a document's title.
pub(super) fn section(level: u8) -> Strength {
    SECTION + DEEPEST.saturating_sub(level)
}

/// A place where a heading or an item begins, or where one ends.
#[derive(Debug)]
pub(super) struct Heading {
    /// Where, in the flat text.
    pub at: usize,
    /// Headings of this level and deeper end here.
    pub level: u8,
    /// What begins here, if anything does.
    pub title: Option<String>,
}

/// A flat text with what its format knows of it. Everything is in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// What is cut.
    pub flat: Flat,
    /// Where it may be cut between blocks, lines and rows.
    pub breaks: Vec<(usize, Strength)>,
    /// What is better left whole if it is short.
    pub whole: Vec<Range<usize>>,
    /// Under what each place stands.
    pub headings: Vec<Heading>,
    /// Whether it is code: a piece's first line keeps its indentation, and there are no sentences.
    pub code: bool,
}

impl Layout {
    /// A layout of a text as it is.
    pub(super) fn of(text: &str) -> Self {
        let mut layout = Self::default();
        layout.flat.copy(text, 0..text.len());
        layout
    }

    /// A place to cut. The better one counts where there are two at one place.
    pub(super) fn cut(&mut self, at: usize, strength: Strength) {
        match self.breaks.last_mut() {
            Some(last) if last.0 >= at => last.1 = last.1.max(strength),
            _ => self.breaks.push((at, strength)),
        }
    }

    /// A heading that begins here: its words on one line, without what is too long.
    pub(super) fn head(&mut self, at: usize, level: u8, title: &str) {
        let mut words = String::new();
        for word in title.split_whitespace() {
            if words.len() > TITLE * 4 {
                break;
            }
            if !words.is_empty() {
                words.push(' ');
            }
            words.extend(word.chars().filter(|character| !character.is_control()).take(TITLE));
        }
        let title: String = words.chars().take(TITLE).collect();
        self.headings.push(Heading { at, level, title: Some(title).filter(|title| !title.is_empty()) });
    }

    /// Headings of this level and deeper end here.
    pub(super) fn end(&mut self, at: usize, level: u8) {
        self.headings.push(Heading { at, level, title: None });
    }
}

/// A line of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Where it begins.
    pub start: usize,
    /// Where the next one begins.
    pub end: usize,
    /// What is on it, without the blanks around it.
    pub text: &'a str,
    /// How many columns of blanks it begins with; a tab counts as four.
    pub indent: usize,
}

/// The lines of a text, which end with LF, CRLF or CR.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = match rest.find(['\n', '\r']) {
            Some(at) if rest.get(at..).is_some_and(|end| end.starts_with("\r\n")) => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let line = rest.get(..length)?;
        let bare = line.trim_start_matches(super::limits::is_silent);
        let blanks = line.get(..line.len() - bare.len()).unwrap_or_default();
        let indent = blanks.chars().map(|blank| if blank == '\t' { 4 } else { usize::from(blank == ' ') }).sum();
        let found = Line { start, end: start + length, text: bare.trim_end_matches(super::limits::is_silent), indent };
        start += length;
        Some(found)
    })
}
