//! Addresses of mail.

use super::add;
use crate::alphabet::{ALPHA, Alphabet, before, byte, past_escape, slice};
use crate::finding::Hit;

const LOCAL: Alphabet = Alphabet::of(b"a-zA-Z0-9._%+'-");
const HOST: Alphabet = Alphabet::of(b"a-zA-Z0-9.-");

/// Endings of files, which no address has.
const FILES: &[&[u8]] = &[
    b"png",
    b"jpg",
    b"jpeg",
    b"gif",
    b"svg",
    b"webp",
    b"js",
    b"mjs",
    b"css",
    b"ts",
    b"tsx",
    b"py",
    b"rs",
    b"go",
    b"json",
    b"yml",
    b"yaml",
    b"toml",
    b"lock",
    b"git",
    b"service",
    b"local",
    b"localdomain",
    b"internal",
];

pub(super) fn scan(text: &[u8], hits: &mut Vec<Hit>) {
    for at in memchr::memchr_iter(b'@', text) {
        let mut start = LOCAL.run_back(text, at, 64);
        start += slice(text, start, at).iter().take_while(|byte| matches!(byte, b'.' | b'\'' | b'-' | b'+')).count();
        start = past_escape(text, start);
        // Letters beyond ASCII belong to the name as well.
        while start < at && before(text, start) >= 0x80 && at - start < 64 {
            start -= 1;
        }
        let host = at + 1;
        let mut end = host + HOST.run(text, host, 253);
        while end > host && matches!(before(text, end), b'.' | b'-') {
            end -= 1;
        }
        if start == at || end == host || before(text, at) == b'.' {
            continue;
        }
        let domain = slice(text, host, end);
        let Some(dot) = domain.iter().rposition(|byte| *byte == b'.') else { continue };
        let top = slice(domain, dot + 1, domain.len());
        let named = ALPHA.has(byte(text, host)) || byte(text, host).is_ascii_digit();
        if !(2..=24).contains(&top.len()) || !ALPHA.covers(top) || !named || domain.windows(2).any(|pair| pair == b"..")
        {
            continue;
        }
        if FILES.iter().any(|file| top.eq_ignore_ascii_case(file)) {
            continue;
        }
        // `git@host:path` is a place of code, `scheme://user@host` an account on a host, `%40` something encoded.
        let local = slice(text, start, at);
        let place = byte(text, end) == b':' && !byte(text, end + 1).is_ascii_whitespace();
        if local == b"git"
            || place
            || matches!(before(text, start), b'/' | b'@')
            || local.windows(2).any(|pair| pair == b"..")
        {
            continue;
        }
        add(hits, start..end, "email");
    }
}
