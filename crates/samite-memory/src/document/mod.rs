//! Documents in pieces: what of a file is remembered, searched and embedded as one.
//!
//! A piece is about as long as what a model reads, and stands under the headings or items that it was under. It says where in
//! the file it is, so that whoever finds it can look there. Cuts are made where a text has them: before headings and items,
//! between paragraphs, then sentences, then words, never within a character as it is seen. Short neighbours are one piece.
//! What is short and belongs together (a block of code, a list item, a row) is cut only where there is no other way.
//!
//! **Cuts depend on what is near them.** Of places that are equally good the text after them decides, so an edit changes
//! the pieces near it and leaves the others as they were: a file that is read again is compared by [`difference`], and only
//! what changed is written. The texts of the pieces do not depend on where in the file they are.
//!
//! **What nobody sees is not read**: comments of HTML and Markdown, scripts, what a page hides, Unicode's invisible tags.
//!
//! Everything is pure, linear in the text's length, and defined for every text. Nothing is fetched.

mod breaks;
mod code;
mod difference;
mod flat;
mod format;
mod html;
mod layout;
mod limits;
mod markdown;
mod pack;
mod place;
mod plain;

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

pub use difference::{Difference, difference};
pub use format::{Format, text};
pub use limits::Limits;
use limits::is_silent;
use place::{Lines, Path};

/// A piece of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What is searched and embedded. Lines end with LF; there is neither NUL nor byte order mark, nor blanks around it.
    pub text: String,
    /// The bytes of the document that it is of. Those of several pieces are in order and do not overlap.
    pub span: Range<usize>,
    /// The headings, or the enclosing items of code, that all of it stands under, outermost first. A heading with which it
    /// begins is one of them, unless others follow that are beside it.
    pub path: Vec<String>,
    /// The line that it begins on; the first is 1.
    pub first_line: usize,
    /// The line that it ends on.
    pub last_line: usize,
}

/// The version of everything that decides what pieces a document gives. With another one pieces may be others.
pub const PIECES: u8 = 1;

/// Cuts a document. What says nothing gives no piece; everything else is in exactly one.
///
/// A piece exceeds the limit only when one character as it is seen does.
pub fn pieces(format: Format, text: &str, limits: &Limits) -> Vec<Piece> {
    let layout = match format {
        Format::Plain => plain::layout(text),
        Format::Markdown => markdown::layout(text),
        Format::Code => code::layout(text),
        Format::Html => html::layout(text),
    };
    let flat = layout.flat.text();
    let cuts = pack::cuts(flat, &breaks::breaks(&layout, limits), limits);
    let (mut path, mut lines) = (Path::new(&layout.headings), Lines::new(text));
    let mut pieces = Vec::new();
    for (start, end) in cuts.iter().copied().zip(cuts.iter().copied().skip(1)) {
        let range = trimmed(flat, start..end, layout.code);
        let Some(part) = flat.get(range.clone()).filter(|part| !part.chars().all(is_silent)) else { continue };
        let span = layout.flat.original(&range);
        pieces.push(Piece {
            text: clean(part),
            path: path.of(&range),
            first_line: lines.at(span.start),
            last_line: lines.at(span.end.saturating_sub(1).max(span.start)),
            span,
        });
    }
    pieces
}

/// A range without what is blank at its ends. The first line of code keeps its indentation.
fn trimmed(flat: &str, range: Range<usize>, code: bool) -> Range<usize> {
    let part = flat.get(range.clone()).unwrap_or_default();
    let blank = |grapheme: &str| {
        grapheme.chars().all(|character| character.is_whitespace() || character.is_control() || character == '\u{feff}')
    };
    let mut graphemes = part.grapheme_indices(true).filter(|(_, grapheme)| !blank(grapheme));
    let Some((first, only)) = graphemes.next() else { return range.start..range.start };
    let (last, grapheme) = graphemes.next_back().unwrap_or((first, only));
    let first = if code {
        let before = part.get(..first).unwrap_or_default();
        before
            .rfind(['\n', '\r', '\u{feff}', '\0'])
            .map_or(0, |at| at + before.get(at..).and_then(|end| end.chars().next()).map_or(1, char::len_utf8))
    } else {
        first
    };
    range.start + first..range.start + last + grapheme.len()
}

/// A text as it is kept: lines that end with LF, without NUL, byte order marks, and tags that are in no flag.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut flag = false;
    while let Some(character) = characters.next() {
        match character {
            '\r' => {
                characters.next_if_eq(&'\n');
                out.push('\n');
            }
            '\0' | '\u{feff}' => {}
            // Letters that nobody sees, and that models read.
            '\u{e0000}'..='\u{e007f}' if !flag => {}
            _ => out.push(character),
        }
        flag = character == '\u{1f3f4}' || flag && ('\u{e0000}'..='\u{e007f}').contains(&character);
    }
    out
}
