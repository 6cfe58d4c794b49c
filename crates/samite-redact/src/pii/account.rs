//! Numbers of bank accounts (IBAN).

use crate::alphabet::{ALNUM, byte, slice};
use std::ops::Range;

/// How long the numbers of each country are.
const LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BI", 27),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NI", 28),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"SO", 23),
    (b"ST", 25),
    (b"SV", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
    (b"YE", 30),
];

/// The account whose country's letters are at a place.
pub(super) fn at(text: &[u8], start: usize) -> Option<Range<usize>> {
    let country = slice(text, start, start + 2).to_ascii_uppercase();
    if !byte(text, start + 2).is_ascii_digit() || !byte(text, start + 3).is_ascii_digit() {
        return None;
    }
    let length = LENGTHS.iter().find(|(code, _)| country == **code)?.1;
    let mut characters = Vec::with_capacity(length);
    let mut at = start;
    while characters.len() < length {
        let next = byte(text, at);
        if ALNUM.has(next) {
            characters.push(next.to_ascii_uppercase());
        } else if !(matches!(next, b' ' | b'-') && ALNUM.has(byte(text, at + 1))) {
            return None;
        }
        at += 1;
    }
    (!ALNUM.has(byte(text, at)) && is_right(&characters)).then_some(start..at)
}

/// The rest by 97 of the number, letters counted from 10 and the first four characters at the end, is 1.
fn is_right(characters: &[u8]) -> bool {
    let turned = characters.iter().skip(4).chain(characters.iter().take(4));
    let rest = turned.fold(0_u32, |rest, character| {
        let value = char::from(*character).to_digit(36).unwrap_or(0);
        if value > 9 { (rest * 100 + value) % 97 } else { (rest * 10 + value) % 97 }
    });
    rest == 1
}
