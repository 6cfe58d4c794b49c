//! `samite subject`.

mod export;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Give a person all of their data
#[derive(Debug, Subcommand)]
pub(crate) enum Subject {
    Export(export::Export),
}

impl Subject {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Export(command) => command.run(surface).await,
        }
    }
}
