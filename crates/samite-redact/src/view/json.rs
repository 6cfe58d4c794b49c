//! The string leaves of JSON: where they are, what they are called, and what their escapes stand for.

use super::View;
use crate::alphabet::{byte, slice};
use memchr::{memchr, memchr2};
use std::ops::Range;

/// A string that is the value of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Between its quotes.
    pub(crate) range: Range<usize>,
    /// The key that it is the value of, or that the array is that it is in; between quotes, escaped as it stands.
    pub(crate) key: Range<usize>,
    /// What an object with a name and a value calls its value, `{"name": "TOKEN", "value": "…"}`, and the first of a pair its
    /// second: `["X-Api-Key", "…"]`.
    pub(crate) called: Range<usize>,
    /// Whether it is the value of a named field, or below one.
    pub(crate) inside: bool,
}

/// How deep arrays and objects may be within each other.
const DEPTH: usize = 128;

/// The string leaves of a text that is JSON, or several such documents after one another; none when it is not.
pub(crate) fn leaves(text: &[u8]) -> Option<Vec<Leaf>> {
    leaves_below(text, &[])
}

/// The same, with those marked that are below fields of these names.
pub(crate) fn leaves_below(text: &[u8], names: &[String]) -> Option<Vec<Leaf>> {
    let mut parser = Parser { text, names, at: 0, leaves: Vec::new() };
    parser.blank();
    // A text that is a number or a word says no more as JSON than as it stands.
    if !matches!(byte(text, parser.at), b'{' | b'[' | b'"') {
        return None;
    }
    while parser.at < text.len() {
        parser.document()?;
        parser.blank();
    }
    Some(parser.leaves)
}

struct Frame {
    object: bool,
    /// How many strings an array has had.
    strings: usize,
    key: Range<usize>,
    called: Range<usize>,
    /// The leaf that is the value of an object that has not said its name yet.
    value: Option<usize>,
    inside: bool,
}

struct Parser<'a> {
    text: &'a [u8],
    names: &'a [String],
    at: usize,
    leaves: Vec<Leaf>,
}

impl Parser<'_> {
    fn blank(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// The inside of the string whose quote is next.
    fn string(&mut self) -> Option<Range<usize>> {
        if byte(self.text, self.at) != b'"' {
            return None;
        }
        let start = self.at + 1;
        let mut at = start;
        loop {
            at += memchr2(b'"', b'\\', self.text.get(at..)?)?;
            if byte(self.text, at) == b'"' {
                self.at = at + 1;
                return Some(start..at);
            }
            at += 2;
        }
    }

    fn document(&mut self) -> Option<()> {
        let mut stack: Vec<Frame> = Vec::new();
        loop {
            // A value.
            self.blank();
            let opened = match byte(self.text, self.at) {
                b'"' => {
                    let range = self.string()?;
                    self.leaf(range, &mut stack);
                    false
                }
                open @ (b'{' | b'[') => {
                    if stack.len() >= DEPTH {
                        return None;
                    }
                    self.at += 1;
                    let key = stack.last().map_or(0..0, |frame| frame.key.clone());
                    let inside = self.is_inside(stack.last());
                    stack.push(Frame { object: open == b'{', strings: 0, key, called: 0..0, value: None, inside });
                    true
                }
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                b'-' | b'0'..=b'9' => {
                    let number = slice(self.text, self.at, self.text.len());
                    self.at += number
                        .iter()
                        .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                        .count();
                    false
                }
                _ => return None,
            };
            // What may follow it.
            let mut fresh = opened;
            loop {
                self.blank();
                let Some(frame) = stack.last_mut() else { return Some(()) };
                match (byte(self.text, self.at), frame.object) {
                    (b'}', true) | (b']', false) => {
                        self.at += 1;
                        stack.pop();
                        fresh = false;
                    }
                    (next, object) => {
                        if !fresh {
                            if next != b',' {
                                return None;
                            }
                            self.at += 1;
                            self.blank();
                        }
                        if object {
                            let key = self.string()?;
                            if let Some(frame) = stack.last_mut() {
                                frame.key = key;
                            }
                            self.blank();
                            if byte(self.text, self.at) != b':' {
                                return None;
                            }
                            self.at += 1;
                        }
                        break;
                    }
                }
            }
        }
    }

    /// Whether the next value is below a field that was named.
    fn is_inside(&self, frame: Option<&Frame>) -> bool {
        frame.is_some_and(|frame| {
            let key = slice(self.text, frame.key.start, frame.key.end);
            frame.inside || self.names.iter().any(|name| name.as_bytes() == key)
        })
    }

    fn word(&mut self, word: &[u8]) -> Option<bool> {
        if slice(self.text, self.at, self.at + word.len()) != word {
            return None;
        }
        self.at += word.len();
        Some(false)
    }

    fn leaf(&mut self, range: Range<usize>, stack: &mut [Frame]) {
        let inside = !self.names.is_empty() && self.is_inside(stack.last());
        let (key, called) = match stack.last_mut() {
            Some(frame) => {
                let name = slice(self.text, frame.key.start, frame.key.end);
                let mut called = 0..0;
                if frame.object && matches!(name, b"name" | b"Name" | b"key" | b"Key" | b"variable" | b"env") {
                    frame.called = range.clone();
                    if let Some(leaf) = frame.value.and_then(|leaf| self.leaves.get_mut(leaf)) {
                        leaf.called = range.clone();
                    }
                } else if !frame.object {
                    // The arguments of a command: `["--password", "…"]`. And pairs, as of headers.
                    let before = slice(self.text, frame.called.start, frame.called.end);
                    let pair = frame.strings == 1 && before.contains(&b'-') && !before.contains(&b' ');
                    if before.starts_with(b"-") || pair {
                        called = frame.called.clone();
                    }
                    frame.called = range.clone();
                    frame.strings += 1;
                } else if frame.object && matches!(name, b"value" | b"Value" | b"val" | b"secret" | b"default") {
                    called = frame.called.clone();
                    frame.value = called.is_empty().then_some(self.leaves.len());
                }
                (frame.key.clone(), called)
            }
            None => (0..0, 0..0),
        };
        self.leaves.push(Leaf { range, key, called, inside });
    }
}

/// What the inside of a string stands for; none when it has no escapes and stands for itself.
pub(crate) fn unescape(text: &[u8], range: &Range<usize>) -> Option<View> {
    memchr(b'\\', slice(text, range.start, range.end))?;
    let mut view = View::default();
    let mut at = range.start;
    while at < range.end {
        let Some(next) = memchr(b'\\', slice(text, at, range.end)) else {
            view.copy(text, at..range.end);
            break;
        };
        view.copy(text, at..at + next);
        at += next;
        let length = escape(text, at, range.end, &mut view);
        at += length;
    }
    Some(view)
}

/// Adds what the escape at a place stands for, and answers with its length.
fn escape(text: &[u8], at: usize, end: usize, view: &mut View) -> usize {
    let simple = match byte(text, at + 1) {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        b'u' => {
            let Some(first) = unit(text, at, end) else {
                view.copy(text, at..at + 2);
                return 2;
            };
            let (character, length) = match first {
                0xd800..0xdc00 => match unit(text, at + 6, end) {
                    Some(second @ 0xdc00..0xe000) => {
                        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        (char::from_u32(code), 12)
                    }
                    _ => (None, 6),
                },
                _ => (char::from_u32(first), 6),
            };
            let mut buffer = [0; 4];
            let bytes = character.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut buffer);
            view.put(bytes.as_bytes(), at..at + length);
            return length;
        }
        other => other,
    };
    view.put(&[simple], at..at + 2);
    2
}

/// The number in `\uXXXX` at a place.
fn unit(text: &[u8], at: usize, end: usize) -> Option<u32> {
    if at + 6 > end || byte(text, at) != b'\\' || byte(text, at + 1) != b'u' {
        return None;
    }
    slice(text, at + 2, at + 6).iter().try_fold(0, |number, digit| Some(number << 4 | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &str) -> Option<Vec<(String, String, String)>> {
        let part = |range: Range<usize>| text[range].to_owned();
        leaves(text.as_bytes()).map(|leaves| {
            leaves.into_iter().map(|leaf| (part(leaf.key), part(leaf.range), part(leaf.called))).collect()
        })
    }

    fn leaf(key: &str, value: &str, called: &str) -> (String, String, String) {
        (key.to_owned(), value.to_owned(), called.to_owned())
    }

    #[test]
    fn leaves_have_the_keys_that_they_are_under() {
        assert_eq!(
            strings(r#"{"a": "x", "b": ["y", {"c": "z"}, 1.5e3, true, null], "d": {}, "e": [] }"#),
            Some(vec![leaf("a", "x", ""), leaf("b", "y", ""), leaf("c", "z", "")])
        );
        assert_eq!(
            strings(r#"[{"name":"TOKEN","value":"v"}, {"value":"w"}]"#),
            Some(vec![leaf("name", "TOKEN", ""), leaf("value", "v", "TOKEN"), leaf("value", "w", "")])
        );
        assert_eq!(
            strings(r#"{"value":"v","name":"TOKEN"}"#),
            Some(vec![leaf("value", "v", "TOKEN"), leaf("name", "TOKEN", "")])
        );
        assert_eq!(
            strings(r#"[["X-Api-Key","v","w"],["-u","x","y"]]"#),
            Some(vec![
                leaf("", "X-Api-Key", ""),
                leaf("", "v", "X-Api-Key"),
                leaf("", "w", ""),
                leaf("", "-u", ""),
                leaf("", "x", "-u"),
                leaf("", "y", ""),
            ])
        );
        assert_eq!(strings("{\"a\":\"\\\"\"}\n{\"b\":\"c\"}"), Some(vec![leaf("a", "\\\"", ""), leaf("b", "c", "")]));
        for text in [
            "",
            "x",
            "\"x\" y",
            "1",
            "{",
            "{]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "[\"a]",
            "{\"a\":\"b\"} x",
            "[tru]",
            "[,]",
            "{,}",
            "[1,]",
            "{a:1}",
            "[\"a\\",
            "[-]x",
        ] {
            assert_eq!(strings(text), None, "{text}");
        }
        assert_eq!(leaves("[".repeat(100_000).as_bytes()), None);
    }

    #[test]
    fn escapes_are_undone() {
        for (text, expected) in [
            (r#"a\"b\\c\/d"#, "a\"b\\c/d"),
            (r"\n\r\t\b\f", "\n\r\t\u{8}\u{c}"),
            (r"\u0041\u00e9\u20ac\ud83d\ude00", "A\u{e9}\u{20ac}\u{1f600}"),
            (r"\ud83dx", "\u{fffd}x"),
            (r"\u00", "\\u00"),
            (r"\q", "q"),
        ] {
            let view = unescape(text.as_bytes(), &(0..text.len())).unwrap();
            assert_eq!(String::from_utf8(view.text).unwrap(), expected, "{text}");
        }
        assert_eq!(unescape(b"plain", &(0..5)), None);
    }
}
