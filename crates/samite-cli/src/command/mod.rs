//! The commands: one file each, whose arguments carry its help.

mod append;
mod branch;
mod completions;
mod fork;
mod key;
mod read;
mod rewind;
mod session;
mod step;
mod verify;

use crate::surface::Surface;
use crate::tour::Tour;
use crate::tour::agent::Agent;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(subcommand)]
    Session(session::Session),
    Append(append::Append),
    Read(read::Read),
    #[command(subcommand)]
    Step(step::Step),
    Fork(fork::Fork),
    Rewind(rewind::Rewind),
    #[command(subcommand)]
    Branch(branch::Branch),
    #[command(subcommand)]
    Key(key::Key),
    Verify(verify::Verify),
    Tour(Tour),
    Completions(completions::Completions),
    #[command(name = "__agent", hide = true)]
    Agent(Agent),
}

impl Command {
    /// Does it, and answers with the exit status.
    pub(crate) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Session(command) => command.run(surface).await,
            Self::Append(command) => command.run(surface).await,
            Self::Read(command) => command.run(surface).await,
            Self::Step(command) => command.run(surface).await,
            Self::Fork(command) => command.run(surface).await,
            Self::Rewind(command) => command.run(surface).await,
            Self::Branch(command) => command.run(surface).await,
            Self::Key(command) => command.run(surface),
            Self::Verify(command) => command.run(surface).await,
            Self::Tour(command) => command.run(surface),
            Self::Completions(command) => command.run(surface),
            Self::Agent(command) => command.run(surface),
        }
    }
}
