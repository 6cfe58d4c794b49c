//! Files of passwords by account: `.pgpass` of PostgreSQL, and `.netrc` where its fields stand on lines of their own.

use super::judge::{Written, is_secret};
use super::name::Strength;
use crate::alphabet::{Alphabet, before, byte, past_escape, slice};
use crate::placeholder;
use std::ops::Range;

const HOST: Alphabet = Alphabet::of(b"a-zA-Z0-9._*-");
const FIELD: Alphabet = Alphabet::of(b"a-zA-Z0-9_.*@+-");

/// The password of a line `host:port:database:user:password`, whose port stands at a place with its colons.
pub(crate) fn pgpass(text: &[u8], port: &Range<usize>) -> Option<Range<usize>> {
    let host = past_escape(text, HOST.run_back(text, port.start, 255)).min(port.start);
    let begins = matches!(before(text, host), 0 | b'\n' | b'\r' | b'"' | b'\'' | b' ' | b'\t' | b'n' | b'r');
    if host == port.start || !begins {
        return None;
    }
    let database = port.end + FIELD.run(text, port.end, 64);
    let user = database + 1 + FIELD.run(text, database + 1, 64);
    let named = database > port.end && user > database + 1 && byte(text, port.end) != b'-';
    if !named || byte(text, database) != b':' || byte(text, user) != b':' {
        return None;
    }
    let start = user + 1;
    let mut end = start;
    while let Some(&next) = text.get(end).filter(|_| end - start < 256) {
        match next {
            // A colon and a backslash within a password have one before them.
            b'\\' if matches!(byte(text, end + 1), b':' | b'\\') => end += 2,
            b'\\' | b'"' | b'\'' | b'`' => break,
            _ if next.is_ascii_whitespace() => break,
            _ => end += 1,
        }
    }
    let password = slice(text, start, end.min(text.len()));
    let fits = !password.starts_with(b":")
        && placeholder::end_at(text, start).is_none()
        && is_secret(password, Strength::Password, Written::Tight);
    fits.then_some(start..end.min(text.len()))
}

/// Whether the line before the one that begins with a name says who logs in, as in `.netrc`.
pub(super) fn follows_login(text: &[u8], name: usize) -> bool {
    let around = slice(text, name.saturating_sub(300), name);
    let Some(line) = around.rsplit(|byte| *byte == b'\n').nth(1) else { return false };
    let mut fields = line.trim_ascii().split(|byte| matches!(byte, b' ' | b'\t')).filter(|field| !field.is_empty());
    let mut any = false;
    while let Some(name) = fields.next() {
        if !matches!(name, b"machine" | b"login" | b"account" | b"port" | b"protocol") || fields.next().is_none() {
            return false;
        }
        any = true;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_pgpass_are_found() {
        for (text, mark, expected) in [
            ("localhost:5432:shop:app:kR9wPq2LmX", ":5432:", "kR9wPq2LmX"),
            ("# pg\ndb-1.internal.example:5432:*:app:kR9\\:wPq\\\\2LmX\r\nx", ":5432:", "kR9\\:wPq\\\\2LmX"),
            ("*:*:*:postgres:kR9wPq!2LmX\n", ":*:", "kR9wPq!2LmX"),
            ("10.0.0.7:6432:shop:app@eu:Summer2024!", ":6432:", "Summer2024!"),
            ("echo \"db:5432:shop:app:kR9wPq2LmX\" >> ~/.pgpass", ":5432:", "kR9wPq2LmX"),
            (r"x\ndb:5432:shop:app:kR9wPq2LmX\ny", ":5432:", "kR9wPq2LmX"),
            ("hostname:5432:database:username:password", ":5432:", ""),
            ("root:*:19000:0:99999:7:::", ":*:", ""),
            ("nobody:*:-2:-2:1a2b3c4d:0:0:U:/x", ":*:", ""),
            ("postgres://u@h:5432:x", ":5432:", ""),
            ("listening on 0.0.0.0:5432: ok", ":5432:", ""),
            ("src/db.rs:5432:17: error: x1y2z3w4", ":5432:", ""),
            ("db:5432:shop:app:[secret:credential:3f9a2c1b:8]", ":5432:", ""),
            ("db:5432:shop:app:${PGPASSWORD}", ":5432:", ""),
        ] {
            let at = text.find(mark).unwrap();
            let found = pgpass(text.as_bytes(), &(at..at + mark.len())).map(|range| &text[range]);
            assert_eq!(found.unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn who_logs_in_stands_before_the_password() {
        assert!(follows_login(b"machine x\nlogin y\n  password z", 21));
        assert!(follows_login(b"machine x login y\npassword z", 18));
        assert!(!follows_login(b"login to this host\npassword", 19) && !follows_login(b"password", 0));
        assert!(!follows_login(b"the login page\npassword", 15));
    }
}
