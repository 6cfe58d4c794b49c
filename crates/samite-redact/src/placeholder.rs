//! What takes the place of a finding: `[secret:github-token:3f9a2c1b:40]`.
//!
//! It is made of characters that no encoding around it needs to escape, says what was there, and is never taken for
//! something to redact again.

use crate::alphabet::{byte, slice};
use crate::policy::Class;
use std::fmt::Write as _;
use std::ops::Range;

/// A keyed hash of a secret, of which four bytes are shown: the same secret reads the same, and without the key nobody
/// can try guesses against it. Whoever holds the key decides what it is; this crate has none.
pub trait Fingerprint {
    /// The first four bytes of the keyed hash.
    fn fingerprint(&self, secret: &[u8]) -> [u8; 4];
}

impl<F: Fn(&[u8]) -> [u8; 4]> Fingerprint for F {
    fn fingerprint(&self, secret: &[u8]) -> [u8; 4] {
        self(secret)
    }
}

/// Appends a placeholder.
pub(crate) fn write(out: &mut String, class: Class, kind: &str, fingerprint: [u8; 4], length: usize) {
    let [a, b, c, d] = fingerprint;
    // Writing to a string does not fail.
    let _ = write!(out, "[{}:{kind}:{a:02x}{b:02x}{c:02x}{d:02x}:{length}]", class.name());
}

/// Where the placeholder that begins at a place ends.
pub(crate) fn end_at(text: &[u8], at: usize) -> Option<usize> {
    if byte(text, at) != b'[' {
        return None;
    }
    let class = Class::ALL
        .iter()
        .map(|class| class.name().as_bytes())
        .find(|name| slice(text, at + 1, at + 1 + name.len()) == *name && byte(text, at + 1 + name.len()) == b':')?;
    let run = |from: usize, most: usize, fits: fn(&u8) -> bool| {
        slice(text, from, from + most).iter().take_while(|byte| fits(byte)).count()
    };
    let kind = at + 1 + class.len() + 1;
    let kind_length = run(kind, 33, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-');
    let hash = kind + kind_length + 1;
    let hash_length = run(hash, 9, |byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
    let length = hash + hash_length + 1;
    let digits = run(length, 12, u8::is_ascii_digit);
    let fits = (1..=32).contains(&kind_length)
        && byte(text, hash - 1) == b':'
        && hash_length == 8
        && byte(text, length - 1) == b':'
        && (1..=11).contains(&digits)
        && byte(text, length + digits) == b']';
    fits.then_some(length + digits + 1)
}

/// Whether a text has a placeholder in it: it is not, or may not be, what was written once, and nothing is to be done with it.
pub fn holds_placeholder(text: &[u8]) -> bool {
    memchr::memchr_iter(b'[', text).any(|at| end_at(text, at).is_some())
}

/// The placeholders of a text, in order.
pub(crate) fn all(text: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in memchr::memchr_iter(b'[', text) {
        if let Some(end) = end_at(text, at) {
            found.push(at..end);
        }
    }
    found
}

/// Whether a text may be what another, with placeholders in it, was made of: all that stands around them is there in its
/// order, and between that is room for what they stand for. Says no where the other has no placeholder.
pub fn may_become(text: &[u8], redacted: &[u8]) -> bool {
    let found = all(redacted);
    let Some(first) = found.first() else { return false };
    let Some(mut rest) = text.strip_prefix(slice(redacted, 0, first.start)) else { return false };
    for (place, next) in found.iter().zip(found.iter().skip(1).map(Some).chain([None])) {
        let Some(behind) = rest.get(length_of(slice(redacted, place.start, place.end))..) else { return false };
        match next {
            None => return behind.ends_with(slice(redacted, place.end, redacted.len())),
            Some(next) => {
                let between = slice(redacted, place.end, next.start);
                let Some(at) = memchr::memmem::find(behind, between) else { return false };
                rest = slice(behind, at + between.len(), behind.len());
            }
        }
    }
    false
}

/// How long what a placeholder stands for was, as it says; its encoding may have been longer.
fn length_of(placeholder: &[u8]) -> usize {
    let digits = placeholder.rsplit(|byte| *byte == b':').next().unwrap_or_default();
    let digits = digits.iter().filter(|byte| byte.is_ascii_digit());
    digits.fold(0_usize, |length, digit| length.saturating_mul(10).saturating_add(usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_recognised_and_nothing_else_is() {
        let mut text = String::new();
        write(&mut text, Class::Secret, "github-token", [0x3f, 0x9a, 0x2c, 0x1b], 40);
        assert_eq!(text, "[secret:github-token:3f9a2c1b:40]");
        assert_eq!(end_at(text.as_bytes(), 0), Some(text.len()));
        for other in [
            "[secret:github-token:3f9a2c1b:40",
            "[secret:github-token:3f9a2c1:40]",
            "[secret:github-token:3f9a2c1bb:40]",
            "[secret:github-token:3f9a2c1b:]",
            "[secret::3f9a2c1b:40]",
            "[secrets:github-token:3f9a2c1b:40]",
            "[secret:Github:3f9a2c1b:40]",
            "[other:github-token:3f9a2c1b:40]",
        ] {
            assert_eq!(end_at(other.as_bytes(), 0), None, "{other}");
        }
        assert!(holds_placeholder(b"x [pii:email:00112233:9]") && !holds_placeholder(b"x [pii] y"));
        for (text, redacted, may) in [
            ("pay with 12345 now", "pay with [pii:card:00112233:5] now", true),
            ("pay with 12345 now, please", "pay with [pii:card:00112233:5] now", false),
            ("pay with 1234 now", "pay with [pii:card:00112233:5] now", false),
            ("a%20long%20way", "[secret:x:00112233:10]", true),
            ("aXXbYYc", "a[secret:x:00112233:2]b[pii:y:00112233:2]c", true),
            ("aXXYYc", "a[secret:x:00112233:2][pii:y:00112233:2]c", true),
            ("aXXbYc", "a[secret:x:00112233:2]b[pii:y:00112233:2]c", false),
            ("aXXYYc", "a[secret:x:00112233:2]b[pii:y:00112233:2]c", false),
            ("as it was", "as it was", false),
            ("", "[secret:x:00112233:1]", false),
        ] {
            assert_eq!(may_become(text.as_bytes(), redacted.as_bytes()), may, "{text} {redacted}");
        }
        assert_eq!(all(b"a [pii:email:00112233:9][pattern:x:aabbccdd:1] [x]"), [2..24, 24..46]);
    }
}
