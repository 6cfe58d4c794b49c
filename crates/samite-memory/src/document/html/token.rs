//! A text of HTML as tags and what is between them, after the tokenizer of the HTML standard (section 13.2.5).
//!
//! It is one pass, and never fails: what is no tag is text, and what is cut off at the end of the file is left out, as a
//! browser leaves it out.

use std::ops::Range;

/// A part of a text of HTML.
#[derive(Debug)]
pub(super) enum Token<'a> {
    /// Text, with its references as they were written.
    Text(Range<usize>),
    /// `<name …>`.
    Open {
        /// As it was written.
        name: &'a str,
        /// What is after the name.
        attributes: &'a str,
    },
    /// `</name>`.
    Close(&'a str),
}

/// Elements whose content is no HTML, and is not read.
const RAW: &[&str] = &["iframe", "noembed", "noframes", "script", "style", "xmp"];
/// Elements whose content is text without tags.
const TEXT: &[&str] = &["textarea", "title"];

/// The tags and texts of a file.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
    /// The element whose end is waited for, in which nothing is a tag.
    within: Option<&'a str>,
}

impl<'a> Tokens<'a> {
    /// Of the whole of a file.
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0, within: None }
    }

    fn rest(&self, from: usize) -> &'a str {
        self.text.get(from..).unwrap_or_default()
    }

    /// Where something is after a place, or the end of the file.
    fn after(&self, from: usize, what: &str) -> usize {
        self.rest(from).find(what).map_or(self.text.len(), |at| from + at + what.len())
    }

    /// Where `</name` is after a place, or the end of the file.
    fn end_of(&self, name: &str) -> usize {
        let mut from = self.at;
        while let Some(at) = self.rest(from).find("</").map(|at| from + at) {
            let after = self.rest(at + 2);
            let named = after.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
            if named && after.as_bytes().get(name.len()).is_none_or(|next| b" \t\n\x0c\r/>".contains(next)) {
                return at;
            }
            from = at + 2;
        }
        self.text.len()
    }

    /// Where a tag ends: after the `>` that is in no quotes. Nothing when the file ends before.
    fn tag_end(&self, from: usize) -> Option<usize> {
        let (mut quote, mut value) = (None, false);
        for (at, byte) in self.rest(from).bytes().enumerate() {
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (None, b'>') => return Some(from + at),
                // A quote begins a value only right after `=`.
                (None, b'"' | b'\'') if value => quote = Some(byte),
                (None, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c') => continue,
                _ => {}
            }
            value = quote.is_none() && byte == b'=';
        }
        None
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            if self.at >= self.text.len() {
                return None;
            }
            if let Some(name) = self.within.take() {
                let (start, end) = (self.at, self.end_of(name));
                self.at = end;
                if TEXT.contains(&name.to_ascii_lowercase().as_str()) && start < end {
                    return Some(Token::Text(start..end));
                }
                continue;
            }
            let rest = self.rest(self.at);
            let next = rest.as_bytes().get(1).copied();
            match (rest.starts_with('<'), next) {
                (true, Some(b'!')) if rest.starts_with("<!--") => {
                    // `<!-->` and `<!--->` are whole comments.
                    let from = if rest.starts_with("<!-->") || rest.starts_with("<!--->") { 2 } else { 4 };
                    self.at = self.after(self.at + from, "-->");
                }
                (true, Some(b'!' | b'?')) => self.at = self.after(self.at, ">"),
                (true, Some(b'/')) if rest.as_bytes().get(2).is_some_and(u8::is_ascii_alphabetic) => {
                    let name = name(rest.get(2..).unwrap_or_default());
                    let end = self.tag_end(self.at + 2 + name.len()).map_or(self.text.len(), |end| end + 1);
                    self.at = end;
                    return Some(Token::Close(name));
                }
                (true, Some(b'/')) if rest.len() > 2 => self.at = self.after(self.at, ">"),
                (true, Some(letter)) if letter.is_ascii_alphabetic() => {
                    let name = name(rest.get(1..).unwrap_or_default());
                    let from = self.at + 1 + name.len();
                    let Some(end) = self.tag_end(from) else {
                        self.at = self.text.len();
                        return None;
                    };
                    self.at = end + 1;
                    let lower = name.to_ascii_lowercase();
                    if RAW.contains(&lower.as_str()) || TEXT.contains(&lower.as_str()) {
                        self.within = Some(name);
                    }
                    return Some(Token::Open { name, attributes: self.text.get(from..end).unwrap_or_default() });
                }
                _ => {
                    let start = self.at;
                    self.at = rest.get(1..).map_or_else(
                        // The first character has several bytes, so it is no `<`.
                        || rest.find('<').unwrap_or(rest.len()),
                        |after| after.find('<').map_or(rest.len(), |at| at + 1),
                    ) + start;
                    return Some(Token::Text(start..self.at));
                }
            }
        }
    }
}

/// The name that a tag begins with.
fn name(text: &str) -> &str {
    let end = text.find([' ', '\t', '\n', '\x0c', '\r', '/', '>']).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// The attributes of a tag: names as they were written, and values as they were written.
pub(super) fn attributes(text: &str) -> impl Iterator<Item = (&str, &str)> {
    const BLANK: [char; 6] = [' ', '\t', '\n', '\x0c', '\r', '/'];
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(BLANK);
        if rest.is_empty() {
            return None;
        }
        // A `=` where a name is expected is the first character of one.
        let from = usize::from(rest.starts_with('='));
        let end =
            rest.get(from..)?.find([' ', '\t', '\n', '\x0c', '\r', '/', '=']).map_or(rest.len(), |end| from + end);
        let name = rest.get(..end)?;
        let after = rest.get(end..)?.trim_start_matches([' ', '\t', '\n', '\x0c', '\r']);
        let Some(value) = after.strip_prefix('=') else {
            rest = rest.get(end..)?;
            return Some((name, ""));
        };
        let value = value.trim_start_matches([' ', '\t', '\n', '\x0c', '\r']);
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        let found = if let Some(quote) = quote {
            let within = value.get(1..)?;
            let end = within.find(quote).unwrap_or(within.len());
            rest = within.get(end + 1..).unwrap_or_default();
            within.get(..end)?
        } else {
            let end = value.find([' ', '\t', '\n', '\x0c', '\r']).unwrap_or(value.len());
            rest = value.get(end..)?;
            value.get(..end)?
        };
        Some((name, found))
    })
}
