//! The tests of the ledgers.

#[cfg(test)]
mod memory;
#[cfg(test)]
mod sqlite_conformance;
#[cfg(test)]
mod verify;
