//! Directories, opened name by name from the top.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, Stat, openat, statat};
use rustix::io::Errno;
use samite_model::Result;
use samite_model::tree::TreePath;
use std::path::Path;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Opens the top of a workspace.
///
/// # Errors
/// `not_found`, `denied`, or `invalid` when it is no directory, naming the path.
pub(crate) fn open_top(path: &Path) -> Result<OwnedFd> {
    // The top itself may be reached over symbolic links: the user named it.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
        .map_err(|errno| samite_host::files::io_error("open the workspace", path, errno.into()))
}

/// Opens a directory by its name in another.
pub(crate) fn open_directory_at(parent: BorrowedFd<'_>, name: &[u8]) -> std::result::Result<OwnedFd, Errno> {
    openat(parent, name, DIRECTORY, Mode::empty())
}

/// A name in a directory, and what is known of it.
pub(crate) struct Listed {
    pub(crate) name: Box<[u8]>,
    pub(crate) stat: Stat,
}

/// All names of a directory, sorted; those that vanish meanwhile are left out. `buffer` has room for what the system
/// says at once.
pub(crate) fn list_directory(
    directory: BorrowedFd<'_>,
    buffer: &mut Vec<u8>,
) -> std::result::Result<Vec<Listed>, Errno> {
    buffer.clear();
    buffer.reserve(64 << 10);
    let mut listed = Vec::new();
    let mut names = RawDir::new(directory, buffer.spare_capacity_mut());
    while let Some(entry) = names.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => listed.push(Listed { name: name.to_bytes().into(), stat }),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    listed.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(listed)
}

/// The directories on the way to the one that is being worked in, kept open: going through paths in their order opens
/// each directory once.
pub(crate) struct DirectoryStack<'a> {
    top: BorrowedFd<'a>,
    open: Vec<(Box<[u8]>, OwnedFd)>,
}

impl<'a> DirectoryStack<'a> {
    pub(crate) fn new(top: BorrowedFd<'a>) -> Self {
        Self { top, open: Vec::new() }
    }

    /// Forgets what is open at and below a path, because it was replaced.
    pub(crate) fn forget(&mut self, path: &TreePath) {
        let depth = path.names().count();
        if depth == 0 {
            self.open.clear();
        } else if self.open.len() >= depth && path.names().zip(&self.open).all(|(name, (open, _))| *name == **open) {
            self.open.truncate(depth - 1);
        }
    }

    /// Opens a directory, following no symbolic link on the way.
    pub(crate) fn open(&mut self, path: &TreePath) -> std::result::Result<BorrowedFd<'_>, Errno> {
        let common = path.names().zip(&self.open).take_while(|(name, (open, _))| *name == &**open).count();
        self.open.truncate(common);
        for name in path.names().skip(common) {
            let parent = self.open.last().map_or(self.top, |(_, open)| open.as_fd());
            let opened = open_directory_at(parent, name)?;
            self.open.push((name.into(), opened));
        }
        Ok(self.open.last().map_or(self.top, |(_, open)| open.as_fd()))
    }
}
