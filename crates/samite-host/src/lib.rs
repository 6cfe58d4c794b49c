//! Clock, randomness, durable files and processes: the one place of samite that asks the operating system.
//!
//! Everything above takes these as values, so that tests can replace them and a seed can drive a simulation.

mod clock;
pub mod files;
mod random;
mod sleep;

pub use clock::{Clock, SystemClock};
pub use random::{Random, SystemRandomness};
pub use sleep::{Sleep, Sleeping, SystemSleep};
