//! The vectors of one part in one space.

use super::fixed::{LARGEST, measure, round, split};
use super::{check_dimensions, check_same};
use samite_model::{Error, Result};

/// So many rows a group has.
pub(super) const GROUP: usize = 1024;
/// The place of a document that has no row.
const NONE: u32 = u32::MAX;

/// The vectors of the documents of one part in one space of vectors, in memory: `2 d + 12` bytes a document with d dimensions.
///
/// A document may have none, since not every one is embedded yet.
#[derive(Clone, Debug)]
pub struct Rows {
    dimensions: usize,
    groups: Vec<Group>,
    /// The row of each document.
    places: Vec<u32>,
    count: u32,
}

/// Rows one after the other, at most [`GROUP`] of them: what is never moved when there are more.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) documents: Vec<u32>,
    pub(super) scales: Vec<f32>,
    pub(super) high: Vec<i8>,
    pub(super) low: Vec<i8>,
}

impl Group {
    fn with_capacity(rows: usize, dimensions: usize) -> Self {
        Self {
            documents: Vec::with_capacity(rows),
            scales: Vec::with_capacity(rows),
            high: Vec::with_capacity(rows * dimensions),
            low: Vec::with_capacity(rows * dimensions),
        }
    }
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) scale: f32,
    pub(super) high: &'a [i8],
    pub(super) low: &'a [i8],
}

impl Rows {
    /// No rows yet, of so many dimensions.
    ///
    /// # Errors
    ///
    /// `vector_dimensions` (invalid) for none or more than [`MAX_DIMENSIONS`](super::MAX_DIMENSIONS).
    pub fn new(dimensions: usize) -> Result<Self> {
        check_dimensions(dimensions)?;
        Ok(Self { dimensions, groups: Vec::new(), places: Vec::new(), count: 0 })
    }

    /// How many dimensions the space has.
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many documents have a vector.
    pub const fn len(&self) -> u32 {
        self.count
    }

    /// Whether none has.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a document has a vector.
    pub fn contains(&self, document: u32) -> bool {
        self.place(document).is_some()
    }

    /// Adds the vector of a document, in any order of documents; it is made one of length 1.
    ///
    /// The memory for documents' places grows with the greatest number.
    ///
    /// # Errors
    ///
    /// `vector_dimensions`, `vector_not_finite` or `vector_zero` (invalid), and `vector_twice` (conflict) if the document has one.
    /// Nothing is added then.
    #[expect(clippy::cast_possible_truncation, reason = "a scale is a float of 32 bits")]
    pub fn push(&mut self, document: u32, vector: &[f32]) -> Result<()> {
        check_same(self.dimensions, vector.len())?;
        let (largest, length) = measure(vector)?;
        self.place_next(document)?;
        let factor = f64::from(LARGEST) / largest;
        let (high, low): (Vec<i8>, Vec<i8>) = vector.iter().map(|component| split(round(*component, factor))).unzip();
        let scale = (largest / length / f64::from(LARGEST)) as f32;
        self.store(document, Row { scale, high: &high, low: &low });
        Ok(())
    }

    /// Adds a document's row as it is in other rows, under the number that the document has here; whether there is one.
    ///
    /// This is how parts are merged, and how a part is made again without some of its documents.
    ///
    /// # Errors
    ///
    /// `vector_dimensions` (invalid) if the others are of another space, `vector_twice` (conflict) if the document has one here.
    pub fn copy(&mut self, document: u32, from: &Self, other: u32) -> Result<bool> {
        check_same(self.dimensions, from.dimensions)?;
        let Some(row) = from.row(other) else { return Ok(false) };
        self.place_next(document)?;
        self.store(document, row);
        Ok(true)
    }

    /// Notes that the next row is the document's.
    fn place_next(&mut self, document: u32) -> Result<()> {
        if self.contains(document) {
            return Err(Error::conflict("vector_twice", format!("document {document} has a vector in this space")));
        }
        let at = document as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, NONE);
        }
        if let Some(place) = self.places.get_mut(at) {
            *place = self.count;
        }
        self.count += 1;
        Ok(())
    }

    fn store(&mut self, document: u32, row: Row<'_>) {
        if self.groups.last().is_none_or(|group| group.documents.len() >= GROUP) {
            // The first one grows, since most partitions are small.
            let rows = if self.groups.is_empty() { 0 } else { GROUP };
            self.groups.push(Group::with_capacity(rows, self.dimensions));
        }
        if let Some(group) = self.groups.last_mut() {
            group.push(document, row);
        }
    }

    /// Adds a whole group that was read: its documents are in order, and come after all that are here.
    pub(super) fn add(&mut self, group: Group) {
        for document in &group.documents {
            let at = *document as usize;
            self.places.resize(self.places.len().max(at), NONE);
            self.places.push(self.count);
            self.count += 1;
        }
        self.groups.push(group);
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn place(&self, document: u32) -> Option<usize> {
        self.places.get(document as usize).filter(|place| **place != NONE).map(|place| *place as usize)
    }

    /// The row of a document.
    pub(super) fn row(&self, document: u32) -> Option<Row<'_>> {
        let place = self.place(document)?;
        let (group, at) = (self.groups.get(place / GROUP)?, place % GROUP);
        let bytes = at * self.dimensions..(at + 1) * self.dimensions;
        Some(Row { scale: *group.scales.get(at)?, high: group.high.get(bytes.clone())?, low: group.low.get(bytes)? })
    }

    /// The documents that have a vector, in order.
    pub fn documents(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).zip(&self.places).filter(|(_, place)| **place != NONE).map(|(document, _)| document)
    }
}

impl Group {
    pub(super) fn push(&mut self, document: u32, row: Row<'_>) {
        self.documents.push(document);
        self.scales.push(row.scale);
        self.high.extend_from_slice(row.high);
        self.low.extend_from_slice(row.low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_in_any_order_and_some_have_no_vector() {
        let mut rows = Rows::new(2).unwrap();
        rows.push(5, &[1.0, 0.0]).unwrap();
        rows.push(0, &[0.0, -2.0]).unwrap();
        assert_eq!(rows.push(5, &[1.0, 1.0]).unwrap_err().code(), "vector_twice");
        assert_eq!(rows.push(6, &[1.0]).unwrap_err().code(), "vector_dimensions");
        assert_eq!(rows.push(6, &[f32::NAN, 1.0]).unwrap_err().code(), "vector_not_finite");
        assert_eq!(rows.push(6, &[0.0, 0.0]).unwrap_err().code(), "vector_zero");
        assert_eq!(rows.documents().collect::<Vec<_>>(), [0, 5]);
        assert_eq!((rows.len(), rows.contains(0), rows.contains(1), rows.contains(6)), (2, true, false, false));
        let row = rows.row(0).unwrap();
        assert_eq!((row.high, row.low, row.scale), (&[0, -127][..], &[0, 0][..], 1.0 / 32512.0));
    }

    #[test]
    fn rows_are_copied_under_another_number() {
        let (mut one, mut two) = (Rows::new(3).unwrap(), Rows::new(3).unwrap());
        for document in 0..3000_u16 {
            one.push(u32::from(document), &[f32::from(document), 1.0, -3.0]).unwrap();
        }
        assert!(two.copy(7, &one, 2999).unwrap());
        assert!(!two.copy(8, &one, 3000).unwrap());
        assert_eq!(two.copy(7, &one, 1).unwrap_err().code(), "vector_twice");
        assert_eq!(Rows::new(4).unwrap().copy(0, &one, 1).unwrap_err().code(), "vector_dimensions");
        let (from, to) = (one.row(2999).unwrap(), two.row(7).unwrap());
        assert_eq!((from.scale, from.high, from.low), (to.scale, to.high, to.low));
        assert_eq!(two.documents().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn no_space_has_no_dimensions_or_too_many() {
        assert_eq!(Rows::new(0).unwrap_err().code(), "vector_dimensions");
        assert_eq!(Rows::new(super::super::MAX_DIMENSIONS + 1).unwrap_err().code(), "vector_dimensions");
    }
}
