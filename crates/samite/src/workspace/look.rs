//! Looking at trees: what differs, what a path was, what a file held.

use super::checkpoint::RecordedTree;
use crate::client::Client;
use crate::core::no_journal;
use crate::views::row;
use samite_host::files;
use samite_ledger::{JournalState, JournalStatus, RowQuery};
use samite_model::tree::{TreePath, diff};
use samite_model::{BlockId, BranchId, Error, Position, Result, SessionId};
use samite_workspace::{ScanReport, Tree, scan};
use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

pub use samite_model::tree::{Change, ChangeKind};

/// A workspace against its last tree.
#[derive(Debug)]
pub struct WorkspaceStatus {
    /// Its directory.
    pub directory: PathBuf,
    /// Whether the directory is there.
    pub exists: bool,
    /// The last tree.
    pub last: Option<RecordedTree>,
    /// What differs from it.
    pub changes: Vec<Change>,
    /// What was found.
    pub report: Option<ScanReport>,
}

/// A path at a checkpoint where it changed.
#[derive(Clone, Debug)]
pub struct PathVersion {
    /// The checkpoint.
    pub tree: RecordedTree,
    /// Whether the path is there.
    pub exists: bool,
}

impl Client {
    /// How a branch's workspace (none: the current branch's) stands against its last tree.
    ///
    /// # Errors
    /// `not_found` (`no_workspace`) when none is attached.
    pub async fn workspace_status(&self, session: SessionId, branch: Option<BranchId>) -> Result<WorkspaceStatus> {
        let branch = self.or_current(session, branch).await?;
        let workspace = self.workspace_of_branch(session, branch).await?.ok_or_else(|| no_workspace(branch))?;
        let last = self.tree_at(self.head(session, branch).await?).await?;
        let mut status = WorkspaceStatus {
            exists: files::exists(&workspace.directory)?,
            directory: workspace.directory,
            last,
            changes: Vec::new(),
            report: None,
        };
        if status.exists {
            self.core.refresh_redactor().await?;
            let store = self.core.blocks();
            let owner = self.subject.pseudonym;
            let options = self.core.scan_options(workspace.id, &status.directory)?;
            let scanned = scan(&store, &status.directory, owner, &options)?;
            if let Some(last) = &status.last {
                let before = Tree::new(&store, owner, last.tree.root).listing()?;
                status.changes = diff(&before, &scanned.listing());
            }
            status.report = Some(scanned.report().clone());
        }
        Ok(status)
    }

    /// What differs between the trees of two positions.
    ///
    /// # Errors
    /// `not_found` (`no_tree`) when one of them has no tree before it.
    pub async fn diff(&self, before: Position, after: Position) -> Result<Vec<Change>> {
        let (before, after) = (self.root_at(before).await?, self.root_at(after).await?);
        let store = self.core.blocks();
        let owner = self.subject.pseudonym;
        let (before, after) = Tree::new(&store, owner, before).differing(&Tree::new(&store, owner, after))?;
        Ok(diff(&before, &after))
    }

    /// The last checkpoint up to a position, whose tree is there.
    ///
    /// # Errors
    /// `not_found`: `no_tree` when there is none, `tree_collected` when its tree is gone; `corrupt` (`tree_missing`) when it
    /// should be there.
    pub async fn checkpoint_at(&self, at: Position) -> Result<RecordedTree> {
        // What was not entered is not looked at with one's own keys.
        if !self.sees(&self.core.journal(at.journal).await?) {
            return Err(no_journal(at.journal));
        }
        let found = self.tree_at(at).await?.ok_or_else(|| {
            Error::not_found(
                "no_tree",
                format!("there is no checkpoint up to seq {} of {}", at.seq, at.journal.short()),
            )
            .hint("`samite checkpoint SESSION` takes one")
        })?;
        self.check_collected(&found).await?;
        Ok(found)
    }

    /// The tree that holds at a position.
    pub(crate) async fn root_at(&self, at: Position) -> Result<BlockId> {
        Ok(self.checkpoint_at(at).await?.tree.root)
    }

    /// Whether a tree is still there: those of a branch whose time is over go at a collection.
    pub(crate) async fn check_collected(&self, found: &RecordedTree) -> Result<()> {
        let places = self.core.0.blocks.find_blocks(vec![found.tree.root]).await?;
        if places.iter().all(Option::is_some) {
            return Ok(());
        }
        let journal = found.position.journal;
        let state = self.core.journal(journal).await?;
        let control = self.control(state.family).await?;
        let lifetimes = self.core.lifetimes(&control).await?;
        let over = lifetimes.get(&journal).is_some_and(|lifetime| lifetime.is_over(self.core.now()));
        let collected = over
            || state.status == JournalStatus::Deleted
            || self.core.collected_trees().await?.contains(&found.tree.root);
        let place = format!("seq {} of branch {}", found.position.seq, journal.short());
        if self.core.thinned(&control).await?.positions.contains(&found.position) {
            let left = self.nearest_left(&state, found.position.seq).await?;
            return Err(Error::not_found("tree_collected", format!("the checkpoint at {place} was thinned out"))
                .hint(format!("the nearest that is left: {left}")));
        }
        if collected {
            return Err(Error::not_found(
                "tree_collected",
                format!("the tree at seq {} of branch {} was collected", found.position.seq, journal.short()),
            )
            .hint("its log is kept; `samite branch keep` keeps the trees of others"));
        }
        Err(Error::corrupt(
            "tree_missing",
            format!("the tree at seq {} of branch {journal} is missing", found.position.seq),
        )
        .hint("run `samite verify`; a backup may have it"))
    }

    /// The checkpoints of a branch before and after a seq whose trees are there, in words.
    async fn nearest_left(&self, branch: &JournalState, seq: u64) -> Result<String> {
        let trees = self.trees(branch).await?;
        let places = self.core.0.blocks.find_blocks(trees.iter().map(|(_, root)| *root).collect()).await?;
        let left: Vec<Position> =
            trees.iter().zip(places).filter(|(_, place)| place.is_some()).map(|((at, _), _)| *at).collect();
        let name = |at: &Position| format!("{}:{}@{}", branch.family.short(), branch.id.short(), at.seq);
        // Newest first.
        let before = left.iter().find(|at| at.seq < seq).map(name);
        let after = left.iter().rfind(|at| at.seq > seq).map(name);
        Ok(match (before, after) {
            (Some(before), Some(after)) => format!("{before} before it, {after} after it"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => "none".to_owned(),
        })
    }

    /// The checkpoints up to a position at which a path changed, newest first.
    ///
    /// # Errors
    /// `corrupt` when a tree cannot be read.
    pub async fn path_log(&self, at: Position, path: &str) -> Result<Vec<PathVersion>> {
        let path = TreePath::new(path.as_bytes())?;
        let query = RowQuery { at, kind: row::TREE, hashes: Vec::new(), limit: usize::MAX };
        let mut rows = self.core.0.ledger.rows(query).await?;
        rows.reverse();
        let store = self.core.blocks();
        let roots = rows.iter().map(|row| BlockId::from_slice(&row.value)).collect::<Result<Vec<_>>>()?;
        let places = self.core.0.blocks.find_blocks(roots.clone()).await?;
        let collected =
            if places.iter().all(Option::is_some) { HashSet::new() } else { self.core.collected_trees().await? };
        let mut before: Option<[u8; 32]> = None;
        let mut versions = Vec::new();
        for ((row, root), place) in rows.into_iter().zip(roots).zip(places) {
            // What it was in a tree that was collected is not known any more.
            if place.is_none() && collected.contains(&root) {
                continue;
            }
            let now = Tree::new(&store, self.subject.pseudonym, root).identity(&path)?;
            if now != before {
                let entry = self.core.entry_at(row.position).await?;
                let tree = RecordedTree { position: row.position, time: entry.header.time, tree: entry.json()? };
                versions.push(PathVersion { tree, exists: now.is_some() });
            }
            before = now;
        }
        versions.reverse();
        Ok(versions)
    }

    /// Writes what a file held at a position, and returns how many bytes that were.
    ///
    /// # Errors
    /// `not_found` when the tree has no such file; `corrupt` naming the block.
    pub async fn cat(&self, at: Position, path: &str, to: &mut dyn Write) -> Result<u64> {
        let root = self.root_at(at).await?;
        let store = self.core.blocks();
        Tree::new(&store, self.subject.pseudonym, root).cat(&TreePath::new(path.as_bytes())?, to)
    }

    pub(crate) async fn or_current(&self, session: SessionId, branch: Option<BranchId>) -> Result<BranchId> {
        match branch {
            Some(branch) => Ok(branch),
            None => self.current_branch(session).await,
        }
    }
}

pub(crate) fn no_workspace(branch: BranchId) -> Error {
    Error::not_found("no_workspace", format!("branch {} has no workspace", branch.short()))
        .hint("attach one: `samite workspace attach SESSION DIR`")
        .hint(
            "a branch that was left by a rewind has given its directory to the current one: `samite branch use \
             SESSION:BRANCH` makes it current again, with the directory",
        )
}
