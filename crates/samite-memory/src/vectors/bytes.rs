//! Rows as bytes, a group at a time, so that reading and writing them takes no second copy of all.

use super::rows::{GROUP, Group, Rows};
use super::{check_dimensions, query};
use samite_model::{Error, Result};

const MAGIC: &[u8; 16] = b"samite/rows/v1\0\0";
/// magic ‖ dimensions (4) ‖ rows (4).
const HEADER: usize = 24;

impl Rows {
    /// The bytes, piece by piece: the header, then each group of 1,024 rows.
    ///
    /// # Errors
    ///
    /// Those of `write`.
    pub fn encode_to(&self, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut header = MAGIC.to_vec();
        header.extend(u32::try_from(self.dimensions()).unwrap_or(u32::MAX).to_be_bytes());
        header.extend(self.len().to_be_bytes());
        write(&header)?;
        let mut documents = self.documents();
        loop {
            let mut group = Group::default();
            for document in documents.by_ref().take(GROUP) {
                if let Some(row) = self.row(document) {
                    group.push(document, row);
                }
            }
            if group.documents.is_empty() {
                return Ok(());
            }
            let mut bytes = Vec::with_capacity(size(group.documents.len(), self.dimensions()));
            bytes.extend(group.documents.iter().flat_map(|document| document.to_be_bytes()));
            bytes.extend(group.scales.iter().flat_map(|scale| scale.to_bits().to_be_bytes()));
            bytes.extend(group.high.iter().map(|byte| byte.cast_unsigned()));
            bytes.extend(group.low.iter().map(|byte| byte.cast_unsigned()));
            write(&bytes)?;
        }
    }

    /// All bytes at once.
    pub fn encode(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(HEADER + size(self.len() as usize, self.dimensions()));
        // The only errors are those of the closure, which has none.
        let _ = self.encode_to(|bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        });
        all
    }

    /// Rows from all their bytes, of a part with so many documents.
    ///
    /// # Errors
    ///
    /// `vectors_damaged` (corrupt) if these are not the bytes of rows of such a part.
    pub fn decode(bytes: &[u8], documents: u32) -> Result<Self> {
        let mut decoder = Decoder::new(documents);
        decoder.feed(bytes)?;
        decoder.end()
    }
}

/// The bytes of so many rows.
const fn size(rows: usize, dimensions: usize) -> usize {
    rows * (8 + 2 * dimensions)
}

fn damaged(what: &str) -> Error {
    Error::corrupt("vectors_damaged", format!("rows of vectors: {what}"))
        .hint("make the index of the namespace again from its records")
}

/// Reads rows from their bytes as they come, in pieces of any length.
///
/// It takes memory for what has come, never for what the bytes say will come.
#[derive(Debug)]
pub struct Decoder {
    documents: u32,
    /// What is read so far, and how many rows are still to come: known once the header is.
    rows: Option<(Rows, usize)>,
    /// What is not a whole group yet.
    pending: Vec<u8>,
    /// The document that the next row must have, or a later one.
    next: u32,
}

impl Decoder {
    /// For rows of a part with so many documents; one with a greater number is damage.
    pub const fn new(documents: u32) -> Self {
        Self { documents, rows: None, pending: Vec::new(), next: 0 }
    }

    /// Takes what comes next.
    ///
    /// # Errors
    ///
    /// `vectors_damaged` (corrupt).
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let missing = self.wanted()?.saturating_sub(self.pending.len());
            let (piece, rest) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
            bytes = rest;
            self.pending.extend_from_slice(piece);
            if piece.len() == missing {
                self.take()?;
            }
        }
        Ok(())
    }

    /// The rows, once all bytes were given.
    ///
    /// # Errors
    ///
    /// `vectors_damaged` (corrupt) if some are missing.
    pub fn end(self) -> Result<Rows> {
        match self.rows {
            Some((rows, 0)) if self.pending.is_empty() => Ok(rows),
            _ => Err(damaged("bytes are missing at the end")),
        }
    }

    /// How many bytes the header or the next group has.
    fn wanted(&self) -> Result<usize> {
        match &self.rows {
            None => Ok(HEADER),
            Some((_, 0)) => Err(damaged("there are bytes after the last row")),
            Some((rows, left)) => Ok(size((*left).min(GROUP), rows.dimensions())),
        }
    }

    /// Takes the header or the group that is whole now.
    fn take(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.pending);
        if let Some((rows, left)) = &mut self.rows {
            let group = group(&bytes, rows.dimensions(), (*left).min(GROUP))
                .ok_or_else(|| damaged("the scale of a row is none"))?;
            for document in &group.documents {
                if *document < self.next || *document >= self.documents {
                    return Err(damaged(&format!("document {document} is out of order, or not of this part")));
                }
                self.next = document + 1;
            }
            *left -= group.documents.len();
            rows.add(group);
        } else {
            let (dimensions, count) = header(&bytes).ok_or_else(|| damaged("this is not their beginning"))?;
            check_dimensions(dimensions as usize)
                .map_err(|error| damaged("their dimensions are none").because(error))?;
            if count > self.documents {
                return Err(damaged("there are more than documents"));
            }
            self.rows = Some((Rows::new(dimensions as usize)?, count as usize));
        }
        // The next group fits in the same memory.
        self.pending = bytes;
        self.pending.clear();
        Ok(())
    }
}

fn header(bytes: &[u8]) -> Option<(u32, u32)> {
    let [dimensions, count] = numbers(bytes.strip_prefix(MAGIC)?).try_into().ok()?;
    Some((dimensions, count))
}

/// Numbers of 4 bytes.
fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|number| u32::from_be_bytes(*number)).collect()
}

/// A group of so many rows; none if a scale is not one that a row can have.
fn group(bytes: &[u8], dimensions: usize, rows: usize) -> Option<Group> {
    let (documents, rest) = bytes.split_at_checked(4 * rows)?;
    let (scales, rest) = rest.split_at_checked(4 * rows)?;
    let (high, low) = rest.split_at_checked(rows * dimensions)?;
    let signed = |bytes: &[u8]| bytes.iter().map(|byte| byte.cast_signed()).collect();
    let scales: Vec<f32> = numbers(scales).into_iter().map(f32::from_bits).collect();
    let fine = scales.iter().all(|scale| *scale > 0.0 && *scale <= query::largest_scale());
    fine.then(|| Group { documents: numbers(documents), scales, high: signed(high), low: signed(low) })
}
