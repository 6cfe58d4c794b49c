//! The index: by words and by vectors, what finds what, with which score, and what bytes it has.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails says where")]

mod analyser;
mod document;
mod encoding;
mod find;
mod properties;
mod score;
mod vectors;
