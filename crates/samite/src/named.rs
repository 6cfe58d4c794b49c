//! Sessions and branches by their names. A name is whatever somebody gave: it is met only where no id is, as a whole, and one
//! that several have means none of them.

use crate::client::Client;
use samite_model::{BranchId, Error, Result, SessionId};

impl Client {
    /// The session of this name; none when no session has it.
    pub(crate) async fn session_named(&self, name: &str) -> Result<Option<SessionId>> {
        self.core.refresh_redactor().await?;
        // Something in a name may have been replaced as it was recorded.
        let stored = self.core.redactor()?.redact_field(b"name", name.as_bytes()).bytes;
        let is_it = |info: &crate::session::SessionInfo| {
            let is_stored = |known: &str| known == name || stored.as_deref() == Some(known.as_bytes());
            info.created.name.as_deref().is_some_and(is_stored)
        };
        let named = self.sessions().await?.into_iter().flatten().filter(is_it).map(|info| info.id);
        if let Some(own) = only("sessions", name, &named.collect::<Vec<SessionId>>())? {
            return Ok(Some(own));
        }
        let shared = self.shared_sessions().await?.into_iter().flatten().map(|shared| shared.info);
        only("sessions", name, &shared.filter(is_it).map(|info| info.id).collect::<Vec<SessionId>>())
    }

    /// The branch of a session that has this name and was not deleted; none when no branch has it.
    pub(crate) async fn branch_named(&self, session: SessionId, name: &str) -> Result<Option<BranchId>> {
        let is_it = |branch: &crate::branch::Branch| !branch.deleted && branch.name.as_deref() == Some(name);
        let named = self.branches(session).await?.into_iter().filter(is_it).map(|branch| branch.id);
        only("branches", name, &named.collect::<Vec<BranchId>>())
    }
}

fn only<T: Copy + ToString>(what: &str, name: &str, named: &[T]) -> Result<Option<T>> {
    match named {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => {
            let ids: Vec<String> = several.iter().take(5).map(ToString::to_string).collect();
            let count = several.len();
            Err(Error::invalid("ambiguous_name", format!("{count} {what} are named {name:?}"))
                .hint(format!("write the id: {}", ids.join(", "))))
        }
    }
}
