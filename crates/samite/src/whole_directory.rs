//! A directory that is whole or says that it is not: the file that is made first in it has another name until all of it is there.

use samite_host::files;
use samite_model::{Error, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What the name of the first file ends with while its directory is not whole.
const PART: &str = ".part";

/// A directory that is being written.
pub(crate) struct WholeDirectory {
    to: PathBuf,
    last: &'static str,
    /// Whether it was not there before.
    is_new: bool,
}

impl WholeDirectory {
    /// Makes a directory ready to be written. `last` is the file that has its name once all is there; `ours` is what else is
    /// written. What was left behind by a writing that was cut off is removed.
    ///
    /// # Errors
    /// `conflict` (`not_empty`) when the directory holds something else, or is whole; what reading and removing answers.
    pub(crate) fn begin(to: &Path, last: &'static str, ours: &[&str]) -> Result<Self> {
        let directory = Self { to: to.to_owned(), last, is_new: !files::exists(to)? };
        let there = if directory.is_new { Vec::new() } else { files::list(to)? };
        let part = directory.part();
        let is_part = |name: &OsStr| part.file_name() == Some(name);
        let is_cut_off = there.iter().any(|name| is_part(name));
        let is_ours = |name: &OsStr| is_part(name) || ours.iter().any(|own| name == OsStr::new(own));
        // What was cut off before its first file had its name has only a temporary one.
        if !there.iter().all(|name| files::is_temporary(name) || (is_cut_off && is_ours(name))) {
            return Err(Error::conflict("not_empty", format!("{} holds something already", to.display()))
                .hint("give a directory that is empty or does not exist"));
        }
        // The first file goes last: until then the directory says what it is.
        for name in there.iter().filter(|name| !is_part(name)) {
            let path = to.join(name);
            if files::list(&path).is_ok() { files::remove_tree(&path)? } else { files::remove(&path)? }
        }
        files::create_private_dir(to)?;
        files::write_atomic(&directory.part(), b"", files::PRIVATE_FILE)?;
        Ok(directory)
    }

    /// The first file, while the directory is not whole.
    pub(crate) fn part(&self) -> PathBuf {
        self.to.join(format!("{}{PART}", self.last))
    }

    /// Gives up before anything else was written.
    ///
    /// # Errors
    /// What removing answers.
    pub(crate) fn give_up(self) -> Result<()> {
        files::remove(&self.part())?;
        if self.is_new {
            files::remove_empty_dir(&self.to)?;
        }
        Ok(())
    }

    /// Says that all is there. When this returns, that is durable.
    ///
    /// # Errors
    /// What renaming answers.
    pub(crate) fn end(self) -> Result<()> {
        files::rename(&self.part(), &self.to.join(self.last))?;
        files::sync_dir(&self.to)
    }
}
