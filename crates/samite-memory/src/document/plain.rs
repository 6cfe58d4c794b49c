//! Plain text: paragraphs between blank lines, and lists.

use super::layout::{CLAUSE, LINE, Layout, PARAGRAPH, lines};
use super::markdown::is_item;

/// The layout of plain text.
pub(super) fn layout(text: &str) -> Layout {
    let mut layout = Layout::of(text);
    let mut blank = true;
    for line in lines(text) {
        if line.text.is_empty() {
            blank = true;
            continue;
        }
        let strength = match (blank, is_item(line.text)) {
            (true, _) => PARAGRAPH,
            (false, true) => LINE,
            // A log, a table of values, a poem, or prose that somebody broke: better than between any two words.
            (false, false) => CLAUSE,
        };
        layout.cut(line.start, strength);
        blank = false;
    }
    layout
}
