//! Reading the files of a log in a folder.

use crate::note::LONGEST_NOTE;
use crate::tile::{FULL, LONGEST_ENTRY, TileKind, TilePath, TileSource};
use samite_host::files;
use samite_model::{Error, Result};
use std::path::{Path, PathBuf};

/// The file with the signed tree head. The specifications call it so.
pub const HEAD_FILE: &str = "checkpoint";

/// The tiles and bundles of a log in a folder.
pub struct FolderTiles {
    folder: PathBuf,
}

impl FolderTiles {
    /// Those of this folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The bytes of exactly this file, if it is there: no more than one byte more than it may have.
    pub(super) fn exact(&self, path: TilePath) -> Result<Option<Vec<u8>>> {
        let most = match path.kind {
            TileKind::Hashes(_) => usize::from(FULL) * 32,
            TileKind::Entries => usize::from(FULL) * (LONGEST_ENTRY + 2),
        };
        let file = self.folder.join(path.to_string());
        match files::read_regular(&file, most as u64 + 1) {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) => Err(Error::corrupt("bad_tile", format!("{path} is no regular file"))),
            Err(error) if error.code() == "no_file" => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl TileSource for FolderTiles {
    /// Of a file that is not full and is gone, the full one does.
    fn read(&mut self, path: TilePath) -> Result<Vec<u8>> {
        if let Some(bytes) = self.exact(path)? {
            return Ok(bytes);
        }
        let full = TilePath { width: FULL, ..path };
        let found = if path.is_full() { None } else { self.exact(full)? };
        found.ok_or_else(|| Error::not_found("no_tile", format!("{path} is missing")))
    }
}

/// The bytes of the signed tree head of a log in a folder, not verified; nothing when there is no such file.
///
/// # Errors
/// `corrupt` (`bad_note`) when it is no regular file; what reading answers.
pub fn read_head(folder: &Path) -> Result<Option<Vec<u8>>> {
    let path = folder.join(HEAD_FILE);
    match files::read_regular(&path, LONGEST_NOTE as u64 + 1) {
        Ok(Some(bytes)) => Ok(Some(bytes)),
        Ok(None) => Err(Error::corrupt("bad_note", format!("{} is no regular file", path.display()))),
        Err(error) if error.code() == "no_file" => Ok(None),
        Err(error) => Err(error),
    }
}
