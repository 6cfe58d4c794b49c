//! Files of databases, read beside open connections.

use super::{RangeFile, io_error};
use samite_model::Result;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The files that stay open, by device and inode.
static KEPT: Mutex<BTreeMap<(u64, u64), &'static RangeFile>> = Mutex::new(BTreeMap::new());

/// Opens a file that other parts of this process may have locks on, such as a database's: once a process, and it is never
/// closed. POSIX gives up all of a process's locks on a file as soon as the process closes any descriptor of it, so that whoever
/// reads such a file on the side, and closes it, takes away the locks of connections that are at work.
///
/// # Errors
/// `not_found`, `denied` or `unavailable`, naming the path.
pub fn open_for_good(path: &Path) -> Result<&'static RangeFile> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let there = path.metadata().map_err(|source| io_error("look at", path, source))?;
    if let Some(file) = kept.get(&(there.dev(), there.ino())) {
        return Ok(file);
    }
    let file: &'static RangeFile = Box::leak(Box::new(RangeFile::open(path)?));
    // Another may lie there by now.
    let identity = file.identity()?;
    Ok(kept.entry(identity).or_insert(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{remove, write_atomic};

    #[test]
    fn a_file_is_opened_once_and_another_in_its_place_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.db");
        write_atomic(&path, b"one", 0o600).unwrap();
        let first = open_for_good(&path).unwrap();
        assert!(std::ptr::eq(first, open_for_good(&path).unwrap()));
        write_atomic(&path, b"other", 0o600).unwrap();
        let other = open_for_good(&path).unwrap();
        assert!(!std::ptr::eq(first, other));
        let mut bytes = [0; 8];
        assert_eq!(other.fill_at(0, &mut bytes).unwrap(), 5);
        assert_eq!(first.fill_at(0, &mut bytes).unwrap(), 3);
        remove(&path).unwrap();
        assert!(open_for_good(&path).is_err());
    }
}
