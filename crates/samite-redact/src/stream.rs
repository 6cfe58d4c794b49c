//! Redaction of what comes in pieces. Where the pieces end makes no difference: the text is cut into units by what it
//! holds, and each unit is redacted alone.

use crate::alphabet::{ANY64, Alphabet, STD64, slice};
use crate::redactor::{Finding, Redactor};

/// A unit of text that is longer is cut where it holds a line's end, a blank or a sign; a secret at that place moves it. So a
/// stream takes at most about three times this, in bytes.
pub const UNIT: usize = 1 << 20;
/// The same for a document of JSON, also one of several lines in a text; what is longer is looked at as text.
pub const DOCUMENT: usize = 64 << 20;
/// How much is taken at once.
const PIECE: usize = 256 << 10;

/// How the units of a stream are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Units {
    /// Lines of text; those that belong together (a document of JSON, a private key, a stream of events, lines of base64, a value
    /// on the line after its name, a registered secret) are one unit.
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
    /// The document of JSON that the unit may be.
    nesting: Option<Nesting>,
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
    /// A document of JSON that has not ended.
    Document,
    /// Lines of base64, all of this length.
    Encoded(usize),
    /// A registered secret of several lines, as far as it goes.
    Registered,
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
        Self { redactor, units, pending: Vec::new(), begun: 0, looked: 0, state: State::Plain, nesting: None, line: 1 }
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

    /// The longest that a unit may be of which so much has come.
    fn bound(&mut self, end: usize) -> usize {
        if self.units != Units::Text || self.is_document(end) { DOCUMENT } else { UNIT }
    }

    /// Whether the unit is, up to a place, a document of JSON that has not ended.
    fn is_document(&mut self, end: usize) -> bool {
        let unit = slice(&self.pending, self.begun, end);
        let nesting = self.nesting.get_or_insert_with(|| Nesting::of(unit));
        nesting.feed(unit);
        nesting.is_open()
    }

    fn drain(&mut self, out: &mut Vec<u8>, found: &mut Vec<Located>) {
        loop {
            let end = memchr::memchr(b'\n', slice(&self.pending, self.looked, self.pending.len()));
            let end = end.map(|next| self.looked + next + 1);
            // The bound comes first, wherever the piece that holds the line's end begins.
            let come = end.unwrap_or(self.pending.len());
            if come - self.begun > UNIT && come - self.begun > self.bound(come) {
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
        let bound = if self.units == Units::Text { UNIT } else { DOCUMENT };
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
    fn after(&mut self, start: usize, end: usize) -> State {
        if self.units != Units::Text {
            return State::Plain;
        }
        if self.is_document(end) {
            return State::Document;
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
            State::Encoded(length) if body.len() <= length && ANY64.covers(body) => {
                if body.len() == length {
                    self.state
                } else {
                    State::Plain
                }
            }
            _ if self.redactor.is_open(slice(&self.pending, self.begun, end)) => State::Registered,
            _ if matches!(body, [.., b':' | b'=' | b'|' | b'>'] | [.., b'|' | b'>', b'-' | b'+']) => State::Value,
            _ if is_named(body) => State::Value,
            _ if encoded_end(body) > 0 => State::Encoded(encoded_end(body)),
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
        self.nesting = None;
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

/// How long the base64 is that a line ends with, where it looks as if it went on in the next line; else 0.
fn encoded_end(line: &[u8]) -> usize {
    let run = slice(line, STD64.run_back(line, line.len(), 1024), line.len());
    let has = |is: fn(&u8) -> bool| run.iter().any(is);
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    if mixed && run.len() >= 32 && run.len().is_multiple_of(4) { run.len() } else { 0 }
}

/// How deep the arrays and objects of a document of JSON lie in one another, as far as it has come.
#[derive(Debug)]
struct Nesting {
    open: Vec<u8>,
    /// How much of the unit was looked at.
    fed: usize,
    in_string: bool,
    escaped: bool,
    /// Whether it has ended, or is none.
    over: bool,
}

/// What stands in numbers, in `true`, `false` and `null`, and between values.
const BETWEEN: Alphabet = Alphabet::of(b" \t\r\n,:+.0-9Etruefalsn-");

impl Nesting {
    fn of(unit: &[u8]) -> Self {
        let first = unit.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        let over = !matches!(first, Some(b'{' | b'['));
        Self { open: Vec::new(), fed: 0, in_string: false, escaped: false, over }
    }

    /// Looks at what has come.
    fn feed(&mut self, unit: &[u8]) {
        for byte in unit.get(self.fed..).unwrap_or_default() {
            if self.over {
                break;
            }
            self.take(*byte);
        }
        self.fed = unit.len();
    }

    fn take(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                b'\n' => self.over = true,
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' if self.open.len() < 128 => self.open.push(byte + 2),
            b'}' | b']' => self.over = self.open.pop() != Some(byte) || self.open.is_empty(),
            _ => self.over = !BETWEEN.has(byte),
        }
    }

    fn is_open(&self) -> bool {
        !self.over && !self.open.is_empty()
    }
}

/// Whether a line belongs with the next: a name or a value of YAML (`- name: TOKEN`), or what a password of `.netrc` is for.
fn is_named(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"-").unwrap_or(line).trim_ascii_start();
    [&b"name:"[..], b"key:", b"value:", b"machine ", b"login ", b"account "].iter().any(|word| line.starts_with(word))
}

fn is_event(line: &[u8]) -> bool {
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"].iter().any(|field| line.starts_with(field))
}
