//! Which documents have a term, and how often in which field.
//!
//! A posting is a varint of twice the documents that were skipped since the last one, plus one if the term is there once in
//! the body and nowhere else. Otherwise a byte follows: four bits say in which fields, four how often if that is in one field
//! and less than 16 times; else they are zero, and a varint for each field follows.

use super::bytes::{Reader, put_varint};
use super::field::FIELDS;

/// A document that has a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) document: u32,
    /// How often, by field.
    pub(super) frequencies: [u32; FIELDS],
}

/// Postings that are being written, documents in ascending order.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    pub(super) bytes: Vec<u8>,
    /// The least document that the next posting may have.
    next: u32,
}

impl List {
    /// Appends a posting. Its document is greater than all before, and some frequency is not zero.
    pub(super) fn push(&mut self, posting: &Posting) {
        let skipped = u64::from(posting.document.saturating_sub(self.next));
        self.next = posting.document.saturating_add(1);
        if posting.frequencies == [1, 0, 0, 0] {
            put_varint(&mut self.bytes, skipped << 1 | 1);
            return;
        }
        put_varint(&mut self.bytes, skipped << 1);
        let mut fields = 0_u8;
        let mut only = 0_u8;
        for (field, frequency) in posting.frequencies.iter().enumerate() {
            if *frequency > 0 {
                fields |= 1 << field;
                only = u8::try_from(*frequency).unwrap_or(u8::MAX);
            }
        }
        if fields.is_power_of_two() && only < 16 {
            self.bytes.push(fields | only << 4);
            return;
        }
        self.bytes.push(fields);
        for frequency in posting.frequencies.iter().filter(|frequency| **frequency > 0) {
            put_varint(&mut self.bytes, u64::from(*frequency));
        }
    }
}

/// Reads postings; ends where the bytes end or make no sense.
#[derive(Clone, Debug)]
pub(super) struct Postings<'a> {
    reader: Reader<'a>,
    next: u64,
}

impl<'a> Postings<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader(bytes), next: 0 }
    }

    /// Whether all bytes were read.
    pub(super) const fn is_at_end(&self) -> bool {
        self.reader.0.is_empty()
    }
}

impl Iterator for Postings<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        let head = self.reader.varint()?;
        let document = u32::try_from(self.next + (head >> 1)).ok()?;
        let mut frequencies = [0; FIELDS];
        if head & 1 == 1 {
            frequencies[0] = 1;
        } else {
            let fields = self.reader.byte()?;
            if fields.trailing_zeros() >= 4 {
                return None;
            }
            for (field, frequency) in frequencies.iter_mut().enumerate() {
                if fields >> field & 1 == 1 {
                    *frequency = if fields >> 4 > 0 {
                        u32::from(fields >> 4)
                    } else {
                        self.reader.u32().filter(|often| *often > 0)?
                    };
                }
            }
        }
        self.next = u64::from(document) + 1;
        Some(Posting { document, frequencies })
    }
}
