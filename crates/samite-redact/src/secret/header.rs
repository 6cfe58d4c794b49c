//! What stands in headers of HTTP: `Authorization`, cookies.

use super::harmless::{is_code, is_placeholder, is_reference};
use super::judge::{Written, is_secret};
use super::name::Strength;
use crate::alphabet::{ANY64, Alphabet, BLANK, byte, slice};
use crate::placeholder;
use crate::shape::{Shape, is_hex};
use data_encoding::{BASE64, BASE64_NOPAD};
use std::ops::Range;

const CREDENTIALS: Alphabet = Alphabet::of(b"a-zA-Z0-9._~+/=:-!#$%&*^|@,");
const TOKEN: Alphabet = Alphabet::of(b"a-zA-Z0-9._~+/=:|-");

/// The credentials after `Bearer`, `Token` or the like, which ends before a place.
pub(crate) fn bearer(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + BLANK.run(text, at, 8);
    if start == at {
        return None;
    }
    let end = start + TOKEN.run(text, start, 16 << 10);
    let end = end - slice(text, start, end).iter().rev().take_while(|byte| matches!(byte, b'.' | b':')).count();
    // A token in a string of JSON ends at its quote; the password of a URL does not stand here.
    let value = slice(text, start, end);
    if placeholder::end_at(text, start).is_some() || value.len() < 12 {
        return None;
    }
    let shape = Shape::of(value);
    let real = shape.is_random()
        || is_hex(value) && value.len() >= 24
        || value.len() >= 20 && shape.digits > 0 && !shape.is_wordy();
    (real && !is_placeholder(value) && !is_reference(value) && !is_code(value)).then_some(start..end)
}

/// The user and password after `Basic`, which ends before a place.
pub(crate) fn basic(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + BLANK.run(text, at, 8);
    if start == at {
        return None;
    }
    let end = start + ANY64.run(text, start, 4096);
    let value = slice(text, start, end);
    let decoded = BASE64.decode(value).or_else(|_| BASE64_NOPAD.decode(value)).ok()?;
    let colon = memchr::memchr(b':', &decoded)?;
    let password = slice(&decoded, colon + 1, decoded.len());
    let printable = decoded.iter().all(|byte| (0x20..0x7f).contains(byte) || *byte >= 0x80)
        && std::str::from_utf8(&decoded).is_ok();
    let one = password.is_empty() && Shape::of(slice(&decoded, 0, colon)).is_random();
    (value.len() >= 8
        && printable
        && (one || password.len() >= 3 && !is_placeholder(password) && !is_reference(password)))
    .then_some(start..end)
}

/// The credentials after `Authorization:`, where no scheme is named, or one that is not known.
pub(crate) fn authorization(text: &[u8], value: &Range<usize>) -> Option<Range<usize>> {
    let end = value.start + CREDENTIALS.run(text, value.start, 16 << 10);
    let bytes = slice(text, value.start, end);
    is_secret(bytes, Strength::Medium, Written::Tight).then_some(value.start..end)
}

/// The values of cookies that look like sessions, after `Cookie:` or `Set-Cookie:`, which ends before a place.
pub(crate) fn cookies(text: &[u8], at: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = at + BLANK.run(text, at, 8);
    let name = Alphabet::of(b"a-zA-Z0-9_.$-");
    let value = Alphabet::of(b"a-zA-Z0-9_.%+/=:|~-");
    for _ in 0..64 {
        let equals = at + name.run(text, at, 128);
        if equals == at || byte(text, equals) != b'=' {
            break;
        }
        let end = equals + 1 + value.run(text, equals + 1, 4096);
        let bytes = slice(text, equals + 1, end);
        let shape = Shape::of(bytes);
        let label = slice(text, at, equals).to_ascii_lowercase();
        let harmless = [&b"_ga"[..], b"_gid", b"utm", b"csrf", b"xsrf", b"expires", b"path", b"domain"]
            .iter()
            .any(|word| label.starts_with(word));
        if bytes.len() >= 16
            && (shape.is_random() || is_hex(bytes) && bytes.len() >= 24)
            && !harmless
            && !is_placeholder(bytes)
        {
            found.push(equals + 1..end);
        }
        if byte(text, end) != b';' {
            break;
        }
        at = end + 1 + BLANK.run(text, end + 1, 4);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_headers_are_found() {
        let text = b"Authorization: Bearer kR9wPq2LmXv7TzBn4YcD8sHf\"";
        assert_eq!(bearer(text, 21), Some(22..46));
        assert_eq!(bearer(b"Bearer $TOKEN_FROM_SOMEWHERE_ELSE", 6), None);
        assert_eq!(bearer(b"bearer authentication-required", 6), None);
        assert_eq!(bearer(b"Bearer error=\"invalid_token\"", 6), None);
        assert_eq!(basic(b"Basic c3ZjOmtSOXdQcTJMbQ==", 5), Some(6..26));
        assert_eq!(basic(b"basic understanding", 5), None);
        let found = cookies(b"Cookie: _ga=GA1.2.1234567890.1234567890; sid=kR9wPq2LmXv7TzBn4YcD8sHf; a=b", 7);
        assert_eq!((found.len(), found.first().cloned()), (1, Some(45..69)));
    }
}
