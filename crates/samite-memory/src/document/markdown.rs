//! Markdown: headings, lists, tables, fenced code, front matter; comments are left out.
//!
//! It is read line by line after `CommonMark` 0.31, without what does not matter to where it is cut. A line's markup stays in
//! the text.

use super::flat::Flat;
use super::layout::{INSIDE, LINE, Layout, Line, PARAGRAPH, Strength, lines, section};

/// The layout of a text in Markdown.
pub(super) fn layout(text: &str) -> Layout {
    let flat = without_comments(text);
    let mut reader = Reader::default();
    let mut lines = lines(flat.text()).peekable();
    if let Some(first) = lines.peek().filter(|first| matches!(first.text, "---" | "+++")) {
        reader.front_matter(first.text);
    }
    while let Some(line) = lines.next() {
        reader.line(&line, lines.peek());
    }
    drop(lines);
    reader.close(flat.len());
    let mut layout = reader.layout;
    layout.flat = flat;
    layout
}

/// Whether a line begins a list item.
pub(super) fn is_item(text: &str) -> bool {
    let digits = text.bytes().take(10).take_while(u8::is_ascii_digit).count();
    let mark = text.get(digits..).unwrap_or_default();
    let rest = if digits == 0 {
        mark.strip_prefix(['-', '*', '+', '\u{2022}'])
    } else if digits < 10 {
        mark.strip_prefix(['.', ')'])
    } else {
        None
    };
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// A fence of code: its character and how many of it.
#[derive(Clone, Copy)]
struct Fence(char, usize);

impl Fence {
    /// The fence that a line opens.
    fn opened(text: &str) -> Option<Self> {
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let count = text.bytes().take_while(|byte| char::from(*byte) == mark).count();
        let rest = text.get(count..)?;
        (count >= 3 && !(mark == '`' && rest.contains('`'))).then_some(Self(mark, count))
    }

    /// Whether a line closes it.
    fn is_closed(self, text: &str) -> bool {
        text.len() >= self.1 && text.chars().all(|character| character == self.0)
    }
}

/// The text without `<!-- … -->` where that is not code: nobody sees it, so nobody should be told it.
///
/// A comment that a line begins with and that never ends goes to the end of the text, as a browser has it.
fn without_comments(text: &str) -> Flat {
    let mut flat = Flat::default();
    let last_end = text.rfind("-->").unwrap_or(0);
    let mut fence: Option<Fence> = None;
    let mut hidden_until = 0;
    for line in lines(text) {
        let mut start = line.start.max(hidden_until);
        if start >= line.end {
            continue;
        }
        match fence {
            Some(open) => {
                if open.is_closed(line.text) {
                    fence = None;
                }
            }
            None => fence = Fence::opened(line.text),
        }
        let (mut looked, mut ticks) = (start, 0);
        while fence.is_none()
            && let Some(at) = text.get(looked..line.end).and_then(|rest| rest.find("<!--")).map(|at| looked + at)
        {
            ticks += text.get(looked..at).unwrap_or_default().bytes().filter(|byte| *byte == b'`').count();
            let begins = text.get(line.start..at).is_some_and(|before| before.len() < 4 && before.trim().is_empty());
            let end = if at < last_end {
                text.get(at + 4..).and_then(|rest| rest.find("-->")).map_or(text.len(), |end| at + 4 + end + 3)
            } else if begins {
                text.len()
            } else {
                break;
            };
            if ticks % 2 == 1 {
                looked = at + 4;
                continue;
            }
            flat.copy(text, start..at);
            (start, looked, hidden_until) = (end, end, end);
            if end >= line.end {
                break;
            }
        }
        if start < line.end {
            flat.copy(text, start..line.end);
        } else if line.start < start {
            flat.put("\n", start.min(text.len())..start.min(text.len()));
        }
    }
    flat
}

/// What the lines before this one were.
#[derive(Default)]
struct Reader {
    layout: Layout,
    /// What ends the front matter, while it lasts.
    front: Option<&'static str>,
    fence: Option<Fence>,
    /// Where what is better left whole began.
    whole: Option<usize>,
    /// How many lines of a table there were.
    rows: usize,
    blank: bool,
    in_list: bool,
    after_heading: Option<u8>,
    /// The next line is the one under a heading.
    underline: bool,
}

impl Reader {
    fn front_matter(&mut self, mark: &str) {
        self.front = Some(if mark == "---" { "---" } else { "+++" });
        self.whole = Some(0);
        self.blank = true;
    }

    /// What was better left whole ends here.
    fn close(&mut self, at: usize) {
        if let Some(start) = self.whole.take().filter(|start| *start < at) {
            self.layout.whole.push(start..at);
        }
    }

    /// A block begins here.
    fn block(&mut self, line: &Line<'_>, strength: Strength) {
        self.close(line.start);
        let strength = if self.after_heading.take().is_some() { INSIDE } else { strength };
        self.layout.cut(line.start, strength);
    }

    fn heading(&mut self, line: &Line<'_>, level: u8, title: &str) {
        self.close(line.start);
        // A heading right under a higher one stays with it.
        let glued = self.after_heading.is_some_and(|above| above < level);
        self.layout.cut(line.start, if glued { INSIDE } else { section(level) });
        self.layout.head(line.start, level, title);
        (self.after_heading, self.in_list, self.rows) = (Some(level), false, 0);
    }

    fn line(&mut self, line: &Line<'_>, next: Option<&Line<'_>>) {
        let fresh = if self.blank { PARAGRAPH } else { LINE };
        if let Some(mark) = self.front {
            if line.start > 0 && (line.text == mark || mark == "---" && line.text == "...") {
                self.front = None;
                self.close(line.end);
            } else {
                self.layout.cut(line.start, LINE);
            }
            return;
        }
        if let Some(fence) = self.fence {
            if fence.is_closed(line.text) {
                self.fence = None;
                self.close(line.end);
                self.blank = false;
                return;
            }
            if !line.text.is_empty() {
                self.layout.cut(line.start, fresh);
            }
            self.blank = line.text.is_empty();
            return;
        }
        if line.text.is_empty() {
            (self.blank, self.rows) = (true, 0);
            return;
        }
        self.content(line, next, fresh);
        self.blank = false;
    }

    /// A line that is not blank, outside of code.
    fn content(&mut self, line: &Line<'_>, next: Option<&Line<'_>>, fresh: Strength) {
        if std::mem::take(&mut self.underline) {
            self.layout.cut(line.start, INSIDE);
        } else if let Some(fence) = Fence::opened(line.text) {
            self.block(line, fresh);
            (self.fence, self.whole) = (Some(fence), Some(line.start));
        } else if let Some((level, title)) = heading(line) {
            self.heading(line, level, title);
        } else if is_item(line.text) && !is_rule(line.text) {
            self.block(line, if self.blank && !self.in_list { PARAGRAPH } else { LINE });
            (self.whole, self.in_list) = (Some(line.start), true);
        } else if line.text.starts_with('|') {
            // A table's head stays with its first row.
            self.block(line, if matches!(self.rows, 1 | 2) { INSIDE } else { fresh });
            self.whole = Some(line.start);
            self.rows += 1;
        } else if let Some(level) = self.underlined(line, next) {
            self.heading(line, level, line.text);
            self.underline = true;
        } else if self.blank
            || self.rows > 0
            || is_rule(line.text)
            || self.layout.breaks.is_empty()
            || self.after_heading.is_some()
        {
            let continues = self.in_list && line.indent >= 2;
            self.block(line, if continues { LINE } else { PARAGRAPH });
            self.in_list = continues;
            self.rows = 0;
            self.whole = continues.then_some(line.start);
        }
    }

    /// The level of a heading that has a line of `=` or `-` under it.
    fn underlined(&self, line: &Line<'_>, next: Option<&Line<'_>>) -> Option<u8> {
        let under = next.filter(|under| under.indent < 4 && under.text.len() > 1)?.text;
        if !(self.blank || self.layout.breaks.is_empty() || self.after_heading.is_some())
            || line.indent > 3
            || is_rule(line.text)
        {
            return None;
        }
        match under.bytes().next()? {
            b'=' if under.bytes().all(|byte| byte == b'=') => Some(1),
            b'-' if under.bytes().all(|byte| byte == b'-') => Some(2),
            _ => None,
        }
    }
}

/// A line across the page.
fn is_rule(text: &str) -> bool {
    let mut marks = text.bytes().filter(|byte| *byte != b' ');
    marks.next().is_some_and(|mark| matches!(mark, b'-' | b'*' | b'_') && marks.all(|other| other == mark))
        && text.len() > 2
}

/// The level and the words of a heading that begins with `#`.
fn heading<'a>(line: &Line<'a>) -> Option<(u8, &'a str)> {
    let level = line.text.bytes().take(7).take_while(|byte| *byte == b'#').count();
    let title = line.text.get(level..)?;
    if line.indent > 3 || !(1..=6).contains(&level) || !(title.is_empty() || title.starts_with([' ', '\t'])) {
        return None;
    }
    let bare = title.trim_end().trim_end_matches('#');
    let title = if bare.is_empty() || bare.ends_with([' ', '\t']) { bare } else { title };
    Some((u8::try_from(level).ok()?, title.trim()))
}
