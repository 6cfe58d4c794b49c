//! `samite artifact`.

mod deliver;
mod found;
mod get;
mod keep;
mod lineage;
mod list;
mod policy;
mod put;
mod reproduce;
mod show;
mod usage;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Publish what is for the user, and keep it longer than the session that made it
///
/// An artifact is a file with its record and its lineage: the session, the checkpoint, the step and the inputs that it came
/// from. It outlives its branch, its session and its workspace, for as long as its own retention says.
#[derive(Debug, Subcommand)]
pub(crate) enum Artifact {
    Put(put::Put),
    Get(get::Get),
    List(list::List),
    Show(show::Show),
    Found(found::Found),
    Lineage(lineage::Lineage),
    Reproduce(reproduce::Reproduce),
    Keep(keep::Keep),
    Policy(policy::Policy),
    Usage(usage::Usage),
    Deliver(deliver::Deliver),
}

impl Artifact {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Put(command) => command.run(surface).await,
            Self::Get(command) => command.run(surface).await,
            Self::List(command) => command.run(surface).await,
            Self::Show(command) => command.run(surface).await,
            Self::Found(command) => command.run(surface).await,
            Self::Lineage(command) => command.run(surface).await,
            Self::Reproduce(command) => command.run(surface).await,
            Self::Keep(command) => command.run(surface).await,
            Self::Policy(command) => command.run(surface).await,
            Self::Usage(command) => command.run(surface).await,
            Self::Deliver(command) => command.run(surface).await,
        }
    }
}
