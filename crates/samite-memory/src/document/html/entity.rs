//! Character references: `&amp;`, `&#233;`, `&#x202e;`.

use html_escape::NAMED_ENTITIES;

/// The longest name there is, in bytes.
const LONGEST: usize = 31;
/// Names that count without a semicolon, of which a page may have some; the others of HTML's hundred are too rare.
const BARE: &[&str] = &["AMP", "GT", "LT", "QUOT", "amp", "copy", "gt", "lt", "nbsp", "quot", "reg", "shy"];
/// What the numbers 128 to 159 mean: those of Windows-1252, as browsers have it.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// What a reference stands for.
pub(super) enum Meaning {
    /// One character, by its number.
    Character(char),
    /// What a name stands for.
    Text(&'static str),
}

impl Meaning {
    /// Appends it.
    pub(super) fn push_to(&self, text: &mut String) {
        match self {
            Self::Character(character) => text.push(*character),
            Self::Text(meant) => text.push_str(meant),
        }
    }
}

/// The reference that a text begins with, which begins with `&`: what it stands for, and how many bytes it has.
///
/// What is no reference is text.
pub(super) fn reference(text: &str) -> Option<(Meaning, usize)> {
    let rest = text.strip_prefix('&')?;
    if let Some(number) = rest.strip_prefix('#') {
        let (digits, radix, before) = match number.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16, 3),
            None => (number, 10, 2),
        };
        let length = digits.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count();
        let value = digits.get(..length).filter(|digits| !digits.is_empty())?;
        let end = before + length + usize::from(digits.as_bytes().get(length) == Some(&b';'));
        let code = u32::from_str_radix(value, radix).unwrap_or(u32::MAX);
        return Some((Meaning::Character(character(code)), end));
    }
    let length = rest.bytes().take(LONGEST + 1).take_while(u8::is_ascii_alphanumeric).count();
    let name = rest.get(..length)?;
    if rest.as_bytes().get(length) == Some(&b';')
        && let Ok(place) = NAMED_ENTITIES.binary_search_by(|(known, _)| (*known).cmp(name.as_bytes()))
    {
        return NAMED_ENTITIES.get(place).map(|(_, meant)| (Meaning::Text(meant), length + 2));
    }
    let bare = BARE.iter().find(|bare| name.starts_with(**bare))?;
    let place = NAMED_ENTITIES.binary_search_by(|(known, _)| (*known).cmp(bare.as_bytes())).ok()?;
    NAMED_ENTITIES.get(place).map(|(_, meant)| (Meaning::Text(meant), bare.len() + 1))
}

fn character(code: u32) -> char {
    let windows = code.checked_sub(128).and_then(|place| WINDOWS.get(usize::try_from(place).ok()?));
    match (code, windows) {
        (0, _) => '\u{fffd}',
        (_, Some(character)) => *character,
        _ => char::from_u32(code).unwrap_or('\u{fffd}'),
    }
}

/// A text with what its references stand for.
pub(super) fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        let length = if let Some((meaning, length)) = reference(rest) {
            meaning.push_to(&mut out);
            length
        } else {
            out.push('&');
            1
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}
