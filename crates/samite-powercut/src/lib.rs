//! For tests: power cuts, recorded and replayed.
//!
//! The program `samite-powercut-fs` mounts a file system that lives in memory and records every [`Operation`] on it, in
//! order, with its bytes, to one log; what runs on it says through the same file system what was acknowledged to it
//! ([`MARKS`]), so that acknowledgements have their places in that order too. Offline, [`Disk`] follows such a log to any
//! position and gives what a disk might hold if the power failed there.
//!
//! The tests mount as root, or through `fusermount3` as anyone else, and say so when they cannot. A cut that fails keeps its
//! recording and prints the environment in which the same cut is made again (`SAMITE_POWERCUT_RECORDING` and
//! `SAMITE_POWERCUT_CUTS`). `SAMITE_POWERCUT_TIMES` multiplies the number of cuts, and `SAMITE_POWERCUT_SEED` moves them.

mod choice;
mod disk;
mod file;
mod operation;
mod volume;

pub use choice::Choice;
pub use disk::{Disk, Model, Remain, Remains};
pub use operation::{Bytes, FileNumber, Operation, decode, encode};
pub use volume::{Node, ROOT, Volume};

/// The file whose writes are acknowledgements: it exists on every recorded file system, and is never on the disk.
pub const MARKS: &str = ".acknowledged";

/// What the recorder prints when the file system is mounted.
pub const READY: &str = "ready";

/// What the exit status of the recorder is when this machine cannot mount a file system of the user's.
pub const CANNOT_MOUNT: i32 = 77;
