//! Redaction as a whole: its quality on labelled snippets, and what holds for every input.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails says where")]

mod cases;
mod generator;
mod lot;
mod mixtures;
mod persons;
mod properties;
mod score;
mod shared;
mod written;
