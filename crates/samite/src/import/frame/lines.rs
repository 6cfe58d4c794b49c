//! A transcript's lines, one at a time.

use samite_model::{Error, Result, limits};
use std::io::{BufRead, Read as _};

/// One physical line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number; the first is 1.
    pub number: u64,
    /// Where it starts in the file, in bytes.
    pub offset: u64,
    /// Its bytes without the line feed, and with a carriage return where there was one.
    pub bytes: &'a [u8],
    /// Whether a line feed ended it. The last line of a file that is being written may lack it.
    pub terminated: bool,
    /// Whether it could be read: a name of a folder may stand for no regular file.
    pub is_readable: bool,
    /// Where it comes from, when that says something of what it is: the field of the document that it is in, or the
    /// name of its file; empty for a line.
    pub field: &'a str,
}

/// What an importer reads, record by record.
pub(in crate::import) trait Records {
    /// The next record, or nothing at the end.
    ///
    /// # Errors
    /// `unavailable` when it cannot be read; `invalid` when it is larger than a payload may be.
    fn next_record(&mut self) -> Result<Option<Line<'_>>>;

    /// Whether what was read ends before its end although no record is cut. To be asked after the last record.
    fn is_cut(&self) -> bool {
        false
    }
}

impl<R: BufRead> Records for Lines<R> {
    fn next_record(&mut self) -> Result<Option<Line<'_>>> {
        self.next_line()
    }
}

/// Reads lines; memory is bounded by the longest one.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
    offset: u64,
    limit: u64,
}

impl<R: BufRead> Lines<R> {
    /// The lines of a reader that stands at the start of a transcript.
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), number: 0, offset: 0, limit: limits::PAYLOAD }
    }

    /// The next line, or nothing at the end. A file that ends with a line feed has no line after it.
    ///
    /// # Errors
    /// `unavailable` when the reader fails; `invalid` when a line is longer than a payload may be.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        self.buffer.clear();
        let number = self.number + 1;
        let limit = self.limit;
        let read = self.reader.by_ref().take(limit + 2).read_until(b'\n', &mut self.buffer).map_err(|error| {
            Error::unavailable("transcript_unreadable", format!("line {number} of the transcript cannot be read"))
                .hint("look at the file's permissions and at the disk, then import again")
                .because(error)
        })?;
        if read == 0 {
            return Ok(None);
        }
        let offset = self.offset;
        self.number = number;
        self.offset += u64::try_from(read).unwrap_or(u64::MAX);
        let terminated = self.buffer.last() == Some(&b'\n');
        if terminated {
            self.buffer.pop();
        }
        let length = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        if length > limit {
            return Err(Error::invalid("line_too_long", format!("line {number} has more than {limit} bytes"))
                .hint("this is hardly a transcript; cut the line out and import the rest"));
        }
        Ok(Some(Line { number, offset, bytes: &self.buffer, terminated, is_readable: true, field: "" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, u64, Vec<u8>, bool)> {
        let mut lines = Lines::new(bytes);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push((line.number, line.offset, line.bytes.to_vec(), line.terminated));
        }
        found
    }

    #[test]
    fn lines_have_numbers_and_offsets_and_keep_carriage_returns() {
        assert_eq!(lines(b""), []);
        assert_eq!(
            lines(b"a\r\n\n\0b"),
            [(1, 0, b"a\r".to_vec(), true), (2, 3, b"".to_vec(), true), (3, 4, b"\0b".to_vec(), false)]
        );
    }

    #[test]
    fn a_line_longer_than_a_payload_is_refused() {
        let mut lines = Lines::new(&b"12345\n123456\n"[..]);
        lines.limit = 5;
        assert_eq!(lines.next_line().unwrap().unwrap().bytes, b"12345");
        let error = lines.next_line().unwrap_err();
        assert_eq!((error.code(), error.message()), ("line_too_long", "line 2 has more than 5 bytes"));
    }
}
