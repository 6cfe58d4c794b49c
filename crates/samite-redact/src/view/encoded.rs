//! Runs of text in base64, hexadecimal or percent-encoding.

use super::View;
use crate::alphabet::{ANY64, Alphabet, HEX_ANY, byte, past_escape, slice};
use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use memchr::memchr;
use std::ops::Range;

/// The shortest run that is looked at.
pub(crate) const LEAST: usize = 20;
/// The longest text that is decoded at once; a longer run is decoded up to there.
const LONGEST: usize = 1 << 20;

/// The runs of characters of base64 of at least [`LEAST`], in order. Most of a text is stepped over.
pub(crate) fn runs(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            // The last byte of a window that is in no run says where the next run can begin.
            let window = text.get(at..at + LEAST)?;
            if let Some(outside) = window.iter().rposition(|byte| !ANY64.has(*byte)) {
                at += outside + 1;
                continue;
            }
            let start = past_escape(text, at);
            let end = at + LEAST + ANY64.run(text, at + LEAST, usize::MAX - 1);
            at = end;
            if end - start >= LEAST {
                return Some(start..end);
            }
        }
    })
}

/// What a run of base64 or hexadecimal decodes to, when that is text.
pub(crate) fn decoded(text: &[u8], run: &Range<usize>) -> Option<Vec<u8>> {
    let whole = slice(text, run.start, run.end.min(run.start + LONGEST));
    // `name=value`: the value may be encoded, the name is not.
    let padding = whole.iter().rev().take_while(|byte| **byte == b'=').count();
    let body = slice(whole, 0, whole.len() - padding);
    if memchr(b'=', body).is_some() {
        return None;
    }
    if HEX_ANY.covers(body) {
        let even = slice(body, 0, body.len() & !1).to_ascii_lowercase();
        return HEXLOWER_PERMISSIVE.decode(&even).ok().filter(|bytes| is_text(bytes));
    }
    let standard = body.iter().any(|byte| matches!(byte, b'+' | b'/'));
    let for_urls = body.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let encoding = match (standard, for_urls) {
        (true, true) => return None,
        (_, true) => BASE64URL_NOPAD,
        _ => BASE64_NOPAD,
    };
    // A look at its beginning spares the rest mostly.
    let first = encoding.decode(slice(body, 0, LEAST - LEAST % 4)).ok()?;
    if !is_text(&first)
        && !is_text(slice(
            &first,
            0,
            first.len() - first.iter().rev().take(3).take_while(|byte| **byte >= 0x80).count(),
        ))
    {
        return None;
    }
    let usable = if body.len() % 4 == 1 { body.len() - 1 } else { body.len() };
    // The last bits of a run that was cut need not be zero.
    let bytes = encoding
        .decode(slice(body, 0, usable))
        .or_else(|_| encoding.decode(slice(body, 0, usable - usable % 4)))
        .ok()?;
    is_text(&bytes).then_some(bytes)
}

/// Bytes that a text is made of.
fn is_text(bytes: &[u8]) -> bool {
    let plain = bytes.iter().all(|byte| matches!(byte, b'\n' | b'\r' | b'\t' | 0x1b) || *byte >= 0x20 && *byte != 0x7f);
    plain
        && match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        }
        && bytes.iter().filter(|byte| **byte >= 0x80).count() * 3 <= bytes.len()
}

const IN_URL: Alphabet = Alphabet::of(b"a-zA-Z0-9%._~!$&'()*+,;=:@/?#-");

/// The words with percent-encoding in them, each with what it stands for.
pub(crate) fn percent(text: &[u8]) -> Vec<View> {
    let mut views = Vec::new();
    let mut at = 0;
    while let Some(next) = memchr(b'%', text.get(at..).unwrap_or_default()) {
        let sign = at + next;
        if !is_percent(text, sign) {
            at = sign + 1;
            continue;
        }
        let start = past_escape(text, IN_URL.run_back(text, sign, 4096).max(at)).min(sign);
        let end = sign + IN_URL.run(text, sign, LONGEST);
        let mut view = View::default();
        let mut from = start;
        while let Some(next) = memchr(b'%', slice(text, from, end)) {
            let sign = from + next;
            view.copy(text, from..sign);
            if is_percent(text, sign) {
                let digits = HEXLOWER_PERMISSIVE.decode(slice(text, sign + 1, sign + 3)).unwrap_or_default();
                view.put(&digits, sign..sign + 3);
                from = sign + 3;
            } else {
                view.copy(text, sign..sign + 1);
                from = sign + 1;
            }
        }
        view.copy(text, from.min(end)..end);
        views.push(view);
        at = end.max(sign + 1);
    }
    views
}

fn is_percent(text: &[u8], at: usize) -> bool {
    HEX_ANY.has(byte(text, at + 1)) && HEX_ANY.has(byte(text, at + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_wherever_they_begin() {
        let run = "a".repeat(LEAST);
        for before in 0..50 {
            let text = format!("{}{run}. {run}b", " ".repeat(before));
            let expected = vec![before..before + LEAST, before + LEAST + 2..before + LEAST * 2 + 3];
            assert_eq!(runs(text.as_bytes()).collect::<Vec<_>>(), expected);
        }
        for before in 0..50 {
            let text = format!("{}{} {run}", "x ".repeat(before), "a".repeat(LEAST - 1));
            let start = before * 2 + LEAST;
            let found: Vec<_> = runs(text.as_bytes()).collect();
            assert_eq!((found.len(), found.first().cloned()), (1, Some(start..start + LEAST)), "{text}");
        }
    }

    #[test]
    fn text_is_decoded_and_other_bytes_are_not() {
        let all =
            |text: &str| decoded(text.as_bytes(), &(0..text.len())).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(all("REJfUEFTU1dPUkQ9aHVudGVyMiE="), Some("DB_PASSWORD=hunter2!".to_owned()));
        assert_eq!(all("REJfUEFTU1dPUkQ9aHVudGVyMiE"), Some("DB_PASSWORD=hunter2!".to_owned()));
        assert_eq!(all("44425f50415353574f52443d6878"), Some("DB_PASSWORD=hx".to_owned()));
        assert_eq!(all("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"), None);
        assert_eq!(all("/usr/local/lib/python3/site"), None);
        assert_eq!(all("kR9wPq2LmXv7TzBn4YcD8sHf"), None);
    }

    #[test]
    fn percent_encoding_is_undone_with_the_way_back() {
        let views = percent(b"see https://x.example/?token%3Da%2Bb%zz now 100% sure %41");
        assert_eq!(views.len(), 2);
        assert_eq!(views[0].text, b"https://x.example/?token=a+b%zz");
        assert_eq!(views[0].place(&(24..25)), Some(28..31));
        assert_eq!(views[1].text, b"A");
        assert_eq!(percent(b"100% sure"), []);
    }
}
