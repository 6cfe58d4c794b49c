//! The tests of the ledgers.

mod memory;
