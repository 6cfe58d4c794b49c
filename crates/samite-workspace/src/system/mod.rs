//! The calls to the operating system's files: the one module of this crate that makes them.
//!
//! Everything is relative to an open directory, nothing follows a symbolic link, and nothing is opened that could
//! block (a named pipe) or act (a device).

mod directory;
mod error;
mod file;
mod stat;
mod xattr;

pub(crate) use directory::{DirectoryStack, Listed, list_directory, open_directory_at, open_top};
pub(crate) use error::{Failure, failed};
pub(crate) use file::{data_extents, open_for_reading, read_exactly_at, read_to_end_of, write_all};
pub(crate) use stat::{Stamp, entry_type, kind_of, metadata_of, timestamps};
pub(crate) use xattr::{read_xattrs, read_xattrs_at, set_xattrs, set_xattrs_at, set_xattrs_by_path};
