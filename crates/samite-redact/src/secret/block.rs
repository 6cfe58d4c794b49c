//! Private keys in blocks of text, and signed web tokens.

use crate::alphabet::{Alphabet, URL64, URL64_PAD, begins_word, byte, follows, slice};
use crate::placeholder;
use data_encoding::BASE64URL_NOPAD;
use std::ops::Range;

/// The longest block, escapes and all.
const LONGEST: usize = 64 << 10;

/// The private key whose `-----BEGIN ` begins at a place: up to its end, or, where that is cut off, up to what is no key.
pub(crate) fn private_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    let label = at + b"-----BEGIN ".len();
    let line = slice(text, label, label + 60);
    let dashes = memchr::memmem::find(line, b"-----")?;
    let name = slice(line, 0, dashes);
    if !name.windows(11).any(|part| part == b"PRIVATE KEY") {
        return None;
    }
    let body = label + dashes + 5;
    let rest = slice(text, body, body + LONGEST);
    // Text that speaks of keys names both marks with nothing between them.
    let end = memchr::memmem::find_iter(rest, b"-----END ").find_map(|end| {
        let tail = slice(rest, end + 9, end + 80);
        let close = memchr::memmem::find(tail, b"-----")?;
        Some((end, end + 9 + close + 5))
    });
    let (inside, end) = match end {
        Some((inside, end)) if memchr::memmem::find(slice(rest, 0, inside), b"-----BEGIN ").is_none() => (inside, end),
        _ => {
            let cut = key_characters(rest);
            (cut, cut)
        }
    };
    let content = slice(rest, 0, inside);
    let characters = content.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    let distinct =
        content.iter().filter(|byte| byte.is_ascii_alphanumeric()).collect::<std::collections::HashSet<_>>().len();
    let holds_placeholder = !placeholder::all(content).is_empty();
    (characters >= 32 && distinct >= 12 && !holds_placeholder).then_some(at..body + end)
}

/// How far characters go that a key's lines and the marks of quoting around them are made of.
fn key_characters(text: &[u8]) -> usize {
    let line = Alphabet::of(b"a-zA-Z0-9+/=");
    let gap = Alphabet::of(b" \t\r\n\\>|+\",'");
    let mut at = 0;
    let mut kept = 0;
    loop {
        let mark = gap.run(text, at, 64);
        let mut begin = at + mark;
        // `\n` between lines of a text that is encoded once more.
        if mark > 0 && byte(text, begin - 1) == b'\\' && matches!(byte(text, begin), b'n' | b'r') {
            begin += 1;
            if byte(text, begin) == b'\\' {
                at = begin;
                continue;
            }
        }
        let run = line.run(text, begin, LONGEST);
        // A line of a key is long; what is shorter is its last one, or no key.
        if run < 16 {
            return kept;
        }
        at = begin + run;
        kept = at;
    }
}

/// The signed or encrypted web token whose `eyJ` begins at a place.
pub(crate) fn web_token(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !begins_word(text, at) && byte(text, at.wrapping_sub(1)) != b'_' {
        return None;
    }
    let header = URL64.run(text, at, 4096);
    let payload_at = at + header + 1;
    if header < 12 || byte(text, at + header) != b'.' {
        return None;
    }
    let payload = URL64.run(text, payload_at, 64 << 10);
    let mut end = payload_at + payload;
    // A header is JSON with an algorithm. Whole groups of four are enough to see it.
    let whole = header - header % 4;
    let decoded = BASE64URL_NOPAD.decode(slice(text, at, at + whole)).ok()?;
    let looks = decoded.first() == Some(&b'{')
        && (memchr::memmem::find(&decoded, b"\"alg\"").is_some()
            || memchr::memmem::find(&decoded, b"\"typ\"").is_some()
            || memchr::memmem::find(&decoded, b"\"enc\"").is_some()
            || memchr::memmem::find(&decoded, b"\"kid\"").is_some());
    let claims = follows(text, payload_at, b"eyJ") || follows(text, payload_at, b"e30");
    if !(looks || claims && payload >= 16) || payload < 2 && byte(text, end) != b'.' {
        return None;
    }
    // The signature, and for encrypted ones two parts more.
    for _ in 0..3 {
        let run = URL64_PAD.run(text, end + 1, 64 << 10);
        if byte(text, end) == b'.' && run > 0 {
            end += 1 + run;
        } else {
            break;
        }
    }
    (end - at >= 36).then_some(at..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";

    #[test]
    fn keys_end_where_they_end() {
        let whole = format!("-----BEGIN PRIVATE KEY-----\n{LINE}\n{LINE}\n-----END PRIVATE KEY-----");
        let text = format!("cat k\n{whole}\nnext");
        assert_eq!(private_key(text.as_bytes(), 6).map(|range| &text[range]), Some(whole.as_str()));
        let escaped = whole.replace('\n', "\\n");
        assert_eq!(private_key(escaped.as_bytes(), 0), Some(0..escaped.len()));
        let twice = whole.replace('\n', "\\\\n");
        assert_eq!(private_key(twice.as_bytes(), 0), Some(0..twice.len()));
        let cut = format!("-----BEGIN RSA PRIVATE KEY-----\n{LINE}\n{LINE}\n... output cut");
        assert_eq!(private_key(cut.as_bytes(), 0).map(|range| range.end), Some(cut.len() - 15));
        for text in [
            format!("-----BEGIN CERTIFICATE-----\n{LINE}\n-----END CERTIFICATE-----"),
            format!("-----BEGIN PUBLIC KEY-----\n{LINE}\n-----END PUBLIC KEY-----"),
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----".to_owned(),
            "grep -- '-----BEGIN RSA PRIVATE KEY-----' file".to_owned(),
        ] {
            let at = text.find("-----BEGIN").unwrap();
            assert_eq!(private_key(text.as_bytes(), at), None, "{text}");
        }
    }

    #[test]
    fn web_tokens_have_a_header() {
        let token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
        let text = format!("Bearer {token}\"");
        assert_eq!(web_token(text.as_bytes(), 7), Some(7..7 + token.len()));
        assert_eq!(web_token(b"eyJhbGciOiJIUzI1NiJ9 and more", 0), None);
        assert_eq!(web_token(b"eyJub3RoaW5nIjoiaGVyZSJ9.txt", 0), None);
    }
}
