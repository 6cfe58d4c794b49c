//! Names with values beside them: settings, code, headers, arguments of commands, markup, prose.

use super::account;
use super::judge::{Written, is_secret};
use super::name::{Strength, classify, is_secret_id};
use crate::alphabet::{ALPHA, Alphabet, BLANK, byte, follows, follows_any_case, past_escape, slice};
use crate::placeholder;
use crate::shape::is_uuid;
use std::ops::Range;

const NAME: Alphabet = Alphabet::of(b"a-zA-Z0-9_.-");
/// How long a name may be, and how far its value may be away.
const LONGEST: usize = 80;

/// The name around a word that was found, as a range of the text.
pub(crate) fn name_around(text: &[u8], found: &Range<usize>) -> Range<usize> {
    let mut start = NAME.run_back(text, found.start, LONGEST);
    // In a text that is encoded once more, the letter after a backslash belongs to it: `\nTOKEN=`.
    if start < found.start {
        start = past_escape(text, start);
    }
    // The word may have been found with the sign after it.
    let end = found.start + NAME.run(text, found.start, LONGEST);
    // What ends a sentence is no part of a name.
    let trimmed = slice(text, start, end).iter().rev().take_while(|byte| matches!(byte, b'.' | b'-')).count();
    start..end - trimmed
}

/// The value beside a name that speaks of secrets.
pub(crate) struct Beside {
    pub(crate) range: Range<usize>,
    pub(crate) is_secret: bool,
}

/// The value beside a name; none when the name speaks of no secret, or has no value.
pub(crate) fn value_beside(text: &[u8], name: &Range<usize>) -> Option<Beside> {
    let identifier = slice(text, name.start, name.end);
    if is_secret_id(identifier) {
        let (range, _) = value_after(text, name)?;
        let is_secret = is_uuid(slice(text, range.start, range.end));
        return Some(Beside { range, is_secret });
    }
    let strength = classify(identifier)?;
    // `--- PASS: TestLogin2` is what tests say.
    let told = identifier.eq_ignore_ascii_case(b"pass") && byte(text, name.end) == b':';
    if told && !is_setting(text, name) {
        return None;
    }
    let (range, written) = value_after(text, name)?;
    if range.is_empty() || placeholder::end_at(text, range.start).is_some() {
        return None;
    }
    let is_secret = is_secret(slice(text, range.start, range.end), strength, written);
    Some(Beside { range, is_secret })
}

/// Whether a name in small letters stands at the beginning of its line, as settings do, and its value is no path or name.
fn is_setting(text: &[u8], name: &Range<usize>) -> bool {
    let start = BLANK.run_back(text, name.start, 40);
    let first = matches!(crate::alphabet::before(text, start), 0 | b'\n') && byte(text, name.start) == b'p';
    let line = slice(text, name.end + 1, name.end + 200);
    let value = line.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    first && !value.iter().any(|byte| matches!(byte, b' ' | b'/' | b':' | b'('))
}

/// A value in a field of its own, such as the string beside a key of a JSON object.
pub(crate) fn secret_field(name: &[u8], value: &[u8]) -> bool {
    classify(name).is_some_and(|strength| is_secret(value, strength.min(Strength::Password), Written::Quoted))
}

/// Bytes that close a name, such as quotes and the marks of emphasis.
const CLOSING: Alphabet = Alphabet::of(b"\"'`\\*])");

/// The value after a name, and how it is written.
fn value_after(text: &[u8], name: &Range<usize>) -> Option<(Range<usize>, Written)> {
    let quoted_name = matches!(byte(text, name.end), b'"' | b'\'' | b'`' | b'\\');
    let closed = name.end + CLOSING.run(text, name.end, 6);
    let mut at = closed + BLANK.run(text, closed, 24);
    let blank = at > closed;
    let dashed = slice(text, name.start, name.end).starts_with(b"-");
    match (byte(text, at), byte(text, at + 1)) {
        (b':', b':') => return None,
        (b':' | b'?' | b'+', b'=') | (b'=' | b'-', b'>') | (b'=', b'~') => at += 2,
        (b'=' | b'!', b'=') => {
            at += if byte(text, at + 2) == b'=' { 3 } else { 2 };
            return quoted_only(text, at);
        }
        (b'|', b'|') if byte(text, at + 2) == b'=' => at += 3,
        // A line between cells of a table does as well.
        (b':' | b'=' | b'|', _) => at += 1,
        // `<password>value</password>`.
        (b'>', _) if byte(text, at + 1) != b'=' && !blank => return marked_up(text, at + 1),
        // `setenv("TOKEN", "value")`.
        // Not `("password1", "password2")`, which are two names.
        (b',', _) if quoted_name => {
            return quoted_only(text, at + 1)
                .filter(|(value, _)| classify(slice(text, value.start, value.end)).is_none());
        }
        // `key="Password" value="..."`.
        _ if quoted_name && follows_any_case(text, at, b"value") => {
            let equals = at + 5 + BLANK.run(text, at + 5, 4);
            return if byte(text, equals) == b'=' { quoted_only(text, equals + 1) } else { None };
        }
        // `--password value`, `ENV TOKEN value`, `password is value`.
        _ if blank && !quoted_name => return spaced(text, name, at, dashed),
        _ => return None,
    }
    let tight = !blank && !BLANK.has(byte(text, at)) && byte(text, at - 1) == b'=';
    value_at(text, at, if tight { Written::Tight } else { Written::Loose }, name)
}

/// The value at a place that follows an operator.
pub(super) fn value_at(
    text: &[u8],
    at: usize,
    written: Written,
    name: &Range<usize>,
) -> Option<(Range<usize>, Written)> {
    let start = at + BLANK.run(text, at, 24);
    if let Some(value) = quoted(text, start) {
        return Some((value, Written::Quoted));
    }
    // A block of YAML, or a line that goes on.
    if matches!(byte(text, start), b'|' | b'>' | b'\\') {
        let marks = start + 1 + Alphabet::of(b"+-0-9").run(text, start + 1, 2);
        if byte(text, marks) == b'\n' {
            let next = marks + 1 + BLANK.run(text, marks + 1, 40);
            return (next > marks + 1).then(|| (next..unquoted_end(text, next, false), Written::Tight));
        }
        if byte(text, start) == b'|' {
            return None;
        }
    }
    // The marks of emphasis and code before a value in Markdown.
    let marks = Alphabet::of(b"*").run(text, start, 3);
    let start = start + marks + BLANK.run(text, start + marks, 4);
    if let Some(value) = quoted(text, start) {
        return Some((value, Written::Quoted));
    }
    let in_url = matches!(crate::alphabet::before(text, name.start), b'?' | b'&');
    let end = unquoted_end(text, start, in_url);
    // `password: str = "value"`, `const token: string = "value"`.
    let after = end + BLANK.run(text, end, 8);
    if byte(text, after) == b'='
        && byte(text, after + 1) != b'='
        && slice(text, start, end).first().is_some_and(|byte| ALPHA.has(*byte) || *byte == b'&')
    {
        return value_at(text, after + 1, Written::Loose, name);
    }
    Some((start..end, written))
}

/// Where a value without quotes ends.
pub(super) fn unquoted_end(text: &[u8], start: usize, in_url: bool) -> usize {
    let mut at = start;
    while let Some(&next) = text.get(at) {
        match next {
            b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b'<' | b'>' | 0x1b => break,
            b'\\' if !byte(text, at + 1).is_ascii_punctuation() => break,
            b'\\' if matches!(byte(text, at + 1), b'"' | b'\'' | b'\\') => break,
            b'[' if placeholder::end_at(text, at).is_some() => break,
            b',' | b';' | b')' | b'}' | b']' if ends_value(byte(text, at + 1)) => break,
            // The next setting of a connection string.
            b';' if begins_setting(text, at + 1) => break,
            b'&' | b'#' if in_url && begins_parameter(text, at + 1, next) => break,
            _ if at - start >= 2048 => break,
            _ => at += 1,
        }
    }
    // What ends a sentence or a list is no part of a value.
    let trimmed = slice(text, start, at)
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'.' | b',' | b';' | b':' | b')' | b'*' | b'|'))
        .count();
    at - trimmed
}

fn ends_value(next: u8) -> bool {
    matches!(next, 0 | b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b')' | b'}' | b']' | b',' | b';' | b'\\')
}

/// Whether `Name=` or `User Id=` follows.
fn begins_setting(text: &[u8], at: usize) -> bool {
    let word = Alphabet::of(b"a-zA-Z ").run(text, at, 40);
    word > 1 && byte(text, at + word) == b'='
}

/// Whether what follows an ampersand is the next parameter of a URL; else the ampersand was left in a value as it is.
fn begins_parameter(text: &[u8], at: usize, mark: u8) -> bool {
    let word = NAME.run(text, at, LONGEST);
    match (mark, byte(text, at + word)) {
        (_, b'=') => true,
        (b'&' | b'#', b'&') | (_, b'%' | b'!' | b'#') => false,
        _ => word < 4,
    }
}

/// The inside of quotes at a place, whatever the depth of their escapes; prefixes such as `b"` and `f"` are passed over.
pub(super) fn quoted(text: &[u8], at: usize) -> Option<Range<usize>> {
    let mut start = at;
    if matches!(byte(text, start), b'b' | b'r' | b'u' | b'f' | b'B' | b'R' | b'U')
        && matches!(byte(text, start + 1), b'"' | b'\'')
    {
        start += 1;
    }
    let slashes = Alphabet::of(b"\\").run(text, start, 16);
    let quote = byte(text, start + slashes);
    if !matches!(quote, b'"' | b'\'' | b'`') {
        return None;
    }
    let mut inside = start + slashes + 1;
    // `"""value"""` and the like.
    let tripled = byte(text, inside) == quote && byte(text, inside + 1) == quote;
    if tripled {
        inside += 2;
    }
    let mut end = inside;
    let mut run = 0;
    loop {
        let next = byte(text, end);
        if next == quote && run <= slashes {
            return Some(inside..end - run);
        }
        // The end of a line ends any quotes of one line; a text that stops within quotes ends them too.
        if next == b'\n' || end >= text.len() || end - inside > 8192 {
            return (end >= text.len() && quote != b'\'').then_some(inside..end.min(text.len()));
        }
        run = if next == b'\\' { run + 1 } else { 0 };
        end += 1;
    }
}

fn quoted_only(text: &[u8], at: usize) -> Option<(Range<usize>, Written)> {
    let start = at + BLANK.run(text, at, 24);
    quoted(text, start).map(|value| (value, Written::Quoted))
}

fn marked_up(text: &[u8], at: usize) -> Option<(Range<usize>, Written)> {
    let end = at + memchr::memchr(b'<', slice(text, at, at + 4096))?;
    (byte(text, end + 1) == b'/').then_some((at..end, Written::Quoted))
}

/// The next word, where a blank is what joins a name and its value.
fn spaced(text: &[u8], name: &Range<usize>, at: usize, dashed: bool) -> Option<(Range<usize>, Written)> {
    let line = slice(text, name.start.saturating_sub(120), name.start);
    let line = line.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let command = line.trim_ascii_start();
    let declares = [&b"ENV "[..], b"ARG ", b"env ", b"setx ", b"SET ", b"set "]
        .iter()
        .any(|word| command == word.trim_ascii_end() || command.starts_with(word) && command.len() == word.len());
    let listed = memchr::memmem::find(line, b"machine ").is_some()
        || memchr::memmem::find(line, b"login ").is_some()
        || command.is_empty() && account::follows_login(text, name.start);
    if dashed || declares || listed {
        if let Some(value) = quoted(text, at) {
            return Some((value, Written::Quoted));
        }
        if byte(text, at) == b'-' || byte(text, at) == b'=' {
            return None;
        }
        return Some((at..unquoted_end(text, at, false), Written::Tight));
    }
    // `the password is X`, `my token was X`, `password to X`.
    for joint in [&b"is set to "[..], b"is: ", b"is ", b"was ", b"to ", b"(", b"- "] {
        if follows(text, at, joint) {
            let next = at + joint.len();
            if let Some(value) = quoted(text, next) {
                return Some((value, Written::Quoted));
            }
            return Some((next..unquoted_end(text, next, false), Written::Spaced));
        }
    }
    // `password "X"`, `token X`.
    if let Some(value) = quoted(text, at) {
        return Some((value, Written::Quoted));
    }
    Some((at..unquoted_end(text, at, false), Written::Spaced))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, word: &str) -> Option<String> {
        let at = text.find(word).unwrap();
        let name = name_around(text.as_bytes(), &(at..at + word.len()));
        value_beside(text.as_bytes(), &name).filter(|value| value.is_secret).map(|value| text[value.range].to_owned())
    }

    #[test]
    fn values_are_found_in_every_way_of_writing() {
        for (text, word, expected) in [
            ("DB_PASSWORD=aB3x!Qz9kLm", "PASSWORD", "aB3x!Qz9kLm"),
            ("DB_PASSWORD=aB3x#Qz9&kLm\n", "PASSWORD", "aB3x#Qz9&kLm"),
            ("password: 'aB3x Qz'", "password", ""),
            ("password: \"aB3x!Qz9\"", "password", "aB3x!Qz9"),
            (r#"{\"password\":\"aB3x!Qz9\"}"#, "password", "aB3x!Qz9"),
            (r#"{\\\"password\\\": \\\"aB3x!Qz9\\\"}"#, "password", "aB3x!Qz9"),
            (r"\nPASSWORD=aB3x!Qz9\nNEXT=1", "PASSWORD", "aB3x!Qz9"),
            ("let api_key: &str = \"q7w8e9r1t2y3\";", "api_key", "q7w8e9r1t2y3"),
            ("setenv('DB_PASSWORD', 'aB3x!Qz9')", "PASSWORD", "aB3x!Qz9"),
            ("<password>aB3x!Qz9</password>", "password", "aB3x!Qz9"),
            ("<add key=\"Password\" value=\"aB3x!Qz9\"/>", "Password", "aB3x!Qz9"),
            ("mysql --password aB3x!Qz9 -h db", "password", "aB3x!Qz9"),
            ("ENV DB_PASSWORD aB3x!Qz9", "PASSWORD", "aB3x!Qz9"),
            ("machine x login y password aB3x!Qz9", "password", "aB3x!Qz9"),
            ("machine x\n  login y\n  password correct!horse\n", "password", "correct!horse"),
            ("login y\r\npassword aB3x!Qz9", "password", "aB3x!Qz9"),
            ("words\n  password correct!horse\n", "password", ""),
            ("the password is aB3xQz9.", "password", "aB3xQz9"),
            ("**Password:** `aB3x!Qz9`", "Password", "aB3x!Qz9"),
            ("| password | aB3x!Qz9 |", "password", "aB3x!Qz9"),
            ("password: |\n  aB3x!Qz9\n", "password", "aB3x!Qz9"),
            ("?access_token=q7w8e9r1t2y3u4&limit=1", "access", "q7w8e9r1t2y3u4"),
            ("?access_token=q7w8e9&r1t2y3u4&limit=1", "access", "q7w8e9&r1t2y3u4"),
            ("?access_token=q7w8e9#r1t2y3u4&limit=1", "access", "q7w8e9#r1t2y3u4"),
            ("if (password == \"aB3x!Qz9\") {", "password", "aB3x!Qz9"),
            (
                "vault write auth/approle/login secret_id=123e4567-e89b-12d3-a456-426614174001",
                "secret",
                "123e4567-e89b-12d3-a456-426614174001",
            ),
            ("secret_id_accessor    123e4567-e89b-12d3-a456-426614174001", "secret", ""),
            ("password=1987-03-22kxQ!", "password", "1987-03-22kxQ!"),
            ("password_changed=1987-03-22", "password", ""),
            ("password=1987-03-22T10:00:00Z", "password", ""),
            ("user=ada pass=kR9wPq!2LmX", "pass=", "kR9wPq!2LmX"),
            ("{\"pass\": \"kR9wPq!2LmX\"}", "pass\"", "kR9wPq!2LmX"),
            ("psk=\"kR9wPq!2LmXv\"", "psk=", "kR9wPq!2LmXv"),
            ("pat=r\"[a-z0-9]+!\"", "pat=", ""),
            ("--- PASS: TestLogin2/case1 (0.00s)", "PASS:", ""),
            ("pass: TestLogin2/case1", "pass:", ""),
            ("server:\n  pass: kR9wPq!2LmX\n", "pass:", "kR9wPq!2LmX"),
            ("password = getpass.getpass()", "password", ""),
            ("x={radio:!0,password:!0,image:!0}", "password", ""),
            ("fn open(secret: &OkmBlock) {", "secret", ""),
            ("['HTTPPasswordMgr', 'HTTPPasswordMgrWithDefaultRealm']", "Password", ""),
            ("(\"username\", \"password1\", \"password2\")", "password1", ""),
            ("api_key = os.environ[\"STRIPE_SECRET_KEY\"]", "api_key", ""),
            ("password reset for user42", "password", ""),
            ("token: String,", "token", ""),
            ("The secret to good tests is small", "secret", ""),
        ] {
            assert_eq!(found(text, word).unwrap_or_default(), expected, "{text}");
        }
    }
}
