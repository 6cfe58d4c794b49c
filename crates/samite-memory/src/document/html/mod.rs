//! HTML: what a page shows, as lines of text. Nothing is fetched and nothing is run.
//!
//! Tags, comments, scripts and styles are dropped, references are decoded, and what is hidden is left out: where nobody
//! looks is where instructions to models are put. Links keep their text. A title and headings make the path.

mod entity;
mod hidden;
mod open;
mod token;

use std::ops::Range;

use super::layout::{DEEPEST, INSIDE, LINE, Layout, PARAGRAPH, Strength, section};
use open::{Open, is_block};
use token::{Token, Tokens};

/// The layout of a page.
pub(super) fn layout(text: &str) -> Layout {
    let mut page = Page::new(text);
    for token in Tokens::new(text) {
        match token {
            Token::Text(range) => page.text(range),
            Token::Open { name, attributes } => page.open(&name.to_ascii_lowercase(), attributes),
            Token::Close(name) => page.close(&name.to_ascii_lowercase()),
        }
    }
    page.end_heading();
    page.end_whole();
    page.layout
}

/// The beginning of a block whose text has not come yet.
struct Pending {
    strength: Strength,
    /// What separates it from what is before.
    between: &'static str,
    /// What it begins with.
    mark: &'static str,
}

/// What was read of a page.
struct Page<'a> {
    text: &'a str,
    layout: Layout,
    open: Open,
    /// What comes before the next text.
    pending: Option<Pending>,
    /// A blank comes before the next text.
    blank: bool,
    /// The heading or title that is open.
    heading: Option<Heading>,
    /// The words of the title.
    titled: Option<String>,
    /// Where what is better left whole began.
    whole: Option<usize>,
    after_heading: bool,
}

/// A heading that is open: level 0 is the title.
struct Heading {
    level: u8,
    words: String,
    /// Its number in the layout, once there is text of it.
    number: Option<usize>,
}

/// How much of a heading is looked at, in bytes.
const HEADING: usize = 2000;

impl<'a> Page<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            layout: Layout::default(),
            open: Open::default(),
            pending: None,
            blank: false,
            heading: None,
            titled: None,
            whole: None,
            after_heading: false,
        }
    }

    /// A block begins or ends: what comes next is cut off from what was.
    fn block(&mut self, strength: Strength, between: &'static str, mark: &'static str) {
        let mut next = Pending { strength, between, mark };
        if let Some(before) = self.pending.take() {
            if before.strength > strength {
                (next.strength, next.between) = (before.strength, before.between);
            }
            if mark.is_empty() {
                next.mark = before.mark;
            }
        }
        self.pending = Some(next);
    }

    fn open(&mut self, name: &str, attributes: &str) {
        // A title within a page is that of a picture.
        let picture = name == "title" && (self.titled.is_some() || self.layout.flat.len() > 0);
        self.open.push(name, picture || hidden::is_hidden(name, attributes));
        match name {
            "br" if self.open.is_preformatted() => self.text_line(),
            "br" => self.block(INSIDE, "\n", ""),
            "title" if !picture => self.begin_heading(0),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.begin_heading(name.as_bytes().get(1).map_or(DEEPEST, |digit| digit - b'0'));
            }
            "li" => self.block(LINE, "\n", "- "),
            "tr" | "dt" | "dd" | "option" => self.block(LINE, "\n", ""),
            "td" | "th" => self.block(INSIDE, " | ", ""),
            "tbody" | "thead" | "tfoot" => {}
            _ if is_block(name) => self.block(PARAGRAPH, "\n\n", ""),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        self.open.pop(name);
        match name {
            "title" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if self.heading.is_some() => {
                self.end_heading();
                self.block(PARAGRAPH, "\n\n", "");
            }
            "li" | "tr" | "dt" | "dd" | "option" => self.block(LINE, "\n", ""),
            "td" | "th" => {}
            _ if is_block(name) => self.block(PARAGRAPH, "\n\n", ""),
            _ => {}
        }
    }

    fn begin_heading(&mut self, level: u8) {
        self.end_heading();
        self.block(section(level), "\n\n", "");
        self.heading = Some(Heading { level, words: String::new(), number: None });
    }

    fn end_heading(&mut self) {
        let Some(Heading { level, words, number: Some(number) }) = self.heading.take() else { return };
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        // A first heading that says the title again is not said twice in a path.
        if self.titled.as_ref() != Some(&words) {
            let at = self.layout.headings.get(number).map_or(0, |heading| heading.at);
            self.layout.head(at, level, &words);
            let named = self.layout.headings.pop();
            if let Some((heading, named)) = self.layout.headings.get_mut(number).zip(named) {
                *heading = named;
            }
        }
        if level == 0 {
            self.titled = Some(words);
        }
        self.after_heading = true;
    }

    /// What is better left whole ends here.
    fn end_whole(&mut self) {
        if let Some(start) = self.whole.take() {
            self.layout.whole.push(start..self.layout.flat.len());
        }
    }

    /// A line ends in a text that keeps its lines.
    fn text_line(&mut self) {
        if self.pending.is_none() && !self.open.is_hidden() {
            let at = self.layout.flat.end();
            self.layout.flat.put("\n", at..at);
            self.layout.cut(self.layout.flat.len(), LINE);
        }
    }

    fn text(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while let Some(rest) = self.text.get(at..range.end).filter(|rest| !rest.is_empty()) {
            let (meaning, length) = match rest.find('&') {
                Some(0) => entity::reference(rest).map_or((None, 1), |(meaning, length)| (Some(meaning), length)),
                found => (None, found.unwrap_or(rest.len())),
            };
            let part = at..at + length;
            at += length;
            if self.open.is_hidden() {
                continue;
            }
            match meaning {
                Some(meaning) => {
                    let mut meant = String::new();
                    meaning.push_to(&mut meant);
                    // What is written as a reference is kept, a blank too.
                    self.word(&meant, part, true);
                }
                None => self.written(part),
            }
        }
    }

    /// Text as it was written.
    fn written(&mut self, part: Range<usize>) {
        let blank = |character: char| matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0c');
        let mut at = part.start;
        while let Some(rest) = self.text.get(at..part.end).filter(|rest| !rest.is_empty()) {
            let kept = self.open.is_preformatted();
            let blanks = match (kept, self.pending.is_some()) {
                (false, _) => rest.len() - rest.trim_start_matches(blank).len(),
                (true, true) => rest.len() - rest.trim_start_matches(['\n', '\r']).len(),
                (true, false) => 0,
            };
            if blanks > 0 {
                self.blank |= !kept;
                at += blanks;
                continue;
            }
            let first = rest.chars().next().map_or(1, char::len_utf8);
            let end = rest
                .get(first..)
                .and_then(|after| after.find(|character| if kept { character == '\n' } else { blank(character) }));
            let length = end.map_or(rest.len(), |end| first + end);
            self.word(rest.get(..length).unwrap_or_default(), at..at + length, false);
            at += length;
        }
    }

    /// Text that is shown, after what separates it from what was shown before.
    fn word(&mut self, word: &str, part: Range<usize>, decoded: bool) {
        let blank = std::mem::take(&mut self.blank);
        if let Some(pending) = self.pending.take() {
            self.begin(&pending, part.start);
        } else if blank && self.layout.flat.len() > 0 {
            self.layout.flat.put(" ", part.start..part.start);
        }
        if let Some(heading) = self.heading.as_mut().filter(|heading| heading.words.len() < HEADING) {
            if blank {
                heading.words.push(' ');
            }
            heading.words.push_str(word);
        }
        if word.starts_with('\n') {
            self.layout.cut(self.layout.flat.len() + 1, LINE);
        }
        if decoded {
            self.layout.flat.put(word, part);
        } else {
            self.layout.flat.copy(self.text, part);
        }
    }

    /// A block begins with the text that comes now, which is at this place of the original.
    fn begin(&mut self, pending: &Pending, original: usize) {
        if pending.strength >= LINE {
            self.end_whole();
        }
        if self.layout.flat.len() > 0 {
            self.layout.flat.put(pending.between, original..original);
        }
        let at = self.layout.flat.len();
        self.layout.flat.put(pending.mark, original..original);
        let glued = std::mem::take(&mut self.after_heading) && self.heading.is_none();
        self.layout.cut(at, if glued { INSIDE } else { pending.strength });
        if pending.strength == LINE || pending.strength > LINE && self.open.is_preformatted() {
            self.whole = Some(at);
        }
        if let Some(heading) = self.heading.as_mut().filter(|heading| heading.number.is_none()) {
            heading.number = Some(self.layout.headings.len());
            self.layout.end(at, heading.level);
        }
    }
}
