//! `samite memory`.

mod add;
mod brief;
mod diff;
mod encoder;
mod endpoint;
mod files;
mod forget;
mod get;
mod graph;
mod history;
mod ingest;
mod list;
mod new;
mod pin;
mod policy;
mod promote;
mod quarantine;
mod reindex;
mod retract;
mod revoke;
mod search;
mod seen;
mod stats;
mod supersede;
mod tool;
mod why;
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
    Ingest(ingest::Ingest),
    Search(search::Search),
    Brief(brief::Brief),
    Get(get::Get),
    List(list::List),
    History(history::History),
    Supersede(supersede::Supersede),
    Retract(retract::Retract),
    Forget(forget::Forget),
    Pin(pin::Pin),
    #[command(subcommand)]
    Quarantine(quarantine::Quarantine),
    Revoke(revoke::Revoke),
    Policy(policy::Policy),
    Promote(promote::Promote),
    Reindex(reindex::Reindex),
    Diff(diff::Diff),
    Why(why::Why),
    Seen(seen::Seen),
    Files(files::Files),
    Graph(graph::Graph),
    Stats(stats::Stats),
}

impl Memory {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Add(command) => command.run(surface).await,
            Self::Ingest(command) => command.run(surface).await,
            Self::Search(command) => command.run(surface).await,
            Self::Brief(command) => command.run(surface).await,
            Self::Get(command) => command.run(surface).await,
            Self::List(command) => command.run(surface).await,
            Self::History(command) => command.run(surface).await,
            Self::Supersede(command) => command.run(surface).await,
            Self::Retract(command) => command.run(surface).await,
            Self::Forget(command) => command.run(surface).await,
            Self::Pin(command) => command.run(surface).await,
            Self::Quarantine(command) => command.run(surface).await,
            Self::Revoke(command) => command.run(surface).await,
            Self::Policy(command) => command.run(surface).await,
            Self::Reindex(command) => command.run(surface).await,
            Self::Promote(command) => command.run(surface).await,
            Self::Diff(command) => command.run(surface).await,
            Self::Why(command) => command.run(surface).await,
            Self::Files(command) => command.run(surface).await,
            Self::Graph(command) => command.run(surface).await,
            Self::Seen(command) => command.run(surface).await,
            Self::Stats(command) => command.run(surface).await,
        }
    }
}
