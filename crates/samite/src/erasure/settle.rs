//! Finishing what was begun, and doing again in an older copy of the store what it has forgotten.

use super::ErasureRecord;
use crate::embedded::Embedded;
use crate::payload::ErasureStarted;
use crate::views;
use futures_lite::future::block_on;
use samite_host::files::FileLock;
use samite_host::kill_point;
use samite_model::{EntryKind, Error, ErrorKind, Observer, Result};

/// The user of the command line.
pub(super) const LOCAL_USER: &str = "local";

impl Embedded {
    /// Before anything is served: erasures that this store has forgotten, since it is a copy from before them, are done again;
    /// those that were cut off are finished, unless somebody is at it. Returns what was done.
    pub(crate) fn settle_erasures(&self) -> Result<Vec<ErasureRecord>> {
        block_on(self.settle(&Observer::default()))
    }

    /// Finishes the erasures that have begun and are not done.
    ///
    /// # Errors
    /// As [`Embedded::erase`].
    pub async fn resume_erasures(&self, observer: &Observer) -> Result<Vec<ErasureRecord>> {
        let Some(_lock) = FileLock::try_acquire(&self.erasing_lock())? else {
            return Err(Error::conflict("erasure_running", "another erasure is being carried out")
                .hint("wait for it: `samite erase list` shows it"));
        };
        self.finish(observer).await
    }

    async fn settle(&self, observer: &Observer) -> Result<Vec<ErasureRecord>> {
        let core = &self.store().core;
        let name = |error: Error| error.context(self.directory().display());
        let forgotten = core.unknown_erasures(core.noted_erasures()?).await.map_err(name)?;
        let unfinished = match core.unfinished_erasures().await {
            // What is damaged is named by a verification, and the rest can be used.
            Err(error) if error.kind() == ErrorKind::Corrupt && forgotten.is_empty() => Vec::new(),
            unfinished => unfinished.map_err(name)?,
        };
        // Nothing of an older copy is served before all of it is done.
        let pending = forgotten.len() + unfinished.iter().filter(|started| started.replayed).count();
        if self.is_read_only() {
            return if pending == 0 {
                Ok(Vec::new())
            } else {
                Err(Error::denied(
                    "erasures_pending",
                    format!(
                        "this is a copy of the store from before {pending} erasures, which must be done here first"
                    ),
                )
                .hint("open it once for writing: `samite erase resume`"))
            };
        }
        if forgotten.is_empty() && unfinished.is_empty() {
            return Ok(Vec::new());
        }
        let lock = if pending == 0 {
            // Somebody who is at it needs no help.
            FileLock::try_acquire(&self.erasing_lock())?
        } else {
            Some(FileLock::acquire(&self.erasing_lock())?)
        };
        let Some(_lock) = lock else { return Ok(Vec::new()) };
        for noted in core.unknown_erasures(forgotten).await? {
            let mut started = ErasureStarted { replayed: true, ..noted };
            started.close = core.to_close(&started).await?;
            let draft = core.draft(EntryKind::ERASURE_STARTED, &started, views::erasure_started(&started))?;
            core.append_as_tenant(started.by(), vec![draft], Vec::new()).await?;
            kill_point("erase.replayed");
        }
        self.finish(observer).await
    }

    async fn finish(&self, observer: &Observer) -> Result<Vec<ErasureRecord>> {
        let core = &self.store().core;
        let mut done = Vec::new();
        for started in core.unfinished_erasures().await? {
            core.note_erasure(&started)?;
            done.push(self.carry_out(&started, observer).await?);
        }
        Ok(done)
    }
}
