//! The session that worked in a directory last: the one that somebody means who stands there.

use crate::client::Client;
use crate::log::{ReadOptions, Reader};
use crate::payload::WorkspaceInterval;
use samite_host::files;
use samite_model::{BranchId, EntryKind, Error, JournalId, Position, Result, SessionId};
use std::path::Path;

impl Client {
    /// The session that last recorded a tree of a directory, or of one above it; for a sub-agent's, its agent's. The branch is
    /// named where another than the session's current one works there.
    ///
    /// # Errors
    /// `not_found` (`no_session_here`) when there is none.
    pub async fn session_here(&self, directory: &Path) -> Result<(SessionId, Option<BranchId>)> {
        let directory = files::canonical(directory)?;
        for above in directory.ancestors() {
            if let Some(found) = self.last_in(above).await? {
                return Ok(found);
            }
        }
        Err(Error::not_found("no_session_here", format!("no session has worked in {}", directory.display()))
            .hint("`samite session list` shows all sessions; name one, or go to the directory that it works in"))
    }

    async fn last_in(&self, directory: &Path) -> Result<Option<(SessionId, Option<BranchId>)>> {
        let workspace = self.core.workspace_id(directory);
        let Some(state) = self.core.0.ledger.journal(JournalId(workspace.0)).await? else { return Ok(None) };
        let kinds = vec![EntryKind::WORKSPACE_INTERVAL];
        let at = Position { journal: state.id, seq: state.head };
        let options = ReadOptions { kinds, backward: true, ..ReadOptions::default() };
        let mut reader = Reader::new(self.core.clone(), at, options).await?;
        loop {
            let page = reader.next().await?;
            if page.is_empty() {
                return self.attached_to(directory).await;
            }
            for entry in page {
                // What another person's session did there is theirs, and what was erased says nothing.
                if entry.header.owner != self.subject.pseudonym || entry.payload.is_none() {
                    continue;
                }
                let interval: WorkspaceInterval = entry.json()?;
                if let Some(found) = self.works_in(&interval, directory).await? {
                    return Ok(Some(found));
                }
            }
        }
    }

    /// The session whose branch works in a directory of which no tree was recorded yet, as in one that a fork was just made in.
    async fn attached_to(&self, directory: &Path) -> Result<Option<(SessionId, Option<BranchId>)>> {
        for info in self.sessions().await?.into_iter().flatten() {
            let workspaces = self.workspaces(info.id).await?;
            if let Some(found) = workspaces.into_iter().find(|workspace| workspace.directory == directory) {
                return Ok(Some((info.id, (found.branch != info.current).then_some(found.branch))));
            }
        }
        Ok(None)
    }

    /// The session of a tree; none where it is of nobody's, as what a person changed.
    async fn works_in(
        &self,
        interval: &WorkspaceInterval,
        directory: &Path,
    ) -> Result<Option<(SessionId, Option<BranchId>)>> {
        let mut info = match self.session(interval.session).await {
            Ok(info) => info,
            Err(error) if error.code() == "no_session" => return Ok(None),
            Err(error) => return Err(error),
        };
        // As many as there can be; a circle has no end.
        for _ in 0..64 {
            let Some(parent) = info.created.parent.as_ref().map(|parent| parent.session) else { break };
            match self.session(parent).await {
                Ok(above) => info = above,
                Err(_) => break,
            }
        }
        if info.id != interval.session || info.current == interval.branch {
            return Ok(Some((info.id, None)));
        }
        let current = self.workspace_of_branch(info.id, info.current).await?;
        let is_elsewhere = current.is_none_or(|current| current.directory != directory);
        Ok(Some((info.id, is_elsewhere.then_some(interval.branch))))
    }
}
