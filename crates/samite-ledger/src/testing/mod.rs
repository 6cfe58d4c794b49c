//! For tests of ledgers and of what stands on them, behind the feature `testing`.

pub mod conformance;
mod executor;
mod fault;
mod finisher;
mod random;
mod seeds;
pub mod simulation;
mod time;

pub use crate::memory::Tampering;
pub use executor::{Executor, Process, Spawner, Stopped};
pub use fault::{Faults, FaultyLedger, FaultyStore, Injected};
pub use finisher::PlainFinisher;
pub use futures_lite::future::block_on;
pub use random::Seeded;
pub use seeds::{SEED_VARIABLE, for_seeds};
pub use time::SimulatedTime;
