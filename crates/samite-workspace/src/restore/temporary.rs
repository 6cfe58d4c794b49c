//! The directory in which a restore builds what is new.

use crate::rules::TEMPORARY_PREFIX;
use crate::system::{list_directory, open_directory_at, open_top};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, mkdirat, unlinkat};
use rustix::io::Errno;
use samite_host::files::{self, io_error};
use samite_model::Result;
use std::path::{Path, PathBuf};

/// A temporary directory at the top of a workspace: on its file system, left out by every scan, and named by the
/// operation, so that the next attempt finds what the last one left.
pub(crate) struct Temporary<'a> {
    pub(crate) directory: OwnedFd,
    top: &'a OwnedFd,
    name: Vec<u8>,
    path: PathBuf,
}

fn name_of(operation: &[u8; 16]) -> Vec<u8> {
    let mut name = TEMPORARY_PREFIX.to_vec();
    for byte in operation {
        name.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    name
}

impl<'a> Temporary<'a> {
    /// Makes it, empty.
    pub(crate) fn make(top_path: &Path, top: &'a OwnedFd, operation: &[u8; 16]) -> Result<Self> {
        let name = name_of(operation);
        let path = top_path.join(String::from_utf8_lossy(&name).as_ref());
        let failed = |errno: Errno| io_error("make the temporary directory", &path, errno.into());
        remove_tree(top.as_fd(), &name).map_err(failed)?;
        mkdirat(top, name.as_slice(), Mode::RWXU).map_err(failed)?;
        let directory = open_directory_at(top.as_fd(), &name).map_err(failed)?;
        Ok(Self { directory, top, name, path })
    }

    /// Removes it with all that is in it.
    pub(crate) fn remove(&self) -> Result<()> {
        remove_tree(self.top.as_fd(), &self.name)
            .map_err(|errno| io_error("remove the temporary directory", &self.path, errno.into()))
    }

    /// The error for something in it.
    pub(crate) fn failed(&self, doing: &str, errno: Errno) -> samite_model::Error {
        io_error(doing, &self.path, errno.into())
    }
}

/// Removes a name and, if it is a directory, all that is in it; following no link.
pub(crate) fn remove_tree(parent: BorrowedFd<'_>, name: &[u8]) -> std::result::Result<(), Errno> {
    let directory = match open_directory_at(parent, name) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            open_directory_at(parent, name)?
        }
        Err(Errno::NOTDIR | Errno::LOOP) => return unlinkat(parent, name, AtFlags::empty()),
        Err(errno) => return Err(errno),
    };
    let listed = list_directory(directory.as_fd(), &mut Vec::new())?;
    if !listed.is_empty() {
        rustix::fs::fchmod(&directory, Mode::RWXU)?;
    }
    for listed in listed {
        if FileType::from_raw_mode(listed.stat.st_mode) == FileType::Directory {
            remove_tree(directory.as_fd(), &listed.name)?;
        } else {
            unlinkat(&directory, &*listed.name, AtFlags::empty())?;
        }
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Removes what restores that died left at the top of a workspace, and returns how many there were. Call it when no
/// restore of the workspace is going on or is to be rolled forward.
///
/// # Errors
/// `denied` or `unavailable`, naming the path.
pub fn remove_leftovers(path: &Path) -> Result<u64> {
    let top = open_top(path)?;
    let failed = |errno: Errno| io_error("remove what is left of a restore in", path, errno.into());
    let mut count = 0;
    for listed in list_directory(top.as_fd(), &mut Vec::new()).map_err(failed)? {
        if listed.name.starts_with(TEMPORARY_PREFIX) {
            remove_tree(top.as_fd(), &listed.name).map_err(failed)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Makes the directory of a new workspace, for its user alone until the tree says otherwise.
pub(crate) fn make_directory(path: &Path) -> Result<()> {
    files::create_private_dir(path)
}
