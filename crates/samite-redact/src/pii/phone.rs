//! Telephone numbers.

use super::{Context, Number, is_date};
use crate::alphabet::{BLANK, DIGIT, before, byte, follows_any_case};

/// Words that a number is called by.
const WORDS: &[&str] = &[
    "phone",
    "call",
    "mobile",
    "cell",
    "tel",
    "fax",
    "contact",
    "reach",
    "dial",
    "sms",
    "whatsapp",
    "ring me",
    "ring us",
    "hotline",
    "answer",
    "message",
    "text me",
    "text us",
    "desk",
    "office",
    "handy",
    "mobil",
    "téléphone",
    "registered",
];
/// Words that stand after one.
const AFTER: &[&str] = &["office", "fax", "mobile", "phone", "cell", "(home", "(work", "(mobile", "home)", "work)"];

/// Whether a number of so many groups is one.
pub(super) fn look(number: &Number<'_>, groups: usize, context: &Context<'_>) -> bool {
    let digits = number.digits(groups);
    let end = number.end(groups);
    if !(6..=15).contains(&digits.len()) || !(number.ends(groups) || matches!(byte(number.text, end), b'x' | b'X')) {
        return false;
    }
    let lengths = number.lengths(groups);
    // Digits one by one are a list.
    if lengths.iter().all(|length| *length < 2) {
        return false;
    }
    if is_day(lengths, digits, number.joined_by(groups, b' '))
        || matches!(before(number.text, number.start), b'.' | b'/' | b'-' | b'#' | b'$' | b'=' | b'&' | b'?' | b'%')
            && !context.says(WORDS)
    {
        return false;
    }
    let dotted = (1..groups).any(|group| number.sign(group) == b'.');
    if (1..groups).any(|group| number.sign(group) == b'/') {
        return false;
    }
    let first = byte(number.text, number.start);
    let starts_at_digit = DIGIT.has(first);
    if first == b'+' {
        return (8..=15).contains(&digits.len()) && digits.first() != Some(&0);
    }
    let area = first == b'(' && byte(number.text, number.end(1)) == b')';
    let form = match lengths {
        // The form of North America, with dots only where nothing else has them.
        [3, 3, 4] => {
            digits.first().is_some_and(|digit| *digit >= 2)
                && (area
                    || number.joined_by(groups, b'-')
                    || number.joined_by(groups, b'.')
                    || number.joined_by(groups, b' ') && context.says(WORDS))
        }
        [1, 3, 3, 4] => digits.first() == Some(&1),
        [3, 3, 3, 4] => digits.starts_with(&[0, 0, 1]),
        // The ten digits of France, with a nought before.
        [2, 2, 2, 2, 2] => digits.first() == Some(&0) && !number.joined_by(groups, b'-'),
        // The eleven of Britain.
        [5, 6] | [3, 4, 4] | [4, 3, 4] | [5, 3, 3] => digits.first() == Some(&0) && starts_at_digit,
        _ => false,
    };
    // An area in brackets.
    let bracketed = area && matches!(lengths, [2..=5, 3..=8] | [2..=5, 2..=4, 2..=4]) && digits.len() >= 8;
    let form = form || bracketed;
    let abroad = starts_at_digit
        && digits.starts_with(&[0, 0])
        && (10..=15).contains(&digits.len())
        && digits.get(2) != Some(&0)
        && groups >= 2;
    if form && !(dotted && lengths.len() == 2) || abroad {
        return true;
    }
    // Any groups at all, where words say what they are.
    let likely = digits.len() >= 6 && digits.len() <= 13 && (lengths.iter().all(|length| *length >= 1) && groups <= 6);
    // `call a taxi to 12 345 Some Street` names a house.
    let next = |at: usize| byte(number.text, end + at);
    let house = next(0) == b' ' && next(1).is_ascii_uppercase() && next(2).is_ascii_alphabetic();
    likely
        && !house
        // Six digits in one are many things.
        && (groups > 1 || digits.len() > 6)
        && (context.says(WORDS) || context.goes_on(end, AFTER))
        && !context.says(&["port", "pid", "card", "order", "invoice", "error", "code", "line", "id:", "version"])
}

/// `12.02.2026`, `2026-02-12`, `12/02/26`.
fn is_day(lengths: &[usize], digits: &[u8], blank: bool) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    match lengths {
        [4, 2, 2, ..] => is_date(part(0, 4), part(4, 6), part(6, 8)),
        [2, 2, 4, ..] => is_date(part(4, 8), part(2, 4), part(0, 2)) || is_date(part(4, 8), part(0, 2), part(2, 4)),
        [1 | 2, 1 | 2, 2 | 4] => !blank,
        _ => false,
    }
}

/// Where the extension after a number ends, such as `x123` and ` ext. 4`.
pub(super) fn extension(text: &[u8], end: usize) -> usize {
    let blank = end + BLANK.run(text, end, 2);
    let word = ["extension", "ext.", "ext", "x"].iter().find(|word| follows_any_case(text, blank, word.as_bytes()));
    let Some(word) = word else { return end };
    let digits_at = blank + word.len() + BLANK.run(text, blank + word.len(), 2);
    let digits = DIGIT.run(text, digits_at, 6);
    if digits == 0 { end } else { digits_at + digits }
}
