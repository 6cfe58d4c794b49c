//! The string leaves of JSON: where they are, what they are called, and what their escapes stand for.

use super::View;
use crate::alphabet::{byte, slice};
use memchr::{memchr, memchr2};
use std::ops::Range;

/// A string that is the value of something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// After the beginning of the array that it is an item of; 0 in none. Documents that are strings, one after another, are items
    /// of one as well: [`ALONE`].
    pub(crate) list: usize,
}

/// The list of strings in no array or object.
const ALONE: usize = usize::MAX;
/// How deep arrays and objects may be within each other.
const DEPTH: usize = 128;
/// So many values of an object wait for its name to come.
const WAITING: usize = 16;

/// Tells of the string leaves of a text that is JSON, or several such documents after one another, with those marked that are below
/// fields of these names. They come in their order, but that the value of an object waits for its name. Nothing is held: a
/// document may consist of little else than leaves. Says whether it is JSON; of what is none nothing is told.
pub(crate) fn each(text: &[u8], names: &[String], tell: &mut dyn FnMut(Leaf)) -> bool {
    // A text that is a number or a word says no more as JSON than as it stands.
    let first = text.iter().find(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    let opens = matches!(first, Some(b'{' | b'[' | b'"'));
    let mut check = Parser { text, names, at: 0, tell: None };
    if !opens || check.documents().is_none() {
        return false;
    }
    Parser { text, names, at: 0, tell: Some(tell) }.documents().is_some()
}

/// All of its string leaves in their order; none when it is no JSON.
pub(crate) fn leaves(text: &[u8]) -> Option<Vec<Leaf>> {
    let mut leaves = Vec::new();
    let is_json = each(text, &[], &mut |leaf| leaves.push(leaf));
    leaves.sort_by_key(|leaf| leaf.range.start);
    is_json.then_some(leaves)
}

/// The fields of an object that say what its value is called.
fn is_name(field: &[u8]) -> bool {
    matches!(
        field,
        b"name" | b"Name" | b"key" | b"Key" | b"variable" | b"env" | b"ParameterKey" | b"parameterKey" | b"OptionName"
    )
}

/// The fields of such an object that hold the value.
fn is_value(field: &[u8]) -> bool {
    matches!(field, b"value" | b"Value" | b"val" | b"secret" | b"default" | b"ParameterValue" | b"parameterValue")
}

/// The fields that say of which type a value is: `{"key": "TOKEN", "value": {"stringValue": "…"}}`.
fn is_typed(field: &[u8]) -> bool {
    matches!(field, b"stringValue" | b"string_value" | b"S" | b"literal")
}

struct Frame {
    object: bool,
    /// How many strings an array has had.
    strings: usize,
    key: Range<usize>,
    called: Range<usize>,
    /// The values of an object that has not said its name yet.
    waiting: Vec<Leaf>,
    /// Whether it is the value of an object with a name.
    typed: bool,
    inside: bool,
    /// After where it begins.
    begun: usize,
}

struct Parser<'a, 't> {
    text: &'a [u8],
    names: &'a [String],
    at: usize,
    /// What is told of the leaves; none where they are only passed over.
    tell: Option<&'t mut dyn FnMut(Leaf)>,
}

impl Parser<'_, '_> {
    fn documents(&mut self) -> Option<()> {
        self.blank();
        while self.at < self.text.len() {
            self.document()?;
            self.blank();
        }
        Some(())
    }

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
                    let object = open == b'{';
                    let typed = object
                        && stack.last().is_some_and(|frame| frame.object)
                        && is_value(slice(self.text, key.start, key.end));
                    stack.push(Frame {
                        object,
                        strings: 0,
                        key,
                        called: 0..0,
                        waiting: Vec::new(),
                        typed,
                        inside,
                        begun: self.at,
                    });
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
                        for leaf in stack.pop().map(|frame| frame.waiting).unwrap_or_default() {
                            self.told(leaf);
                        }
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

    fn told(&mut self, leaf: Leaf) {
        if let Some(tell) = &mut self.tell {
            tell(leaf);
        }
    }

    fn leaf(&mut self, range: Range<usize>, stack: &mut [Frame]) {
        if self.tell.is_none() {
            return;
        }
        let inside = !self.names.is_empty() && self.is_inside(stack.last());
        let mut leaf = Leaf { range, inside, ..Leaf::default() };
        let Some((frame, around)) = stack.split_last_mut() else {
            leaf.list = ALONE;
            return self.told(leaf);
        };
        leaf.key = frame.key.clone();
        let field = slice(self.text, frame.key.start, frame.key.end);
        if !frame.object {
            leaf.list = frame.begun;
            // The arguments of a command: `["--password", "…"]`. And pairs, as of headers.
            let before = slice(self.text, frame.called.start, frame.called.end);
            let pair = frame.strings == 1 && before.contains(&b'-') && !before.contains(&b' ');
            if before.starts_with(b"-") || pair {
                leaf.called = frame.called.clone();
            }
            frame.called = leaf.range.clone();
            frame.strings += 1;
        } else if is_name(field) {
            frame.called = leaf.range.clone();
            for mut value in std::mem::take(&mut frame.waiting) {
                value.called = leaf.range.clone();
                self.told(value);
            }
        } else {
            let named = if is_value(field) {
                Some(frame)
            } else if frame.typed && is_typed(field) {
                around.last_mut()
            } else {
                None
            };
            if let Some(named) = named {
                leaf.called = named.called.clone();
                if leaf.called.is_empty() && named.waiting.len() < WAITING {
                    named.waiting.push(leaf);
                    return;
                }
            }
        }
        self.told(leaf);
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
        // Any order, more than one value, and what has the value's type around it.
        assert_eq!(
            strings(r#"{"default":"d","a":{"value":"w"},"ParameterValue":"v","ParameterKey":"TOKEN","value":"x"}"#),
            Some(vec![
                leaf("default", "d", "TOKEN"),
                leaf("value", "w", ""),
                leaf("ParameterValue", "v", "TOKEN"),
                leaf("ParameterKey", "TOKEN", ""),
                leaf("value", "x", "TOKEN"),
            ])
        );
        for text in [
            r#"{"key":"TOKEN","value":{"stringValue":"v"}}"#,
            r#"{"value":{"intValue":1,"stringValue":"v"},"x":[],"key":"TOKEN"}"#,
        ] {
            assert!(strings(text).unwrap().contains(&leaf("stringValue", "v", "TOKEN")), "{text}");
        }
        let lists: Vec<usize> =
            leaves(br#"{"a":["x",["y"],"z"],"b":"w"}"#).unwrap().iter().map(|one| one.list).collect();
        assert_eq!(lists, [6, 11, 6, 0]);
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
