//! `samite hold`: legal holds.

mod lift;
mod list;
mod set;

use crate::reference::Reference;
use crate::surface::Surface;
use clap::{Args, Subcommand};
use samite::Client;
use samite::erasure::HoldOn;
use samite_model::{Error, Result};
use std::process::ExitCode;

/// Set, lift and list legal holds: what is under one is kept, whoever asks for its erasure
#[derive(Debug, Subcommand)]
pub(crate) enum Hold {
    Set(set::Set),
    Lift(lift::Lift),
    List(list::List),
}

/// What a hold is on.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct On {
    /// All data of a user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// A session
    #[arg(long, value_name = "SESSION")]
    session: Option<Reference>,
}

impl On {
    pub(super) async fn find(&self, client: &Client) -> Result<HoldOn> {
        match (&self.user, &self.session) {
            (Some(user), _) => Ok(HoldOn::User { subject: client.pseudonym_of_user(user)? }),
            (None, Some(session)) => client.session_to_hold(session.find_session(client).await?).await,
            (None, None) => Err(Error::invalid("usage", "neither a user nor a session is named")),
        }
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
