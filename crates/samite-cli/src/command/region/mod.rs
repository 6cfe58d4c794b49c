//! `samite region`: where a tenant's data may be.

mod set;
mod show;
mod transfer;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Pin the tenant to a region, and decide transfers to others
///
/// `SAMITE_REGION` states the region of a node. Once the tenant is pinned, a node of another region, or of none, opens it
/// for nothing but saying so, and the refusal comes into the log.
#[derive(Debug, Subcommand)]
pub(crate) enum Region {
    Set(set::Set),
    Transfer(transfer::Transfer),
    Show(show::Show),
}

impl Region {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Set(command) => command.run(surface).await,
            Self::Transfer(command) => command.run(surface).await,
            Self::Show(command) => command.run(surface).await,
        }
    }
}
