//! `samite consent`: whether data may be used for training.

mod list;
mod set;
mod show;

use super::whose::{On, Whose};
use crate::surface::Surface;
use clap::Subcommand;
use samite::Client;
use samite::policy::ConsentOn;
use samite_model::Result;
use std::process::ExitCode;

/// Say and show whether a user's data, or a session, may be used for training: no, until somebody said yes
#[derive(Debug, Subcommand)]
pub(crate) enum Consent {
    Set(set::Set),
    Show(show::Show),
    List(list::List),
}

/// What it is on.
async fn find(on: &On, client: &Client, must_be_known: bool) -> Result<ConsentOn> {
    match on.find(client, must_be_known).await? {
        Whose::User(subject) => Ok(ConsentOn::User { subject }),
        Whose::Session(session) => client.session_to_consent(session).await,
    }
}

impl Consent {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Set(command) => command.run(surface).await,
            Self::Show(command) => command.run(surface).await,
            Self::List(command) => command.run(surface).await,
        }
    }
}
