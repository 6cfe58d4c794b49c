//! Clock, randomness, durable files and processes: the one place of samite that asks the operating system.
//!
//! Everything above takes these as values, so that tests can replace them and a seed can drive a simulation.

mod clock;
pub mod files;
mod kill;
pub mod look;
pub mod mounts;
pub mod process;
mod random;
pub mod services;
mod shared_log;
mod sleep;
pub mod supervise;
#[cfg(feature = "testing")]
mod testing;

pub use clock::{Clock, SystemClock};
pub use kill::kill_point;
pub use random::{Random, SystemRandomness, random_id};
pub use shared_log::{LockedLog, SharedLog};
pub use sleep::{Sleep, Sleeping, SystemSleep};
#[cfg(feature = "testing")]
pub use testing::{SeededRandom, TestClock};
