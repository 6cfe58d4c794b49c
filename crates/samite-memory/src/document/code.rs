//! Code of any language: items by indentation and by the words that languages have in common.
//!
//! An item is a line that begins with a word such as `fn`, `class` or `def`, or one that looks like a function of a language
//! without such a word: `… (…) {`. It ends with the first line that is indented no deeper and closes nothing. Comments and
//! attributes right above it are of it. What looks like an item in a string is taken for one: a place to cut that is a little
//! worse than another.

use super::layout::{CLAUSE, DEEPEST, INSIDE, LINE, Layout, Line, PARAGRAPH, lines, section};

/// The layout of code.
pub(super) fn layout(text: &str) -> Layout {
    let mut reader = Reader { layout: Layout::of(text), blank: true, ..Reader::default() };
    reader.layout.code = true;
    for line in lines(text) {
        if line.text.is_empty() {
            (reader.blank, reader.above) = (true, None);
        } else {
            reader.line(&line);
        }
    }
    reader.layout
}

#[derive(Default)]
struct Reader {
    layout: Layout,
    /// The indentation of the items that are open.
    open: Vec<usize>,
    /// Comments and attributes right above this line: where they begin, their number among the breaks, their indentation.
    above: Option<(usize, usize, usize)>,
    blank: bool,
    /// The indentation of the line before.
    indent: usize,
}

impl Reader {
    fn line(&mut self, line: &Line<'_>) {
        let closes =
            line.text.starts_with(['}', ')', ']', '{']) || matches!(first_word(line.text), "end" | "where" | "else");
        let ended = self.open.iter().filter(|indent| **indent >= line.indent).count();
        if !closes && ended > 0 {
            self.open.truncate(self.open.len() - ended);
            self.layout.end(line.start, self.level());
        }
        let strength = if self.blank && !closes {
            PARAGRAPH
        } else if closes || line.indent > self.indent {
            CLAUSE
        } else if line.indent == 0 && self.indent > 0 {
            PARAGRAPH
        } else {
            LINE
        };
        self.layout.cut(line.start, strength);
        let above = self.above.take().filter(|(_, _, indent)| *indent == line.indent);
        if is_comment(line.text) {
            self.above = above.or(Some((line.start, self.layout.breaks.len().saturating_sub(1), line.indent)));
        } else if let Some(title) = item(line.text) {
            let (start, number, _) = above.unwrap_or((line.start, self.layout.breaks.len().saturating_sub(1), 0));
            let level = self.level();
            for (place, (_, strength)) in self.layout.breaks.iter_mut().skip(number).enumerate() {
                *strength = if place == 0 { section(level) } else { INSIDE };
            }
            self.layout.head(start, level, title);
            // What is nested deeper is under the same items as the deepest that is named.
            if level < DEEPEST {
                self.open.push(line.indent);
            }
        }
        (self.blank, self.indent) = (false, line.indent);
    }

    /// The level of an item that begins now.
    fn level(&self) -> u8 {
        u8::try_from(self.open.len() + 1).unwrap_or(DEEPEST).min(DEEPEST)
    }
}

/// The letters that a line begins with.
fn first_word(text: &str) -> &str {
    let end = text.find(|character: char| !(character.is_alphanumeric() || character == '_')).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Whether a line says something of the next.
fn is_comment(text: &str) -> bool {
    text.starts_with("//")
        || text.starts_with("/*")
        || text.starts_with('*')
        || text.starts_with('#') && !text.starts_with("#include") && !text.starts_with("#define")
        || text.starts_with('@') && !text.ends_with('{')
        || text.starts_with("--")
        || text.starts_with(";;")
}

/// What may stand before the word that makes it an item.
const BEFORE: &[&str] = &[
    "abstract",
    "async",
    "const",
    "data",
    "declare",
    "default",
    "export",
    "extern",
    "final",
    "inline",
    "internal",
    "local",
    "open",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "public",
    "readonly",
    "sealed",
    "static",
    "unsafe",
    "virtual",
];
/// The words that make it one.
const ITEMS: &[&str] = &[
    "class",
    "def",
    "defmacro",
    "defmodule",
    "defp",
    "defun",
    "enum",
    "extension",
    "fn",
    "fun",
    "func",
    "function",
    "impl",
    "interface",
    "macro_rules",
    "method",
    "mod",
    "module",
    "namespace",
    "object",
    "proc",
    "protocol",
    "record",
    "struct",
    "sub",
    "trait",
    "union",
];
/// Words before `(…) {` that make it no function.
const CONTROL: &[&str] = &[
    "case",
    "catch",
    "do",
    "elif",
    "else",
    "elseif",
    "for",
    "foreach",
    "guard",
    "if",
    "loop",
    "match",
    "return",
    "select",
    "switch",
    "synchronized",
    "try",
    "unless",
    "until",
    "using",
    "when",
    "while",
    "with",
];

/// The name of the item that a line begins: the line up to its parameters or body.
fn item(text: &str) -> Option<&str> {
    if text.len() > 400 {
        return None;
    }
    let mut rest = text;
    let mut word = first_word(rest);
    while BEFORE.contains(&word) {
        rest = rest.get(word.len()..)?.trim_start();
        // `pub(crate)`, `extern "C"`.
        for (open, close) in [('(', ')'), ('"', '"')] {
            if let Some((_, after)) = rest.strip_prefix(open).and_then(|within| within.split_once(close)) {
                rest = after.trim_start();
            }
        }
        word = first_word(rest);
    }
    if ITEMS.contains(&word) {
        let after = rest.get(word.len()..)?;
        let named = after.starts_with([' ', '<', '!', '\t']) && !after.trim_start().starts_with(['=', ':', '.', ',']);
        let whole =
            text.ends_with(['{', ':', '(', ',', ';', ')', '}', '>', '=']) || text.split_whitespace().count() < 5;
        return (named && whole).then(|| name(text, text.len() - after.len()));
    }
    let (before, _) = text.split_once('(')?;
    let function = text.ends_with('{')
        && !before.contains(['=', '.', '{'])
        && !CONTROL.contains(&first_word(text))
        && text.matches('(').count() == text.matches(')').count();
    function.then(|| name(text, 0))
}

/// The line up to its parameters, its body or its bases, but not before `from`.
fn name(text: &str, from: usize) -> &str {
    // A receiver comes before the name: `func (s *Server) Run(`.
    let after = text.get(from..).unwrap_or_default();
    let receiver = after.trim_start().starts_with('(').then(|| after.find(')')).flatten().map_or(0, |end| end + 1);
    let rest = after.get(receiver..).unwrap_or_default();
    let end = rest.find(['(', '{', ';']).unwrap_or(rest.len());
    text.get(..from + receiver + end).unwrap_or(text).trim().trim_end_matches([':', '=']).trim_end()
}
