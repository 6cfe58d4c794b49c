//! Runs of text in base64, hexadecimal or percent-encoding.

use super::View;
use crate::alphabet::{ANY64, Alphabet, BLANK, HEX_ANY, byte, follows, past_escape, slice};
use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD, Encoding, HEXLOWER_PERMISSIVE};
use memchr::memchr;
use std::ops::Range;

/// The shortest run that is looked at.
pub(crate) const LEAST: usize = 20;
/// The longest word that percent-encoding is undone in at once; what is longer goes on as the next one.
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

/// The shortest line that a longer run is broken into.
const LEAST_LINE: usize = 32;

/// The lines of a run that is broken into lines of one length, as `base64` and `openssl` break them: the run itself and those
/// that go on with it. The last may be shorter.
pub(crate) fn lines(text: &[u8], run: &Range<usize>) -> Vec<Range<usize>> {
    let mut lines = vec![run.clone()];
    let mut end = run.end;
    if run.len() < LEAST_LINE {
        return lines;
    }
    while let Some(start) = next_line(text, end) {
        let length = ANY64.run(text, start, run.len() + 1);
        if length == 0 || length > run.len() {
            break;
        }
        end = start + length;
        // A word on the line after is none of it.
        let body = slice(text, start, end);
        if length < run.len()
            && run.len().is_multiple_of(4)
            && decode_whole(body).is_none_or(|bytes| text_of(bytes).is_none())
        {
            break;
        }
        lines.push(start..end);
        if length < run.len() {
            break;
        }
    }
    lines
}

/// Where the line after the one that ends at a place begins, without what it is indented by; also in a text that is encoded once
/// more, where its end is `\n`.
fn next_line(text: &[u8], end: usize) -> Option<usize> {
    let ends: [&[u8]; 4] = [b"\n", b"\r\n", b"\\n", b"\\r\\n"];
    let found = ends.into_iter().find(|line_end| follows(text, end, line_end))?;
    let start = end + found.len();
    Some(start + BLANK.run(text, start, 32))
}

/// What lines of one run decode to, when that is text.
pub(crate) fn decoded_lines(text: &[u8], lines: &[Range<usize>]) -> Option<Vec<u8>> {
    // A look at the first line spares the copy mostly.
    let first = lines.first()?;
    let body = slice(text, first.start, first.end);
    if !HEX_ANY.covers(body) && !begins_as_text(&encoding_of(body)?, body) {
        return None;
    }
    let whole: Vec<u8> = lines.iter().flat_map(|line| slice(text, line.start, line.end)).copied().collect();
    decode_text(&whole)
}

/// What a run of base64 or hexadecimal decodes to, when that is text.
pub(crate) fn decoded(text: &[u8], run: &Range<usize>) -> Option<Vec<u8>> {
    decode_text(slice(text, run.start, run.end))
}

fn decode_text(whole: &[u8]) -> Option<Vec<u8>> {
    // `name=value`: the value may be encoded, the name is not.
    let padding = whole.iter().rev().take_while(|byte| **byte == b'=').count();
    let body = slice(whole, 0, whole.len() - padding);
    if memchr(b'=', body).is_some() {
        return None;
    }
    if HEX_ANY.covers(body) {
        let even = slice(body, 0, body.len() & !1).to_ascii_lowercase();
        return HEXLOWER_PERMISSIVE.decode(&even).ok().and_then(text_of);
    }
    let encoding = encoding_of(body)?;
    if !begins_as_text(&encoding, body) {
        return None;
    }
    text_of(decode_whole(body)?)
}

/// What base64 without padding decodes to, as far as it goes.
fn decode_whole(body: &[u8]) -> Option<Vec<u8>> {
    let padding = body.iter().rev().take_while(|byte| **byte == b'=').count();
    let body = slice(body, 0, body.len() - padding);
    let encoding = encoding_of(body)?;
    let usable = if body.len() % 4 == 1 { body.len() - 1 } else { body.len() };
    // The last bits of a run that was cut need not be zero.
    encoding.decode(slice(body, 0, usable)).or_else(|_| encoding.decode(slice(body, 0, usable - usable % 4))).ok()
}

/// Which alphabet of base64 a run is in.
fn encoding_of(body: &[u8]) -> Option<Encoding> {
    let standard = body.iter().any(|byte| matches!(byte, b'+' | b'/'));
    let for_urls = body.iter().any(|byte| matches!(byte, b'-' | b'_'));
    match (standard, for_urls) {
        (true, true) => None,
        (_, true) => Some(BASE64URL_NOPAD),
        _ => Some(BASE64_NOPAD),
    }
}

/// Whether a run's beginning decodes to what a text may begin with: that spares the rest mostly.
fn begins_as_text(encoding: &Encoding, body: &[u8]) -> bool {
    let first = encoding.decode(slice(body, 0, LEAST - LEAST % 4));
    first.is_ok_and(|first| plain(&first) * 3 >= first.len() * 2 || is_wide(&first))
}

/// How many bytes are those of a text in any encoding that has ASCII in it.
fn plain(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r' | b'\t' | 0x1b | 0x20..=0x7e)).count()
}

/// Bytes that are a text. It need not be one of UTF-8: what a command puts out may be Latin-1, have marks that move a cursor
/// back, or be cut within a character; a secret in it is one all the same. A text of two bytes a letter comes out as UTF-8.
fn text_of(bytes: Vec<u8>) -> Option<Vec<u8>> {
    if is_wide(&bytes) {
        let low = usize::from(bytes.first() == Some(&0));
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .filter_map(|pair| <[u8; 2]>::try_from(pair).ok())
            .map(if low == 0 { u16::from_le_bytes } else { u16::from_be_bytes })
            .collect();
        return Some(String::from_utf16_lossy(&units).into_bytes());
    }
    let is_control = |char: char| char.is_control() && !matches!(char, '\n' | '\r' | '\t' | '\u{1b}');
    let utf8 = match std::str::from_utf8(&bytes) {
        Ok(text) => !text.chars().any(is_control),
        // Cut within a character.
        Err(error) => error.error_len().is_none() && plain(&bytes) + 3 >= bytes.len(),
    };
    let plain = plain(&bytes);
    let fits = if utf8 { plain * 3 >= bytes.len() * 2 } else { plain * 8 >= bytes.len() * 7 };
    fits.then_some(bytes)
}

/// Whether every other byte is 0 mostly, as in UTF-16 of ASCII.
fn is_wide(bytes: &[u8]) -> bool {
    let zeros = |from: usize| bytes.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let most = bytes.len() / 2 - bytes.len() / 8;
    bytes.len() >= 8 && (zeros(1) >= most && zeros(0) == 0 || zeros(0) >= most && zeros(1) == 0)
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
        let latin = |bytes: &[u8]| data_encoding::BASE64.encode(bytes);
        let bytes = |text: &str| decoded(text.as_bytes(), &(0..text.len()));
        for text in [&b"caf\xe9\nTOKEN=hunter2!"[..], b"50%\x08\x08\x0860% of the work is done", b"cut within \xe2\x82"]
        {
            assert_eq!(bytes(&latin(text)).as_deref(), Some(text));
        }
        assert_eq!(bytes(&latin(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\x01\0\x08\x06\0\0\0\x5c\r\xa8f")), None);
        let wide = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> { "DB_PASSWORD=hx".encode_utf16().flat_map(unit).collect() };
        for text in [wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
            assert_eq!(bytes(&latin(&text)).as_deref(), Some(&b"DB_PASSWORD=hx"[..]));
        }
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
    fn lines_of_one_run_are_one() {
        let secret = "the token is ghp_16C7e42F292c6912E7710c838347Ae178B4a, and more words follow it here";
        let whole = data_encoding::BASE64.encode(secret.as_bytes());
        for (end, indent) in [("\n", ""), ("\r\n", ""), ("\n", "    "), ("\\n", ""), ("\\r\\n", "")] {
            let parts: Vec<&str> = whole.as_bytes().chunks(40).map(|part| str::from_utf8(part).unwrap()).collect();
            let text = format!("data: {} next", parts.join(&format!("{end}{indent}")));
            let run = runs(text.as_bytes()).next().unwrap();
            let lines = lines(text.as_bytes(), &run);
            assert_eq!(lines.len(), 3, "{text}");
            assert_eq!(decoded_lines(text.as_bytes(), &lines).unwrap(), secret.as_bytes(), "{text}");
        }
        let hashes = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\n".repeat(3);
        let lines = lines(hashes.as_bytes(), &(0..40));
        assert_eq!((lines.len(), decoded_lines(hashes.as_bytes(), &lines)), (3, None));
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
