//! A directory that files may be cloned from.

use super::RestoreOptions;
use crate::scan::{Scanned, State};
use crate::snapshot::scan;
use crate::store::Store;
use crate::system::{DirectoryStack, Stamp, open_for_reading, open_top};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{fstat, ftruncate, ioctl_ficlone};
use rustix::io::Errno;
use samite_model::Result;
use samite_model::tree::{Content, TreePath};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// A directory whose files are known, and may share their bytes with new ones.
pub(crate) struct Source {
    top: OwnedFd,
    scanned: Scanned,
    directories: HashMap<TreePath, usize>,
    /// Whether a clone was refused, so that none is tried again.
    refused: AtomicBool,
}

impl Source {
    pub(crate) fn open(store: &Store, options: &RestoreOptions) -> Result<Option<Self>> {
        let Some((path, scan_options)) = &options.clone_from else { return Ok(None) };
        let top = open_top(path)?;
        let scanned = scan(store, path, options.owner, scan_options)?;
        let directories = scanned.directories.iter().enumerate();
        let directories = directories.map(|(index, directory)| (directory.path.clone(), index)).collect();
        Ok(Some(Self { top, scanned, directories, refused: AtomicBool::new(false) }))
    }

    /// Clones the file of the same path into an empty one, if it holds the same and the file system can.
    pub(crate) fn clone_into(
        &self,
        file: &OwnedFd,
        path: &TreePath,
        content: &Content,
    ) -> std::result::Result<bool, Errno> {
        if self.refused.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let Some(parent) = path.parent() else { return Ok(false) };
        let directory = self.directories.get(&parent).and_then(|index| self.scanned.directories.get(*index));
        let Some(directory) = directory else { return Ok(false) };
        let at = directory.items.binary_search_by(|item| (*item.entry.name).cmp(path.name()));
        let Some(item) = at.ok().and_then(|at| directory.items.get(at)) else { return Ok(false) };
        if item.state != State::Known || item.entry.content != *content {
            return Ok(false);
        }
        let mut stack = DirectoryStack::new(self.top.as_fd());
        let Ok(opened) = stack.open(&parent).and_then(|parent| open_for_reading(parent, path.name())) else {
            return Ok(false);
        };
        let is_same = |file: &OwnedFd| fstat(file).is_ok_and(|stat| Stamp::of(&stat) == item.stamp);
        if !is_same(&opened) {
            return Ok(false);
        }
        if ioctl_ficlone(file, &opened).is_err() {
            self.refused.store(true, Ordering::Relaxed);
            return Ok(false);
        }
        let same = is_same(&opened);
        if !same {
            // It was written to meanwhile: nothing of the clone may stay under what is written over it.
            ftruncate(file, 0)?;
        }
        Ok(same)
    }
}
