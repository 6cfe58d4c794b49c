//! The fields of a document.

/// How many fields there are.
pub const FIELDS: usize = 4;

/// A field of a document. Each has its own term frequencies and lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// The text.
    Body,
    /// A title, a path, a heading.
    Title,
    /// Who says it. A query's word that names a speaker is known by this field.
    Speaker,
    /// When, in any form.
    Date,
}

impl Field {
    /// Every field, in the order of their numbers.
    pub const ALL: [Self; FIELDS] = [Self::Body, Self::Title, Self::Speaker, Self::Date];

    /// Its number, below [`FIELDS`].
    pub const fn number(self) -> usize {
        self as usize
    }

    /// Its bit in a set of fields.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}
