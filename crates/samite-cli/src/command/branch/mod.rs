//! `samite branch`.

mod delete;
mod keep;
mod list;
mod switch;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// List, keep and delete branches, and choose the current one
#[derive(Debug, Subcommand)]
pub(crate) enum Branch {
    List(list::List),
    Use(switch::Use),
    Keep(keep::Keep),
    Delete(delete::Delete),
}

impl Branch {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::List(command) => command.run(surface).await,
            Self::Use(command) => command.run(surface).await,
            Self::Keep(command) => command.run(surface).await,
            Self::Delete(command) => command.run(surface).await,
        }
    }
}
