//! Whether the value beside a name is a secret.

use super::harmless::{is_code, is_measure, is_path, is_placeholder, is_reference};
use super::name::Strength;
use crate::shape::{Shape, is_hex, is_number, is_uuid};

/// How a value stood in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// In quotes.
    Quoted,
    /// After `=` without a blank, as in files of settings and in URLs.
    Tight,
    /// After `: ` or ` = `, where code may stand as well.
    Loose,
    /// After a word of prose, or as the next argument of a command.
    Spaced,
}

/// Whether a value is a secret, given what its name says and how it is written.
pub(crate) fn is_secret(value: &[u8], strength: Strength, written: Written) -> bool {
    let least = match (strength, written) {
        (Strength::Password, Written::Spaced) => 7,
        (Strength::Password, _) => 5,
        (Strength::Strong, _) => 8,
        (Strength::Medium, _) => 12,
        (Strength::Weak, _) => 20,
    };
    if value.len() < least || value.len() > 8192 || is_placeholder(value) || is_reference(value) || is_path(value) {
        return false;
    }
    if is_measure(value) || is_binary(value) {
        return false;
    }
    if written != Written::Quoted && is_code(value) {
        return false;
    }
    let shape = Shape::of(value);
    if value.iter().any(u8::is_ascii_whitespace) {
        return is_phrase(value, strength, written);
    }
    if is_uuid(value) {
        return strength >= Strength::Strong;
    }
    if is_number(value) {
        return strength == Strength::Password && written != Written::Spaced && value.len() >= 6;
    }
    if is_hex(value) && shape.letters() > 0 {
        return match strength {
            Strength::Weak => false,
            Strength::Medium => value.len() >= 24,
            _ => value.len() >= 16 || shape.digits > 0 && value.len() >= 8,
        };
    }
    match strength {
        Strength::Weak => shape.is_random() && shape.digits > 0,
        Strength::Medium => shape.is_random(),
        Strength::Strong => {
            shape.is_random()
                || shape.digits > 0 && !is_named(value)
                || shape.special > 0 && is_mixed(&shape) && !is_sentence(value)
        }
        Strength::Password => {
            let mixed = is_mixed(&shape);
            match written {
                Written::Quoted | Written::Tight => {
                    mixed && !is_sentence(value) || shape.is_random() || is_odd_word(&shape)
                }
                Written::Loose => {
                    mixed && !is_named(value) && !is_sentence(value) || shape.is_random() || is_odd_word(&shape)
                }
                Written::Spaced => {
                    mixed && (shape.digits > 0 && shape.letters() > 0) && !is_named(value) && !is_sentence(value)
                        || shape.is_random()
                }
            }
        }
    }
}

/// Bytes that nobody types: those of a picture or an archive, among which three happen to look like a name. Text that is cut
/// within a character, or has a few letters of another encoding, is none.
fn is_binary(value: &[u8]) -> bool {
    let control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let odd: usize = value.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    value.iter().any(control) || odd * 4 > value.len()
}

/// More than one kind of character.
fn is_mixed(shape: &Shape) -> bool {
    let kinds = [shape.lower > 0, shape.upper > 0, shape.digits > 0, shape.special > 0];
    let kinds = kinds.iter().filter(|kind| **kind).count();
    kinds >= 3 || kinds == 2 && (shape.digits > 0 || shape.special > 0)
}

/// Small words and short numbers with joints between them, such as `prod-db-2`: the name of something.
fn is_named(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| matches!(byte, b'-' | b'_' | b'.'));
    let jointed = parts.clone().nth(1).is_some();
    jointed
        && parts.all(|part| {
            let shape = Shape::of(part);
            let word = shape.lower == part.len() && (part.len() <= 8 || shape.is_wordy());
            let number = shape.digits == part.len() && part.len() <= 8;
            let both = part.len() <= 4 && shape.lower + shape.digits == part.len();
            word || number || both
        })
}

/// Letters that make no words.
fn is_odd_word(shape: &Shape) -> bool {
    shape.length >= 8 && shape.pairs >= 7 && shape.common * 3 < shape.pairs
}

/// Ends or goes on as prose does.
fn is_sentence(value: &[u8]) -> bool {
    let shape = Shape::of(value);
    shape.digits == 0
        && shape.is_wordy()
        && shape.special <= 2
        && value.iter().any(|byte| matches!(byte, b',' | b':' | b';' | b'/' | b'\'' | b'"' | b'?' | b'|' | b'('))
        || shape.digits == 0
            && shape.is_wordy()
            && value.last().is_some_and(|byte| matches!(byte, b'.' | b'!' | b'?' | b':'))
            && shape.special <= 1
}

/// Several words in quotes: a pass phrase, or the words that a wallet is made again from.
fn is_phrase(value: &[u8], strength: Strength, written: Written) -> bool {
    let words: Vec<&[u8]> = value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let small = words.iter().all(|word| (3..=8).contains(&word.len()) && word.iter().all(u8::is_ascii_lowercase));
    written == Written::Quoted && strength >= Strength::Strong && small && matches!(words.len(), 12 | 15 | 18 | 21 | 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_judged_by_name_and_looks() {
        use Strength::{Medium, Password, Strong, Weak};
        use Written::{Loose, Quoted, Spaced, Tight};
        for (value, expected) in [
            (&b"P\xe4ssw\xf6rt7!x"[..], true),
            (b"hunter2\x1bxyz!", false),
            (b"\xcbo\xfb\xa7D\xb3z\xbaA7\x8f9\xc9BjRwQ\xf2c\xe0", false),
            ("Pässwört7!x".as_bytes(), true),
            ("秘密のパスワード7x".as_bytes(), true),
        ] {
            assert_eq!(is_secret(value, Password, Tight), expected, "{}", value.escape_ascii());
        }
        for (value, strength, written, expected) in [
            ("hunter2!", Password, Quoted, true),
            ("aB3xQz!9kLmPqRs", Password, Tight, true),
            ("Summer2024!", Password, Quoted, true),
            ("hunter2xyz", Password, Spaced, true),
            ("reset", Password, Spaced, false),
            ("required", Password, Quoted, false),
            ("getpass.getpass()", Password, Loose, false),
            ("Enter your password", Password, Quoted, false),
            ("must", Password, Spaced, false),
            ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", Strong, Tight, true),
            ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", Medium, Tight, true),
            ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", Weak, Tight, false),
            ("123e4567-e89b-12d3-a456-426614174000", Strong, Tight, true),
            ("123e4567-e89b-12d3-a456-426614174000", Weak, Tight, false),
            ("my-app-prod-2", Strong, Loose, false),
            ("128734", Medium, Loose, false),
            ("cl100k_base", Medium, Loose, false),
            ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYabcKEYq1w3", Strong, Tight, true),
            ("$TOKEN", Strong, Tight, false),
            ("/run/secrets/x", Password, Tight, false),
        ] {
            assert_eq!(is_secret(value.as_bytes(), strength, written), expected, "{value} {strength:?} {written:?}");
        }
    }
}
