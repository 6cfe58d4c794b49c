//! The forms in which a text may stand in bytes. Pure.

use data_encoding::{BASE64, BASE64URL, HEXLOWER, HEXUPPER};

/// A text is at least so long, in bytes: a shorter one is found by chance.
pub const SHORTEST: usize = 6;

/// A form of a text, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Its name: `plain`, `utf16le`, `utf16be`, `base64`, `base64url`, `hex`, `percent`, `json`.
    pub name: &'static str,
    /// What is looked for.
    pub bytes: Vec<u8>,
}

/// All forms of a text, each once: as it is, in UTF-16, in base64 at each of the three places where it may begin within a
/// longer text, in hexadecimal digits, percent-encoded, and as JSON writes it. Other mixtures of escaped and plain characters
/// are no forms of their own: a sweep undoes escapes.
pub fn forms(text: &str) -> Vec<Form> {
    let bytes = text.as_bytes();
    let mut forms: Vec<Form> = Vec::new();
    let mut add = |name: &'static str, bytes: Vec<u8>| {
        if bytes.len() >= SHORTEST && !forms.iter().any(|form| form.bytes == bytes) {
            forms.push(Form { name, bytes });
        }
    };
    add("plain", bytes.to_vec());
    add("utf16le", text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    add("utf16be", text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    for before in 0..3 {
        add("base64", base64(&BASE64, bytes, before));
        add("base64url", base64(&BASE64URL, bytes, before));
    }
    add("hex", HEXLOWER.encode(bytes).into_bytes());
    add("hex", HEXUPPER.encode(bytes).into_bytes());
    let some = |digits: &'static [u8; 16], keep: fn(u8) -> bool| percent(bytes, digits, keep);
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    add("percent", some(b"0123456789ABCDEF", unreserved));
    add("percent", some(b"0123456789abcdef", unreserved));
    add("percent", some(b"0123456789ABCDEF", |_| false));
    let json = serde_json::to_string(text).unwrap_or_default();
    add("json", json.trim_matches('"').as_bytes().to_vec());
    add("json", ascii_json(text).into_bytes());
    forms
}

/// The characters of base64 that depend on the text alone when it begins after so many bytes of another.
fn base64(encoding: &data_encoding::Encoding, bytes: &[u8], before: usize) -> Vec<u8> {
    let mut padded = vec![0; before];
    padded.extend_from_slice(bytes);
    let encoded = encoding.encode(&padded);
    // The first characters hold bits of what comes before, the last of what comes after.
    let first = (before * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    encoded.as_bytes().get(first..last).unwrap_or_default().to_vec()
}

fn percent(bytes: &[u8], digits: &[u8; 16], keep: fn(u8) -> bool) -> Vec<u8> {
    let digit = |nibble: u8| digits.get(usize::from(nibble)).copied().unwrap_or(b'0');
    let mut encoded = Vec::with_capacity(bytes.len() * 3);
    for byte in bytes {
        if keep(*byte) {
            encoded.push(*byte);
        } else {
            encoded.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    encoded
}

/// As JSON that is ASCII alone.
fn ascii_json(text: &str) -> String {
    use std::fmt::Write as _;
    let json = serde_json::to_string(text).unwrap_or_default();
    let mut ascii = String::with_capacity(json.len());
    for character in json.trim_matches('"').chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, name: &str) -> Vec<String> {
        let named = forms(text).into_iter().filter(|form| form.name == name);
        named.map(|form| String::from_utf8_lossy(&form.bytes).into_owned()).collect()
    }

    fn contains(within: &[u8], what: &[u8]) -> bool {
        within.windows(what.len()).any(|window| window == what)
    }

    #[test]
    fn base64_is_found_wherever_the_text_begins() {
        let text = "canary-0017-ada";
        for before in 0..7 {
            for after in 0..4 {
                let whole = [vec![b'x'; before], text.as_bytes().to_vec(), vec![b'y'; after]].concat();
                for encoding in [&BASE64, &BASE64URL] {
                    let encoded = encoding.encode(&whole);
                    let found = forms(text)
                        .iter()
                        .any(|form| form.name.starts_with("base64") && contains(encoded.as_bytes(), &form.bytes));
                    assert!(found, "{before} {after} {encoded}");
                }
            }
        }
    }

    #[test]
    fn forms_are_those_written_down() {
        assert_eq!(of("schön/1", "percent"), ["sch%C3%B6n%2F1", "sch%c3%b6n%2f1", "%73%63%68%C3%B6%6E%2F%31"]);
        assert_eq!(of("schön\"1", "json"), ["schön\\\"1", "sch\\u00f6n\\\"1"]);
        assert_eq!(of("canary", "hex"), ["63616e617279", "63616E617279"]);
        assert_eq!(of("canary", "plain"), ["canary"]);
        assert_eq!(forms("canary").iter().filter(|form| form.name == "utf16le").count(), 1);
    }
}
