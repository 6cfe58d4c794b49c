//! Texts within texts: what an encoding hides, with the way back to the place that it hides in.

pub(crate) mod ansi;
pub(crate) mod encoded;
pub(crate) mod events;
pub(crate) mod json;
pub(crate) mod msgpack;

use std::ops::Range;

/// A part of a view: so many of its bytes come from so many of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    at: usize,
    from: usize,
    length: usize,
    source: usize,
}

/// A text that was made from another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) text: Vec<u8>,
    segments: Vec<Segment>,
}

impl View {
    /// Adds bytes that stand in the source as they are.
    pub(crate) fn copy(&mut self, source: &[u8], range: Range<usize>) {
        let bytes = source.get(range.clone()).unwrap_or_default();
        if bytes.is_empty() {
            return;
        }
        self.segments.push(Segment {
            at: self.text.len(),
            from: range.start,
            length: bytes.len(),
            source: bytes.len(),
        });
        self.text.extend_from_slice(bytes);
    }

    /// Adds bytes that something else in the source stands for.
    pub(crate) fn put(&mut self, bytes: &[u8], range: Range<usize>) {
        self.segments.push(Segment {
            at: self.text.len(),
            from: range.start,
            length: bytes.len(),
            source: range.len(),
        });
        self.text.extend_from_slice(bytes);
    }

    fn segment(&self, at: usize) -> usize {
        self.segments.partition_point(|segment| segment.at <= at).saturating_sub(1)
    }

    /// The places of the source that a part of the view comes from, of which those that touch are one.
    pub(crate) fn places(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = Vec::new();
        let first = self.segment(range.start);
        for segment in self.segments.get(first..).unwrap_or_default() {
            if segment.at >= range.end {
                break;
            }
            let place = if segment.length == segment.source {
                let start = segment.from + range.start.saturating_sub(segment.at);
                let end = segment.from + segment.length.min(range.end - segment.at);
                start..end
            } else {
                segment.from..segment.from + segment.source
            };
            if place.is_empty() {
                continue;
            }
            match places.last_mut() {
                Some(last) if last.end == place.start => last.end = place.end,
                _ => places.push(place),
            }
        }
        places
    }

    /// The one place of the source from the beginning to the end of a part of the view.
    pub(crate) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let places = self.places(range);
        Some(places.first()?.start..places.last()?.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_knows_where_its_bytes_come_from() {
        let source = br"ab\ncd\u0041e";
        let mut view = View::default();
        view.copy(source, 0..2);
        view.put(b"\n", 2..4);
        view.copy(source, 4..6);
        view.put(b"A", 6..12);
        view.copy(source, 12..13);
        assert_eq!(view.text, b"ab\ncdAe");
        assert_eq!(view.place(&(0..2)), Some(0..2));
        assert_eq!(view.place(&(1..4)), Some(1..5));
        assert_eq!(view.place(&(5..6)), Some(6..12));
        assert_eq!(view.place(&(4..7)), Some(5..13));
        assert_eq!(view.place(&(2..3)), Some(2..4));
    }
}
