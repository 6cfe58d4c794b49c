//! Reading files that are too large to hold, and finding those below a directory.

use super::{io_error, list};
use samite_model::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::BufReader;
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
    use std::io::Read as _;
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
