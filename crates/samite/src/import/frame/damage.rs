//! Finding the record in a line that may be damaged.

use std::borrow::Cow;
use std::ops::Range;

/// What is wrong with a line's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// It is no JSON value: torn, interleaved with another, or overwritten.
    Torn,
    /// As [`Flaw::Torn`], in the last line, which no line feed ends: its writer may have died, or not be done.
    Unfinished,
    /// A whole record follows the torn head of another.
    Glued,
    /// A whole record stands among NUL bytes, as a lost block leaves them.
    NulBytes,
    /// A whole record with bytes that are no UTF-8.
    NotUtf8,
}

impl Flaw {
    /// A stable name, lower case words joined by `_`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Torn => "torn",
            Self::Unfinished => "unfinished",
            Self::Glued => "glued",
            Self::NulBytes => "nul_bytes",
            Self::NotUtf8 => "not_utf8",
        }
    }

    /// In words, to follow "line N".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Torn => "is torn: it is no whole JSON value",
            Self::Unfinished => "is the last one and unfinished: its writer died, or is still at it",
            Self::Glued => "holds a whole record behind the torn head of another",
            Self::NulBytes => "holds a record among NUL bytes",
            Self::NotUtf8 => "holds bytes that are no UTF-8",
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How often a whole record is looked for in a torn line.
const ATTEMPTS: usize = 64;

/// The text of a line between a byte order mark and NUL bytes.
#[derive(Debug)]
pub(in crate::import) struct Decoded<'a> {
    pub(in crate::import) text: Cow<'a, str>,
    pub(in crate::import) range: Range<usize>,
    pub(in crate::import) flaw: Option<Flaw>,
}

impl Decoded<'_> {
    /// The text from a place in it on, and where that is in the line's bytes; where they cannot be told apart, all of it.
    pub(in crate::import) fn behind(&self, bytes: &[u8], at: usize) -> (&str, Range<usize>) {
        let text = self.text.get(at..).unwrap_or_default();
        let tail = self.range.end.saturating_sub(text.len())..self.range.end;
        let is_there = bytes.get(tail.clone()) == Some(text.as_bytes());
        (text, if is_there { tail } else { self.range.clone() })
    }
}

/// Whether a line holds nothing but white space.
pub(in crate::import) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

/// Decodes a line.
pub(in crate::import) fn decode(bytes: &[u8]) -> Decoded<'_> {
    let marked = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let after = marked.iter().position(|byte| *byte != 0).unwrap_or(marked.len());
    let tail = marked.get(after..).unwrap_or_default();
    let kept = tail.iter().rposition(|byte| *byte != 0 && *byte != b'\r').map_or(0, |last| last + 1);
    let inner = tail.get(..kept).unwrap_or_default();
    let start = bytes.len() - marked.len() + after;
    let nul = after > 0 || tail.get(kept..).unwrap_or_default().contains(&0);
    let text = String::from_utf8_lossy(inner);
    let flaw = match text {
        Cow::Owned(_) => Some(Flaw::NotUtf8),
        Cow::Borrowed(_) if nul => Some(Flaw::NulBytes),
        Cow::Borrowed(_) => None,
    };
    Decoded { text, range: start..start + inner.len(), flaw }
}

/// A whole record at the end of a torn text, and where it starts: one that begins as records do, and that `is_whole`
/// takes for one.
pub(in crate::import) fn glued(text: &str, starts: &[&str], is_whole: impl Fn(&str) -> bool) -> Option<usize> {
    text.match_indices('{')
        .map(|(at, _)| at)
        .filter(|at| *at > 0)
        .filter(|at| text.get(*at..).is_some_and(|rest| starts.iter().any(|start| rest.starts_with(start))))
        .take(ATTEMPTS)
        .find(|at| is_whole(text.get(*at..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_lost_blocks_are_set_aside() {
        for (bytes, text, range, flaw) in [
            (&b"{}"[..], "{}", 0..2, None),
            (b"\xef\xbb\xbf{}\r", "{}", 3..5, None),
            (b"\0\0{}", "{}", 2..4, Some(Flaw::NulBytes)),
            (b"{}\0\r", "{}", 0..2, Some(Flaw::NulBytes)),
            (b"\0", "", 1..1, Some(Flaw::NulBytes)),
            (b"\"\xff\"", "\"\u{fffd}\"", 0..3, Some(Flaw::NotUtf8)),
        ] {
            let decoded = decode(bytes);
            assert_eq!((decoded.text.as_ref(), decoded.range, decoded.flaw), (text, range, flaw), "{bytes:?}");
        }
    }
}
