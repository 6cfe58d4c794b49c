//! The tests of samite-memory.

mod analyser;
mod encoding;
mod find;
mod properties;
mod score;
