//! `samite hold`: legal holds.

mod lift;
mod list;
mod set;

use super::whose::{On, Whose};
use crate::surface::Surface;
use clap::Subcommand;
use samite::Client;
use samite::erasure::HoldOn;
use samite_model::Result;
use std::process::ExitCode;

/// Set, lift and list legal holds: what is under one is kept, whoever asks for its erasure
#[derive(Debug, Subcommand)]
pub(crate) enum Hold {
    Set(set::Set),
    Lift(lift::Lift),
    List(list::List),
}

/// What it is on.
async fn find(on: &On, client: &Client, must_be_known: bool) -> Result<HoldOn> {
    match on.find(client, must_be_known).await? {
        Whose::User(subject) => Ok(HoldOn::User { subject }),
        Whose::Session(session) => client.session_to_hold(session).await,
    }
}

impl Hold {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Set(command) => command.run(surface).await,
            Self::Lift(command) => command.run(surface).await,
            Self::List(command) => command.run(surface).await,
        }
    }
}
