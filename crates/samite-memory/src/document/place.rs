//! Where a piece is: under which headings, on which lines. Both are asked in the order of the text.

use std::ops::Range;

use super::layout::Heading;

/// The headings that are open, as far as the text was read.
pub(super) struct Path<'a> {
    rest: &'a [Heading],
    open: Vec<(u8, &'a str)>,
}

impl<'a> Path<'a> {
    /// From the beginning.
    pub(super) const fn new(headings: &'a [Heading]) -> Self {
        Self { rest: headings, open: Vec::new() }
    }

    /// What all of a part of the flat text stands under.
    pub(super) fn of(&mut self, part: &Range<usize>) -> Vec<String> {
        self.read(part.start + 1);
        let path: Vec<String> = self.open.iter().map(|(_, title)| (*title).to_owned()).collect();
        let common = self.read(part.end);
        path.into_iter().take(common).collect()
    }

    /// Reads on up to a place, and says how many were open all the time.
    fn read(&mut self, until: usize) -> usize {
        let mut common = self.open.len();
        while let Some((heading, rest)) = self.rest.split_first().filter(|(heading, _)| heading.at < until) {
            self.rest = rest;
            let stay = self.open.iter().take_while(|(level, _)| *level < heading.level).count();
            self.open.truncate(stay);
            common = common.min(stay);
            if let Some(title) = &heading.title {
                self.open.push((heading.level, title));
            }
        }
        common
    }
}

/// Counts lines.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    /// From the beginning.
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, line: 1 }
    }

    /// The line of a byte. It is asked in order.
    pub(super) fn at(&mut self, at: usize) -> usize {
        let passed = self.text.get(self.at..at).unwrap_or_default();
        let after = |place: usize| self.text.get(self.at + place + 1);
        self.line += passed
            .iter()
            .enumerate()
            .filter(|(place, byte)| **byte == b'\n' || **byte == b'\r' && after(*place) != Some(&b'\n'))
            .count();
        self.at = self.at.max(at);
        self.line
    }
}
