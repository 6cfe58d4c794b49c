//! A page of text for a person. Whatever is put on it is escaped; only styles that we choose reach the terminal.

use super::escape;
use super::look::{Look, Style};
use super::table::{Table, cut};

/// Lines for a person to read.
pub(crate) struct Page {
    look: Look,
    text: String,
}

impl Page {
    pub(super) fn new(look: Look) -> Self {
        Self { look, text: String::new() }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// One line.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.styled(Style::Plain, text);
    }

    /// One line in a style.
    pub(crate) fn styled(&mut self, style: Style, text: impl AsRef<str>) {
        self.spans(&[(style, text.as_ref())]);
    }

    /// One line of pieces in their styles.
    pub(crate) fn spans(&mut self, spans: &[(Style, &str)]) {
        for (style, text) in spans {
            let painted = self.look.paint(*style, &escape::line(text));
            self.text.push_str(&painted);
        }
        self.text.push('\n');
    }

    /// An empty line, unless the page is empty.
    pub(crate) fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// A text of several lines, indented; at most `limit` of them, with a note of what was left out.
    pub(crate) fn block(&mut self, indent: usize, text: &str, limit: Option<usize>) {
        let space = " ".repeat(indent);
        let mut lines = text.lines();
        for line in lines.by_ref().take(limit.unwrap_or(usize::MAX)) {
            let line = escape::line(line);
            let line = match limit {
                Some(_) => cut(&line, 2000),
                None => line.into_owned(),
            };
            self.text.push_str(&space);
            self.text.push_str(&line);
            self.text.push('\n');
        }
        let more = lines.count();
        if more > 0 {
            self.styled(Style::Dim, format!("{space}… {more} more lines"));
        }
    }

    /// A table.
    pub(crate) fn table(&mut self, table: &Table) {
        for line in table.lines(self.look) {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// Names and what they are, in two columns.
    pub(crate) fn facts(&mut self, facts: &[(&str, String)]) {
        let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
        for (name, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
            let name = format!("{name:width$}");
            self.spans(&[(Style::Dim, name.as_str()), (Style::Plain, fact.as_str())]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        Page::new(Look { terminal: true, colour: true, width: Some(80) })
    }

    #[test]
    fn only_our_own_styles_reach_the_terminal() {
        let mut page = page();
        page.styled(Style::Strong, "a\x1b[2Jb");
        page.block(2, "x\x1b]0;title\x07\ny\nz", Some(2));
        assert_eq!(
            page.into_text(),
            "\x1b[1ma\\u{1b}[2Jb\x1b[0m\n  x\\u{1b}]0;title\\u{7}\n  y\n\x1b[2m  … 1 more lines\x1b[0m\n"
        );
    }
}
