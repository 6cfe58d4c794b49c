//! What begins with a letter: accounts, numbers of persons with letters, addresses of version 6.

use super::{Context, account, add, internet, is_word, person};
use crate::alphabet::{ALNUM, ALPHA, Alphabet, DIGIT, byte, slice};
use crate::finding::Hit;

/// Looks at the word at a place, and answers with where to go on.
pub(super) fn look(text: &[u8], start: usize, name: &[u8], hits: &mut Vec<Hit>) -> usize {
    let length = ALNUM.run(text, start, usize::MAX - 1);
    let end = start + length;
    let next = byte(text, end);
    if next == b':'
        && length <= 4
        && let Some(end) = internet::version6(text, start, hits)
    {
        return end;
    }
    if length >= 4
        && DIGIT.has(byte(text, start + 2))
        && let Some(range) = account::at(text, start)
    {
        add(hits, range.clone(), "iban");
        return range.end;
    }
    // Groups that would be an account but for its check digits are nothing else either.
    if length == 4
        && next == b' '
        && ALPHA.covers(slice(text, start, start + 2))
        && DIGIT.covers(slice(text, start + 2, end))
    {
        let groups = Alphabet::of(b"A-Z0-9 ").run(text, end, 40);
        return end + groups;
    }
    if is_word(next) {
        return end;
    }
    let word = slice(text, start, end);
    match length {
        // Most words are of no such length. An Italian number alone can be without a digit.
        9 | 10 | 16 | 18
            if length == 16 && word.iter().all(|byte| !byte.is_ascii_lowercase())
                || word.iter().any(u8::is_ascii_digit) =>
        {
            if let Some(kind) = kind(word, &Context::new(text, start, name)) {
                add(hits, start..end, kind);
            }
        }
        2 if ALPHA.covers(word) => return spaced_nino(text, start, hits).unwrap_or(end),
        _ => {}
    }
    end
}

fn kind(word: &[u8], context: &Context<'_>) -> Option<&'static str> {
    let upper = word.to_ascii_uppercase();
    let form: Vec<u8> = upper.iter().map(|byte| if DIGIT.has(*byte) { b'9' } else { b'A' }).collect();
    match form.as_slice() {
        b"AA999999A" if is_nino(&upper) && word == upper => Some("uk-nino"),
        b"A9999999A" if matches!(upper.first(), Some(b'X' | b'Y' | b'Z')) => {
            let lead = upper.first().map_or(0, |letter| u64::from(letter - b'X'));
            let number = slice(&upper, 1, 8).iter().fold(lead, |number, digit| number * 10 + u64::from(digit - b'0'));
            (upper.get(8) == Some(&person::dni_letter(number))).then_some("es-nie")
        }
        b"AAAAA9999A" if context.says(&["pan", "permanent account"]) => Some("in-pan"),
        b"A99999999" if matches!(upper.get(1), Some(b'1' | b'2' | b'8' | b'9')) && is_taiwanese(&upper) => {
            Some("tw-id")
        }
        _ if upper.len() == 16 && is_italian(&upper, &form) => Some("it-codice-fiscale"),
        _ if upper.len() == 18 && form.starts_with(b"AAAA999999AAAAAA") && is_mexican(&upper) => Some("mx-curp"),
        _ => None,
    }
}

/// Two letters that are in use, six digits, and a letter from A to D.
fn is_nino(word: &[u8]) -> bool {
    let (first, second) = (byte(word, 0), byte(word, 1));
    let pair = slice(word, 0, 2);
    !b"DFIQUV".contains(&first)
        && !b"DFIOQUV".contains(&second)
        && ![&b"BG"[..], b"GB", b"NK", b"KN", b"TN", b"NT", b"ZZ"].contains(&pair)
        && matches!(byte(word, 8), b'A'..=b'D')
}

/// `AB 12 34 56 C`.
fn spaced_nino(text: &[u8], start: usize, hits: &mut Vec<Hit>) -> Option<usize> {
    let whole = slice(text, start, start + 13);
    if !DIGIT.has(byte(text, start + 3)) {
        return None;
    }
    let form: Vec<u8> = whole
        .iter()
        .map(|byte| {
            if DIGIT.has(*byte) {
                b'9'
            } else if ALPHA.has(*byte) {
                b'A'
            } else {
                *byte
            }
        })
        .collect();
    if form != b"AA 99 99 99 A" || is_word(byte(text, start + 13)) {
        return None;
    }
    let word: Vec<u8> = whole.iter().copied().filter(|byte| *byte != b' ').collect();
    if !is_nino(&word) {
        return None;
    }
    add(hits, start..start + 13, "uk-nino");
    Some(start + 13)
}

/// What the characters at odd places of an Italian number count.
const ODD: [u32; 26] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

fn is_italian(word: &[u8], form: &[u8]) -> bool {
    // Digits may have become letters where two people would have the same.
    let stands_for_digit =
        |at: usize| byte(form, at) == b'9' || (b'L'..=b'V').contains(&byte(word, at)) && byte(word, at) != b'O';
    if ![6, 7, 9, 10, 12, 13, 14].into_iter().all(stands_for_digit) {
        return false;
    }
    if !form.starts_with(b"AAAAAA") || !b"ABCDEHLMPRST".contains(&byte(word, 8)) || byte(form, 15) != b'A' {
        return false;
    }
    let sum: u32 = word
        .iter()
        .take(15)
        .enumerate()
        .map(|(at, character)| {
            let place = if DIGIT.has(*character) { character - b'0' } else { character - b'A' };
            if at % 2 == 1 { u32::from(place) } else { ODD.get(usize::from(place)).copied().unwrap_or(0) }
        })
        .sum();
    byte(word, 15) == b'A' + u8::try_from(sum % 26).unwrap_or(0)
}

fn is_taiwanese(word: &[u8]) -> bool {
    let order = b"ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let Some(place) = order.iter().position(|letter| *letter == byte(word, 0)) else { return false };
    let number = u32::try_from(place).unwrap_or(0) + 10;
    let rest: u32 =
        slice(word, 1, 9).iter().zip((1..=8).rev()).map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    // The ninth digit is the check, with the weight 1.
    (number / 10 + number % 10 * 9 + rest).is_multiple_of(10)
}

fn is_mexican(word: &[u8]) -> bool {
    let order = "0123456789ABCDEFGHIJKLMN\u{d1}OPQRSTUVWXYZ";
    let values: Vec<u32> = word
        .iter()
        .filter_map(|letter| order.chars().position(|other| other == char::from(*letter)))
        .map(|place| u32::try_from(place).unwrap_or(0))
        .collect();
    let sum: u32 = values.iter().take(17).zip((2..=18).rev()).map(|(value, weight)| value * weight).sum();
    matches!(byte(word, 10), b'H' | b'M' | b'X') && values.get(17) == Some(&((10 - sum % 10) % 10))
}
