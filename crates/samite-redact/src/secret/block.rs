//! Private keys in blocks of text, and signed web tokens.

use crate::alphabet::{Alphabet, URL64, URL64_PAD, begins_word, byte, follows, is_escaped, slice};
use crate::placeholder;
use crate::shape::Shape;
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
    (characters >= 32 && distinct >= 12 && !holds_placeholder && has_key_line(content)).then_some(at..body + end)
}

/// Characters of the lines of a key.
const LINE: Alphabet = Alphabet::of(b"a-zA-Z0-9+/=");
/// What may stand between two lines of a key: ends of lines, quotes, what joins strings in code, marks of comments and of patches.
const GAP: Alphabet = Alphabet::of(b" \t\r\n\\>|+\",'`();.&$[]{}*#<:-");
/// The shortest line of a key but its last one, and the shortest that is no word.
const SHORT: usize = 16;
const LONG: usize = 40;

/// Whether any line of a text may be one of a key: what stands between the two marks may be code that speaks of both.
fn has_key_line(text: &[u8]) -> bool {
    text.split(|byte| !LINE.has(*byte)).any(is_key_line)
}

fn is_key_line(run: &[u8]) -> bool {
    let shape = Shape::of(run);
    run.len() >= LONG || run.len() >= SHORT && shape.upper > 0 && shape.lower > 0 && !shape.is_wordy()
}

/// How far characters go that a key's lines are made of, and what stands between them where they are strings of code: quotes,
/// signs, and a word or two such as those of `key += "…"`.
fn key_characters(text: &[u8]) -> usize {
    let mut at = 0;
    let mut kept = 0;
    let mut words = 0;
    while at < text.len() && at - kept <= 160 {
        let next = byte(text, at);
        // Another block begins, or this one ends.
        if next == b'-' && follows(text, at, b"-----") {
            break;
        }
        // `\n` between lines, also in a text that is encoded once more.
        if GAP.has(next) || is_escaped(text, at) && matches!(next, b'n' | b'r' | b't') {
            at += 1;
            continue;
        }
        let run = LINE.run(text, at, LONGEST);
        if run == 0 {
            break;
        }
        if is_key_line(slice(text, at, at + run)) {
            kept = at + run;
            words = 0;
        } else {
            words += 1;
            if words > 3 {
                break;
            }
        }
        at += run;
    }
    kept
}

/// The beginnings of private keys in base64 without the marks around them, by how much of them is before a mark: RSA (PKCS #1), RSA
/// and elliptic curves (PKCS #8), elliptic curves (SEC 1), Ed25519 and X25519 (PKCS #8), and OpenSSH.
const BARE: &[(&[u8], usize, &[u8])] = &[
    (b"MII", 3, b"IBAAKC"),
    (b"MII", 3, b"IBAAKB"),
    (b"MII", 3, b"IBADANBgkqhkiG9w0BAQEFAASC"),
    (b"MIG", 1, b"AgEAMBMGByqGSM49AgEG"),
    (b"MIG", 1, b"AgEAMBAGByqGSM49AgEG"),
    (b"MHcCAQEEI", 0, b""),
    (b"MIGkAgEBBD", 0, b""),
    (b"MIHcAgEBBE", 0, b""),
    (b"MC4CAQAwBQYDK2V", 0, b""),
    (b"MFECAQEwBQYDK2V", 0, b""),
    (b"b3BlbnNzaC1rZXktdjE", 0, b""),
];

/// The private key in base64 whose beginning is around a place: where it begins, or where what tells it does.
pub(crate) fn bare_key(text: &[u8], at: usize) -> Option<(Range<usize>, &'static str)> {
    let start = BARE.iter().find_map(|(first, skipped, then)| {
        let start = if then.is_empty() { at } else { at.checked_sub(first.len() + skipped)? };
        let fits = follows(text, start, first) && follows(text, start + first.len() + skipped, then);
        (fits && begins_word(text, start)).then_some(start)
    })?;
    let rest = slice(text, start, start + LONGEST);
    let end = key_characters(rest);
    let holds_placeholder = !placeholder::all(slice(rest, 0, end)).is_empty();
    (end >= 60 && !holds_placeholder).then_some((start..start + end, "private-key"))
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
            "if text.startswith('-----BEGIN PRIVATE KEY-----') and is_complete_text(text, 0x1234567890abcdef) and text.rstrip().endswith('-----END PRIVATE KEY-----'):".to_owned(),
            "`-----BEGIN RSA PRIVATE KEY-----` is what internationalization of the header would break: see the documentation".to_owned(),
        ] {
            let at = text.find("-----BEGIN").unwrap();
            assert_eq!(private_key(text.as_bytes(), at), None, "{text}");
        }
    }

    /// As Python, C, Go, Java, JavaScript, PHP, shells and patches write it; whole, and cut off before its end.
    #[test]
    fn keys_in_strings_of_code_are_found() {
        let (other, last) = (LINE.replace("Us9", "kR7"), "wPq2LmXv7TzBn4YcD8sHfkR9wPq2LmX=");
        for (open, joint, close) in [
            ("key = (\"", "\\n\"\n       \"", "\\n\")"),
            ("key = '", "\\n' \\\n  '", "\\n'"),
            ("const key = \"", "\\n\" +\n  \"", "\\n\";"),
            ("const key = [\n  '", "',\n  '", "',\n].join('\\n');"),
            ("const key = `", "\n    ", "`;"),
            ("$key = \"", "\\n\"\n   . \"", "\\n\";"),
            ("key := \"", "\" + \"\\n\" +\n\t\"", "\""),
            ("b.append(\"", "\\n\");\nb.append(\"", "\\n\");"),
            ("key = \"", "\\n\"\nkey += \"", "\\n\""),
            ("echo '", "' >> k\necho '", "' >> k"),
            ("// ", "\n// ", ""),
            ("+", "\n+", ""),
            ("-", "\n-", ""),
            ("{\"key\": \"", "\\n", "\"}"),
            ("{\\\"key\\\": \\\"", "\\\\n\\\" + \\\"", "\\\"}"),
        ] {
            let body = [LINE, other.as_str(), last].join(joint);
            let marked = |label: &str| {
                let begin = format!("-----BEGIN {label}-----");
                (format!("{begin}{joint}{body}{joint}-----END {label}-----"), format!("{begin}{joint}{body}"))
            };
            let (whole, cut) = marked("RSA PRIVATE KEY");
            for key in [&whole, &cut] {
                let text = format!("{open}{key}{close}\nprint(key)\n");
                let found = private_key(text.as_bytes(), open.len()).map(|range| &text[range]);
                assert_eq!(found, Some(key.as_str()), "{text}");
            }
            let public = format!("{open}{}{close}", marked("PUBLIC KEY").0);
            assert_eq!(private_key(public.as_bytes(), open.len()), None, "{public}");
            // Without the marks around it.
            let text = format!("{open}{body}{close}\nprint(key)\n");
            let tells = open.len() + LINE.find("IBADAN").unwrap();
            let found = bare_key(text.as_bytes(), tells).map(|(range, _)| &text[range]);
            assert_eq!(found, Some(body.as_str()), "{text}");
        }
    }

    #[test]
    fn private_keys_without_marks_are_told_from_public_ones() {
        let tail = "k7VQ2xT9pLm4Zs8RwYb3NfHcJd6GqUeA1oKiXv5MtBnPyCzDhFgSjWuErOlIaQ0T";
        for (text, expected) in [
            (format!("MIIEpAIBAAKCAQEA{tail}"), true),
            (format!("MIICXAIBAAKBgQ{tail}"), true),
            (format!("MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg{tail}"), true),
            (format!("MHcCAQEEIB{tail}"), true),
            ("MC4CAQAwBQYDK2VwBCIEIKk7VQ2xT9pLm4Zs8RwYb3NfHcJd6GqUeA1oKiXv5Mt".to_owned(), true),
            (format!("b3BlbnNzaC1rZXktdjEAAAAABG5vbmU{tail}"), true),
            (format!("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA{tail}"), false),
            (format!("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE{tail}"), false),
            (format!("MCowBQYDK2VwAyEA{tail}"), false),
            (format!("aMIIEpAIBAAKCAQEA{tail}"), false),
            ("MHcCAQEEIB is how it begins".to_owned(), false),
        ] {
            let found = (0..text.len()).find_map(|at| bare_key(text.as_bytes(), at));
            assert_eq!(found, expected.then_some((0..text.len(), "private-key")), "{text}");
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
