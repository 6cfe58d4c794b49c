//! What the operating system's answers mean here.

use rustix::io::Errno;
use samite_host::files::io_error;
use samite_model::Error;
use samite_model::tree::TreePath;
use std::path::Path;

/// What went wrong with one path of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It is gone, or became something else: somebody changed it meanwhile.
    Gone,
    /// It is there and cannot be read.
    Unreadable(Errno),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE | Errno::NXIO => Self::Gone,
            other => Self::Unreadable(other),
        }
    }
}

/// The error for a path of a workspace: `doing` is a phrase such as "read".
pub(crate) fn failed(doing: &str, top: &Path, path: &TreePath, errno: Errno) -> Error {
    let at = if path.is_top() { top.to_owned() } else { top.join(path.to_string()) };
    io_error(doing, &at, errno.into())
}
