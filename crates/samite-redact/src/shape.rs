//! What a string looks like: random or made of words, a digest, an id.

use crate::alphabet::{ALPHA, DIGIT, HEX_ANY, byte, slice};

/// Pairs of letters that English words and identifiers are largely made of.
const PAIRS: &[u8] = b"th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo ge ie ee em ad ol rt po na ul ni ts mo ow im mi sh ir su id os iv am fi ci vi pl ig tu ev ld mp bl ab gh ty op ay ex ke ap gr ag if";

const fn index(letter: u8) -> usize {
    (letter.to_ascii_lowercase() - b'a') as usize
}

#[expect(clippy::indexing_slicing, reason = "the list is a constant of pairs, and within its bounds")]
const fn table() -> [u32; 26] {
    let mut rows = [0_u32; 26];
    let mut at = 0;
    while at + 1 < PAIRS.len() {
        rows[index(PAIRS[at])] |= 1 << index(PAIRS[at + 1]);
        at += 3;
    }
    rows
}

static COMMON: [u32; 26] = table();

fn is_common(first: u8, second: u8) -> bool {
    COMMON.get(index(first)).is_some_and(|row| row >> index(second) & 1 == 1)
}

/// What a string is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) length: usize,
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    pub(crate) digits: usize,
    /// Bytes that are no letter, digit, hyphen, underscore or dot.
    pub(crate) special: usize,
    /// Hyphens, underscores and dots.
    pub(crate) joints: usize,
    /// Pairs of letters within a word, and those of them that are common in words.
    pub(crate) pairs: usize,
    pub(crate) common: usize,
    /// How many different bytes there are.
    pub(crate) distinct: usize,
    /// Shannon's entropy, in thousandths of a bit a byte.
    pub(crate) entropy: u32,
    /// How often a letter and a digit, or a capital after a small letter, are next to each other.
    pub(crate) changes: usize,
}

impl Shape {
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut shape = Self { length: text.len(), ..Self::default() };
        let mut counts = [0_u32; 256];
        let mut last = 0_u8;
        for &next in text {
            if let Some(count) = counts.get_mut(usize::from(next)) {
                *count += 1;
            }
            match next {
                b'a'..=b'z' => shape.lower += 1,
                b'A'..=b'Z' => shape.upper += 1,
                b'0'..=b'9' => shape.digits += 1,
                b'-' | b'_' | b'.' => shape.joints += 1,
                _ => shape.special += 1,
            }
            if last.is_ascii_alphabetic() && next.is_ascii_alphabetic() {
                // A new word begins at a capital after a small letter.
                if last.is_ascii_lowercase() && next.is_ascii_uppercase() {
                    shape.changes += 1;
                } else {
                    shape.pairs += 1;
                    shape.common += usize::from(is_common(last, next));
                }
            } else if last.is_ascii_alphanumeric()
                && next.is_ascii_alphanumeric()
                && last.is_ascii_digit() != next.is_ascii_digit()
            {
                shape.changes += 1;
            }
            last = next;
        }
        shape.distinct = counts.iter().filter(|count| **count > 0).count();
        shape.entropy = entropy(&counts, text.len());
        shape
    }

    pub(crate) fn letters(&self) -> usize {
        self.lower + self.upper
    }

    /// Whether its letters make words: more than half of their pairs are the usual ones.
    pub(crate) fn is_wordy(&self) -> bool {
        self.pairs >= 3 && self.common * 2 > self.pairs
    }

    /// Whether it may be drawn by lot, where something else says so already: it is no chain of words.
    pub(crate) fn is_drawn(&self) -> bool {
        let unordered = self.lower > 0 && self.upper > 0 && self.changes * 6 >= self.length;
        self.is_random()
            || self.distinct * 2 >= self.length.min(16)
                && (unordered || !self.is_wordy() || self.digits * 6 >= self.length)
                && self.joints * 6 <= self.length
    }

    /// Whether it looks drawn by lot: no words, no repetition, letters and digits that change often, or capitals and small
    /// letters without order.
    pub(crate) fn is_random(&self) -> bool {
        if self.length < 12 || self.distinct * 3 < self.length.min(24) {
            return false;
        }
        // What random bytes of this length and alphabet reach, less a margin.
        let kinds =
            usize::from(self.lower > 0) * 26 + usize::from(self.upper > 0) * 26 + usize::from(self.digits > 0) * 10;
        let floor = if kinds <= 16 { 2_400 } else { 2_900 };
        if self.entropy < floor {
            return false;
        }
        if self.pairs >= 6 && self.common * 20 > self.pairs * 11 {
            return false;
        }
        let alnum = self.letters() + self.digits;
        if self.joints * 5 > self.length {
            return false;
        }
        // Letters alone must mix their cases without order, or make no words at all.
        if self.digits == 0 {
            return self.changes * 8 >= alnum && self.lower > 2 && self.upper > 2
                || self.pairs >= 16 && self.common * 5 < self.pairs * 2;
        }
        self.changes * 7 >= alnum || self.pairs >= 10 && self.common * 5 < self.pairs * 2
    }
}

/// In thousandths of a bit.
fn entropy(counts: &[u32; 256], length: usize) -> u32 {
    if length == 0 {
        return 0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a length of a string that is looked at is far below 2^52")]
    let length = length as f64;
    let bits: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / length;
            -share * share.log2()
        })
        .sum();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 8,000")]
    let thousandths = (bits * 1000.0) as u32;
    thousandths
}

/// A UUID in its usual form.
pub(crate) fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => HEX_ANY.has(*byte),
        })
}

/// Hexadecimal digits alone, of any length.
pub(crate) fn is_hex(text: &[u8]) -> bool {
    !text.is_empty() && HEX_ANY.covers(text)
}

/// Decimal digits alone.
pub(crate) fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && DIGIT.covers(text)
}

/// A date at its beginning, such as that of `2026-02-12T16:02`.
pub(crate) fn begins_with_date(text: &[u8]) -> bool {
    text.len() >= 10
        && DIGIT.covers(slice(text, 0, 4))
        && byte(text, 4) == b'-'
        && DIGIT.covers(slice(text, 5, 7))
        && byte(text, 7) == b'-'
        && DIGIT.covers(slice(text, 8, 10))
}

/// A date or a time and nothing else, such as `2026-02-12` or `2026-02-12T16:02:25.227+01:00`.
pub(crate) fn is_time(text: &[u8]) -> bool {
    let rest = slice(text, 10, text.len());
    let clock = match rest {
        [] => return begins_with_date(text),
        [b'T' | b't' | b' ', clock @ ..] => clock,
        _ => return false,
    };
    // Hours and minutes, then seconds and a fraction, then a zone.
    let pair = |at: usize| slice(clock, at, at + 2).len() == 2 && DIGIT.covers(slice(clock, at, at + 2));
    let mut at = 5;
    if !pair(0) || byte(clock, 2) != b':' || !pair(3) {
        return false;
    }
    if byte(clock, at) == b':' {
        if !pair(at + 1) {
            return false;
        }
        at += 3;
        if matches!(byte(clock, at), b'.' | b',') {
            let digits = DIGIT.run(clock, at + 1, 9);
            if digits == 0 {
                return false;
            }
            at += 1 + digits;
        }
    }
    let zone = slice(clock, at, clock.len());
    let zone = zone.strip_prefix(b" ").unwrap_or(zone);
    let is_zone = match zone {
        [] | [b'Z' | b'z'] | [b'U', b'T', b'C'] => true,
        [b'+' | b'-', offset @ ..] => {
            let digits = offset.iter().filter(|byte| DIGIT.has(**byte)).count();
            matches!((digits, offset.len()), (2, 2) | (4, 4))
                || digits == 4 && offset.len() == 5 && byte(offset, 2) == b':'
        }
        _ => false,
    };
    begins_with_date(text) && is_zone
}

/// The words of an identifier, in small letters: `OPENAI_API_KEY`, `clientSecret`, `x-api-key`.
pub(crate) fn words(identifier: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut last = 0_u8;
    for (at, &next) in identifier.iter().enumerate() {
        // `camelCase` and `HTTPServer` are two words each.
        let hump = next.is_ascii_uppercase()
            && (last.is_ascii_lowercase()
                || last.is_ascii_uppercase() && byte(identifier, at + 1).is_ascii_lowercase());
        if (!ALPHA.has(next) || hump) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if ALPHA.has(next) {
            word.push(char::from(next.to_ascii_lowercase()));
        }
        last = next;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_by_lot_is_told_from_words() {
        for text in [
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "wJalrXUtnFEMIxK7MDENGxbPxRfiCYzzzq1kd",
            "kR9wPq2LmXv7TzBn4YcD8sHf",
            "hGqXzWbKvTnRmPlJkYcDsFaEuIoQwZxVbN",
            "q7w8e9r1t2y3u4i5o6p0",
        ] {
            assert!(Shape::of(text.as_bytes()).is_random(), "{text}");
        }
        for text in [
            "my-service-account-name",
            "com.example.application.ServiceTokenProvider",
            "getCurrentUserAccessTokenFromSession",
            "cl100k_base",
            "aaaaaaaaaaaaaaaaaaaaaaaa",
            "claude-3-5-sonnet-20241022",
            "kubernetes.io/service-account-token",
            "test-fixture-user-password-1",
        ] {
            assert!(!Shape::of(text.as_bytes()).is_random(), "{text}");
        }
    }

    #[test]
    fn identifiers_are_split_into_words() {
        for (identifier, expected) in [
            ("OPENAI_API_KEY", "openai api key"),
            ("clientSecret", "client secret"),
            ("x-api-key", "x api key"),
            ("HTTPServerToken2", "http server token"),
            ("spring.datasource.password", "spring datasource password"),
            ("__", ""),
        ] {
            assert_eq!(words(identifier.as_bytes()).join(" "), expected);
        }
    }

    #[test]
    fn ids_and_times_are_recognised() {
        assert!(is_uuid(b"123e4567-e89b-12d3-a456-426614174000"));
        assert!(!is_uuid(b"123e4567-e89b-12d3-a456-42661417400g"));
        for time in [
            "2026-02-12",
            "2026-02-12T16:02",
            "2026-02-12T16:02:25.227Z",
            "2026-02-12 16:02:25,227 +0100",
            "2026-02-12T16:02:25.227123456-05:30",
        ] {
            assert!(is_time(time.as_bytes()), "{time}");
        }
        for text in
            ["2026-2-12", "2026-02-12 hunter2", "2026-02-12T16:02:25.227Z x", "2026-02-12T16", "2026-02-12T16:02:25+x"]
        {
            assert!(!is_time(text.as_bytes()), "{text}");
        }
        assert!(begins_with_date(b"2026-02-12 hunter2") && !begins_with_date(b"2026-2-12"));
        assert!(is_hex(b"00ff") && !is_hex(b"") && !is_hex(b"0g"));
    }
}
