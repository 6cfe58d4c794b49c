//! `samite turn`.

mod end;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Mark the ends of an agent's turns
#[derive(Debug, Subcommand)]
pub(crate) enum Turn {
    End(end::End),
}

impl Turn {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::End(command) => command.run(surface).await,
        }
    }
}
