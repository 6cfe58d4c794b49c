//! A JSON document's elements, one at a time: the values of its fields, and those of lists one by one.
//!
//! Each element is handed on as it lies in the file, byte for byte. The document need not be whole: what comes before a
//! cut is found, and the element that was cut is the last record. Memory is bounded by the largest element.

use super::lines::{Line, Records};
use samite_model::{Error, Result, limits};
use std::io::BufRead;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the document.
    Start,
    /// In the document's object, before a key.
    Fields,
    /// In a list: the document itself, or a field's.
    List { is_field: bool },
    /// After the document.
    Behind,
}

/// Reads elements.
#[derive(Debug)]
pub(in crate::import) struct Elements<R> {
    reader: R,
    place: Place,
    field: String,
    buffer: Vec<u8>,
    offset: u64,
    start: u64,
    number: u64,
    limit: u64,
    ended: bool,
}

impl<R: BufRead> Elements<R> {
    /// The elements of a reader that stands at the start of a document.
    pub(in crate::import) fn new(reader: R) -> Self {
        Self {
            reader,
            place: Place::Start,
            field: String::new(),
            buffer: Vec::new(),
            offset: 0,
            start: 0,
            number: 0,
            limit: limits::PAYLOAD,
            ended: false,
        }
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        let number = self.number + 1;
        let buffer = self.reader.fill_buf().map_err(|error| {
            Error::unavailable("transcript_unreadable", format!("record {number} of the transcript cannot be read"))
                .hint("look at the file's permissions and at the disk, then import again")
                .because(error)
        })?;
        Ok(buffer.first().copied())
    }

    fn pass(&mut self) {
        self.reader.consume(1);
        self.offset += 1;
    }

    fn take(&mut self, byte: u8) -> Result<()> {
        self.pass();
        self.buffer.push(byte);
        if self.buffer.len() as u64 > self.limit {
            let (number, limit) = (self.number + 1, self.limit);
            return Err(Error::invalid("line_too_long", format!("record {number} has more than {limit} bytes"))
                .hint("this is hardly a transcript; cut the record out and import the rest"));
        }
        Ok(())
    }

    /// Passes white space, and says what follows it.
    fn next_byte(&mut self) -> Result<Option<u8>> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.pass(),
                // A byte order mark.
                Some(0xef | 0xbb | 0xbf) if self.offset < 3 => self.pass(),
                other => return Ok(other),
            }
        }
    }

    /// Gathers one value; `false` when the document ends in it.
    fn value(&mut self) -> Result<bool> {
        self.buffer.clear();
        self.start = self.offset;
        let (mut depth, mut in_string, mut escaped) = (0_u64, false, false);
        while let Some(byte) = self.peek()? {
            if in_string {
                self.take(byte)?;
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => {
                        in_string = false;
                        if depth == 0 {
                            return Ok(true);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                // The end of a number or word, or no value at all.
                b',' | b'}' | b']' if depth == 0 => return Ok(true),
                b' ' | b'\t' | b'\r' | b'\n' if depth == 0 && !self.buffer.is_empty() => return Ok(true),
                _ => {}
            }
            self.take(byte)?;
            match byte {
                b'"' => in_string = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(true);
                    }
                }
                _ => {}
            }
        }
        Ok(false)
    }

    fn record(&mut self, terminated: bool) -> Line<'_> {
        self.number += 1;
        if !terminated {
            self.ended = true;
        }
        Line {
            number: self.number,
            offset: self.start,
            bytes: &self.buffer,
            terminated,
            is_readable: true,
            field: &self.field,
        }
    }

    /// Gathers what stands where nothing should, up to `until`.
    fn garbage(&mut self, until: impl Fn(u8) -> bool) -> Result<()> {
        self.buffer.clear();
        self.start = self.offset;
        while let Some(byte) = self.peek()? {
            if !self.buffer.is_empty() && until(byte) {
                break;
            }
            self.take(byte)?;
        }
        Ok(())
    }

    /// Reads a field's key up to its value; `false` when there is none before the end.
    fn key(&mut self) -> Result<bool> {
        if !self.value()? {
            return Ok(false);
        }
        let key: Option<String> = serde_json::from_slice(&self.buffer).ok();
        self.field = key.unwrap_or_else(|| String::from_utf8_lossy(&self.buffer).into_owned());
        if self.next_byte()? == Some(b':') {
            self.pass();
            return Ok(true);
        }
        Ok(self.peek()?.is_some())
    }
}

impl<R: BufRead> Records for Elements<R> {
    fn next_record(&mut self) -> Result<Option<Line<'_>>> {
        if self.ended {
            return Ok(None);
        }
        loop {
            let Some(byte) = self.next_byte()? else { return Ok(None) };
            match (self.place, byte) {
                (Place::Start, b'{') | (Place::List { is_field: true }, b']') => {
                    self.pass();
                    self.place = Place::Fields;
                }
                (Place::Start, b'[') => {
                    self.pass();
                    self.place = Place::List { is_field: false };
                }
                (Place::Fields | Place::List { .. }, b',') => self.pass(),
                (Place::Fields, b'}') | (Place::List { is_field: false }, b']') => {
                    self.pass();
                    self.place = Place::Behind;
                }
                (Place::Fields, b'"') => {
                    if !self.key()? {
                        return Ok(Some(self.record(false)));
                    }
                    match self.next_byte()? {
                        Some(b'[') => {
                            self.pass();
                            self.place = Place::List { is_field: true };
                        }
                        None => {}
                        Some(_) => {
                            let whole = self.value()?;
                            return Ok(Some(self.record(whole)));
                        }
                    }
                }
                (Place::List { .. }, b'}') | (Place::Fields, _) => {
                    self.place = Place::Fields;
                    self.garbage(|byte| matches!(byte, b'"' | b'}'))?;
                    return Ok(Some(self.record(true)));
                }
                (Place::List { .. }, _) => {
                    let whole = self.value()?;
                    return Ok(Some(self.record(whole)));
                }
                (Place::Start | Place::Behind, _) => {
                    self.field.clear();
                    self.garbage(|byte| byte == b'\n')?;
                    return Ok(Some(self.record(true)));
                }
            }
        }
    }

    fn is_cut(&self) -> bool {
        matches!(self.place, Place::Fields | Place::List { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(bytes: &[u8]) -> (Vec<(String, String, bool)>, bool) {
        let mut elements = Elements::new(bytes);
        let mut found = Vec::new();
        while let Some(line) = elements.next_record().unwrap() {
            let from = usize::try_from(line.offset).unwrap();
            assert_eq!(line.number, found.len() as u64 + 1);
            // What is read in pieces stands in the source where it says.
            assert_eq!(bytes.get(from..from + line.bytes.len()), Some(line.bytes));
            found.push((line.field.to_owned(), String::from_utf8_lossy(line.bytes).into_owned(), line.terminated));
        }
        (found, elements.is_cut())
    }

    fn said(all: &[(&str, &str, bool)]) -> Vec<(String, String, bool)> {
        all.iter().map(|(field, text, whole)| ((*field).to_owned(), (*text).to_owned(), *whole)).collect()
    }

    const DOCUMENT: &str = "{\n \"a\": [ {\"x\": \"]}\\\"\"}, 2 ],\n \"b\": {\"c\": [1]}, \"d\" :null, \"e\": []}\n";

    #[test]
    fn lists_are_taken_apart_and_other_fields_are_whole() {
        let all =
            [("a", "{\"x\": \"]}\\\"\"}", true), ("a", "2", true), ("b", "{\"c\": [1]}", true), ("d", "null", true)];
        assert_eq!(elements(DOCUMENT.as_bytes()), (said(&all), false));
        let list = elements(b"\xef\xbb\xbf[{}, [1,[2]], \"s\"]");
        assert_eq!(list, (said(&[("", "{}", true), ("", "[1,[2]]", true), ("", "\"s\"", true)]), false));
    }

    #[test]
    fn every_cut_keeps_the_elements_before_it() {
        let (whole, _) = elements(DOCUMENT.as_bytes());
        let close = DOCUMENT.trim_end().len();
        for cut in 0..=DOCUMENT.len() {
            let (found, is_cut) = elements(&DOCUMENT.as_bytes()[..cut]);
            let kept = found.iter().filter(|element| element.2).count();
            assert_eq!(found[..kept], whole[..kept], "cut at {cut}");
            assert!(found.len() <= kept + 1, "cut at {cut}");
            assert_eq!(is_cut, cut > 0 && cut < close, "cut at {cut}");
        }
    }

    #[test]
    fn what_stands_where_nothing_should_is_handed_on() {
        let (found, _) = elements(b"{\"a\": [1, }}, 2] xx \"b\": 3} tail\n more");
        let texts: Vec<_> = found.iter().map(|element| element.1.as_str()).collect();
        assert_eq!(texts, ["1", "}", ", 2] xx \"b\": 3} tail", "more"]);
    }

    #[test]
    fn an_element_larger_than_a_payload_is_refused() {
        let mut elements = Elements::new(&b"[12345,123456]"[..]);
        elements.limit = 5;
        assert_eq!(elements.next_record().unwrap().unwrap().bytes, b"12345");
        let error = elements.next_record().unwrap_err();
        assert_eq!((error.code(), error.message()), ("line_too_long", "record 2 has more than 5 bytes"));
    }
}
