//! `samite memory`.

mod add;
mod forget;
mod get;
mod history;
mod list;
mod new;
mod pin;
mod retract;
mod stats;
mod supersede;
mod within;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Keep what is to be known after a session, with where it came from
///
/// A namespace holds records of one user. Which one it is follows from who asks and from its whole name: nothing searches all of
/// them, and nothing finds one by a part of its name. A record says who wrote it, what it was made of, and how far that is trusted.
#[derive(Debug, Subcommand)]
pub(crate) enum Memory {
    Add(add::Add),
    Get(get::Get),
    List(list::List),
    History(history::History),
    Supersede(supersede::Supersede),
    Retract(retract::Retract),
    Forget(forget::Forget),
    Pin(pin::Pin),
    Stats(stats::Stats),
}

impl Memory {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Add(command) => command.run(surface).await,
            Self::Get(command) => command.run(surface).await,
            Self::List(command) => command.run(surface).await,
            Self::History(command) => command.run(surface).await,
            Self::Supersede(command) => command.run(surface).await,
            Self::Retract(command) => command.run(surface).await,
            Self::Forget(command) => command.run(surface).await,
            Self::Pin(command) => command.run(surface).await,
            Self::Stats(command) => command.run(surface).await,
        }
    }
}
