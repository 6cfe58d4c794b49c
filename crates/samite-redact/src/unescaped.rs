//! A text as it stands, and the parts of it without escapes that may hold something of what is looked for.

use crate::alphabet::slice;
use crate::view::escapes::{self, Escapes, Telling};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// How many times escapes are undone within each other.
const LEVELS: usize = 4;

/// Where a part of what is looked at stands in the text that was given.
pub type Place<'a> = &'a dyn Fn(Range<usize>) -> Option<Range<usize>>;

/// Undoes the escapes of single characters: which of them a writer escapes, and how often, cannot be told beforehand.
///
/// A backslash (`\u0026`, `\"`, `\x26`, `\&`), percent-encoding, that of forms (`+` for a blank), and entities of HTML; within each other
/// up to four times, as long as that does not add up to more than eight times the text and 1 MiB.
#[derive(Clone, Debug)]
pub struct Unescaped {
    telling: Telling,
    /// So much around an escape may belong to what it belongs to.
    reach: usize,
}

struct Seen {
    views: HashSet<u64>,
    /// What undoing escapes may still add up to, in bytes.
    left: usize,
}

impl Unescaped {
    /// For looking for these.
    pub fn for_these<'a>(wanted: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        let longest = wanted.clone().map(<[u8]>::len).max().unwrap_or(0);
        // A character may be written as `\\\\u0026`.
        Self { telling: Telling::of(wanted), reach: longest.saturating_mul(16).saturating_add(64) }
    }

    /// Shows a text as it stands first, and then all that may matter of it without escapes.
    pub fn each(&self, text: &[u8], shown: &mut dyn FnMut(&[u8], Place<'_>)) {
        let mut seen = Seen { views: HashSet::new(), left: text.len().saturating_mul(8).saturating_add(1 << 20) };
        self.within(text, LEVELS, &Some, &mut seen, shown);
    }

    fn within(
        &self,
        text: &[u8],
        levels: usize,
        place: Place<'_>,
        seen: &mut Seen,
        shown: &mut dyn FnMut(&[u8], Place<'_>),
    ) {
        shown(text, place);
        if levels == 0 {
            return;
        }
        for how in Escapes::ALL {
            for window in self.telling.windows(text, how, self.reach) {
                if window.len() > seen.left {
                    return;
                }
                let view = escapes::undone(slice(text, window.start, window.end), how);
                let moved = |range: Range<usize>| {
                    let inside = view.place(&range)?;
                    place(inside.start + window.start..inside.end + window.start)
                };
                let mut hasher = DefaultHasher::new();
                (moved(0..view.text.len()), &view.text).hash(&mut hasher);
                // What comes out alike whichever escapes are undone first is looked at once.
                if seen.views.insert(hasher.finish()) {
                    seen.left -= window.len();
                    self.within(&view.text, levels - 1, &moved, seen, shown);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_an_escape_that_matters_is_shown_again() {
        let unescaped = Unescaped::for_these([&b"abc&def"[..]].into_iter());
        let far = "x".repeat(1000);
        let text = format!(r"{far}abc\u0026def{far}\n{far}abc%26def");
        let mut all: Vec<(Vec<u8>, Option<Range<usize>>)> = Vec::new();
        unescaped.each(text.as_bytes(), &mut |shown, place| {
            let at = memchr::memmem::find(shown, b"abc&def");
            all.push((shown.to_vec(), at.and_then(|at| place(at..at + 7))));
        });
        assert_eq!(all.len(), 3, "as it stands, around one escape, and around the other");
        let places: Vec<&str> = all.iter().filter_map(|one| one.1.clone()).map(|place| &text[place]).collect();
        assert_eq!(places, [r"abc\u0026def", "abc%26def"]);
        assert!(all.iter().skip(1).all(|one| one.0.len() < 500));
    }
}
