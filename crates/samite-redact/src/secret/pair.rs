//! Pairs of a name and a value in a text that is no JSON, or is not JSON alone, in either order: `- name: TOKEN` with `  value: …` on
//! the next line or the one before, `"key": "TOKEN", "value": "…"`.

use super::assign::value_at;
use super::judge::{Written, is_secret};
use super::name::classify;
use crate::alphabet::{ALPHA, Alphabet, BLANK, before, byte, follows, follows_any_case, past_escape, slice};
use crate::placeholder;
use std::ops::Range;

/// Quotes, and what escapes them in a text that is encoded once more.
const QUOTES: Alphabet = Alphabet::of(b"\"'\\");
/// What is between two fields.
const BETWEEN: Alphabet = Alphabet::of(b" \t\r\n,");
/// The longest value before a name.
const LONGEST: usize = 4096;

/// The secret that is the value of a pair, whose name stands at a place.
pub(crate) fn value(text: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    let label = label(text, name.start)?;
    let strength = classify(slice(text, name.start, name.end))?;
    let judged = |(range, written): (Range<usize>, Written)| {
        let is_new = !range.is_empty() && placeholder::end_at(text, range.start).is_none();
        (is_new && is_secret(slice(text, range.start, range.end), strength, written)).then_some(range)
    };
    after(text, name).and_then(judged).or_else(|| before_label(text, label).and_then(judged))
}

/// Where the field begins whose value begins at a place, when it is a name.
fn label(text: &[u8], at: usize) -> Option<usize> {
    let (start, field) = field_before(text, at)?;
    let is_name = [&b"name"[..], b"key", b"variable"].iter().any(|word| field.eq_ignore_ascii_case(word));
    is_name.then_some(start)
}

/// The field whose value begins at a place, and where it begins itself.
fn field_before(text: &[u8], at: usize) -> Option<(usize, &[u8])> {
    let at = BLANK.run_back(text, QUOTES.run_back(text, at, 8), 8);
    if before(text, at) != b':' {
        return None;
    }
    let end = QUOTES.run_back(text, BLANK.run_back(text, at - 1, 4), 8);
    let start = past_escape(text, ALPHA.run_back(text, end, 16));
    Some((QUOTES.run_back(text, start, 8), slice(text, start, end)))
}

/// The value in the field after the one that a name ends.
fn after(text: &[u8], name: &Range<usize>) -> Option<(Range<usize>, Written)> {
    let mut at = name.end + QUOTES.run(text, name.end, 8);
    let end = at;
    loop {
        at += BETWEEN.run(text, at, 80);
        // The end of a line in a text that is encoded once more.
        if follows(text, at, b"\\n") || follows(text, at, b"\\r") {
            at += 2;
        } else {
            break;
        }
    }
    // Blanks alone are not what two fields are parted by.
    if BLANK.covers(slice(text, end, at)) {
        return None;
    }
    at += QUOTES.run(text, at, 8);
    if !follows_any_case(text, at, b"value") {
        return None;
    }
    let colon = at + 5 + QUOTES.run(text, at + 5, 8);
    let colon = colon + BLANK.run(text, colon, 8);
    if byte(text, colon) != b':' {
        return None;
    }
    value_at(text, colon + 1, Written::Loose, name)
}

/// The value in the field before the one that begins at a place.
fn before_label(text: &[u8], label: usize) -> Option<(Range<usize>, Written)> {
    let mut end = label;
    loop {
        end = BETWEEN.run_back(text, end, 80);
        // `\n` in a text that is encoded once more.
        let mark = slice(text, end.saturating_sub(2), end);
        if mark == b"\\n" || mark == b"\\r" {
            end -= 2;
        } else {
            break;
        }
    }
    if BLANK.covers(slice(text, end, label)) {
        return None;
    }
    let quote = before(text, end);
    let (range, written) = if matches!(quote, b'"' | b'\'') {
        let stop = Alphabet::of(b"\\").run_back(text, end - 1, 8);
        let from = stop.saturating_sub(LONGEST);
        let open = memchr::memrchr2(quote, b'\n', slice(text, from, stop))?;
        if byte(text, from + open) == b'\n' {
            return None;
        }
        (from + open + 1..stop, Written::Quoted)
    } else {
        let from = end.saturating_sub(LONGEST);
        let start = memchr::memrchr2(b' ', b'\t', slice(text, from, end))?;
        (from + start + 1..end, Written::Loose)
    };
    let (_, field) = field_before(text, range.start)?;
    field.eq_ignore_ascii_case(b"value").then_some((range, written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_before_and_after_their_names() {
        let secret = "kR9wPq2LmXv7Tz";
        for text in [
            format!("- name: DB_PASSWORD\n  value: {secret}\n"),
            format!("- value: {secret}\n  name: DB_PASSWORD"),
            format!("- value: \"{secret}\"\r\n  name: \"DB_PASSWORD\"\r\n"),
            format!("env: [{{\"name\": \"DB_PASSWORD\", \"value\": \"{secret}\"}}] done"),
            format!("env: [{{\"Value\":\"{secret}\",\"Key\":\"DB_PASSWORD\"}}] done"),
            format!(r#"env: {{\"value\":\"{secret}\",\"name\":\"DB_PASSWORD\"}} done"#),
            format!(r#"env: {{\"name\":\"DB_PASSWORD\",\n \"value\":\"{secret}\"}} done"#),
        ] {
            let at = text.find("DB_PASSWORD").unwrap();
            let found = value(text.as_bytes(), &(at..at + 11)).map(|range| &text[range]);
            assert_eq!(found, Some(secret), "{text}");
        }
        for text in [
            format!("- value: {secret}\n- name: DB_PASSWORD\n"),
            format!("- value: {secret}\n  other: x\n  name: DB_PASSWORD\n"),
            format!("{{\"note\":\"{secret}\",\"name\":\"DB_PASSWORD\"}}"),
            "- value: level\n  name: DB_PASSWORD\n".to_owned(),
            "name: DB_PASSWORD value: x".to_owned(),
        ] {
            let at = text.find("DB_PASSWORD").unwrap();
            assert_eq!(value(text.as_bytes(), &(at..at + 11)), None, "{text}");
        }
    }
}
