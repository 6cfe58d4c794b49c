//! Redaction of what comes in pieces. Where the pieces end makes no difference: the text is cut into units by what it
//! holds, and each unit is redacted alone.

use crate::alphabet::{ANY64, slice};
use crate::redactor::{Finding, Redactor};

/// A unit of text that is longer is cut where it holds a line's end, a blank or a sign; a secret at that place moves it. So a
/// stream takes at most about three times this, in bytes.
pub const UNIT: usize = 1 << 20;
/// The same for a document of JSON, which is looked at as text where it is longer.
pub const DOCUMENT: usize = 64 << 20;
/// How much is taken at once.
const PIECE: usize = 256 << 10;

/// How the units of a stream are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Units {
    /// Lines of text; those that belong together (a private key, a stream of events, a value on the line after its name)
    /// are one unit.
    Text,
    /// Each line is a document of JSON.
    Documents,
    /// The same, of which only the values of these fields are looked at, at whatever depth they are.
    Fields(Vec<String>),
}

/// Redacts a text that comes in pieces.
#[derive(Debug)]
pub struct Stream<'a> {
    redactor: &'a Redactor,
    units: Units,
    /// What has come and is not written yet.
    pending: Vec<u8>,
    /// Where in it the unit begins that is next.
    begun: usize,
    /// Up to where it has been looked at for a line's end.
    looked: usize,
    state: State,
    line: u64,
}

/// What the lines of the pending unit are part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Plain,
    /// A private key that has begun.
    Key,
    /// A stream of events.
    Events,
    /// The line before ends with a name, and its value is to come.
    Value,
}

/// A finding of a stream, with the line that its unit begins at, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The line.
    pub line: u64,
    /// The finding; its place is within the unit.
    pub finding: Finding,
}

impl<'a> Stream<'a> {
    /// A stream that begins.
    pub fn new(redactor: &'a Redactor, units: Units) -> Self {
        Self { redactor, units, pending: Vec::new(), begun: 0, looked: 0, state: State::Plain, line: 1 }
    }

    /// Takes the next piece, and adds what is ready to `out`, and what was found in it to `found`.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>, found: &mut Vec<Located>) {
        // A piece of any size is taken in small ones, so that what is held stays small.
        for part in piece.chunks(PIECE) {
            self.pending.extend_from_slice(part);
            self.drain(out, found);
        }
    }

    /// Ends the stream, and adds the rest.
    pub fn finish(&mut self, out: &mut Vec<u8>, found: &mut Vec<Located>) {
        self.emit(self.pending.len(), out, found);
        self.pending.clear();
        (self.begun, self.looked, self.state) = (0, 0, State::Plain);
    }

    /// The longest unit.
    fn bound(&self) -> usize {
        if self.units == Units::Text { UNIT } else { DOCUMENT }
    }

    fn drain(&mut self, out: &mut Vec<u8>, found: &mut Vec<Located>) {
        loop {
            let end = memchr::memchr(b'\n', slice(&self.pending, self.looked, self.pending.len()));
            let end = end.map(|next| self.looked + next + 1);
            // The bound comes first, wherever the piece that holds the line's end begins.
            if end.unwrap_or(self.pending.len()) - self.begun > self.bound() {
                self.cut(out, found);
                continue;
            }
            let Some(end) = end else { break };
            self.state = self.after(self.looked, end);
            self.looked = end;
            if self.state == State::Plain {
                self.emit(end, out, found);
            }
        }
        self.pending.drain(..self.begun);
        self.looked -= self.begun;
        self.begun = 0;
    }

    /// Ends a unit that is too long, by its first bytes alone.
    fn cut(&mut self, out: &mut Vec<u8>, found: &mut Vec<Located>) {
        let bound = self.bound();
        let window = slice(&self.pending, self.begun, self.begun + bound).to_vec();
        let tail = bound - bound / 4;
        let last = |is: fn(&u8) -> bool| slice(&window, tail, bound).iter().rposition(is).map(|at| tail + at + 1);
        let end = last(|byte| *byte == b'\n')
            .or_else(|| last(|byte| matches!(byte, b' ' | b'\t')))
            .or_else(|| last(|byte| matches!(byte, b',' | b';' | b'}' | b']')))
            .or_else(|| last(|byte| !ANY64.has(*byte) && *byte < 0x80))
            .unwrap_or(bound);
        let findings = self.redacted(&window).1;
        let mut places = findings.into_iter().filter_map(|one| one.place);
        let crossing = places.find(|place| place.start < end && end < place.end);
        let end = crossing.map_or(end, |place| if place.start > 0 { place.start } else { place.end });
        self.emit(self.begun + end, out, found);
        self.looked = self.begun;
        self.state = State::Plain;
    }

    /// What the lines up to `end`, of which the last begins at `start`, are part of.
    fn after(&self, start: usize, end: usize) -> State {
        if self.units != Units::Text {
            return State::Plain;
        }
        let line = slice(&self.pending, start, end);
        let body = line.trim_ascii();
        let has = |what: &[u8]| memchr::memmem::find(line, what).is_some();
        match self.state {
            State::Key => {
                // A key is at most so long; what never ends is none.
                if has(b"-----END ") || end - self.begun > 64 << 10 { State::Plain } else { State::Key }
            }
            _ if has(b"-----BEGIN ") && has(b"PRIVATE KEY") && !has(b"-----END ") => State::Key,
            State::Events if body.is_empty() || is_event(body) => State::Events,
            _ if body.starts_with(b"data:") => State::Events,
            _ if matches!(body, [.., b':' | b'=' | b'|' | b'>'] | [.., b'|' | b'>', b'-' | b'+']) => State::Value,
            _ => State::Plain,
        }
    }

    /// Writes the unit that ends at a place.
    fn emit(&mut self, end: usize, out: &mut Vec<u8>, found: &mut Vec<Located>) {
        let unit = slice(&self.pending, self.begun, end);
        let (bytes, findings) = self.redacted(unit);
        match bytes {
            Some(bytes) => out.extend_from_slice(&bytes),
            None => out.extend_from_slice(unit),
        }
        let line = self.line;
        self.line += memchr::memchr_iter(b'\n', unit).count() as u64;
        found.extend(findings.into_iter().map(|finding| Located { line, finding }));
        self.begun = end;
    }

    fn redacted(&self, unit: &[u8]) -> (Option<Vec<u8>>, Vec<Finding>) {
        let redacted = match &self.units {
            Units::Fields(names) => self.redactor.redact_only(names, unit),
            _ => self.redactor.redact(unit),
        };
        (redacted.bytes, redacted.findings)
    }
}

fn is_event(line: &[u8]) -> bool {
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"].iter().any(|field| line.starts_with(field))
}
