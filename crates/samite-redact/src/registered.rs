//! Secrets that a caller registered: found exactly, in whatever encoding they stand.

use crate::alphabet::{ANY64, follows, past_escape, slice};
use crate::finding::{Hit, Rank};
use crate::policy::{Class, check_name};
use crate::unescaped::Unescaped;
use aho_corasick::AhoCorasick;
use data_encoding::{BASE32_NOPAD, BASE64_NOPAD, BASE64URL_NOPAD, Encoding, HEXLOWER, HEXUPPER};
use samite_model::{Error, Result};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

/// The shortest secret that can be registered, in bytes: shorter ones stand in too many texts by chance.
pub const SHORTEST: usize = 6;
/// The longest, in bytes.
pub const LONGEST: usize = 16 << 10;
/// The most that a redactor takes.
pub const MOST: usize = 1024;

/// A secret that a caller registered.
#[derive(Clone, PartialEq, Eq)]
pub struct Registered {
    /// What its placeholders call it: small letters, digits and hyphens, 1 to 32.
    pub name: String,
    /// Its bytes.
    pub secret: Vec<u8>,
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("name", &self.name).field("length", &self.secret.len()).finish()
    }
}

/// How a secret is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// Character by character: what is found is all there is.
    Whole,
    /// In groups that its neighbours share: the run of base64 around it goes as a whole.
    Grouped,
}

/// How many of a secret's bytes are encoded for the needles.
const HEAD: usize = 24;
/// The longest needle.
const NEEDLE: usize = 32;

/// What finds registered secrets. Needles are how secrets may begin in each encoding; what begins so is compared with the
/// whole. So making one takes little, however long the secrets are.
pub(crate) struct Finder {
    automaton: AhoCorasick,
    /// The secrets that each needle may be the beginning of.
    needles: Vec<Vec<usize>>,
    secrets: Vec<Secret>,
    unescaped: Unescaped,
}

impl fmt::Debug for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finder").field("secrets", &self.secrets.len()).finish_non_exhaustive()
    }
}

struct Secret {
    registered: Registered,
    /// It with either end of lines, and where its lines end; none of one line.
    lines: Vec<(Vec<u8>, Vec<usize>)>,
    /// All the ways in which it may be written, made when one of its needles is found.
    written: OnceLock<Vec<(Vec<u8>, Written)>>,
}

impl Secret {
    fn new(registered: &Registered) -> Self {
        let secret = &registered.secret;
        let mut lines = Vec::new();
        if memchr::memchr(b'\n', secret).is_some() {
            for whole in [secret.clone(), with_other_line_ends(secret)] {
                let ends = memchr::memchr_iter(b'\n', &whole).map(|end| end + 1).filter(|end| *end < whole.len());
                let ends = ends.collect();
                lines.push((whole, ends));
            }
        }
        Self { registered: registered.clone(), lines, written: OnceLock::new() }
    }

    /// The longest of its spellings that stands at a place.
    fn at(&self, text: &[u8], start: usize) -> Option<(usize, Written)> {
        let all = self.written.get_or_init(|| encodings(&self.registered.secret));
        let here = all.iter().filter(|(spelling, _)| follows(text, start, spelling));
        here.map(|(spelling, written)| (spelling.len(), *written)).max_by_key(|(length, _)| *length)
    }
}

impl Finder {
    /// None when nothing is registered.
    pub(crate) fn new(secrets: &[Registered]) -> Result<Option<Self>> {
        if secrets.is_empty() {
            return Ok(None);
        }
        if secrets.len() > MOST {
            return Err(Error::invalid(
                "too_many_secrets",
                format!("{} secrets are registered; at most {MOST} can be", secrets.len()),
            ));
        }
        let mut needles: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
        for (at, secret) in secrets.iter().enumerate() {
            check(secret)?;
            for (mut needle, _) in encodings(head(&secret.secret)) {
                needle.truncate(NEEDLE);
                let of = needles.entry(needle).or_default();
                if of.last() != Some(&at) {
                    of.push(at);
                }
            }
        }
        let automaton = AhoCorasick::builder().build(needles.keys()).map_err(|error| {
            Error::invalid("too_many_secrets", "the registered secrets are too many together").because(error)
        })?;
        let unescaped = Unescaped::for_these(secrets.iter().map(|one| one.secret.as_slice()));
        let secrets = secrets.iter().map(Secret::new).collect();
        Ok(Some(Self { automaton, needles: needles.into_values().collect(), secrets, unescaped }))
    }

    /// Whether lines end within a secret: the next may go on with it.
    pub(crate) fn is_open(&self, lines: &[u8]) -> bool {
        let mut all = self.secrets.iter().flat_map(|secret| &secret.lines);
        all.any(|(whole, ends)| ends.iter().any(|end| lines.ends_with(slice(whole, 0, *end))))
    }

    /// Adds the places of registered secrets, and answers with the secret's own bytes for each. They are looked for as they
    /// stand, and again without the escapes of single characters: which of them are escaped differs from writer to writer.
    pub(crate) fn find(&self, text: &[u8], found: &mut Vec<(Hit, Vec<u8>)>) {
        let mut places: HashSet<(usize, usize, usize)> = HashSet::new();
        self.unescaped.each(text, &mut |shown, place| {
            self.find_plain(shown, &mut |at, range| {
                let (Some(range), Some(secret)) = (place(range), self.secrets.get(at)) else { return };
                if places.insert((at, range.start, range.end)) {
                    let kind = Cow::Owned(secret.registered.name.clone());
                    let hit = Hit { range, class: Class::Secret, kind, rank: Rank::Registered };
                    found.push((hit, secret.registered.secret.clone()));
                }
            });
        });
    }

    /// Tells of the secrets that stand in a text in one of their spellings.
    fn find_plain(&self, text: &[u8], told: &mut dyn FnMut(usize, Range<usize>)) {
        // The run that was looked around last, and for whom: that is done once, however often it holds one.
        let mut run = (0..0, usize::MAX);
        for place in self.automaton.find_overlapping_iter(text) {
            for at in self.needles.get(place.pattern().as_usize()).into_iter().flatten() {
                let is_within = run.0.start <= place.start() && place.end() <= run.0.end;
                if is_within && run.1 == *at {
                    continue;
                }
                let Some(secret) = self.secrets.get(*at) else { continue };
                let Some((length, written)) = secret.at(text, place.start()) else { continue };
                let end = place.start() + length;
                let range = match written {
                    Written::Whole => place.start()..end,
                    Written::Grouped if is_within => run.0.clone(),
                    Written::Grouped => {
                        let start = past_escape(text, ANY64.run_back(text, place.start(), usize::MAX));
                        start..end + ANY64.run(text, end, usize::MAX - 1)
                    }
                };
                if written == Written::Grouped {
                    run = (range.clone(), *at);
                }
                told(*at, range);
            }
        }
    }
}

/// The beginning of a secret, without half a character.
fn head(secret: &[u8]) -> &[u8] {
    let mut end = secret.len().min(HEAD);
    while end > HEAD - 4 && end < secret.len() && secret.get(end).is_some_and(|next| next & 0xc0 == 0x80) {
        end -= 1;
    }
    slice(secret, 0, end)
}

/// Refuses what cannot be registered.
///
/// # Errors
/// `invalid`: `bad_redaction_name`, `secret_too_short`, `secret_too_long`.
pub fn check(secret: &Registered) -> Result<()> {
    check_name(&secret.name)?;
    let length = secret.secret.len();
    let distinct: BTreeSet<u8> = secret.secret.iter().copied().collect();
    if length < SHORTEST || distinct.len() < 3 {
        return Err(Error::invalid(
            "secret_too_short",
            format!("the secret {} would be found in too many texts by chance", secret.name),
        )
        .hint(format!("a registered secret has at least {SHORTEST} bytes, and three different ones")));
    }
    if length > LONGEST {
        return Err(Error::invalid(
            "secret_too_long",
            format!("the secret {} has {length} bytes; at most {LONGEST} can be registered", secret.name),
        ));
    }
    Ok(())
}

/// All the ways in which a secret may be written: of one with lines, also with the other ends of lines.
fn encodings(secret: &[u8]) -> Vec<(Vec<u8>, Written)> {
    let mut all = encodings_of(secret);
    let other = with_other_line_ends(secret);
    if other != secret {
        all.extend(encodings_of(&other));
    }
    all
}

/// With the ends of lines that Windows has.
fn with_other_line_ends(secret: &[u8]) -> Vec<u8> {
    let mut last = 0;
    let mut out = Vec::with_capacity(secret.len());
    for byte in secret {
        if *byte == b'\n' && last != b'\r' {
            out.push(b'\r');
        }
        out.push(*byte);
        last = *byte;
    }
    out
}

fn encodings_of(secret: &[u8]) -> Vec<(Vec<u8>, Written)> {
    let mut whole: BTreeSet<Vec<u8>> = BTreeSet::new();
    whole.insert(secret.to_vec());
    let once = json(secret, false);
    for escaped in
        [once.clone(), json(secret, true), json(&once, false), json(&json(&once, false), false), slashes(&once)]
    {
        whole.insert(escaped);
    }
    for (all, plus) in [(false, false), (false, true), (true, false)] {
        let encoded = percent(secret, all, plus);
        whole.insert(lower_percent(&encoded));
        whole.insert(percent(&encoded, false, false));
        whole.insert(encoded);
    }
    whole.insert(HEXLOWER.encode(secret).into_bytes());
    whole.insert(HEXUPPER.encode(secret).into_bytes());
    whole.insert(html(secret));
    for quote in [b'\\', b'\'', b'^'] {
        whole.insert(quoted(secret, quote));
    }
    for between in [b' ', b':', b'-'] {
        whole.insert(spaced_hex(&HEXLOWER, secret, between));
        whole.insert(spaced_hex(&HEXUPPER, secret, between));
    }
    let mut sources = vec![secret.to_vec()];
    if let Ok(text) = std::str::from_utf8(secret) {
        whole.insert(text.encode_utf16().flat_map(|unit| format!("\\u{unit:04x}").into_bytes()).collect());
        for wide in [u16::to_le_bytes, u16::to_be_bytes] {
            let wide: Vec<u8> = text.encode_utf16().flat_map(wide).collect();
            whole.insert(wide.clone());
            sources.push(wide);
        }
    }
    let mut grouped: BTreeSet<Vec<u8>> = BTreeSet::new();
    for shift in 0..5 {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(secret);
        let (first, last) = ((shift * 8).div_ceil(5), shifted.len() * 8 / 5);
        let text = BASE32_NOPAD.encode(&shifted).into_bytes();
        let inner = slice(&text, first, last);
        if inner.len() >= 8 {
            grouped.insert(inner.to_vec());
        }
    }
    for (source, shift) in sources.iter().flat_map(|source| (0..3).map(move |shift| (source, shift))) {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(source);
        // The characters that hold bits of a neighbour are left out.
        let first = (shift * 8).div_ceil(6);
        let last = shifted.len() * 8 / 6;
        for encoding in [BASE64_NOPAD, BASE64URL_NOPAD] {
            let text = encoding.encode(&shifted).into_bytes();
            let inner = slice(&text, first, last);
            if inner.len() >= 6 {
                grouped.insert(inner.to_vec());
            }
        }
    }
    let whole = whole.into_iter().filter(|text| text.len() >= SHORTEST).map(|text| (text, Written::Whole));
    whole.chain(grouped.into_iter().map(|text| (text, Written::Grouped))).collect()
}

/// As in a string of JSON; with `ascii`, other characters and what HTML minds as `\u` escapes.
fn json(secret: &[u8], ascii: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(secret.len() * 2);
    let unit = |out: &mut Vec<u8>, unit: u16| out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
    for character in String::from_utf8_lossy(secret).chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            _ if u32::from(character) < 0x20
                || ascii && (!character.is_ascii() || matches!(character, '<' | '>' | '&' | '\'')) =>
            {
                let mut units = [0; 2];
                for one in character.encode_utf16(&mut units) {
                    unit(&mut out, *one);
                }
            }
            _ => {
                let mut buffer = [0; 4];
                out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            }
        }
    }
    out
}

/// As a shell takes it without quotes (`\\` or, on Windows, `^` before what it minds), or within single ones (`'\\''`).
fn quoted(secret: &[u8], quote: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(secret.len() * 2);
    for byte in secret {
        match (quote, byte) {
            (b'\'', b'\'') => out.extend_from_slice(b"'\\''"),
            (b'\'', _)
            | (
                _,
                b'a'..=b'z'
                | b'A'..=b'Z'
                | b'0'..=b'9'
                | b'_'
                | b'-'
                | b'.'
                | b'/'
                | b':'
                | b'@'
                | b'%'
                | b'+'
                | b','
                | b'='
                | 0x80..,
            ) => out.push(*byte),
            _ => out.extend_from_slice(&[quote, *byte]),
        }
    }
    out
}

/// In hexadecimal, with something between the bytes.
fn spaced_hex(digits: &Encoding, secret: &[u8], between: u8) -> Vec<u8> {
    let pairs: Vec<String> = secret.iter().map(|byte| digits.encode(&[*byte])).collect();
    pairs.join(&char::from(between).to_string()).into_bytes()
}

fn slashes(text: &[u8]) -> Vec<u8> {
    text.iter().flat_map(|byte| if *byte == b'/' { vec![b'\\', b'/'] } else { vec![*byte] }).collect()
}

/// Percent-encoded: what a path may hold stays unless `all` is encoded; a blank is a plus when `plus`.
fn percent(text: &[u8], all: bool, plus: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 3);
    for byte in text {
        match byte {
            b' ' if plus => out.push(b'+'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b'/' | b'!' | b'*' | b'\'' | b'(' | b')' if !all => out.push(*byte),
            _ => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    out
}

fn lower_percent(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    let signs: Vec<usize> = memchr::memchr_iter(b'%', text).collect();
    for at in signs {
        for digit in out.get_mut(at + 1..at + 3).unwrap_or_default() {
            digit.make_ascii_lowercase();
        }
    }
    out
}

fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            _ => out.push(*byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::BASE64;

    fn found(finder: &Finder, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        finder.find(text.as_bytes(), &mut found);
        found.into_iter().map(|(hit, _)| text[hit.range].to_owned()).collect()
    }

    #[test]
    fn a_registered_secret_is_found_in_every_encoding() {
        let secret = "p\"a/s s&é<x>1";
        let finder =
            Finder::new(&[Registered { name: "db".to_owned(), secret: secret.as_bytes().to_vec() }]).unwrap().unwrap();
        for text in [
            secret.to_owned(),
            serde_json::to_string(secret).unwrap().trim_matches('"').to_owned(),
            r#"p\"a\/s s&é<x>1"#.to_owned(),
            r#"p\"a/s s\u0026\u00e9\u003cx\u003e1"#.to_owned(),
            r#"p\\\"a/s s&é<x>1"#.to_owned(),
            "p%22a/s%20s%26%C3%A9%3Cx%3E1".to_owned(),
            "p%22a%2fs%20s%26%c3%a9%3cx%3e1".to_owned(),
            "p%22a/s+s%26%C3%A9%3Cx%3E1".to_owned(),
            HEXLOWER.encode(secret.as_bytes()),
            HEXUPPER.encode(secret.as_bytes()),
            "p&quot;a/s s&amp;é&lt;x&gt;1".to_owned(),
            r#"p\"a/s\ s\&é\<x\>1"#.to_owned(),
            r"\u0070\u0022\u0061\u002f\u0073\u0020\u0073\u0026\u00e9\u003c\u0078\u003e\u0031".to_owned(),
            "70 22 61 2f 73 20 73 26 c3 a9 3c 78 3e 31".to_owned(),
            "70:22:61:2F:73:20:73:26:C3:A9:3C:78:3E:31".to_owned(),
            BASE64.encode(&secret.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        ] {
            assert_eq!(found(&finder, &format!("x {text} y")), std::slice::from_ref(&text), "{text}");
        }
        for before in ["", "a", "ab", "abc"] {
            let whole = format!("{before}{secret}after");
            for text in [
                BASE64.encode(whole.as_bytes()),
                BASE64URL_NOPAD.encode(whole.as_bytes()),
                BASE32_NOPAD.encode(whole.as_bytes()),
            ] {
                assert_eq!(found(&finder, &format!("x {text} y")), std::slice::from_ref(&text), "{text}");
            }
        }
        assert!(found(&finder, "p\"a/s s&é<x>2").is_empty());
    }

    #[test]
    fn long_secrets_that_begin_alike_are_told_apart() {
        let secret = |end: &str| format!("{}{end}", "the same beginning of both ".repeat(500)).into_bytes();
        let registered = |name: &str, secret: Vec<u8>| Registered { name: name.to_owned(), secret };
        let all = [registered("one", secret("1")), registered("two", secret("22"))];
        let finder = Finder::new(&all).unwrap().unwrap();
        for (text, expected) in [
            (secret("1"), ["one".to_owned()]),
            (secret("22"), ["two".to_owned()]),
            ([secret("x"), secret("22")].concat(), ["two".to_owned()]),
            (BASE64.encode(&secret("22")).into_bytes(), ["two".to_owned()]),
            (json(&secret("1"), true), ["one".to_owned()]),
        ] {
            let mut found = Vec::new();
            finder.find(&text, &mut found);
            let names: Vec<_> = found.iter().map(|(hit, _)| hit.kind.to_string()).collect();
            // The last bits of base64 are those of what follows: there both may be meant.
            assert!(names.ends_with(&expected), "{names:?}");
        }
    }

    #[test]
    fn a_secret_within_another_hides_none_of_it() {
        let registered = |name: &str, secret: &str| Registered { name: name.to_owned(), secret: secret.into() };
        let all =
            [registered("outer", "an outer one has within it some more words"), registered("inner", "has within")];
        let finder = Finder::new(&all).unwrap().unwrap();
        let text = "x an outer one has within it some more words y";
        assert!(found(&finder, text).contains(&"an outer one has within it some more words".to_owned()));
    }

    #[test]
    fn a_secret_with_lines_is_found_with_either_end_of_lines() {
        let secret = b"first line\nsecond line".to_vec();
        let finder = Finder::new(&[Registered { name: "two".to_owned(), secret }]).unwrap().unwrap();
        for text in ["first line\nsecond line", "first line\r\nsecond line", r"first line\nsecond line"] {
            assert_eq!(found(&finder, &format!("x {text} y")), [text.to_owned()]);
        }
    }

    #[test]
    fn what_chance_would_find_cannot_be_registered() {
        for (name, secret, code) in [
            ("a", "short", "secret_too_short"),
            ("a", "aaaaaaaaaa", "secret_too_short"),
            ("A", "long enough", "bad_redaction_name"),
        ] {
            let registered = Registered { name: name.to_owned(), secret: secret.as_bytes().to_vec() };
            assert_eq!(check(&registered).unwrap_err().code(), code);
        }
        let long = Registered { name: "a".to_owned(), secret: (0..=255).cycle().take(LONGEST + 1).collect() };
        assert_eq!(check(&long).unwrap_err().code(), "secret_too_long");
        assert!(!format!("{:?}", Registered { name: "n".to_owned(), secret: b"hunter2x".to_vec() }).contains("hunter"));
    }
}
