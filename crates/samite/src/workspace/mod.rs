//! Workspaces: the directory that a branch works in, and its trees.
//!
//! A directory is one workspace, shared by the sessions in it; its own journal orders all trees recorded of it.

mod attach;
mod checkpoint;
mod close;
mod contained;
mod cost;
mod history;
mod look;
mod near;
mod others;
mod restore;
mod restore_input;
mod rewind;
mod thin;
mod torn;

pub use attach::WorkspaceInfo;
pub(crate) use checkpoint::Taken;
pub use checkpoint::{Checkpoint, CheckpointOptions, RecordedTree};
pub use close::{CloseOptions, Closed, Receipt};
pub use cost::TreeCost;
pub use history::{BranchCheckpoints, CheckpointRecord, SessionCheckpoints};
pub(crate) use look::no_workspace;
pub use look::{Change, ChangeKind, PathVersion, WorkspaceStatus};
pub use near::Neighbour;
pub(crate) use restore::{RestoreInput, in_doubt, trees_of_restore};
pub use restore::{RestoreRequest, Restored, TOOL as RESTORE};
pub use rewind::{FilesStay, RewindPlan};
pub use samite_workspace::RestoreReport;
pub(crate) use thin::{BytesByTree, gone_on_from};
pub use thin::{Thinned, ThinnedBranch, ThinningPlan};

use crate::core::Core;
use samite_model::tree::TreePath;
use samite_model::{FamilyId, Pseudonym, Result};
use samite_workspace::{ScanOptions, Store};
use std::path::Path;
use std::sync::Arc;

impl Core {
    /// What snapshots and restores stand on.
    pub(crate) fn blocks(&self) -> Store {
        Store {
            index: self.0.blocks.clone(),
            packs: self.0.packs.clone(),
            sealing: Arc::new(self.0.keys.clone()),
            clock: self.0.clock.clone(),
            random: self.0.random.clone(),
            tenant: self.0.keys.tenant_pseudonym(),
            screening: self.screening(),
        }
    }

    /// How to look at a workspace's directory: with its stat cache, and without the store, should that lie in it.
    pub(crate) fn scan_options(&self, workspace: FamilyId, directory: &Path) -> Result<ScanOptions> {
        let mut excludes = Vec::new();
        if let Some(store) = &self.0.directory {
            let store = samite_host::files::canonical(store)?;
            if let Ok(inside) = store.strip_prefix(directory) {
                use std::os::unix::ffi::OsStrExt as _;
                excludes.push(TreePath::new(inside.as_os_str().as_bytes())?);
            }
        }
        let cache = self.0.caches.as_ref().map(|caches| caches.join(workspace.to_string()));
        Ok(ScanOptions { cache, excludes, ..ScanOptions::default() })
    }

    /// How to look at a directory that is no workspace.
    pub(crate) fn scan_options_of(&self, directory: &Path) -> Result<ScanOptions> {
        Ok(ScanOptions { cache: None, ..self.scan_options(FamilyId([0; 16]), directory)? })
    }

    /// A directory's workspace: the same for every process and session of the tenant.
    pub(crate) fn workspace_id(&self, directory: &Path) -> FamilyId {
        let Pseudonym(id) = self.0.keys.writer(&format!("samite workspace {}", directory.display()));
        FamilyId(id)
    }
}
