//! The folder that old leaves of the audit log go to: it bears a mark from the time when it was named, so that no other one is taken
//! for it, such as an empty one that its disk is to be mounted over.

use super::Audit;
use super::archive::DueLeaves;
use crate::subject_export::outside;
use samite_audit::TreeHead;
use samite_audit::export::read_head;
use samite_host::files::{self, PRIVATE_FILE};
use samite_model::{Error, Result};
use std::path::{Path, PathBuf};

/// The file in it. It has the name of the keystore whose logs go there, in one line.
const MARK: &str = "samite-archive";
/// A mark has no more bytes.
const LONGEST: u64 = 1024;

impl Audit {
    /// Makes a folder the archive of this tenant's logs. It is made in a directory that is there; one that is, is left as it is but
    /// for the mark.
    pub(crate) fn mark_archive(&self, folder: &Path) -> Result<()> {
        self.outside_store(folder)?;
        let above = folder.parent().unwrap_or(Path::new("/"));
        if !files::exists(above)? {
            let what = format!("there is no directory {}", above.display());
            return Err(Error::not_found("archive_missing", what)
                .hint("mount the disk, or make the directory; then name the archive again"));
        }
        files::create_private_dir(folder)?;
        if self.is_marked(folder)? {
            return Ok(());
        }
        files::write_atomic(&folder.join(MARK), format!("{}\n", self.mark()).as_bytes(), PRIVATE_FILE)
    }

    /// Refuses a folder that is not there any more, or is another one than was named, or lacks what went there before.
    pub(super) async fn check_archive(&self, folder: &Path, due: &[DueLeaves]) -> Result<()> {
        self.outside_store(folder)?;
        if !self.is_marked(folder)? {
            let what = format!("{} is not there, or is not the folder that was named as the archive", folder.display());
            return Err(missing(what));
        }
        for log in due.iter().map(|due| due.log) {
            let cold = folder_in(folder, log);
            let name = cold.display().to_string();
            let Some(went) =
                self.parts(log).await?.iter().filter(|part| part.archive == name).map(|part| part.to).max()
            else {
                continue;
            };
            let head = read_head(&cold)?.map(|head| TreeHead::open(&head, &self.key_of(log)?, &[])).transpose()?;
            if head.is_none_or(|opened| opened.head.size < went) {
                return Err(missing(format!("{name} does not have the leaves before {went}, which were moved there")));
            }
        }
        Ok(())
    }

    fn outside_store(&self, folder: &Path) -> Result<()> {
        self.client.core.0.directory.as_ref().map_or(Ok(()), |store| outside(store, folder))
    }

    /// Whether a folder is the archive of this tenant's logs; that of another one is refused.
    fn is_marked(&self, folder: &Path) -> Result<bool> {
        let found = match files::read_regular(&folder.join(MARK), LONGEST) {
            Ok(found) => found.unwrap_or_default(),
            Err(error) if error.code() == "no_file" => return Ok(false),
            Err(error) => return Err(error),
        };
        if String::from_utf8_lossy(&found).trim_end() == self.mark() {
            return Ok(true);
        }
        let what = format!("{} is the archive of another store or tenant", folder.display());
        Err(Error::conflict("other_archive", what).hint("name a directory for this one alone"))
    }

    fn mark(&self) -> String {
        let name = self.client.core.0.keys.name();
        format!("audit logs of {}", samite_audit::log::origin(&name, 1).trim_end_matches("/1"))
    }
}

/// The folder of a log in an archive.
pub(super) fn folder_in(archive: &Path, log: u64) -> PathBuf {
    archive.join(format!("log-{log}"))
}

fn missing(what: String) -> Error {
    Error::not_found("archive_missing", what)
        .hint("nothing was moved: mount or bring back the archive, or name one with `samite retain set audit DURATION --archive DIR`")
}
