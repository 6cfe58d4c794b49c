//! Whose data something is decided about: a user's, or that of a session.

use crate::reference::Reference;
use clap::Args;
use samite::Client;
use samite_model::{Error, Pseudonym, Result, SessionId};

/// What it is about.
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

/// What was found.
pub(super) enum Whose {
    /// A user's, by their pseudonym.
    User(Pseudonym),
    /// A session's.
    Session(SessionId),
}

impl On {
    /// Whether a user is meant of whom there is nothing.
    pub(super) async fn user_unknown(&self, client: &Client) -> Result<bool> {
        let Some(user) = &self.user else { return Ok(false) };
        let subject = client.pseudonym_of_user(user)?;
        Ok(client.name_of(subject).await?.is_none())
    }

    /// What is meant. Where something is to be decided of a user of whom there is nothing, that is refused: a name that was
    /// mistyped would have no effect, and nobody would know.
    pub(super) async fn find(&self, client: &Client, must_be_known: bool) -> Result<Whose> {
        match (&self.user, &self.session) {
            (Some(user), _) if must_be_known => client.known_user(user).await.map(Whose::User),
            (Some(user), _) => client.pseudonym_of_user(user).map(Whose::User),
            (None, Some(session)) => session.find_session(client).await.map(Whose::Session),
            (None, None) => Err(Error::invalid("usage", "neither a user nor a session is named")),
        }
    }
}
