//! For tests of ledgers and of what stands on them, behind the feature `testing`.

pub use crate::memory::Tampering;
