//! `samite step`.

mod list;
mod resolve;
mod run;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Run commands as steps, list steps, and settle doubts
#[derive(Debug, Subcommand)]
pub(crate) enum Step {
    Run(Box<run::Run>),
    List(list::List),
    Resolve(resolve::Resolve),
}

impl Step {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Run(command) => Box::pin(command.run(surface)).await,
            Self::List(command) => command.run(surface).await,
            Self::Resolve(command) => command.run(surface).await,
        }
    }
}
