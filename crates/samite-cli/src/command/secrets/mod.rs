//! `samite secrets`.

mod forget;
mod list;
mod register;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Register secrets, which are found exactly from then on
#[derive(Debug, Subcommand)]
pub(crate) enum Secrets {
    Register(register::Register),
    List(list::List),
    Forget(forget::Forget),
}

impl Secrets {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Register(command) => command.run(surface).await,
            Self::List(command) => command.run(surface).await,
            Self::Forget(command) => command.run(surface).await,
        }
    }
}
