//! Refusals of nodes and receivers in other regions, and how they come into the log.
//!
//! A node that may not serve a tenant writes nothing into its journals. It notes the refusal in a file beside the ledger,
//! which the next node that may serve it takes into the log: each once, by its id.

use super::views;
use crate::client::Client;
use crate::core::{Core, to_json};
use crate::embedded::Embedded;
use crate::payload::Refused;
use crate::tenant::By;
use crate::views::row;
use futures_lite::future::block_on;
use samite_host::files::{self, AppendFile, FileLock};
use samite_host::kill_point;
use samite_ledger::Guard;
use samite_model::policy::Region;
use samite_model::{EntryKind, ErrorKind, FamilyId, Result};
use std::path::PathBuf;

/// A file of refusals does not grow beyond so many bytes: the first ones tell enough.
const NOTED: u64 = 64 << 10;

impl Embedded {
    fn refusals(&self) -> PathBuf {
        self.home().join("refusals.jsonl")
    }

    fn refusals_lock(&self) -> PathBuf {
        self.home().join("refusals.lock")
    }

    /// Refuses a node of another region, and notes that; takes what others noted into the log.
    pub(crate) fn settle_region(&self) -> Result<()> {
        let core = &self.store().core;
        let may_serve = match block_on(core.may_serve(self.region())) {
            // Where it is pinned to cannot be told: it is looked at, and not gone on with.
            Err(error) if error.kind() == ErrorKind::Corrupt && self.is_read_only() => true,
            told => told.map_err(|error| error.context(self.directory().display()))?,
        };
        if !may_serve {
            let refusal = core.refusal("open", self.region().cloned())?;
            // The answer is no in any case.
            let noted = self.note_refusal(&refusal).is_ok();
            let error = block_on(core.refuse_region("this node", self.region()))?
                .hint("open it on a node of its region: SAMITE_REGION states that of a node");
            return Err(if noted { error.hint("the refusal was noted for its log") } else { error });
        }
        if self.is_read_only() || !files::exists(&self.refusals())? {
            return Ok(());
        }
        block_on(self.take_refusals())
    }

    fn note_refusal(&self, refusal: &Refused) -> Result<()> {
        let _lock = FileLock::acquire(&self.refusals_lock())?;
        let path = self.refusals();
        let mut file = if files::exists(&path)? { AppendFile::open(&path)? } else { AppendFile::create(&path)? };
        if file.length() < NOTED {
            let mut line = to_json(refusal)?;
            line.push(b'\n');
            file.append(&line)?;
            file.sync()?;
        }
        Ok(())
    }

    /// Takes the refusals that were noted into the log. When this returns, they are durable there, each once.
    async fn take_refusals(&self) -> Result<()> {
        let core = &self.store().core;
        let _lock = FileLock::acquire(&self.refusals_lock())?;
        let Some(bytes) = files::read_if_exists(&self.refusals())? else { return Ok(()) };
        let by = core.by_tenant()?;
        for line in bytes.split(|byte| *byte == b'\n') {
            // What was cut off, or is none, is no refusal.
            let Ok(refusal) = serde_json::from_slice::<Refused>(line) else { continue };
            core.record_refusal(by, &refusal).await?;
            kill_point("refusal.taken");
        }
        files::remove(&self.refusals())
    }
}

impl Core {
    fn refusal(&self, what: &str, region: Option<Region>) -> Result<Refused> {
        Ok(Refused { refusal: FamilyId(self.random_id()?), what: what.to_owned(), region, time: self.now() })
    }

    async fn record_refusal(&self, by: By, refusal: &Refused) -> Result<()> {
        let draft = self.draft(EntryKind::REFUSED, refusal, views::refused(refusal))?;
        let hashes = vec![*refusal.refusal.as_bytes()];
        let guard = Guard::RowAbsent { journal: self.tenant_control(), kind: row::REFUSED, hashes };
        match self.append_as_tenant(by, vec![draft], vec![guard]).await {
            Err(error) if error.code() == "row_exists" => Ok(()),
            other => other,
        }
    }
}

impl Client {
    /// Records that something was refused because of its region.
    pub(super) async fn record_refusal(&self, what: &str, region: &Region) -> Result<()> {
        let refusal = self.core.refusal(what, Some(region.clone()))?;
        self.core.record_refusal(self.by(), &refusal).await
    }

    /// All that was refused because of its region, oldest first.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `corrupt` when an entry cannot be read.
    pub async fn refusals(&self) -> Result<Vec<Refused>> {
        let this = &self.operator().await?;
        let said = this.core.said_of_tenant(EntryKind::REFUSED).await?;
        Ok(said.into_iter().map(|(_, refused)| refused).collect())
    }
}
