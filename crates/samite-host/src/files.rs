//! Files whose changes are durable when the call returns.
//!
//! Every error names the path and what was being done to it. A full disk is `unavailable` (`disk_full`), a file system
//! that cannot be written is `unavailable` (`read_only`), a refusal of the operating system is `denied`
//! (`no_permission`), and a missing file is `not_found` (`no_file`).

mod append;
mod atomic;
mod kept;
mod lock;
mod range;
mod reading;

pub use append::AppendFile;
pub use atomic::{
    TEMPORARY_SUFFIX, erase, is_temporary, remove_temporaries, replace_and_erase, replace_unsynced, write_atomic,
    write_new,
};
pub use kept::open_for_good;
pub use lock::FileLock;
pub(crate) use lock::{PATIENCE, lock_within};
pub use range::RangeFile;
pub use reading::{Below, files_below, open_reader, read_regular, real_directory};

use samite_model::{Error, Result};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The mode of a file that only its owner may read.
pub const PRIVATE_FILE: u32 = 0o600;
/// The mode of a directory that only its owner may enter.
pub const PRIVATE_DIRECTORY: u32 = 0o700;

/// The error for what the operating system answered: `doing` is a phrase such as "read".
pub fn io_error(doing: &str, path: &Path, source: io::Error) -> Error {
    let what = format!("cannot {doing} {}", path.display());
    let error = match source.kind() {
        io::ErrorKind::NotFound => Error::not_found("no_file", format!("{what}: it does not exist")),
        io::ErrorKind::PermissionDenied => Error::denied("no_permission", format!("{what}: permission denied"))
            .hint("check who owns the file and its directory, and their modes"),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::unavailable("disk_full", format!("{what}: the disk is full"))
                .hint("free some space, then try again; what was acknowledged is kept")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            Error::unavailable("read_only", format!("{what}: the file system is read-only"))
                .hint("mount it for writing, or use another store with --store")
        }
        io::ErrorKind::AlreadyExists => Error::conflict("file_exists", format!("{what}: it exists already")),
        io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => {
            Error::invalid("wrong_file_type", format!("{what}: {source}"))
        }
        _ => Error::unavailable("io_error", format!("{what}: {source}")),
    };
    error.because(source)
}

/// A file without a name in a directory: it goes when its last handle does.
///
/// # Errors
/// `denied` or `unavailable` when it cannot be made.
pub fn anonymous(directory: &Path) -> Result<std::fs::File> {
    tempfile::tempfile_in(directory).map_err(|source| io_error("make a file in", directory, source))
}

/// The size of a file, in bytes.
///
/// # Errors
/// `not_found` when there is none; `denied` or `unavailable` when it cannot be looked up.
pub fn size(path: &Path) -> Result<u64> {
    std::fs::metadata(path).map(|found| found.len()).map_err(|source| io_error("look at", path, source))
}

/// The real path, without links in it, of what may not be there yet.
///
/// # Errors
/// As [`canonical`]; `not_found` for a path that ends with `..` in what is not there.
pub fn canonical_to_be(path: &Path) -> Result<PathBuf> {
    if exists(path)? {
        return canonical(path);
    }
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            Ok(canonical_to_be(above)?.join(name))
        }
        _ => canonical(path),
    }
}

/// The absolute path of an existing file or directory, without links in it.
///
/// # Errors
/// `not_found` when there is none; `denied` or `unavailable` when it cannot be looked up.
pub fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|source| io_error("look up", path, source))
}

/// All bytes of a file.
///
/// # Errors
/// `not_found` (`no_file`), `denied` or `unavailable`, naming the path.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let failed = |source| io_error("read", path, source);
    let mut bytes = Vec::new();
    OpenOptions::new().read(true).open(path).map_err(failed)?.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// All bytes of a file, or `None` when it does not exist.
///
/// # Errors
/// `denied` or `unavailable`, naming the path.
pub fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.code() == "no_file" => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether something (of any type) has this path; a symbolic link is not followed.
///
/// # Errors
/// `denied` or `unavailable` when the operating system does not say.
pub fn exists(path: &Path) -> Result<bool> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(source) if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(source) => Err(io_error("look at", path, source)),
    }
}

/// The permission bits of a file.
///
/// # Errors
/// As [`read`].
pub fn mode(path: &Path) -> Result<u32> {
    let metadata = path.metadata().map_err(|source| io_error("look at", path, source))?;
    Ok(metadata.permissions().mode() & 0o7777)
}

/// The names in a directory, sorted.
///
/// # Errors
/// As [`read`].
pub fn list(path: &Path) -> Result<Vec<OsString>> {
    let failed = |source| io_error("list", path, source);
    let mut names = Vec::new();
    for entry in path.read_dir().map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    names.sort();
    Ok(names)
}

/// Writes a file that only its owner may read (0600) in the place of what is there. When this returns its bytes are durable,
/// but its name only with the next sync of the directory: for many files, of which one more that is written last tells.
///
/// # Errors
/// As [`read`]; `invalid` when a directory is there.
#[expect(clippy::disallowed_methods, reason = "this is the module that the others use")]
pub fn write_among(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |source| io_error("write", path, source);
    // Whatever somebody put there is replaced: a link is not followed, another name of the file keeps its bytes, and a pipe is
    // not waited for.
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(failed(source)),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(PRIVATE_FILE);
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_data()).map_err(failed)
}

/// Removes a directory with all that is in it; links in it are removed, and not followed. None is no error.
///
/// # Errors
/// As [`read`].
#[expect(clippy::disallowed_methods, reason = "this is the module that the others use")]
pub fn remove_tree(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path, source)),
        _ => Ok(()),
    }
}

/// Makes a directory that only its owner may enter (0700), with those above it that are missing. When this returns,
/// all of them are durable. A directory that exists keeps its mode.
///
/// # Errors
/// `denied` or `unavailable`, naming the path; `invalid` when something else has the name.
pub fn create_private_dir(path: &Path) -> Result<()> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(Path::new("/"));
    if path.is_dir() {
        return settle_dir(path, parent);
    }
    create_private_dir(parent)?;
    match DirBuilder::new().mode(PRIVATE_DIRECTORY).create(path) {
        Ok(()) => {
            crate::kill_point("files.directory.made");
            sync_dir(parent)
        }
        // Another process made it at the same moment.
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => settle_dir(path, parent),
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::invalid("wrong_file_type", format!("{} is not a directory", path.display())))
        }
        Err(source) => Err(io_error("make the directory", path, source)),
    }
}

/// Makes the name of a directory that exists durable where it may not be: whoever made it may have been killed before
/// the sync. Something is in it only if somebody came past here before, so a full one costs no sync.
fn settle_dir(path: &Path, parent: &Path) -> Result<()> {
    let is_empty = path.read_dir().is_ok_and(|mut names| names.next().is_none());
    if !is_empty {
        return Ok(());
    }
    match sync_dir(parent) {
        // Then it was not this user who made it.
        Err(error) if error.code() == "no_permission" => Ok(()),
        settled => settled,
    }
}

/// Makes the names in a directory durable: without it, a new file may be gone after a power cut although its bytes
/// were synced.
///
/// # Errors
/// `not_found`, `denied` or `unavailable`, naming the path.
pub fn sync_dir(path: &Path) -> Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let failed = |source| io_error("sync the directory", path, source);
    let directory = OpenOptions::new().read(true).open(path).map_err(failed)?;
    directory.sync_all().map_err(failed)
}

/// Makes everything durable that was written to the file system of a path, files and names alike: for many files, whose own syncs
/// would take longer than one wait for all that anybody wrote there.
///
/// # Errors
/// `not_found`, `denied` or `unavailable`, naming the path.
pub fn sync_file_system(path: &Path) -> Result<()> {
    let failed = |source| io_error("sync the file system of", path, source);
    let directory = OpenOptions::new().read(true).open(path).map_err(failed)?;
    rustix::fs::syncfs(directory).map_err(|error| failed(error.into()))
}

/// Removes a file; one that does not exist is no error. When this returns, its absence is durable.
///
/// # Errors
/// `denied` or `unavailable`, naming the path.
#[expect(clippy::disallowed_methods, reason = "this is the module that the others use")]
pub fn remove(path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    match std::fs::remove_file(path) {
        Ok(()) => sync_dir(parent),
        // Whoever removed it may have been killed before that was durable.
        Err(source) if source.kind() == io::ErrorKind::NotFound => match sync_dir(parent) {
            Err(error) if error.code() == "no_file" => Ok(()),
            synced => synced,
        },
        Err(source) => Err(io_error("remove", path, source)),
    }
}

/// Removes a directory that is empty, and says whether it did; one that is not, or does not exist, is no error. When this
/// returns, its absence is durable.
///
/// # Errors
/// `denied` or `unavailable`, naming the path.
pub fn remove_empty_dir(path: &Path) -> Result<bool> {
    match std::fs::remove_dir(path) {
        Ok(()) => sync_dir(path.parent().unwrap_or(Path::new("."))).map(|()| true),
        Err(source) if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => Ok(false),
        Err(source) => Err(io_error("remove", path, source)),
    }
}

/// Gives a file another name in the same file system. When this returns, both directories are durable.
///
/// # Errors
/// `not_found`, `denied` or `unavailable`, naming the old path.
#[expect(clippy::disallowed_methods, reason = "this is the module that the others use")]
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(|source| io_error("rename", from, source))?;
    let (old, new) = (from.parent().unwrap_or(Path::new(".")), to.parent().unwrap_or(Path::new(".")));
    sync_dir(new)?;
    if old == new { Ok(()) } else { sync_dir(old) }
}

/// Sets exactly these permission bits, whatever the process's mask is.
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_directory_has_private_parents() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a/b/c");
        create_private_dir(&path).unwrap();
        create_private_dir(&path).unwrap();
        for directory in ["a", "a/b", "a/b/c"] {
            assert_eq!(mode(&scratch.path().join(directory)).unwrap(), 0o700, "{directory}");
        }
    }

    #[test]
    fn a_file_in_the_way_of_a_directory_is_invalid() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        write_atomic(&path, b"x", PRIVATE_FILE).unwrap();
        assert_eq!(create_private_dir(&path).unwrap_err().code(), "wrong_file_type");
        assert_eq!(create_private_dir(&path.join("below")).unwrap_err().code(), "wrong_file_type");
    }

    #[test]
    fn what_can_be_made_again_replaces_whatever_somebody_put_there() {
        let scratch = tempfile::tempdir().unwrap();
        let [path, target, named, pipe] = ["file", "target", "named", "pipe"].map(|name| scratch.path().join(name));
        write_among(&path, b"old").unwrap();
        std::fs::hard_link(&path, &named).unwrap();
        write_among(&path, b"new").unwrap();
        assert_eq!((read(&path).unwrap(), read(&named).unwrap()), (b"new".to_vec(), b"old".to_vec()));
        assert_eq!(mode(&path).unwrap(), 0o600);
        write_among(&target, b"elsewhere").unwrap();
        std::os::unix::fs::symlink(&target, scratch.path().join("link")).unwrap();
        write_among(&scratch.path().join("link"), b"here").unwrap();
        assert_eq!(
            (read(&target).unwrap(), read(&scratch.path().join("link")).unwrap()),
            (b"elsewhere".to_vec(), b"here".to_vec())
        );
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        write_among(&pipe, b"no pipe").unwrap();
        assert_eq!(read(&pipe).unwrap(), b"no pipe");
        std::fs::create_dir(scratch.path().join("directory")).unwrap();
        assert!(write_among(&scratch.path().join("directory"), b"x").is_err());
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read(Path::new("/nonexistent/file")).unwrap_err();
        assert_eq!((error.kind(), error.code()), (samite_model::ErrorKind::NotFound, "no_file"));
        assert_eq!(error.message(), "cannot read /nonexistent/file: it does not exist");
        assert_eq!(read_if_exists(Path::new("/nonexistent/file")).unwrap(), None);
        assert!(!exists(Path::new("/nonexistent/file")).unwrap());
    }

    #[test]
    fn each_answer_of_the_system_has_its_kind() {
        let code = |number: i32| {
            let error = io_error("write", Path::new("/x"), io::Error::from_raw_os_error(number));
            (error.kind().name(), error.code())
        };
        assert_eq!(code(28), ("unavailable", "disk_full"));
        assert_eq!(code(122), ("unavailable", "disk_full"));
        assert_eq!(code(30), ("unavailable", "read_only"));
        assert_eq!(code(13), ("denied", "no_permission"));
        assert_eq!(code(1), ("denied", "no_permission"));
        assert_eq!(code(2), ("not_found", "no_file"));
        assert_eq!(code(5), ("unavailable", "io_error"));
    }

    #[test]
    fn names_are_listed_in_order() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["b", "a", "c"] {
            write_atomic(&scratch.path().join(name), b"", PRIVATE_FILE).unwrap();
        }
        assert_eq!(list(scratch.path()).unwrap(), ["a", "b", "c"]);
        rename(&scratch.path().join("a"), &scratch.path().join("d")).unwrap();
        remove(&scratch.path().join("b")).unwrap();
        remove(&scratch.path().join("b")).unwrap();
        assert_eq!(list(scratch.path()).unwrap(), ["c", "d"]);
    }
}
