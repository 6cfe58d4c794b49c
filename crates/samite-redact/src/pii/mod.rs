//! Personal data that has a form: addresses of mail and of the internet, telephone numbers, cards, accounts, and the numbers
//! that states give to persons. What has check digits must satisfy them.

mod account;
mod card;
mod email;
mod internet;
mod letters;
mod person;
mod phone;

use crate::alphabet::{ALNUM, Alphabet, DIGIT, before, begins_word, byte, is_escaped, past_escape, slice};
use crate::finding::{Hit, Rank};
use crate::policy::Class;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

/// Adds the personal data of a text; `name` is what the field around it is called.
pub(crate) fn scan(text: &[u8], name: &[u8], hits: &mut Vec<Hit>) {
    email::scan(text, hits);
    let mut at = 0;
    while at < text.len() {
        let next = byte(text, at);
        if !START.has(next) || past_escape(text, at) > at {
            at += 1;
            continue;
        }
        let begins = begins_word(text, at) && !is_word(before(text, at)) || is_escape(text, at);
        if begins && (DIGIT.has(next) || matches!(next, b'+' | b'(') && starts_number(text, at)) {
            let number = Number::at(text, at);
            at = number.look(name, hits).max(at + 1);
        } else if begins && next.is_ascii_alphabetic() {
            at = letters::look(text, at, name, hits);
        } else if begins && next == b':' && byte(text, at + 1) == b':' {
            at = internet::version6(text, at, hits).unwrap_or(at + 2);
        } else if ALNUM.has(next) {
            at += ALNUM.run(text, at, usize::MAX - 1);
        } else {
            at += 1;
        }
    }
}

/// What a thing that is looked for, or a word, begins with.
const START: Alphabet = Alphabet::of(b"a-zA-Z0-9+(:");

fn is_word(byte: u8) -> bool {
    ALNUM.has(byte) || byte == b'_' || byte >= 0x80
}

/// Whether the letter before a place belongs to an escape such as `\n`, as in a text that is encoded once more.
fn is_escape(text: &[u8], at: usize) -> bool {
    at >= 2 && is_escaped(text, at - 1) && matches!(before(text, at), b'n' | b'r' | b't')
}

fn starts_number(text: &[u8], at: usize) -> bool {
    DIGIT.has(byte(text, at + 1))
        || byte(text, at + 1) == b'(' && DIGIT.has(byte(text, at + 2))
        // One digit and a dot begin an address, and else a number with a fraction.
        || byte(text, at + 1) == b'.' && DIGIT.run(text, at + 2, 4) < 4 && begins_address(text, at)
}

/// Whether four groups of digits follow with dots between them.
fn begins_address(text: &[u8], at: usize) -> bool {
    let mut at = at;
    for group in 0..4 {
        let digits = DIGIT.run(text, at, 4);
        if !(1..=3).contains(&digits) || group < 3 && byte(text, at + digits) != b'.' {
            return false;
        }
        at += digits + 1;
    }
    true
}

fn add(hits: &mut Vec<Hit>, range: Range<usize>, kind: &'static str) {
    hits.push(Hit { range, class: Class::Pii, kind: Cow::Borrowed(kind), rank: Rank::Person });
}

/// How many groups of digits are read as one number.
const GROUPS: usize = 9;
/// How many digits the longest number that is known has.
const DIGITS: usize = 19;

/// Groups of digits with signs between them. It allocates nothing: most numbers of a text are none of those looked for.
pub(crate) struct Number<'a> {
    text: &'a [u8],
    start: usize,
    /// Where the groups end.
    ends: [usize; GROUPS],
    /// How long the groups are.
    lengths: [usize; GROUPS],
    /// How many groups there are.
    groups: usize,
    /// The digits of the first groups, as far as they have room.
    digits: [u8; DIGITS],
}

impl<'a> Number<'a> {
    /// The number whose first sign or digit is at a place.
    fn at(text: &'a [u8], start: usize) -> Self {
        let mut number = Self { text, start, ends: [0; GROUPS], lengths: [0; GROUPS], groups: 0, digits: [0; DIGITS] };
        let mut at = start;
        let mut room = number.digits.iter_mut();
        for (end, length) in number.ends.iter_mut().zip(&mut number.lengths) {
            // At most two signs between groups: `+41 (0)22`, `555) 123`.
            let mut signs = 0;
            while signs < 3 && matches!(byte(text, at), b' ' | b'-' | b'.' | b'/' | b'(' | b')' | b'+') {
                // A second blank, or a plus within, begins something else.
                if byte(text, at) == b' ' && before(text, at) == b' ' || byte(text, at) == b'+' && at > start {
                    break;
                }
                at += 1;
                signs += 1;
            }
            let digits = DIGIT.run(text, at, 40);
            if digits == 0 {
                break;
            }
            for (digit, place) in slice(text, at, at + digits).iter().zip(room.by_ref()) {
                *place = digit - b'0';
            }
            at += digits;
            *end = at;
            *length = digits;
            number.groups += 1;
        }
        number
    }

    /// The end of so many groups.
    fn end(&self, groups: usize) -> usize {
        groups.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(self.start)
    }

    /// Where the first digit stands.
    fn first(&self) -> usize {
        self.begin(0)
    }

    /// Where a group begins.
    fn begin(&self, group: usize) -> usize {
        match (self.ends.get(group), self.lengths.get(group)) {
            (Some(end), Some(length)) => end - length,
            _ => self.start,
        }
    }

    /// The digits of the first groups; none at all where they are more than any number has.
    fn digits(&self, groups: usize) -> &[u8] {
        self.digits.get(..self.lengths(groups).iter().sum()).unwrap_or_default()
    }

    /// The lengths of the first groups.
    fn lengths(&self, groups: usize) -> &[usize] {
        self.lengths.get(..groups).unwrap_or_default()
    }

    /// The sign before a group, from the second one on.
    fn sign(&self, group: usize) -> u8 {
        if group < self.groups { before(self.text, self.begin(group)) } else { 0 }
    }

    /// Whether all signs between the first groups are this one.
    fn joined_by(&self, groups: usize, sign: u8) -> bool {
        (1..groups)
            .all(|group| group < self.groups && self.begin(group) == self.end(group) + 1 && self.sign(group) == sign)
    }

    /// Whether nothing of a word, or of a longer number, follows the first groups.
    fn ends(&self, groups: usize) -> bool {
        let end = self.end(groups);
        let next = byte(self.text, end);
        let goes_on = next == b'.' && DIGIT.has(byte(self.text, end + 1)) && self.groups > groups;
        !is_word(next) && !goes_on
    }

    /// Looks for all that begins with this number, and answers with where to go on.
    fn look(&self, name: &[u8], hits: &mut Vec<Hit>) -> usize {
        if self.groups == 0 {
            return self.start + 1;
        }
        if let Some(end) = internet::version6(self.text, self.start, hits) {
            return end;
        }
        // The digits after a decimal point are nobody's.
        let point = self.start.checked_sub(1).filter(|at| byte(self.text, *at) == b'.');
        let fraction = point.is_some_and(|at| DIGIT.has(before(self.text, at)))
            && self.lengths(1).iter().all(|length| *length > 3);
        if fraction {
            return self.end(1);
        }
        // Nothing but four small numbers with dots is shorter than six digits.
        if self.groups < 4 && self.lengths(self.groups).iter().sum::<usize>() < 6 {
            return self.end(1);
        }
        let context = Context::new(self.text, self.start, name);
        let first = self.first();
        // The longest reading is the right one; a list of numbers is read one by one.
        for groups in (1..=self.groups).rev() {
            let end = self.end(groups);
            let found = if let Some(kind) = internet::version4(self, groups, &context) {
                Some((first, kind))
            } else if let Some(kind) = card::look(self, groups) {
                Some((first, kind))
            } else if let Some(kind) = person::look(self, groups, &context) {
                Some((first, kind))
            } else {
                phone::look(self, groups, &context).then_some((self.start, "phone"))
            };
            if let Some((start, kind)) = found {
                let end = if kind == "phone" { phone::extension(self.text, end) } else { end };
                add(hits, start..end, kind);
                return end;
            }
        }
        // What begins with a letter after the first group is looked at by itself.
        let end = self.end(1);
        if let Some(end) = person::with_letter(self.text, first, hits) { end } else { end }
    }
}

/// What stands around a number.
pub(crate) struct Context<'a> {
    text: &'a [u8],
    start: usize,
    name: &'a [u8],
    /// What stands before, in small letters; made when it is asked for first.
    near: OnceCell<Vec<u8>>,
    /// The field's name, in the same way.
    field: OnceCell<Vec<u8>>,
}

impl<'a> Context<'a> {
    fn new(text: &'a [u8], start: usize, name: &'a [u8]) -> Self {
        Self { text, start, name, near: OnceCell::new(), field: OnceCell::new() }
    }

    /// Whether one of these words, in small letters, stands shortly before, or names the field.
    pub(crate) fn says(&self, words: &[&str]) -> bool {
        let near =
            self.near.get_or_init(|| slice(self.text, self.start.saturating_sub(48), self.start).to_ascii_lowercase());
        if words.iter().any(|word| has_word(near, word.as_bytes())) {
            return true;
        }
        let field = self.field.get_or_init(|| slice(self.name, 0, 64).to_ascii_lowercase());
        !field.is_empty() && words.iter().any(|word| memchr::memmem::find(field, word.as_bytes()).is_some())
    }

    /// Whether one of these words comes right after a place.
    pub(crate) fn goes_on(&self, end: usize, words: &[&str]) -> bool {
        let after = slice(self.text, end, end + 12).to_ascii_lowercase();
        let after = after.trim_ascii_start();
        words.iter().any(|word| {
            after.starts_with(word.as_bytes())
                || after.strip_prefix(b"-").is_some_and(|after| after.starts_with(word.as_bytes()))
        })
    }
}

/// Whether a text has a word. A long one may be the end of another (`smartphone`); a short one is then another word (`report`).
fn has_word(text: &[u8], word: &[u8]) -> bool {
    const LONG: usize = 5;
    memchr::memmem::find_iter(text, word).any(|place| {
        let within = place > 0 && text.get(place - 1).is_some_and(u8::is_ascii_alphabetic);
        !within || word.len() >= LONG
    })
}

/// Whether six digits are a day of a month of a year, in one of the usual orders.
pub(crate) fn is_date(year: &[u8], month: &[u8], day: &[u8]) -> bool {
    let number = |digits: &[u8]| digits.iter().fold(0_u32, |number, digit| number * 10 + u32::from(*digit));
    !year.is_empty() && (1..=12).contains(&number(month)) && (1..=31).contains(&number(day))
}

/// The sum of digits, each times its weight.
pub(crate) fn weighted(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| u32::from(*digit) * weight).sum()
}

/// Whether the last digit is the check digit that Luhn's rule gives.
pub(crate) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let doubled = u32::from(*digit) << (at % 2);
            if doubled > 9 { doubled - 9 } else { doubled }
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
pub(crate) fn found(text: &str) -> Vec<(String, String)> {
    let mut hits = Vec::new();
    scan(text.as_bytes(), b"", &mut hits);
    hits.into_iter().map(|hit| (text[hit.range].to_owned(), hit.kind.into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        found(text).into_iter().map(|one| one.1).collect()
    }

    #[test]
    fn what_has_a_form_is_found() {
        for (text, expected) in [
            ("mail jane.doe+x@mail.example.org.", "jane.doe+x@mail.example.org"),
            ("card 4111 1111 1111 1111, please", "4111 1111 1111 1111"),
            ("pay 378282246310005 now", "378282246310005"),
            ("IBAN DE89 3704 0044 0532 0130 00.", "DE89 3704 0044 0532 0130 00"),
            ("to GB82WEST12345698765432 today", "GB82WEST12345698765432"),
            ("call +1 (212) 555-0123 or", "+1 (212) 555-0123"),
            ("(212) 555-0123", "(212) 555-0123"),
            ("tel 020 7946 0958", "020 7946 0958"),
            ("Call support at 061 234 5678", "061 234 5678"),
            ("News reporter, phone 0680 390 92 93", "0680 390 92 93"),
            ("Phone of the airport: 7700123456", "7700123456"),
            ("her smartphone 061 234 5678", "061 234 5678"),
            ("SSN 536-90-4399", "536-90-4399"),
            ("NINO AB123456C", "AB123456C"),
            ("DNI 12345678Z", "12345678Z"),
            ("PESEL 44051401359", "44051401359"),
            ("CPF 529.982.247-25", "529.982.247-25"),
            ("from 203.0.113.7 at", "203.0.113.7"),
            ("ask the server 8.8.8.8 for", "8.8.8.8"),
            ("connect 10.1.2.3 now", "10.1.2.3"),
            ("8.8.4.4", "8.8.4.4"),
            ("10.1.2.3:8080 is up", "10.1.2.3"),
            ("allow 10.1.0.0/16 only", "10.1.0.0"),
            ("host 2001:db8:85a3::8a2e:370:7334 up", "2001:db8:85a3::8a2e:370:7334"),
            ("CF RSSMRA85T10A562S", "RSSMRA85T10A562S"),
        ] {
            let found = found(text);
            assert!(found.iter().any(|one| one.0 == expected), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_only_looks_alike_is_not() {
        for text in [
            "at 2026-02-12T16:02:25.227Z on 12.02.2026",
            "version 1.2.3.4 and v10.20.30.40",
            "rails 5.2.4.3, release 8.8.8.8, 1.2.3.4: fixes",
            "127.0.0.1:8080 and 0.0.0.0",
            "4111 1111 1111 1112",
            "1700000000000 ms, 1700000000000000000 ns",
            "DE89 3704 0044 0532 0130 01",
            "std::fs::read and a::b",
            "git@github.com:owner/repo.git",
            "icon@2x.png and react@18.2.0",
            "536-00-4399 or 666-12-1234",
            "12345678A",
            "line 120-140, 12:30:45, 3.14159, 100 000",
            "a1b2c3d4-1234-5678-9012-123456789012",
            "00:1a:2b:3c:4d:5e",
            "0.4111111111111111 and 1.378282246310005",
            "highlightElement and Highlightelement",
            "message 100644, registered 100755",
            "Dr. Marcella Beneventi Suite 393 328 69 Almond Place",
            "Excellent lot 393 328",
            "at the hotel, room 393 328",
        ] {
            assert_eq!(kinds(text), Vec::<String>::new(), "{text}");
        }
    }
}
