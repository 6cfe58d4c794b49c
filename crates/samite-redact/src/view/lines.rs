//! Texts whose lines stand in a list of strings one by one, as cells of a notebook and hunks of a patch do: a private key among them
//! is none in any of its lines.

use super::{View, json};
use crate::alphabet::slice;
use memchr::memmem;
use std::ops::Range;

/// How long lines that belong together may be.
const LONGEST: usize = 64 << 10;

/// The lines of a list from the beginning of a private key on.
#[derive(Default)]
pub(crate) struct Lines {
    list: usize,
    places: Vec<Range<usize>>,
    length: usize,
}

impl Lines {
    /// Takes the next leaf of a document, and answers with the lines that end with it, or before it.
    pub(crate) fn take(&mut self, text: &[u8], leaf: &json::Leaf) -> Option<Vec<Range<usize>>> {
        if self.places.is_empty() {
            self.begin(text, leaf);
            return None;
        }
        if leaf.list != self.list {
            let ended = self.end();
            self.begin(text, leaf);
            return ended;
        }
        self.places.push(leaf.range.clone());
        self.length += leaf.range.len();
        let line = slice(text, leaf.range.start, leaf.range.end);
        let over = self.length > LONGEST || memmem::find(line, b"-----END ").is_some();
        if over { self.end() } else { None }
    }

    /// The lines that are left when the document ends.
    pub(crate) fn end(&mut self) -> Option<Vec<Range<usize>>> {
        let places = std::mem::take(&mut self.places);
        self.length = 0;
        (places.len() > 1).then_some(places)
    }

    fn begin(&mut self, text: &[u8], leaf: &json::Leaf) {
        let line = slice(text, leaf.range.start, leaf.range.end);
        if leaf.list == 0 || line.len() < 20 {
            return;
        }
        let Some(begin) = memmem::find(line, b"-----BEGIN ") else { return };
        let rest = slice(line, begin, line.len());
        if memmem::find(rest, b"PRIVATE KEY").is_some() && memmem::find(rest, b"-----END ").is_none() {
            self.list = leaf.list;
            self.length = leaf.range.len();
            self.places.push(leaf.range.clone());
        }
    }
}

/// Lines as the text that they make, each with its end.
pub(crate) fn joined(text: &[u8], lines: &[Range<usize>]) -> View {
    let mut whole = View::default();
    for line in lines {
        match json::unescape(text, line) {
            None => whole.copy(text, line.clone()),
            Some(view) => whole.extend(text, &view),
        }
        if !whole.text.ends_with(b"\n") {
            whole.put(b"\n", line.end..line.end);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_list_are_joined_with_the_way_back() {
        let text = r#"["a","+-----BEGIN PRIVATE KEY-----\n","+MI\u0049E","+-----END PRIVATE KEY-----","z"]"#;
        let mut lines = Lines::default();
        let mut all = Vec::new();
        for leaf in json::leaves(text.as_bytes()).unwrap() {
            all.extend(lines.take(text.as_bytes(), &leaf));
        }
        assert_eq!((all.len(), lines.end()), (1, None));
        let view = joined(text.as_bytes(), &all[0]);
        assert_eq!(view.text, b"+-----BEGIN PRIVATE KEY-----\n+MIIE\n+-----END PRIVATE KEY-----\n");
        let key = view.text.iter().position(|byte| *byte == b'M').unwrap();
        let places: Vec<&str> = view.places(&(1..key + 4)).into_iter().map(|place| &text[place]).collect();
        assert_eq!(places, [r"-----BEGIN PRIVATE KEY-----\n", r"+MI\u0049E"]);
        // A key without an end, and one whose list ends before it.
        for text in [r#"["-----BEGIN PRIVATE KEY-----","MIIE"]"#, r#"[["-----BEGIN PRIVATE KEY-----","MIIE"],"x"]"#] {
            let mut lines = Lines::default();
            let mut all = Vec::new();
            for leaf in json::leaves(text.as_bytes()).unwrap() {
                all.extend(lines.take(text.as_bytes(), &leaf));
            }
            all.extend(lines.end());
            assert_eq!(all.len(), 1, "{text}");
        }
    }
}
