//! `samite session`.

mod list;
mod new;
mod set;
mod show;
mod transcript;
mod tree;

pub(super) use transcript::write_for;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Make, list and show sessions
#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    New(new::New),
    List(list::List),
    Show(show::Show),
    Set(set::Set),
    Tree(tree::Tree),
    Transcript(transcript::Transcript),
}

impl Session {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::New(command) => command.run(surface).await,
            Self::List(command) => command.run(surface).await,
            Self::Show(command) => command.run(surface).await,
            Self::Set(command) => command.run(surface).await,
            Self::Tree(command) => command.run(surface).await,
            Self::Transcript(command) => command.run(surface).await,
        }
    }
}
