//! Long-term memory: what is in a namespace, and the index that finds it by words and by vectors.

mod bits;
pub mod document;
pub mod lexical;
pub mod search;
mod standing;
pub mod text;
pub mod vectors;

pub use bits::Bits;
pub use standing::{Ended, Retired, Saying, Standing, Standings};
