//! The directory in which a restore builds what is new.

use crate::rules::TEMPORARY_PREFIX;
use crate::system::{Stamp, list_directory, open_directory_at, open_top};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, mkdirat, renameat, statat, unlinkat};
use rustix::io::Errno;
use samite_host::files::{self, io_error};
use samite_model::Result;
use samite_model::tree::TreePath;
use std::path::{Path, PathBuf};

/// A temporary directory at the top of a workspace: on its file system, left out by every scan, and named by the
/// operation, so that the next attempt finds what the last one left.
pub(crate) struct Temporary<'a> {
    pub(crate) directory: OwnedFd,
    top: &'a OwnedFd,
    name: Vec<u8>,
    path: PathBuf,
    /// What was kept of an attempt that died.
    pub(crate) kept: Vec<TreePath>,
}

/// How names of what was moved out of its place begin.
const OLD: &[u8] = b"old-";
/// How names of directories begin in which is kept what somebody changed just when its place was taken.
const KEPT_PREFIX: &[u8] = b"samite-kept-";

fn name_of(operation: &[u8; 16]) -> Vec<u8> {
    let mut name = TEMPORARY_PREFIX.to_vec();
    for byte in operation {
        name.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    name
}

/// The name in the temporary directory for what stands in a place, or for what was built to change places with it:
/// `built` is then its inode. It says what the plan expected, so that whoever cleans up knows what may go.
pub(crate) fn old_name(number: u64, built: Option<u64>, expected: &Stamp) -> Vec<u8> {
    let Stamp { inode, size, mtime, .. } = expected;
    let mut name = OLD.to_vec();
    name.extend_from_slice(format!("{number},{},{inode},{size},{mtime}", built.unwrap_or(0)).as_bytes());
    name
}

/// Whether what has a name of [`old_name`] is what the plan expected, or was built.
fn is_expected(name: &[u8], found: &Stamp) -> bool {
    let numbers: Option<Vec<i128>> = name
        .strip_prefix(OLD)
        .and_then(|rest| std::str::from_utf8(rest).ok())
        .and_then(|rest| rest.split(',').map(|number| number.parse().ok()).collect());
    match numbers.as_deref() {
        Some([_, built, inode, size, mtime]) => {
            let is = i128::from(found.inode);
            is == *built || (is, i128::from(found.size), i128::from(found.mtime)) == (*inode, *size, *mtime)
        }
        _ => false,
    }
}

/// Moves what somebody changed just when its place was taken out of a temporary directory, and says where it is.
fn keep(top: BorrowedFd<'_>, name: &[u8]) -> std::result::Result<Vec<TreePath>, Errno> {
    let temporary = match open_directory_at(top, name) {
        Ok(temporary) => temporary,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Vec::new()),
        Err(errno) => return Err(errno),
    };
    let mut kept = Vec::new();
    for listed in list_directory(temporary.as_fd(), &mut Vec::new())? {
        if !listed.name.starts_with(OLD) || is_expected(&listed.name, &Stamp::of(&listed.stat)) {
            continue;
        }
        let mut into = KEPT_PREFIX.to_vec();
        into.extend_from_slice(name.strip_prefix(TEMPORARY_PREFIX).unwrap_or(name));
        match mkdirat(top, into.as_slice(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let directory = open_directory_at(top, &into)?;
        let mut number = 1_u64;
        loop {
            let to = number.to_string();
            match statat(&directory, to.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => number += 1,
                Err(Errno::NOENT) => {
                    renameat(&temporary, &*listed.name, &directory, to.as_str())?;
                    kept.push(TreePath::top().join(&into).join(to.as_bytes()));
                    break;
                }
                Err(errno) => return Err(errno),
            }
        }
    }
    Ok(kept)
}

impl<'a> Temporary<'a> {
    /// Makes it, empty.
    pub(crate) fn make(top_path: &Path, top: &'a OwnedFd, operation: &[u8; 16]) -> Result<Self> {
        let name = name_of(operation);
        let path = top_path.join(String::from_utf8_lossy(&name).as_ref());
        let failed = |errno: Errno| io_error("make the temporary directory", &path, errno.into());
        let kept = clear(top_path, top, operation)?;
        mkdirat(top, name.as_slice(), Mode::RWXU).map_err(failed)?;
        let directory = open_directory_at(top.as_fd(), &name).map_err(failed)?;
        Ok(Self { directory, top, name, path, kept })
    }

    /// Removes it with all that is in it, but for what somebody changed just when its place was taken: says where that is
    /// kept.
    pub(crate) fn remove(&self) -> Result<Vec<TreePath>> {
        remove_keeping(self.top.as_fd(), &self.name)
            .map_err(|errno| io_error("remove the temporary directory", &self.path, errno.into()))
    }

    /// The error for something in it.
    pub(crate) fn failed(&self, doing: &str, errno: Errno) -> samite_model::Error {
        io_error(doing, &self.path, errno.into())
    }
}

/// Removes what an attempt at an operation left that died, and says where is kept what was not its own.
pub(crate) fn clear(top_path: &Path, top: &OwnedFd, operation: &[u8; 16]) -> Result<Vec<TreePath>> {
    let name = name_of(operation);
    remove_keeping(top.as_fd(), &name).map_err(|errno| {
        let path = top_path.join(String::from_utf8_lossy(&name).as_ref());
        io_error("remove what is left of a restore in", &path, errno.into())
    })
}

fn remove_keeping(top: BorrowedFd<'_>, name: &[u8]) -> std::result::Result<Vec<TreePath>, Errno> {
    let kept = keep(top, name)?;
    remove_tree(top, name)?;
    Ok(kept)
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

/// Removes what restores that died left at the top of a workspace, and returns how many there were. What somebody
/// changed just when a restore took its place is kept in a directory whose name begins with `samite-kept-`. Call it when no
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
            remove_keeping(top.as_fd(), &listed.name).map_err(failed)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Makes the directory of a new workspace, for its user alone until the tree says otherwise.
pub(crate) fn make_directory(path: &Path) -> Result<()> {
    files::create_private_dir(path)
}
