//! Long-term memory: what is in a namespace, and the index that finds it by words and by vectors.

mod bits;

pub use bits::Bits;
