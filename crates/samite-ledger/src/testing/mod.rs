//! For tests of ledgers and of what stands on them, behind the feature `testing`.

pub mod conformance;

pub use crate::memory::Tampering;
pub use futures_lite::future::block_on;
