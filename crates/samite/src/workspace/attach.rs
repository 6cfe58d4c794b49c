//! Attaching a directory to a branch.

use crate::client::Client;
use crate::payload::WorkspaceAttached;
use crate::views::{self, register};
use samite_host::{files, mounts};
use samite_ledger::{Append, Commit, Guard, JournalKind, JournalStatus, NewJournal};
use samite_model::{BranchId, EntryKind, Error, FamilyId, JournalId, Position, Result, SessionId};
use std::path::{Path, PathBuf};

/// The workspace of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceInfo {
    /// Its id.
    pub id: FamilyId,
    /// Its directory.
    pub directory: PathBuf,
    /// The branch that works in it.
    pub branch: BranchId,
}

impl Client {
    /// Attaches a directory to a branch (none: the current one) as its workspace. When this returns, it is durable.
    ///
    /// # Errors
    /// `conflict` (`workspace_in_use`) when a live branch of the same session works in it, or the branch has another whose
    /// directory is still there;
    /// `denied` (`other_owner`) when a session of another person works in it; `not_found` when there is no such directory;
    /// `invalid` (`not_a_directory`, `bad_directory`, `inside_store`, `inside_repository`, `nested_workspace`,
    /// `pseudo_file_system`).
    pub async fn attach(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        directory: &Path,
    ) -> Result<WorkspaceInfo> {
        let control = self.control(session).await?;
        let branch = match branch {
            Some(branch) => branch,
            None => self.current_of(&control).await?,
        };
        self.branch_state(session, branch).await?;
        let directory = files::canonical(directory)?;
        if !directory.is_dir() {
            return Err(Error::invalid("not_a_directory", format!("{} is not a directory", directory.display())));
        }
        mounts::refuse_pseudo(&directory)?;
        self.refuse_place(session, Some(branch), &directory, false).await?;
        let Some(path) = directory.to_str().map(str::to_owned) else {
            return Err(Error::invalid("bad_directory", format!("the path {} is not UTF-8", directory.display()))
                .hint("its own name and those above it must be UTF-8; names in it may be any bytes"));
        };
        let id = self.core.workspace_id(&directory);
        if let Some(store) = &self.core.0.directory
            && directory.starts_with(files::canonical(store)?)
        {
            return Err(Error::invalid("inside_store", format!("{} is in the store itself", directory.display()))
                .hint("a workspace may hold the store, which is then left out, and not lie in it"));
        }
        // Read before what is decided from it: the commit's guard then sees whatever changes in between.
        let (version, registers) = self.core.0.ledger.registers(control.id).await?;
        let mut replaces = None;
        if let Some(other) = self.workspace_of_branch(session, branch).await? {
            if other.id == id {
                return Ok(other);
            }
            replaces = (!files::exists(&other.directory)?).then_some(other.id);
            // A directory that is gone was moved, or made anew elsewhere.
            if replaces.is_none() {
                return Err(Error::conflict(
                    "workspace_in_use",
                    format!("branch {} works in {} already", branch.short(), other.directory.display()),
                )
                .hint("fork the session with --into for a second directory"));
            }
        }
        self.refuse_anothers(JournalId(id.0), &path).await?;
        let used = registers.iter().find(|entry| entry.kind == register::WORKSPACE && entry.hash == id.0);
        if let Some(used) = used {
            let other = JournalId::from_slice(&used.value)?;
            let live = self.core.journal(other).await?.status == JournalStatus::Open;
            if other != branch && live {
                return Err(Error::conflict(
                    "workspace_in_use",
                    format!("branch {} of the same session works in {}", other.short(), directory.display()),
                )
                .hint("give this branch a directory of its own: `samite fork SESSION --into DIR`"));
            }
        }
        let attached = WorkspaceAttached { workspace: id, path, branch, replaces };
        self.move_workspace(control.id, version, &attached).await?;
        Ok(WorkspaceInfo { id, directory, branch })
    }

    /// Refuses a workspace of another person: what is in it, and when, is theirs. One whose keys were destroyed has none.
    async fn refuse_anothers(&self, workspace: JournalId, directory: &str) -> Result<()> {
        let Some(state) = self.tenant_wide().core.0.ledger.journal(workspace).await? else { return Ok(()) };
        let is_anothers = state.owner != self.subject.pseudonym
            && self.core.0.keys.live_keys()?.iter().any(|key| key.subject == state.owner);
        if is_anothers {
            return Err(Error::denied("other_owner", format!("a session of another person works in {directory}"))
                .hint("give this one a directory of its own: `samite fork SESSION --into DIR`"));
        }
        Ok(())
    }

    /// Records in which directory a branch works.
    pub(crate) async fn move_workspace(
        &self,
        control: JournalId,
        version: u64,
        attached: &WorkspaceAttached,
    ) -> Result<()> {
        let journal = JournalId(attached.workspace.0);
        let author = self.author(0);
        let register = self.core.draft(EntryKind::WORKSPACE_ATTACHED, attached, views::workspace_attached(attached))?;
        let mut commit = Commit {
            guards: vec![Guard::Registers { journal: control, version }],
            appends: vec![Append { journal: control, entries: vec![self.core.seal(control, &author, register)?] }],
            ..Commit::default()
        };
        if self.core.0.ledger.journal(journal).await?.is_none() {
            commit.journals.push(NewJournal {
                id: journal,
                family: attached.workspace,
                kind: JournalKind::Workspace,
                owner: self.subject.pseudonym,
                parent: None,
            });
        }
        match self.core.0.ledger.commit(commit.clone()).await {
            // Another session attached it for the first time just now.
            Err(error) if error.code() == "journal_exists" => {
                self.refuse_anothers(journal, &attached.path).await?;
                commit.journals.clear();
                self.core.0.ledger.commit(commit).await?;
            }
            other => {
                other?;
            }
        }
        Ok(())
    }

    /// The workspace of a branch, if it has one.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn workspace_of_branch(&self, session: SessionId, branch: BranchId) -> Result<Option<WorkspaceInfo>> {
        Ok(self.workspaces(session).await?.into_iter().find(|workspace| workspace.branch == branch))
    }

    /// The workspaces of a session's branches.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn workspaces(&self, session: SessionId) -> Result<Vec<WorkspaceInfo>> {
        let control = self.control(session).await?;
        let (_, registers) = self.core.0.ledger.registers(control.id).await?;
        let mut workspaces = Vec::new();
        for entry in registers.iter().filter(|entry| entry.kind == register::WORKSPACE) {
            let at = Position { journal: control.id, seq: entry.seq };
            let attached: WorkspaceAttached = self.core.entry_at(at).await?.json()?;
            workspaces.push(WorkspaceInfo {
                id: attached.workspace,
                directory: PathBuf::from(attached.path),
                branch: attached.branch,
            });
        }
        Ok(workspaces)
    }
}
