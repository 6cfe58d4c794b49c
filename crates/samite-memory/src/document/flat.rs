//! A text without what is not read, and where each part of it was in the original.

use std::ops::Range;

/// A part of the flat text, and the part of the original that it is of.
#[derive(Debug)]
struct Run {
    /// Where it begins in the flat text.
    flat: usize,
    /// Where it was in the original.
    original: Range<usize>,
    /// Whether it is the same bytes.
    same: bool,
}

/// What is cut: in order what an original says, without marks, comments and what is hidden.
#[derive(Debug, Default)]
pub(super) struct Flat {
    text: String,
    runs: Vec<Run>,
}

impl Flat {
    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// How long it is in bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Where the last part of the original ends.
    pub(super) fn end(&self) -> usize {
        self.runs.last().map_or(0, |run| run.original.end)
    }

    /// Appends bytes of the original as they are. Parts come in the original's order.
    pub(super) fn copy(&mut self, original: &str, range: Range<usize>) {
        let Some(part) = original.get(range.clone()).filter(|part| !part.is_empty()) else { return };
        let flat = self.text.len();
        self.text.push_str(part);
        if let Some(last) = self.runs.last_mut()
            && last.same
            && last.original.end == range.start
            && last.flat + last.original.len() == flat
        {
            last.original.end = range.end;
        } else {
            self.runs.push(Run { flat, original: range, same: true });
        }
    }

    /// Appends what a part of the original stands for, or what nothing of it stands for when the part is empty.
    pub(super) fn put(&mut self, text: &str, original: Range<usize>) {
        if !text.is_empty() {
            self.runs.push(Run { flat: self.text.len(), original, same: false });
            self.text.push_str(text);
        }
    }

    /// The bytes of the original that a part of the flat text is of.
    ///
    /// What one part of the original stands for is of whoever has the first byte of it, so parts that do not overlap are
    /// of parts that do not overlap.
    pub(super) fn original(&self, part: &Range<usize>) -> Range<usize> {
        let first = self.runs.partition_point(|run| run.flat <= part.start).saturating_sub(1);
        let start = self.runs.get(first).map_or(0, |run| {
            let within = part.start.saturating_sub(run.flat);
            if run.same {
                run.original.start + within
            } else if within == 0 {
                run.original.start
            } else {
                run.original.end
            }
        });
        let last = self.runs.partition_point(|run| run.flat < part.end).saturating_sub(1);
        let end = self.runs.get(last).map_or(start, |run| {
            if run.same { run.original.start + part.end.saturating_sub(run.flat) } else { run.original.end }
        });
        start..end.max(start)
    }
}
