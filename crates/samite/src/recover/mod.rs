//! Recovery: what a harness needs to resume a session, and carrying out what is decided.

mod assess;
mod authority;
mod left;
mod lost;
mod report;
mod settle;

pub use assess::Assessment;
pub(crate) use assess::{
    Runner, forget_life, own_process_value, process_value, runner, runner_of, runner_value, running, signed_at,
};
pub use authority::{Disagreement, Side};
pub use left::LeftInDoubt;
pub use lost::{Fate, LostProcess, Part};
pub use report::{Drift, RecoverOptions, RecoveredStep, Recovery, WorkspaceReport};
pub use settle::{Replaced, Settlement};

use std::path::PathBuf;

/// Where recovery looks beside the log.
#[derive(Clone, Debug)]
pub struct Site {
    /// The directory that relative paths of probes start from.
    pub base: PathBuf,
    /// The directory of the signs of life of running steps.
    pub lives: PathBuf,
}
