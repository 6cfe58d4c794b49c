//! Sets of bytes, and careful access to them.

/// A set of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Alphabet([u64; 4]);

impl Alphabet {
    /// The bytes that a list such as `a-zA-Z0-9_-` names; a hyphen at its end stands for itself.
    #[expect(clippy::indexing_slicing, reason = "lists are constants of this crate, and within their bounds")]
    pub(crate) const fn of(list: &[u8]) -> Self {
        let mut bits = [0_u64; 4];
        let mut at = 0;
        while at < list.len() {
            let mut next = list[at];
            let mut end = next;
            if at + 2 < list.len() && list[at + 1] == b'-' {
                end = list[at + 2];
                at += 2;
            }
            loop {
                bits[(next >> 6) as usize] |= 1 << (next & 63);
                if next >= end {
                    break;
                }
                next += 1;
            }
            at += 1;
        }
        Self(bits)
    }

    /// Whether a byte is in it.
    #[inline]
    pub(crate) fn has(self, byte: u8) -> bool {
        self.0.get(usize::from(byte >> 6)).is_some_and(|bits| bits >> (byte & 63) & 1 == 1)
    }

    /// How many bytes from `at` on are in it, up to `most`.
    #[inline]
    pub(crate) fn run(self, text: &[u8], at: usize, most: usize) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        rest.iter().take(most).take_while(|byte| self.has(**byte)).count()
    }

    /// Where the bytes of it that end before `at` begin, at most `most` of them.
    #[inline]
    pub(crate) fn run_back(self, text: &[u8], at: usize, most: usize) -> usize {
        let before = text.get(..at).unwrap_or_default();
        at - before.iter().rev().take(most).take_while(|byte| self.has(**byte)).count()
    }

    /// Whether all of these bytes are in it.
    pub(crate) fn covers(self, text: &[u8]) -> bool {
        text.iter().all(|byte| self.has(*byte))
    }
}

/// Decimal digits.
pub(crate) const DIGIT: Alphabet = Alphabet::of(b"0-9");
/// Lower-case hexadecimal.
pub(crate) const HEX: Alphabet = Alphabet::of(b"0-9a-f");
/// Hexadecimal of either case.
pub(crate) const HEX_ANY: Alphabet = Alphabet::of(b"0-9a-fA-F");
/// Letters and digits.
pub(crate) const ALNUM: Alphabet = Alphabet::of(b"a-zA-Z0-9");
/// Letters.
pub(crate) const ALPHA: Alphabet = Alphabet::of(b"a-zA-Z");
/// Small letters and digits.
pub(crate) const LOWER: Alphabet = Alphabet::of(b"a-z0-9");
/// Capitals and digits.
pub(crate) const UPPER: Alphabet = Alphabet::of(b"A-Z0-9");
/// Letters, digits and the underscore.
pub(crate) const WORD: Alphabet = Alphabet::of(b"a-zA-Z0-9_");
/// The alphabet of base64 for URLs.
pub(crate) const URL64: Alphabet = Alphabet::of(b"a-zA-Z0-9_-");
/// The same with the padding.
pub(crate) const URL64_PAD: Alphabet = Alphabet::of(b"a-zA-Z0-9_=-");
/// The alphabet of base64.
pub(crate) const STD64: Alphabet = Alphabet::of(b"a-zA-Z0-9+/");
/// Both alphabets of base64, with the padding.
pub(crate) const ANY64: Alphabet = Alphabet::of(b"a-zA-Z0-9+/_=-");
/// Blanks within a line.
pub(crate) const BLANK: Alphabet = Alphabet::of(b" \t");

/// The byte at a place; none is 0.
#[inline]
pub(crate) fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// The byte before a place; none is 0.
#[inline]
pub(crate) fn before(text: &[u8], at: usize) -> u8 {
    at.checked_sub(1).and_then(|at| text.get(at)).copied().unwrap_or(0)
}

/// A part of a text, as far as it is there.
#[inline]
pub(crate) fn slice(text: &[u8], from: usize, to: usize) -> &[u8] {
    text.get(from.min(text.len())..to.clamp(from.min(text.len()), text.len())).unwrap_or_default()
}

/// Whether a text goes on with these bytes at a place.
#[inline]
pub(crate) fn follows(text: &[u8], at: usize, what: &[u8]) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(what))
}

/// The same, whatever the case of its letters.
#[inline]
pub(crate) fn follows_any_case(text: &[u8], at: usize, what: &[u8]) -> bool {
    slice(text, at, at + what.len()).eq_ignore_ascii_case(what)
}

/// Whether a word can begin at a place: what is before it is no letter or digit, or belongs to an escape sequence
/// (`\n`, `\u003d`, `%3D`), as in a text that is encoded once more.
pub(crate) fn begins_word(text: &[u8], at: usize) -> bool {
    let last = before(text, at);
    if !ALNUM.has(last) {
        return true;
    }
    if is_escaped(text, at - 1) {
        return matches!(last, b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'0');
    }
    let hex = |from: usize| from <= at && HEX_ANY.covers(slice(text, from, at));
    if at >= 3 && byte(text, at - 3) == b'%' && hex(at - 2) {
        return true;
    }
    if at >= 6 && byte(text, at - 5) == b'u' && is_escaped(text, at - 5) && hex(at - 4) {
        return true;
    }
    at >= 4 && byte(text, at - 3) == b'x' && is_escaped(text, at - 3) && hex(at - 2)
}

/// A place, or the one after it where it is the letter of an escape such as `\n`: what begins there is no part of it.
pub(crate) fn past_escape(text: &[u8], at: usize) -> usize {
    let letter = is_escaped(text, at) && matches!(byte(text, at), b'n' | b'r' | b't' | b'b' | b'f' | b'v');
    at + usize::from(letter)
}

/// Whether the byte at a place follows a backslash.
pub(crate) fn is_escaped(text: &[u8], at: usize) -> bool {
    before(text, at) == b'\\'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_ranges_and_single_bytes() {
        let set = Alphabet::of(b"a-c_-");
        for byte in 0..=255 {
            assert_eq!(set.has(byte), b"abc_-".contains(&byte), "{byte}");
        }
        assert_eq!(set.run(b"xabc_d", 1, 9), 4);
        assert_eq!(set.run(b"xabc_d", 1, 2), 2);
        assert_eq!(set.run_back(b"xabc_d", 5, 9), 1);
        assert_eq!(set.run_back(b"xabc_d", 5, 2), 3);
    }

    #[test]
    fn a_word_begins_after_what_is_no_word_and_after_an_escape() {
        for (text, at, expected) in [
            (&b"ghp"[..], 0, true),
            (b" ghp", 1, true),
            (b"aghp", 1, false),
            (br"a\nghp", 3, true),
            (br"a\qghp", 3, false),
            (b"%3Dghp", 3, true),
            (b"a3Dghp", 3, false),
            (br"\u003dghp", 6, true),
            (br"\x3dghp", 4, true),
        ] {
            assert_eq!(begins_word(text, at), expected, "{}", String::from_utf8_lossy(text));
        }
    }
}
