//! The tests of the ledgers.

#[cfg(test)]
mod documented;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod sqlite_conformance;
#[cfg(test)]
mod sqlite_damage;
#[cfg(test)]
mod sqlite_kill;
#[cfg(test)]
mod sqlite_maintain;
#[cfg(test)]
mod sqlite_support;
#[cfg(test)]
mod verify;
