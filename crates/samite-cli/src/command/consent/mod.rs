//! `samite consent`: whether data may be used for training.

mod list;
mod set;
mod show;

use crate::reference::Reference;
use crate::surface::Surface;
use clap::{Args, Subcommand};
use samite::Client;
use samite::policy::ConsentOn;
use samite_model::{Error, Result};
use std::process::ExitCode;

/// Say and show whether a user's data, or a session, may be used for training: no, until somebody said yes
#[derive(Debug, Subcommand)]
pub(crate) enum Consent {
    Set(set::Set),
    Show(show::Show),
    List(list::List),
}

/// What a consent is about.
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
    pub(super) async fn find(&self, client: &Client) -> Result<ConsentOn> {
        match (&self.user, &self.session) {
            (Some(user), _) => Ok(ConsentOn::User { subject: client.pseudonym_of_user(user)? }),
            (None, Some(session)) => client.session_to_consent(session.find_session(client).await?).await,
            (None, None) => Err(Error::invalid("usage", "neither a user nor a session is named")),
        }
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
