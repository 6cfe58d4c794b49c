//! `samite processor`: others who are given data.

mod list;
mod register;
mod remove;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Register, remove and list others who are given data, in the tenant's region or where a transfer was decided
#[derive(Debug, Subcommand)]
pub(crate) enum Processor {
    Register(register::Register),
    Remove(remove::Remove),
    List(list::List),
}

impl Processor {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Register(command) => command.run(surface).await,
            Self::Remove(command) => command.run(surface).await,
            Self::List(command) => command.run(surface).await,
        }
    }
}
