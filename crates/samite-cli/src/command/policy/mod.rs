//! `samite policy`.

mod organisation;
mod redaction;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Show and change what holds for everything in the store
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    Redaction(redaction::Redaction),
    Organisation(organisation::Organisation),
}

impl Policy {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Redaction(command) => command.run(surface).await,
            Self::Organisation(command) => command.run(surface).await,
        }
    }
}
