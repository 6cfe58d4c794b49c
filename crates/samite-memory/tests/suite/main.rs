//! Memory as its callers see it.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod vectors;
