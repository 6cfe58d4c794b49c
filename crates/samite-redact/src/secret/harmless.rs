//! What stands where a secret would stand and is none: placeholders, references to one, code that reads one.

use crate::alphabet::{ALNUM, ALPHA, Alphabet, DIGIT, WORD, byte, slice};
use crate::shape::{Shape, begins_with_date, is_number};
use aho_corasick::AhoCorasick;
use std::sync::OnceLock;

/// Words that only stand in for a secret.
const STANDING_IN: &[&[u8]] = &[
    b"example",
    b"placeholder",
    b"changeme",
    b"change-me",
    b"change_me",
    b"replaceme",
    b"replace-me",
    b"replace_me",
    b"redacted",
    b"insert",
    b"dummy",
    b"xxxx",
    b"****",
    b"....",
    b"your-",
    b"your_",
    b"yourkey",
    b"yourtoken",
    b"yourpassword",
    b"yourapi",
    b"yoursecret",
    b"<your",
    b"todo",
    b"fixme",
    b"notreal",
    b"not-real",
    b"not_real",
    b"fake",
    b"sample",
    b"foobar",
    b"goes-here",
    b"goes_here",
    b"goeshere",
    b"-here",
    b"_here",
    b"masked",
    b"hidden",
    b"removed",
    b"obfuscated",
    b"mysecret",
    b"my-secret",
    b"my_secret",
    b"mytoken",
    b"my-token",
    b"my_token",
    b"mypassword",
    b"my-password",
    b"my_password",
    b"my-api",
    b"my_api",
    b"my-key",
    b"my_key",
    b"1234567890abcdef",
    b"abcdefghijkl",
    b"0123456789ab",
    b"deadbeef",
    b"lorem",
    b"test-key",
    b"test_key",
    b"test-token",
    b"test_token",
    b"testtoken",
    b"testkey",
    b"secret-key",
    b"secret_key",
    b"some-",
    b"some_",
    b"user:pass",
];

/// Words that are a type, a state or a question rather than a value.
const WORDS: &[&str] = &[
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "string",
    "str",
    "text",
    "bytes",
    "boolean",
    "bool",
    "int",
    "integer",
    "number",
    "object",
    "any",
    "void",
    "required",
    "optional",
    "missing",
    "invalid",
    "unknown",
    "empty",
    "default",
    "password",
    "passwd",
    "pass",
    "secret",
    "token",
    "key",
    "test",
    "testing",
    "user",
    "username",
    "admin",
    "root",
    "yes",
    "no",
    "on",
    "off",
    "enabled",
    "disabled",
    "hidden",
    "env",
    "environment",
    "file",
    "prompt",
    "auto",
    "basic",
    "bearer",
    "digest",
    "oauth",
    "oauth2",
    "jwt",
    "apikey",
    "header",
    "query",
    "cookie",
    "cookies",
    "value",
    "self",
    "this",
    "foo",
    "bar",
    "baz",
    "qux",
    "xxx",
    "abc",
    "abc123",
    "123",
    "1234",
    "12345",
    "123456",
    "postgres",
    "mysql",
    "mysecretpassword",
    "guest",
    "varchar",
    "char",
    "uuid",
    "date",
    "in",
    "and",
    "or",
    "not",
    "is",
    "if",
    "else",
    "for",
    "the",
    "here",
    "email",
    "new",
    "function",
    "async",
    "await",
    "const",
    "let",
    "var",
    "return",
    "import",
    "export",
    "from",
    "static",
    "final",
    "private",
    "public",
    "protected",
    "readonly",
    "option",
    "list",
    "dict",
    "map",
    "vec",
    "array",
    "type",
    "struct",
    "class",
    "enum",
    "ref",
    "mut",
    "pub",
    "str|none",
    "secretstr",
    "pass123",
    "password123",
    "password1",
    "same-origin",
    "include",
    "omit",
    "expired",
    "revoked",
    "valid",
    "rotated",
    "correct",
    "wrong",
    "incorrect",
    "length",
    "sha256",
    "sha512",
    "md5",
    "hmac",
    "aes256",
    "base64",
];

fn standing_in() -> Option<&'static AhoCorasick> {
    static AUTOMATON: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    AUTOMATON.get_or_init(|| AhoCorasick::builder().ascii_case_insensitive(true).build(STANDING_IN).ok()).as_ref()
}

/// Whether a value only stands in for a secret.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let shape = Shape::of(value);
    if shape.length == 0
        || shape.distinct <= 2 && shape.length >= 3
        || shape.length >= 12 && shape.distinct * 4 < shape.length.min(32)
    {
        return true;
    }
    if shape.letters() + shape.digits == 0 {
        return true;
    }
    let word = value.to_ascii_lowercase();
    if WORDS.iter().any(|other| other.as_bytes() == word) {
        return true;
    }
    // Chance makes words of four letters in long strings, so only short ones are judged by those.
    let stands_in = |found: aho_corasick::Match| found.len() >= 5 || value.len() <= 40;
    if standing_in().is_some_and(|automaton| automaton.find_overlapping_iter(value).any(stands_in)) || has_steps(value)
    {
        return true;
    }
    matches!(
        (byte(value, 0), before_end(value)),
        (b'<', b'>') | (b'{', b'}') | (b'[', b']') | (b'(', b')') | (b'%', b'%') | (b'@', b'@')
    ) || value.starts_with(b"...")
        || value.ends_with(b"...")
        || value.ends_with("…".as_bytes())
        || value.windows(3).any(|run| run == b"***")
}

fn before_end(value: &[u8]) -> u8 {
    value.last().copied().unwrap_or(0)
}

/// Counting up or down, letter by letter, through half of it: `abcdefgh1234`, `9876543210`.
fn has_steps(value: &[u8]) -> bool {
    if value.len() < 8 {
        return false;
    }
    let steps = value
        .windows(2)
        .filter(|pair| {
            let (first, second) = (byte(pair, 0), byte(pair, 1));
            ALNUM.has(first) && ALNUM.has(second) && (first.abs_diff(second) == 1 || first == second)
        })
        .count();
    steps * 2 > value.len()
}

/// Whether a value says where a secret is to be found.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    let first = byte(value, 0);
    // `$NAME`, `${NAME}`, `$(command)`; a dollar within a password is followed by what no name begins with, or more of it.
    if first == b'$' {
        let rest = slice(value, 1, value.len());
        if matches!(byte(rest, 0), b'{' | b'(')
            || rest.first().is_some_and(|byte| ALPHA.has(*byte) || *byte == b'_') && WORD.covers(rest)
        {
            return true;
        }
        // Hashes of passwords: bcrypt, argon2, crypt.
        if [&b"2a$"[..], b"2b$", b"2y$", b"argon2", b"1$", b"5$", b"6$", b"y$", b"pbkdf2", b"scrypt"]
            .iter()
            .any(|kind| rest.starts_with(kind))
        {
            return true;
        }
    }
    if value.windows(2).any(|pair| pair == b"${" || pair == b"{{" || pair == b"$(" || pair == b"<%" || pair == b"#{") {
        return true;
    }
    if first == b'!'
        && ALPHA.has(byte(value, 1))
        && value.iter().all(|byte| ALPHA.has(*byte) || *byte == b'!' || *byte == b':')
    {
        return true;
    }
    let starts = |what: &[u8]| slice(value, 0, what.len()).eq_ignore_ascii_case(what);
    [
        &b"vault:"[..],
        b"op://",
        b"arn:",
        b"file:",
        b"env:",
        b"env.",
        b"secret:",
        b"secrets.",
        b"secrets/",
        b"ssm:",
        b"gcp-sm:",
        b"sm://",
        b"awssm",
        b"keyring:",
        b"projects/",
        b"@microsoft.keyvault",
        b"http://",
        b"https://",
        b"process.env",
        b"os.environ",
        b"os.getenv",
        b"import.meta",
        b"sha1:",
        b"sha256:",
        b"sha512-",
        b"sha256-",
        b"sha384-",
        b"sha512:",
        b"md5:",
        b"ssh-rsa",
        b"ssh-ed25519",
        b"ecdsa-sha2",
        b"data:",
        b"urn:",
        b"spiffe://",
        b"-----begin public",
        b"-----begin cert",
        b"enc[",
        b"age1",
        b"{cipher}",
    ]
    .iter()
    .any(|what| starts(what))
}

/// Whether a value is a path: parts made of words between slashes.
pub(crate) fn is_path(value: &[u8]) -> bool {
    let rooted = matches!((byte(value, 0), byte(value, 1)), (b'/' | b'~', _) | (b'.', b'/' | b'.'))
        || (byte(value, 1) == b':' && byte(value, 2) == b'\\');
    let parts: Vec<&[u8]> = value.split(|byte| matches!(byte, b'/' | b'\\')).filter(|part| !part.is_empty()).collect();
    let wordy = parts.iter().filter(|part| Shape::of(part).is_random()).count() == 0;
    (rooted && (parts.len() >= 2 || value.len() < 16) || parts.len() >= 3 && value.contains(&b'.')) && wordy
}

/// Whether a value, which is in no quotes, is code: a call, an index, a chain of names.
pub(crate) fn is_code(value: &[u8]) -> bool {
    if value.iter().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<' | b'>')) && !Shape::of(value).is_random() {
        return true;
    }
    // What is less than something, in a page.
    if value.starts_with(b"&lt;") || value.starts_with(b"&#x3C;") {
        return true;
    }
    if value.windows(2).any(|pair| matches!(pair, b"::" | b"->" | b"?." | b"&&" | b"||")) {
        return true;
    }
    let names = value.split(|byte| *byte == b'.');
    let chain = value.contains(&b'.')
        && names.clone().count() >= 2
        && names.clone().all(|name| {
            name.first().is_some_and(|byte| ALPHA.has(*byte) || matches!(byte, b'_' | b'$'))
                && name.iter().all(|byte| WORD.has(*byte) || matches!(byte, b'$' | b'?' | b'!'))
                && !Shape::of(name).is_random()
        });
    // A name such as `user_password` or `apiToken`: words and no digit.
    let name = value.first().is_some_and(|byte| ALPHA.has(*byte) || matches!(byte, b'_' | b'&' | b'*' | b'!' | b'@'))
        && value.iter().skip(1).all(|byte| WORD.has(*byte) && !DIGIT.has(*byte))
        && (Shape::of(value).is_wordy() || value.len() < 8);
    // What a type is named, borrowed: `&OkmBlock`. And what minified code says for true and false: `!0,image:!0`.
    let borrowed = value.first() == Some(&b'&')
        && value.get(1).is_some_and(u8::is_ascii_uppercase)
        && value.iter().skip(1).all(|byte| ALPHA.has(*byte) || *byte == b'_');
    let minified = value.starts_with(b"!0,") || value.starts_with(b"!1,") || matches!(value, b"!0" | b"!1");
    chain || name || borrowed || minified
}

/// What stands in a time after its date.
const CLOCK: Alphabet = Alphabet::of(b"0-9:.,TZUCtz+ _/-");

/// Whether a value is a number, a time or a version.
pub(crate) fn is_measure(value: &[u8]) -> bool {
    is_number(value) && value.len() < 6
        || begins_with_date(value) && slice(value, 10, value.len()).iter().all(|byte| CLOCK.has(*byte))
        || !value.is_empty()
            && value
                .iter()
                .all(|byte| DIGIT.has(*byte) || matches!(byte, b'.' | b',' | b'%' | b'_' | b'-' | b':' | b'/'))
            && !is_number(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_for_a_secret_is_recognised() {
        for value in [
            "xxxxxxxxxxxxxxxx",
            "<your-key-here>",
            "your-api-key",
            "changeme",
            "AKIAIOSFODNN7EXAMPLE",
            "********",
            "REPLACE_ME",
            "password",
            "abcdefghijklmnopqrst",
            "1234567890",
            "sk-...",
            "{token}",
            "[REDACTED]",
            "0000000000000000",
        ] {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        for value in
            ["hunter2!xyz", "9f86d081884c7d659a2feaa0c55ad015", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYabcKEYq1", "S3cure!Pass"]
        {
            assert!(!is_placeholder(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn references_and_code_are_recognised() {
        for value in [
            "$TOKEN",
            "${TOKEN}",
            "{{ .Values.token }}",
            "op://vault/item",
            "$2b$12$abcdefgh",
            "os.environ",
            "https://x.example/y",
            "sha512-abc",
        ] {
            assert!(is_reference(value.as_bytes()), "{value}");
        }
        for value in ["$ecret!Pa55", "pa$$w0rd"] {
            assert!(!is_reference(value.as_bytes()), "{value}");
        }
        for value in [
            "&#x3C;Buffer|TypedArray",
            "getpass.getpass()",
            "config.database.password",
            "user_password",
            "args.token",
            "Foo::bar",
            "self.secret",
        ] {
            assert!(is_code(value.as_bytes()), "{value}");
        }
        for value in ["hunter2", "aB3.dE5fG7hJ9kL1mN", "Xk29dkPq"] {
            assert!(!is_code(value.as_bytes()), "{value}");
        }
        assert!(is_path(b"/run/secrets/db_password") && is_path(b"./keys/server.pem"));
        assert!(!is_path(b"/aB3dE5fG7hJ9kL1mN/Qw8eR7tY6uI5oP4aS3dF2g"));
        assert!(
            is_measure(b"4096") && is_measure(b"1.2.3") && is_measure(b"2026-02-12T00:00") && !is_measure(b"12345678")
        );
    }
}
