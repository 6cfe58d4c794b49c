//! The tests of the ledgers.

mod memory;
mod sqlite_conformance;
