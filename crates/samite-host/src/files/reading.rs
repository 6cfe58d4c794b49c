//! Reading files that are too large to hold, and finding those below a directory.

use super::{io_error, list};
use rustix::fs::OFlags;
use rustix::io::Errno;
use samite_model::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// How much is read at once, in bytes.
const BUFFER: usize = 256 << 10;

/// A reader at the start of a regular file; a symbolic link to one is followed. A pipe or device is refused, since
/// opening it might wait for ever.
///
/// # Errors
/// `not_found` (`no_file`), `denied` or `unavailable`, naming the path; `invalid` (`wrong_file_type`) when it is no
/// regular file.
pub fn open_reader(path: &Path) -> Result<BufReader<File>> {
    let metadata = path.metadata().map_err(|source| io_error("look at", path, source))?;
    if !metadata.is_file() {
        return Err(Error::invalid(
            "wrong_file_type",
            format!("cannot read {}: it is no regular file", path.display()),
        ));
    }
    let file = OpenOptions::new().read(true).open(path).map_err(|source| io_error("open", path, source))?;
    Ok(BufReader::with_capacity(BUFFER, file))
}

/// The first bytes of a regular file, at most `limit`; nothing when the path names anything else: a symbolic link is not
/// followed, a pipe not waited for, and a device not read.
///
/// # Errors
/// `not_found` (`no_file`), `denied` or `unavailable`, naming the path.
pub fn read_regular(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    let failed = |source| io_error("read", path, source);
    if !path.symlink_metadata().map_err(failed)?.is_file() {
        return Ok(None);
    }
    // Something else may have taken its place since.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

/// Refuses what is no directory itself, such as a symbolic link to one.
///
/// # Errors
/// `invalid` (`wrong_file_type`) then; `not_found` (`no_file`), `denied` or `unavailable`, naming the path.
pub fn real_directory(path: &Path) -> Result<()> {
    let metadata = path.symlink_metadata().map_err(|source| io_error("look at", path, source))?;
    if metadata.is_dir() {
        return Ok(());
    }
    Err(io_error("list", path, io::Error::new(io::ErrorKind::NotADirectory, "it is no directory")))
}

/// What is below a directory.
#[derive(Debug, Default)]
pub struct Below {
    /// The regular files, sorted by path.
    pub files: Vec<PathBuf>,
    /// Directories and names that could not be looked at, and why.
    pub unreadable: Vec<Error>,
}

/// The regular files below a directory, at any depth. Symbolic links below it are not followed and not listed.
///
/// # Errors
/// `not_found` (`no_file`), `denied`, `invalid` or `unavailable` when the directory itself cannot be listed; what fails
/// further down is in the answer.
pub fn files_below(directory: &Path) -> Result<Below> {
    let mut below = Below::default();
    let mut waiting: Vec<PathBuf> = list(directory)?.into_iter().map(|name| directory.join(name)).collect();
    while let Some(path) = waiting.pop() {
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_file() => below.files.push(path),
            Ok(metadata) if metadata.is_dir() => match list(&path) {
                Ok(names) => waiting.extend(names.into_iter().map(|name| path.join(name))),
                Err(error) => below.unreadable.push(error),
            },
            Ok(_) => {}
            Err(source) => below.unreadable.push(io_error("look at", &path, source)),
        }
    }
    below.files.sort();
    Ok(below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_are_found_at_any_depth_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        super::super::create_private_dir(&root.join("b/c")).unwrap();
        for name in ["z", "b/c/y", "b/x"] {
            super::super::write_atomic(&root.join(name), b"1", 0o600).unwrap();
        }
        symlink(root, root.join("b/loop")).unwrap();
        symlink(root.join("z"), root.join("link")).unwrap();
        let below = files_below(root).unwrap();
        assert_eq!(below.files, ["b/c/y", "b/x", "z"].map(|name| root.join(name)));
        assert!(below.unreadable.is_empty());
        assert_eq!(files_below(&root.join("gone")).unwrap_err().code(), "no_file");
    }

    #[test]
    fn only_a_regular_file_is_read_and_no_more_of_it_than_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, pipe, inner] = ["file", "link", "pipe", "inner"].map(|name| folder.path().join(name));
        super::super::write_atomic(&file, b"abc", 0o600).unwrap();
        symlink(&file, &link).unwrap();
        symlink(folder.path(), &inner).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(read_regular(&file, 9).unwrap(), Some(b"abc".to_vec()));
        assert_eq!(read_regular(&file, 2).unwrap(), Some(b"ab".to_vec()));
        for other in [&link, &pipe, &inner, &folder.path().to_owned(), &std::path::PathBuf::from("/dev/zero")] {
            assert_eq!(read_regular(other, 9).unwrap(), None, "{}", other.display());
        }
        assert_eq!(read_regular(&folder.path().join("gone"), 9).unwrap_err().code(), "no_file");
        real_directory(folder.path()).unwrap();
        for other in [&link, &inner, &file] {
            assert_eq!(real_directory(other).unwrap_err().code(), "wrong_file_type");
        }
    }

    #[test]
    fn only_a_regular_file_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        super::super::write_atomic(&path, b"abc", 0o600).unwrap();
        let mut text = String::new();
        open_reader(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "abc");
        assert_eq!(open_reader(folder.path()).unwrap_err().code(), "wrong_file_type");
        assert_eq!(open_reader(&folder.path().join("b")).unwrap_err().code(), "no_file");
    }
}
