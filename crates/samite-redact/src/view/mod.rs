//! Texts within texts: what an encoding hides, with the way back to the place that it hides in.

pub(crate) mod ansi;
pub(crate) mod encoded;
pub(crate) mod escapes;
pub(crate) mod events;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod msgpack;

use crate::alphabet::{byte, slice};
use std::ops::Range;

/// How many steps there are between two places of a view that are found at once.
const STRIDE: usize = 64;

/// A text that was made from another one, in its order.
///
/// It remembers where its bytes come from in steps: so many bytes that stand in the source as they are, then so many that so many
/// others in the source stand for. A step takes two bytes mostly, since texts may consist of little else than escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) text: Vec<u8>,
    steps: Vec<u8>,
    count: usize,
    /// Where each so many steps end.
    marks: Vec<Mark>,
    /// Up to where the source was taken, and how much of that since the last step, as it is.
    taken: usize,
    copied: usize,
}

/// Where the next step begins: in the view, in the source, and in the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark {
    at: usize,
    from: usize,
    step: usize,
}

/// A part of a view: so many of its bytes come from so many of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    at: usize,
    from: usize,
    length: usize,
    source: usize,
    /// Whether each byte stands for itself.
    same: bool,
}

impl View {
    /// Adds bytes that stand in the source as they are, after all that was added before.
    pub(crate) fn copy(&mut self, source: &[u8], range: Range<usize>) {
        let bytes = source.get(range.clone()).unwrap_or_default();
        if bytes.is_empty() {
            return;
        }
        self.pass(range.start);
        self.text.extend_from_slice(bytes);
        self.copied += bytes.len();
        self.taken = range.end;
    }

    /// Adds bytes that something else in the source stands for, after all that was added before.
    pub(crate) fn put(&mut self, bytes: &[u8], range: Range<usize>) {
        self.pass(range.start);
        self.text.extend_from_slice(bytes);
        self.taken = range.end;
        self.step(bytes.len(), range.len());
    }

    /// Leaves out what is before a place of the source.
    fn pass(&mut self, to: usize) {
        if to > self.taken {
            let left_out = to - self.taken;
            self.taken = to;
            self.step(0, left_out);
        }
    }

    fn step(&mut self, length: usize, source: usize) {
        write_number(&mut self.steps, self.copied);
        if length < 8 && source < 16 {
            self.steps.push(low(length) << 4 | low(source));
        } else {
            self.steps.push(0x80);
            write_number(&mut self.steps, length);
            write_number(&mut self.steps, source);
        }
        self.copied = 0;
        self.count += 1;
        if self.count.is_multiple_of(STRIDE) {
            self.marks.push(Mark { at: self.text.len(), from: self.taken, step: self.steps.len() });
        }
    }

    /// The pieces from the one on that holds a byte of the view.
    fn pieces_from(&self, at: usize) -> impl Iterator<Item = Piece> + '_ {
        let before = self.marks.partition_point(|mark| mark.at <= at).checked_sub(1);
        let mut mark = before.and_then(|before| self.marks.get(before)).copied().unwrap_or_default();
        let mut next = None;
        let mut over = false;
        let all = std::iter::from_fn(move || {
            if let Some(put) = next.take() {
                return Some(put);
            }
            if over {
                return None;
            }
            let (copied, put) = self.step_at(&mut mark.step).unwrap_or_else(|| {
                over = true;
                (self.copied, None)
            });
            let copy = Piece { at: mark.at, from: mark.from, length: copied, source: copied, same: true };
            (mark.at, mark.from) = (mark.at + copied, mark.from + copied);
            if let Some((length, source)) = put {
                next = Some(Piece { at: mark.at, from: mark.from, length, source, same: false });
                (mark.at, mark.from) = (mark.at + length, mark.from + source);
            }
            Some(copy)
        });
        all.filter(|piece| piece.length > 0).skip_while(move |piece| piece.at + piece.length <= at)
    }

    /// How much the step at a place copies, and how much of the view how much of the source stands for then.
    fn step_at(&self, at: &mut usize) -> Option<(usize, Option<(usize, usize)>)> {
        if *at >= self.steps.len() {
            return None;
        }
        let copied = read_number(&self.steps, at);
        let code = byte(&self.steps, *at);
        *at += 1;
        let put = if code == 0x80 {
            (read_number(&self.steps, at), read_number(&self.steps, at))
        } else {
            (usize::from(code >> 4), usize::from(code & 15))
        };
        Some((copied, Some(put)))
    }

    /// The places of the source that a part of the view comes from, of which those that touch are one.
    pub(crate) fn places(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = Vec::new();
        for piece in self.pieces_from(range.start).take_while(|piece| piece.at < range.end) {
            let place = if piece.same {
                let start = piece.from + range.start.saturating_sub(piece.at);
                let end = piece.from + piece.length.min(range.end - piece.at);
                start..end
            } else {
                piece.from..piece.from + piece.source
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

    /// Adds all of another view of the same source.
    pub(crate) fn extend(&mut self, source: &[u8], other: &Self) {
        for piece in other.pieces_from(0) {
            let place = piece.from..piece.from + piece.source;
            if piece.same {
                self.copy(source, place);
            } else {
                self.put(slice(&other.text, piece.at, piece.at + piece.length), place);
            }
        }
    }
}

/// The lowest seven bits.
fn low(number: usize) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or(0)
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn write_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(low(number) | 0x80);
        number >>= 7;
    }
    out.push(low(number));
}

fn read_number(bytes: &[u8], at: &mut usize) -> usize {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let next = byte(bytes, *at);
        *at += 1;
        number |= usize::from(next & 0x7f) << shift;
        if next & 0x80 == 0 {
            break;
        }
    }
    number
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

    #[test]
    fn places_are_found_in_a_view_of_any_length() {
        // Escapes of one to twelve bytes with texts of all lengths between them, and parts that are left out.
        let mut source = Vec::new();
        let mut view = View::default();
        let mut expected: Vec<Range<usize>> = Vec::new();
        for round in 0..300 {
            let start = source.len();
            source.resize(start + round % 200, b'c');
            view.copy(&source, start..source.len());
            expected.extend((start..source.len()).map(|at| at..at + 1));
            let start = source.len();
            source.resize(start + 1 + round % 20, b'e');
            if round % 7 == 3 {
                continue;
            }
            let length = 1 + round % 9;
            view.put(&b"ppppppppp"[..length], start..source.len());
            expected.extend((0..length).map(|_| start..source.len()));
        }
        assert_eq!(view.text.len(), expected.len());
        assert_eq!(view.place(&(0..1)), expected.first().cloned());
        for (at, place) in expected.iter().enumerate() {
            assert_eq!(view.places(&(at..at + 1)), std::slice::from_ref(place), "{at}");
        }
        let long = view.place(&(5..view.text.len() - 5));
        assert_eq!(long, Some(expected[5].start..expected[expected.len() - 6].end));
        let mut again = View::default();
        again.extend(&source, &view);
        assert_eq!((&again.text, again.places(&(40..4000))), (&view.text, view.places(&(40..4000))));
    }

    #[test]
    fn an_escape_takes_two_bytes_beside_its_text() {
        let text = br"ab\n".repeat(1000);
        let view = json::unescape(&text, &(0..text.len())).unwrap();
        assert!(view.steps.len() <= 2 * 1000 && view.marks.len() <= 1000 / STRIDE, "{}", view.steps.len());
    }
}
