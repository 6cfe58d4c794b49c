//! Looking for many texts in many forms at once.

use super::Hit;
use aho_corasick::{AhoCorasick, MatchKind};
use samite_model::erasure::canary::forms;
use samite_model::{Error, Result};
use samite_redact::Unescaped;
use std::collections::{HashMap, HashSet};

/// The form of a text some characters of which are escaped, in whatever way.
const ESCAPED: &str = "escaped";
/// Where escapes are undone: in what was opened. Elsewhere bytes are sealed, and escapes in them are there by chance.
const OPENED: [&str; 3] = ["payloads", "blocks", "names"];

/// What is looked for, and what was found of it.
pub(super) struct Search {
    automaton: AhoCorasick,
    unescaped: Unescaped,
    /// The text and form of each pattern.
    patterns: Vec<(usize, &'static str)>,
    /// The length of the longest pattern.
    longest: usize,
    /// The words of each text that a full-text index would have: those of ASCII letters and digits alone.
    words: Vec<Vec<String>>,
    hits: HashMap<(usize, &'static str, &'static str), Hit>,
    /// A text that is known to be where is looked.
    control: Option<Vec<u8>>,
    control_found: bool,
}

impl Search {
    pub(super) fn new(canaries: &[String]) -> Result<Self> {
        let mut patterns = Vec::new();
        let mut bytes = Vec::new();
        for (number, text) in canaries.iter().enumerate() {
            for form in forms(text) {
                patterns.push((number, form.name));
                bytes.push(form.bytes);
            }
        }
        let longest = bytes.iter().map(Vec::len).max().unwrap_or(1);
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&bytes)
            .map_err(|error| Error::invalid("bad_canary", "these are too many or too long").because(error))?;
        let unescaped = Unescaped::for_these(canaries.iter().map(String::as_bytes));
        let words = canaries.iter().map(|text| words_of(text)).collect();
        Ok(Self {
            automaton,
            unescaped,
            patterns,
            longest,
            words,
            hits: HashMap::new(),
            control: None,
            control_found: false,
        })
    }

    /// Sets what is known to be in the next bytes.
    pub(super) fn expect(&mut self, control: Option<Vec<u8>>) {
        self.control = control;
        self.control_found = false;
    }

    /// Whether it was found; none where nothing was expected.
    pub(super) fn control(&mut self) -> Option<bool> {
        self.control.take().map(|_| self.control_found)
    }

    /// Looks through bytes that stand somewhere.
    pub(super) fn look(&mut self, place: &'static str, at: &dyn Fn() -> String, bytes: &[u8]) {
        self.look_from(place, at, bytes, 0);
    }

    /// The same, of which matches that end within the first `seen` bytes were seen before.
    fn look_from(&mut self, place: &'static str, at: &dyn Fn() -> String, bytes: &[u8], seen: usize) {
        if let Some(control) = &self.control
            && !self.control_found
        {
            self.control_found = bytes.windows(control.len().max(1)).any(|window| window == control.as_slice());
        }
        let Self { automaton, unescaped, patterns, hits, .. } = self;
        let mut places: HashSet<(usize, usize, usize)> = HashSet::new();
        let mut stands = true;
        let mut look = |shown: &[u8], placed: samite_redact::Place<'_>| {
            for found in automaton.find_overlapping_iter(shown) {
                let Some((canary, form)) = patterns.get(found.pattern().as_usize()).copied() else { continue };
                let Some(range) = placed(found.range()).filter(|range| range.end > seen) else { continue };
                let is_new = places.insert((canary, range.start, range.end));
                // What stands in a form of its own is seen without escapes as well.
                if !stands && !is_new {
                    continue;
                }
                let form = if stands { form } else { ESCAPED };
                let hit = hits.entry((canary, form, place)).or_insert_with(|| Hit {
                    canary,
                    form,
                    place,
                    at: at(),
                    count: 0,
                });
                hit.count += 1;
            }
            stands = false;
        };
        if OPENED.contains(&place) {
            unescaped.each(bytes, &mut look);
        } else {
            look(bytes, &Some);
        }
    }

    /// Looks for texts whose words all stand in a full-text index.
    pub(super) fn look_for_words(&mut self, place: &'static str, at: &str, index: &HashSet<String>) {
        for (canary, words) in self.words.iter().enumerate() {
            if !words.is_empty() && words.iter().all(|word| index.contains(word)) {
                let hit = Hit { canary, form: "words", place, at: at.to_owned(), count: 1 };
                self.hits.insert((canary, "words", place), hit);
            }
        }
    }

    /// Looks through a stream piece by piece, across their borders too. Returns how many bytes there were.
    pub(super) fn stream(
        &mut self,
        place: &'static str,
        at: &dyn Fn() -> String,
        mut next: impl FnMut() -> Result<Option<Vec<u8>>>,
    ) -> Result<u64> {
        let (mut carried, mut total): (Vec<u8>, u64) = (Vec::new(), 0);
        while let Some(piece) = next()? {
            total += piece.len() as u64;
            let seen = carried.len();
            carried.extend_from_slice(&piece);
            self.look_from(place, at, &carried, seen);
            let kept = carried.len().min(self.longest.max(64).saturating_sub(1));
            carried.drain(..carried.len() - kept);
        }
        Ok(total)
    }

    pub(super) fn into_hits(self) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.hits.into_values().collect();
        hits.sort_by(|a, b| (a.canary, a.place, a.form).cmp(&(b.canary, b.place, b.form)));
        hits
    }
}

/// The words of a text as an index of words has them. Those with other letters are written in different ways by different
/// indexes, and are left out.
fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| !word.is_empty() && word.is_ascii()).map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_every_text_is_found_once_across_borders() {
        let texts = vec!["canary-ada-1".to_owned(), "canary-bo-22".to_owned()];
        let whole: Vec<u8> = texts
            .iter()
            .flat_map(|text| forms(text))
            .flat_map(|form| [b"..".to_vec(), form.bytes, b"..".to_vec()].concat())
            .collect();
        let mut expected = Search::new(&texts).unwrap();
        expected.look("here", &|| "all".to_owned(), &whole);
        let expected = expected.into_hits();
        assert!(texts.iter().enumerate().all(|(number, text)| {
            let named: Vec<&str> = expected.iter().filter(|hit| hit.canary == number).map(|hit| hit.form).collect();
            forms(text).iter().all(|form| named.contains(&form.name))
        }));
        for size in [1, 2, 3, 7, 64, 1000] {
            let mut search = Search::new(&texts).unwrap();
            search.expect(Some(b"canary-bo-22".to_vec()));
            let mut pieces = whole.chunks(size).map(<[u8]>::to_vec);
            let total = search.stream("here", &|| "all".to_owned(), || Ok(pieces.next())).unwrap();
            assert_eq!(total, whole.len() as u64);
            assert_eq!(search.control(), Some(true), "{size}");
            assert_eq!(search.into_hits(), expected, "{size}");
        }
    }

    #[test]
    fn a_text_of_which_some_characters_are_escaped_is_found_once() {
        let texts = vec!["abcXYZ12&34é9 <q".to_owned()];
        for written in [
            r"abcXYZ12\u002634é9 \u003cq",
            r"abcXYZ12&34\u00E99 \u003Cq",
            r"abcXYZ12\\u002634\\u00e99 <q",
            "abcXYZ12%2634%C3%a99+%3cq",
            "abcXYZ12%2634é9%20<q",
            "abcXYZ12&amp;34&#233;9 &lt;q",
        ] {
            let whole = format!("{}{{\"k\":\"{written}\"}}{}", "before ".repeat(40), " after".repeat(40)).into_bytes();
            let mut search = Search::new(&texts).unwrap();
            search.look("payloads", &|| "all".to_owned(), &whole);
            search.look("ledger", &|| "all".to_owned(), &whole);
            let told: Vec<(&str, &str, u64)> =
                search.hits.values().map(|hit| (hit.form, hit.place, hit.count)).collect();
            assert_eq!(told, [("escaped", "payloads", 1)], "{written}");
        }
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let mut search = Search::new(&["canary-ada-1".to_owned()]).unwrap();
        search.expect(Some(b"missing".to_vec()));
        search.look("here", &|| String::new(), b"canary-ada-2 and nothing else");
        assert_eq!(search.control(), Some(false));
        assert_eq!(search.into_hits(), []);
    }
}
