//! Exact search by vectors.
//!
//! [`Rows`] holds the vectors of the documents of one part of an index in one space of vectors; [`nearest`] finds the documents
//! of several parts whose vectors are nearest to that of a [`Query`], [`scan`] gives a rough score for every document, and [`exact`]
//! the exact scores of some. The score is the cosine, since every vector has length 1 here. Nothing is approximate about what is
//! found: there is no graph and no list of clusters to build, to keep or to erase from.
//!
//! # Numbers
//!
//! A vector x of length 1 is kept as whole numbers of 16 bits, `w = round(x * 32512 / max|x|)`, and one scale, `max|x| / 32512`.
//! `w` is split in two bytes, `w = 256 * high + low` with `low` from -128 to 127, so `high` alone is the vector in 8 bits, rounded.
//! Of one component, `high` is off by at most 1/254 of the largest one, and both together by 1/65024 of it: less than a
//! half-precision float is off for any component above a thirty-second of the largest, in as many bytes.
//!
//! The query is kept as whole numbers too, so that scores are sums of products of whole numbers, and the same on every
//! processor and on every path through the code, bit for bit. `high` alone is read for every row. `low` adds at most `128 * sum|q|` to
//! a dot product with the query q: rows whose rough score is so far below the best that `low` cannot make up for it are out, and
//! of the others the exact score is computed. So what [`nearest`] gives is what exact scores of all rows would give, and
//! there is no number of candidates to choose. The trick is that of vector files with two levels of precision (the VA-file: Weber,
//! Schek and Blott, VLDB 1998), with the second level as the rest of the first.
//!
//! # Bytes
//!
//! Integers are big-endian and unsigned unless said otherwise. A header of 24 bytes, then groups of 1,024 rows; the last group has
//! what remains, and nothing follows it. Rows are in the order of their documents, so that the same vectors have the same bytes.
//!
//! | bytes | header |
//! | --- | --- |
//! | 16 | magic: `samite/rows/v1` and two zero bytes |
//! | 4 | dimensions, 1 to 16,384 |
//! | 4 | rows |
//!
//! | bytes | group of n rows with d dimensions |
//! | --- | --- |
//! | 4 n | the documents' numbers, each greater than the one before |
//! | 4 n | scales: bits of floats of 32 bits, greater than 0, at most 1/32512 |
//! | n d | `high`, signed, row by row |
//! | n d | `low`, signed, row by row |

mod best;
mod bytes;
mod dot;
mod fixed;
mod query;
mod rows;
mod search;

pub use bytes::Decoder;
pub use query::Query;
pub use rows::Rows;
pub use search::{Hit, Part, exact, nearest, scan};

use samite_model::{Error, Result};

/// So many dimensions a vector has at most.
pub const MAX_DIMENSIONS: usize = 16_384;

/// Refuses a number of dimensions that no space has.
fn check_dimensions(dimensions: usize) -> Result<()> {
    if (1..=MAX_DIMENSIONS).contains(&dimensions) {
        return Ok(());
    }
    let what = format!("a vector has 1 to {MAX_DIMENSIONS} dimensions, not {dimensions}");
    Err(Error::invalid("vector_dimensions", what))
}

/// Refuses a vector of another number of dimensions than its space has.
fn check_same(wanted: usize, given: usize) -> Result<()> {
    if wanted == given {
        return Ok(());
    }
    let what = format!("the vector has {given} dimensions, and its space {wanted}");
    Err(Error::invalid("vector_dimensions", what)
        .hint("embed the text with the model of the space, or reindex to the new model"))
}
