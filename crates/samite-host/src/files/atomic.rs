//! Files that are replaced whole: whoever looks sees the old bytes or the new ones, before and after a power cut.

use super::{io_error, set_mode, sync_dir};
use crate::kill_point;
use samite_model::Result;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the names of temporary files end with: one that is left over may be removed once nobody writes.
pub const TEMPORARY_SUFFIX: &str = ".samite-tmp";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Whether a name is one of the temporary names that [`write_atomic`] gives.
pub fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(TEMPORARY_SUFFIX.as_bytes())
}

/// Writes a file with this mode by way of a temporary file in the same directory. When this returns, bytes and name
/// are durable; when it fails, the file has its old bytes.
///
/// # Errors
/// `not_found` when the directory is missing, `denied` or `unavailable`, naming the path.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let directory = directory_of(path);
    let failed = |source| io_error("write", path, source);
    let temporary = write_temporary(directory, bytes, mode).map_err(failed)?;
    kill_point("files.atomic.written");
    if let Err(source) = rename(&temporary, path) {
        discard(&temporary);
        return Err(failed(source));
    }
    kill_point("files.atomic.renamed");
    sync_dir(directory)
}

/// Like [`write_atomic`], but without waiting for the disk: after a power cut the file may have its old bytes, or be cut or
/// damaged. For what can be told to be so and made anew, such as a cache with a checksum.
///
/// # Errors
/// As [`write_atomic`].
pub fn replace_unsynced(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let failed = |source| io_error("write", path, source);
    let (mut file, temporary) = create_temporary(directory_of(path)).map_err(failed)?;
    let written = set_mode(&file, mode).and_then(|()| file.write_all(bytes));
    written.and_then(|()| rename(&temporary, path)).map_err(|source| {
        discard(&temporary);
        failed(source)
    })
}

/// Like [`write_atomic`], but never over a file that is there: then it returns false, and nothing changes. When this returns
/// true, bytes and name are durable.
///
/// # Errors
/// As [`write_atomic`].
pub fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<bool> {
    let directory = directory_of(path);
    let failed = |source| io_error("write", path, source);
    let temporary = write_temporary(directory, bytes, mode).map_err(failed)?;
    kill_point("files.new.written");
    // A second name, and not a rename, since that would replace what is there.
    let written = match std::fs::hard_link(&temporary, path) {
        Ok(()) => Ok(true),
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(source),
    };
    kill_point("files.new.named");
    discard(&temporary);
    let is_new = written.map_err(failed)?;
    sync_dir(directory)?;
    Ok(is_new)
}

/// Like [`write_atomic`], and then overwrites the old file's bytes where they lay and syncs that, so that they are not
/// merely unnamed. A file system that never writes in place, or a disk that remaps, may still keep them.
///
/// # Errors
/// As [`write_atomic`]. A failure to overwrite is an error too, although the new bytes are in place.
pub fn replace_and_erase(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let failed = |source| io_error("overwrite the old bytes of", path, source);
    let old = match OpenOptions::new().write(true).open(path) {
        Ok(file) => Some(file),
        Err(source) if source.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(failed(source)),
    };
    write_atomic(path, bytes, mode)?;
    old.map_or(Ok(()), overwrite).map_err(failed)
}

/// Overwrites a file's bytes where they lie, syncs that, and removes it; one that does not exist is no error. When this
/// returns, that is durable.
///
/// # Errors
/// `denied` or `unavailable`, naming the path.
pub fn erase(path: &Path) -> Result<()> {
    let failed = |source| io_error("overwrite", path, source);
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => overwrite(file).map_err(failed)?,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(failed(source)),
    }
    super::remove(path)
}

fn overwrite(mut file: File) -> io::Result<()> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(0))?;
    io::copy(&mut io::Read::take(io::repeat(0), length), &mut file)?;
    file.sync_all()
}

/// Removes what interrupted writes left in a directory, and returns how many there were. Call it while no other
/// process can be writing there, such as under the directory's lock.
///
/// # Errors
/// `denied` or `unavailable`, naming the path.
pub fn remove_temporaries(directory: &Path) -> Result<usize> {
    let mut removed = 0;
    for name in super::list(directory)? {
        if is_temporary(&name) {
            super::remove(&directory.join(name))?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file with these bytes, synced, under a name of its own; none is left where that fails.
fn write_temporary(directory: &Path, bytes: &[u8], mode: u32) -> io::Result<PathBuf> {
    let (mut file, temporary) = create_temporary(directory)?;
    let written = set_mode(&file, mode).and_then(|()| file.write_all(bytes)).and_then(|()| file.sync_all());
    match written {
        Ok(()) => Ok(temporary),
        Err(source) => {
            discard(&temporary);
            Err(source)
        }
    }
}

/// A new file under a name of its own: short, since a name of 255 bytes leaves no room for a suffix.
fn create_temporary(directory: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".{}-{number}{TEMPORARY_SUFFIX}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(super::PRIVATE_FILE).open(&path) {
            Ok(file) => return Ok((file, path)),
            // Left by an earlier process of this number.
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(source),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the module that the others use")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// Best effort: the error that led here is the one to report, and a cleaner finds what stays.
#[expect(clippy::disallowed_methods, reason = "this is the module that the others use")]
fn discard(path: &Path) {
    let _ = std::fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_whole_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert!(write_new(&path, b"first", 0o600).unwrap());
        assert!(!write_new(&path, b"second", 0o600).unwrap());
        assert_eq!(super::super::read(&path).unwrap(), b"first");
        assert_eq!(super::super::list(folder.path()).unwrap(), ["file"]);
        assert!(write_new(&folder.path().join("gone/file"), b"x", 0o600).is_err());
    }
    use crate::files::{list, mode, read};

    #[test]
    fn a_file_is_replaced_whole_with_its_mode() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        write_atomic(&path, b"old", 0o644).unwrap();
        assert_eq!(mode(&path).unwrap(), 0o644);
        write_atomic(&path, b"new", 0o600).unwrap();
        assert_eq!((read(&path).unwrap(), mode(&path).unwrap()), (b"new".to_vec(), 0o600));
        assert_eq!(list(scratch.path()).unwrap(), ["file"]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("directory");
        std::fs::create_dir(&path).unwrap();
        assert!(write_atomic(&path, b"x", 0o600).is_err());
        assert_eq!(list(scratch.path()).unwrap(), ["directory"]);
        let missing = scratch.path().join("missing/file");
        assert_eq!(write_atomic(&missing, b"x", 0o600).unwrap_err().code(), "no_file");
    }

    #[test]
    fn a_name_of_255_bytes_can_be_written() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("n".repeat(255));
        write_atomic(&path, b"x", 0o600).unwrap();
        assert_eq!(read(&path).unwrap(), b"x");
    }

    #[test]
    fn old_bytes_are_overwritten_where_they_lay() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, other_name) = (scratch.path().join("file"), scratch.path().join("other"));
        write_atomic(&path, b"secret", 0o600).unwrap();
        std::fs::hard_link(&path, &other_name).unwrap();
        replace_and_erase(&path, b"new", 0o600).unwrap();
        assert_eq!(read(&path).unwrap(), b"new");
        assert_eq!(read(&other_name).unwrap(), [0; 6]);
    }

    #[test]
    fn an_erased_file_is_overwritten_and_gone() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, other_name) = (scratch.path().join("file"), scratch.path().join("other"));
        write_atomic(&path, b"secret", 0o600).unwrap();
        std::fs::hard_link(&path, &other_name).unwrap();
        erase(&path).unwrap();
        erase(&path).unwrap();
        assert_eq!(list(scratch.path()).unwrap(), ["other"]);
        assert_eq!(read(&other_name).unwrap(), [0; 6]);
    }

    #[test]
    fn leftovers_are_recognised_and_removed() {
        let scratch = tempfile::tempdir().unwrap();
        write_atomic(&scratch.path().join(".1-2.samite-tmp"), b"x", 0o600).unwrap();
        write_atomic(&scratch.path().join("kept"), b"x", 0o600).unwrap();
        assert_eq!(remove_temporaries(scratch.path()).unwrap(), 1);
        assert_eq!(list(scratch.path()).unwrap(), ["kept"]);
    }
}
