//! Escapes of single characters, wherever they stand in a text: what a serialiser writes so and what it leaves plain differs from
//! one to the next, so all are undone.

use super::View;
use crate::alphabet::{byte, slice};
use data_encoding::HEXLOWER_PERMISSIVE;
use memchr::{memchr, memchr2};
use std::ops::Range;

/// How characters are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// With a backslash: as in strings of JSON and of most languages, and as shells take them.
    Backslash,
    /// `%21`.
    Percent,
    /// The same, with `+` for a blank.
    Form,
    /// `&amp;`, `&#38;`, `&#x26;`.
    Html,
}

impl Escapes {
    pub(crate) const ALL: [Self; 4] = [Self::Backslash, Self::Percent, Self::Form, Self::Html];
}

/// A character that an escape stands for, or a byte of one.
type Plain = ([u8; 4], usize);

/// The bytes for whose escapes a text is looked at once more.
#[derive(Clone, Debug)]
pub(crate) struct Telling {
    bytes: [bool; 256],
    /// Whether a blank, or a backslash, is one of them.
    blank: bool,
    backslash: bool,
}

impl Telling {
    /// What stands in these secrets, and what other encodings of them have.
    pub(crate) fn of<'a>(secrets: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut telling = Self { bytes: [false; 256], blank: false, backslash: false };
        for byte in secrets.flatten() {
            telling.add(*byte);
            // The ends of lines that Windows has.
            if *byte == b'\n' {
                telling.add(b'\r');
            }
        }
        telling.blank = telling.has(b' ');
        telling.backslash = telling.has(b'\\');
        for byte in b"\\%&#;+/" {
            telling.add(*byte);
        }
        telling
    }

    fn add(&mut self, byte: u8) {
        if let Some(one) = self.bytes.get_mut(usize::from(byte)) {
            *one = true;
        }
    }

    fn has(&self, byte: u8) -> bool {
        self.bytes.get(usize::from(byte)).is_some_and(|one| *one)
    }

    /// The parts of a text that have an escape that may belong to a secret, with so much before and after it.
    pub(crate) fn windows(&self, text: &[u8], how: Escapes, reach: usize) -> Vec<Range<usize>> {
        let mut windows: Vec<Range<usize>> = Vec::new();
        if how == Escapes::Form && (!self.blank || memchr(b'+', text).is_none()) {
            return windows;
        }
        let mut at = 0;
        while let Some((place, plain)) = next(text, at, how) {
            at = place.end;
            let mut tells = self.has(first(&plain.0));
            if how == Escapes::Backslash && plain == one(b'\\') && place.len() == 2 && !self.backslash {
                // Escapes within escapes: what the last of the backslashes is before says what all come to.
                let run = slice(text, place.start, text.len()).iter().take_while(|byte| **byte == b'\\').count();
                at = place.start + run;
                let Some((bytes, length)) = backslash(text, at - 1) else { continue };
                tells = self.has(first(&bytes));
                at += length - 1;
            }
            if !tells {
                continue;
            }
            let window = place.start.saturating_sub(reach)..at.saturating_add(reach).min(text.len());
            match windows.last_mut() {
                Some(last) if window.start <= last.end => last.end = window.end,
                _ => windows.push(window),
            }
        }
        windows
    }
}

/// A text without its escapes.
pub(crate) fn undone(text: &[u8], how: Escapes) -> View {
    let mut view = View::default();
    let mut from = 0;
    while let Some((place, (bytes, length))) = next(text, from, how) {
        view.copy(text, from..place.start);
        from = place.end;
        view.put(slice(&bytes, 0, length), place);
    }
    view.copy(text, from..text.len());
    view
}

/// The first escape from a place on, and what it stands for.
fn next(text: &[u8], from: usize, how: Escapes) -> Option<(Range<usize>, Plain)> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        let sign = at
            + match how {
                Escapes::Backslash => memchr(b'\\', rest)?,
                Escapes::Percent => memchr(b'%', rest)?,
                Escapes::Form => memchr2(b'%', b'+', rest)?,
                Escapes::Html => memchr(b'&', rest)?,
            };
        let found = match how {
            Escapes::Backslash => backslash(text, sign).map(|(bytes, taken)| ((bytes, length_of(bytes)), taken)),
            Escapes::Form if byte(text, sign) == b'+' => Some((one(b' '), 1)),
            Escapes::Percent | Escapes::Form => {
                let digits = HEXLOWER_PERMISSIVE.decode(slice(text, sign + 1, sign + 3)).ok();
                digits.filter(|bytes| bytes.len() == 1).map(|bytes| (one(first(&bytes)), 3))
            }
            Escapes::Html => html(text, sign).map(|(bytes, taken)| ((bytes, length_of(bytes)), taken)),
        };
        if let Some((plain, taken)) = found {
            return Some((sign..sign + taken, plain));
        }
        at = sign + 1;
    }
}

fn first(bytes: &[u8]) -> u8 {
    byte(bytes, 0)
}

fn one(byte: u8) -> Plain {
    ([byte, 0, 0, 0], 1)
}

/// The bytes of a character, which are no more than one where the second is 0.
fn length_of(bytes: [u8; 4]) -> usize {
    bytes.iter().skip(1).take_while(|byte| **byte != 0).count() + 1
}

fn encoded(character: char) -> [u8; 4] {
    let mut bytes = [0; 4];
    character.encode_utf8(&mut bytes);
    bytes
}

/// What a backslash and what follows it stand for, and how long that is.
fn backslash(text: &[u8], at: usize) -> Option<([u8; 4], usize)> {
    let plain = match byte(text, at + 1) {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        b'u' => return unicode(text, at),
        b'x' => {
            let code = number(slice(text, at + 2, at + 4), 16, 2)?;
            return char::from_u32(code).filter(char::is_ascii).map(|one| (encoded(one), 4));
        }
        sign if sign == b' ' || sign.is_ascii_punctuation() => sign,
        _ => return None,
    };
    Some((one(plain).0, 2))
}

/// `\u00e9`, or two of them for a character of two units.
fn unicode(text: &[u8], at: usize) -> Option<([u8; 4], usize)> {
    let unit = |at: usize| number(slice(text, at + 2, at + 6), 16, 4);
    let high = unit(at)?;
    if let Some(character) = char::from_u32(high) {
        return Some((encoded(character), 6));
    }
    let next = slice(text, at + 6, at + 8) == b"\\u";
    let low = unit(at + 6).filter(|low| next && (0xdc00..0xe000).contains(low) && high < 0xdc00)?;
    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)).map(|character| (encoded(character), 12))
}

/// What an entity stands for, and how long it is.
fn html(text: &[u8], at: usize) -> Option<([u8; 4], usize)> {
    let length = memchr(b';', slice(text, at, at + 12))?;
    let name = slice(text, at + 1, at + length);
    let character = match name {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits, 16, 1)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10, 1)?)?,
        _ => return None,
    };
    Some((encoded(character), length + 1))
}

/// A number of at least so many digits.
fn number(digits: &[u8], radix: u32, least: usize) -> Option<u32> {
    if digits.len() < least {
        return None;
    }
    digits
        .iter()
        .try_fold(0_u32, |number, digit| number.checked_mul(radix)?.checked_add(char::from(*digit).to_digit(radix)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_wherever_they_stand_and_nothing_else_is() {
        for (how, text, expected) in [
            (Escapes::Backslash, r#"a\u0026b\u00E9\ud83d\ude00\"\\n\/\x41\'\ c\q\u12"#, "a&bé😀\"\\n/A' c\\q\\u12"),
            (Escapes::Backslash, r"\ud83dx\", r"\ud83dx\"),
            (Escapes::Percent, "a%26b%c3%A9+%zz%4", "a&bé+%zz%4"),
            (Escapes::Form, "a+%26%2B+", "a &+ "),
            (Escapes::Html, "&lt;&#38;&#x27;&#XE9;&nbsp;&;&#;", "<&'é&nbsp;&;&#;"),
        ] {
            let view = undone(text.as_bytes(), how);
            assert_eq!(String::from_utf8(view.text).unwrap(), expected, "{text}");
        }
        let view = undone(br"xx\u0026yy", Escapes::Backslash);
        assert_eq!(view.place(&(1..4)), Some(1..9));
    }

    #[test]
    fn a_text_is_looked_at_once_more_only_where_it_may_matter() {
        let telling = Telling::of([&b"ab<c d"[..], "é".as_bytes()].into_iter());
        for (how, text, expected) in [
            (Escapes::Backslash, r#"line\nnext \"quoted\" \\n \\\"deeper\\\""#, false),
            (Escapes::Backslash, r"x \u003c", true),
            (Escapes::Backslash, r"x \\\\u003c", true),
            (Escapes::Backslash, r"x \u00e9", true),
            (Escapes::Backslash, r"x \u00c0", true),
            (Escapes::Backslash, r"x \u20ac", false),
            (Escapes::Percent, "%61", true),
            (Escapes::Percent, "%7A 100%", false),
            (Escapes::Form, "a+b", true),
            (Escapes::Html, "&lt;", true),
            (Escapes::Html, "&quot; & x", false),
        ] {
            assert_eq!(!telling.windows(text.as_bytes(), how, 9).is_empty(), expected, "{text}");
        }
        assert!(Telling::of([&b"abc"[..]].into_iter()).windows(b"a+b", Escapes::Form, 9).is_empty());
        let text = br"0123456789\u003c0123456789\u003e0123456789012345678901234\u003c";
        assert_eq!(telling.windows(text, Escapes::Backslash, 6), [4..22, 51..63]);
    }
}
