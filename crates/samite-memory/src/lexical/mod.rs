//! The index by words: which document has which terms, and how well that answers a query.
//!
//! A [`Builder`] takes documents and gives an immutable [`Part`]. Several parts, each with the documents of it that are
//! visible, make a [`Corpus`]; a [`Query`] is scored against it with [`Weights`]. Document frequencies and average lengths are
//! counted at each query over the visible documents alone, so a score is the same, bit for bit, as if the others had never
//! been written, and however the documents lie in parts.

mod builder;
mod bytes;
mod context;
mod corpus;
mod field;
mod merge;
mod part;
mod postings;
mod query;
mod score;
mod weights;

pub use builder::Builder;
pub use context::{Context, NONE};
pub use corpus::Corpus;
pub use field::{FIELDS, Field};
pub use part::{MAX_DOCUMENTS, Part};
pub use query::{MAX_TERMS, Query};
pub use score::{Match, ScoredTerm, Scores};
pub use weights::{FieldWeight, KindWeight, Weights};
