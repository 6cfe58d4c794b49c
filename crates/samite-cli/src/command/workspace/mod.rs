//! `samite workspace`.

mod attach;
mod cat;
mod close;
mod log;
mod restore;
mod status;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Attach a directory to a branch, look into its past, and close it
#[derive(Debug, Subcommand)]
pub(crate) enum Workspace {
    Attach(attach::Attach),
    Status(status::Status),
    Restore(restore::Restore),
    Log(log::Log),
    Cat(cat::Cat),
    Close(close::Close),
}

impl Workspace {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Attach(command) => command.run(surface).await,
            Self::Status(command) => command.run(surface).await,
            Self::Restore(command) => command.run(surface).await,
            Self::Log(command) => command.run(surface).await,
            Self::Cat(command) => command.run(surface).await,
            Self::Close(command) => command.run(surface).await,
        }
    }
}
