//! Where workspaces may lie: not in a git repository's own directory, and not in each other without a reason.
//!
//! A workspace in another's directory is in every checkpoint of that one. Sessions of different agents may well work in a
//! directory and in one below it; a second directory of the same session, or one that samite makes, belongs elsewhere.

use super::WorkspaceInfo;
use crate::client::Client;
use samite_host::files;
use samite_ledger::JournalStatus;
use samite_model::tree::TreePath;
use samite_model::{BranchId, Error, Result, SessionId};
use samite_workspace::{Tree, exclusion};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A live branch that works in a directory, or in one below or above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its session.
    pub session: SessionId,
    /// The branch.
    pub branch: BranchId,
    /// Where it works.
    pub directory: PathBuf,
}

impl Client {
    /// The live branches of this principal's sessions that work in a directory, or in one below or above it. A session that
    /// cannot be read is left out.
    ///
    /// # Errors
    /// `unavailable` when the ledger cannot be read.
    pub async fn neighbours(&self, directory: &Path) -> Result<Vec<Neighbour>> {
        let mut found = Vec::new();
        for session in self.sessions().await?.into_iter().flatten().map(|info| info.id) {
            found.extend(self.neighbours_of(session, directory).await.unwrap_or_default());
        }
        Ok(found)
    }

    /// Those of one session.
    async fn neighbours_of(&self, session: SessionId, directory: &Path) -> Result<Vec<Neighbour>> {
        let mut found = Vec::new();
        for WorkspaceInfo { directory: other, branch, .. } in self.workspaces(session).await? {
            let is_near = other.starts_with(directory) || directory.starts_with(&other);
            if is_near && self.core.journal(branch).await?.status == JournalStatus::Open {
                found.push(Neighbour { session, branch, directory: other });
            }
        }
        Ok(found)
    }

    /// Refuses a directory, there or not, that cannot be made the workspace of a branch without trouble: `is_new` where samite
    /// makes it, so that it can as well lie elsewhere.
    ///
    /// # Errors
    /// `invalid`: `inside_repository`, `nested_workspace`.
    pub async fn refuse_place(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        directory: &Path,
        is_new: bool,
    ) -> Result<()> {
        let directory = files::canonical_to_be(directory)?;
        refuse_repository(&directory)?;
        // Those of all sessions are looked for where they count: a hook attaches at each session's start.
        let near =
            if is_new { self.neighbours(&directory).await? } else { self.neighbours_of(session, &directory).await? };
        for other in near {
            let is_own = other.session == session;
            let is_above = directory.starts_with(&other.directory);
            if other.directory == directory || (is_own && Some(other.branch) == branch) {
                continue;
            }
            if !(is_own || (is_new && is_above)) || !files::exists(&other.directory)? {
                continue;
            }
            let (outer, inner) = if is_above { (&other.directory, &directory) } else { (&directory, &other.directory) };
            if is_above && self.excludes(&other, inner).await? {
                continue;
            }
            let whose = if is_own { "of the same session" } else { "of another session" };
            let (other_branch, outer) = (other.branch.short(), outer.display());
            let words = if is_above {
                format!("{} lies in {outer}, where branch {other_branch} {whose} works", directory.display())
            } else {
                format!("branch {other_branch} {whose} works in {}, which lies in {outer}", inner.display())
            };
            return Err(Error::invalid(
                "nested_workspace",
                format!("{words}: every checkpoint of {outer} would have both"),
            )
            .hint("name a directory elsewhere, such as one beside it")
            .hint(format!(
                "or leave the inner one out by a line in {outer}/.samiteignore, and take a checkpoint there"
            )));
        }
        Ok(())
    }

    /// Whether the last tree of a branch leaves a directory out by its rules.
    async fn excludes(&self, outer: &Neighbour, inner: &Path) -> Result<bool> {
        let Some(tree) = self.tree_at(self.head(outer.session, outer.branch).await?).await? else { return Ok(false) };
        let store = self.core.blocks();
        // One that was collected says nothing.
        let Ok(root) = Tree::new(&store, self.subject.pseudonym, tree.tree.root).root() else { return Ok(false) };
        let Some(is_excluded) = exclusion(&root.rules) else { return Ok(false) };
        let relative = inner.strip_prefix(&outer.directory).ok().map(|path| path.as_os_str().as_bytes().to_vec());
        let path = relative.and_then(|bytes| TreePath::new(bytes).ok());
        Ok(path.is_some_and(|path| is_excluded(&path, true)))
    }
}

/// Refuses the directory `.git` of a repository, and what is in it. A worktree of git that somebody put there is one.
fn refuse_repository(directory: &Path) -> Result<()> {
    for above in directory.ancestors() {
        if files::exists(&above.join(".git")).unwrap_or(false) {
            return Ok(());
        }
        if above.file_name().is_some_and(|name| name == ".git") {
            let repository = above.parent().unwrap_or(above).display();
            let words = format!("{} is in the directory of a git repository itself", directory.display());
            return Err(Error::invalid("inside_repository", words).hint(format!(
                "attach the directory that has it: {repository}; checkpoints of that hold the repository too"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test lays out what is to be looked at")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_directory_of_a_repository_is_no_place_and_a_worktree_in_it_is() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("repo/.git/objects")).unwrap();
        fs::create_dir_all(top.join("repo/src")).unwrap();
        fs::create_dir_all(top.join("repo/.git/trees/one/deep")).unwrap();
        fs::write(top.join("repo/.git/trees/one/.git"), "gitdir: ../..").unwrap();
        for (path, is_refused) in [
            ("repo", false),
            ("repo/src", false),
            ("repo/new/deep", false),
            ("repo/.git", true),
            ("repo/.git/objects", true),
            ("repo/.git/new/deep", true),
            ("repo/.git/trees/one", false),
            ("repo/.git/trees/one/deep", false),
        ] {
            let refused = files::canonical_to_be(&top.join(path)).and_then(|place| refuse_repository(&place));
            assert_eq!(refused.is_err_and(|error| error.code() == "inside_repository"), is_refused, "{path}");
        }
        assert!(files::canonical_to_be(&top.join("a/b/../c")).is_err(), "nobody knows where that is");
    }
}
