//! What an erasure takes beside the ledger and the packs: stat caches, signs of life, laid out conflicts, and notes of
//! events that could not be recorded.

use super::settle::LOCAL_USER;
use crate::embedded::Embedded;
use crate::hook::Spool;
use crate::payload::ErasureStarted;
use samite_host::files::{self, FileLock};
use samite_host::kill_point;
use samite_model::erasure::Scope;
use samite_model::{JournalId, Owner, Result};
use std::collections::HashSet;

impl Embedded {
    /// The doubts about steps that lie among the signs of life, by the ids of the entries that started them.
    pub(super) fn doubts(&self) -> Result<HashSet<String>> {
        let lives = self.home().join("lives");
        if !files::exists(&lives)? {
            return Ok(HashSet::new());
        }
        let names = files::list(&lives)?;
        let doubt = |name: &std::ffi::OsString| name.to_str()?.strip_suffix(".doubt").map(str::to_owned);
        Ok(names.iter().filter_map(doubt).collect())
    }

    /// Removes what is left of an erasure's sessions in files, and says how many files that were.
    pub(super) fn erase_files(&self, started: &ErasureStarted, doubts: &[String]) -> Result<u64> {
        let mut removed = 0;
        let home = self.home();
        let caches = started.workspaces.iter().map(|workspace| home.join("caches").join(workspace.to_string()));
        let lives = started.lives.iter().filter(|name| is_plain(name)).map(|name| home.join("lives").join(name));
        let doubts = doubts.iter().map(|id| home.join("lives").join(format!("{id}.doubt")));
        for path in caches.chain(lives).chain(doubts) {
            if files::exists(&path)? {
                files::remove(&path)?;
                removed += 1;
            }
        }
        kill_point("erase.files");
        for branch in &started.close {
            let layout = self.directory().join("merges").join(branch.to_string());
            if files::exists(&layout)? {
                removed += files::files_below(&layout)?.files.len() as u64;
                files::remove_tree(&layout)?;
            }
        }
        Ok(removed + self.erase_notes(started)?)
    }

    /// Removes all notes of events of hooks, with the user whose hooks they are.
    pub(super) fn erase_all_notes(&self, started: &ErasureStarted) -> Result<u64> {
        let spool = Spool::beside(self.directory());
        if spool.has_notes() != Some(true) {
            return Ok(0);
        }
        let local = self.store().core.0.keys.owner_pseudonym(&Owner::new(format!("user:{LOCAL_USER}"))?);
        if started.scope == Scope::User && started.subject == local { spool.forget(|_| Ok(true)) } else { Ok(0) }
    }

    /// Removes notes of events of hooks of the sessions.
    fn erase_notes(&self, started: &ErasureStarted) -> Result<u64> {
        let spool = Spool::beside(self.directory());
        if started.session_keys.is_empty() || spool.has_notes() != Some(true) {
            return Ok(0);
        }
        let core = &self.store().core;
        spool.forget(|missed| {
            let Some(key) = missed.session_key() else { return Ok(false) };
            let hash = core.erased_key_hash(started.subject, &key)?;
            Ok(started.session_keys.iter().any(|known| known.0 == hash))
        })
    }
}

impl Embedded {
    /// Removes what is kept beside the ledger of the namespaces that an erasure may take something of, and says how many files that
    /// were: whoever needs it makes it again, of the entries that are left. When this returns, that is durable. Of a session that is
    /// any of its owner's: a branch writes to each.
    pub(super) async fn erase_namespaces(&self, started: &ErasureStarted, close: &[JournalId]) -> Result<u64> {
        let core = &self.store().core;
        let runs = core.foreign_runs(started).await?;
        let journals = runs.iter().map(|run| run.journal).chain(close.iter().copied()).collect();
        let all = match started.scope {
            Scope::Session { .. } | Scope::Entries { .. } => Some(started.subject),
            _ => None,
        };
        let home = self.home().join(NAMESPACES);
        core.2.clear();
        // Whoever writes there looks first whether something was erased.
        let _lock = FileLock::acquire(&self.home().join(crate::memory::LOCK))?;
        let mut removed = 0;
        for namespace in core.namespaces_among(&journals, all).await? {
            let directory = home.join(namespace.to_string());
            if files::exists(&directory)? {
                removed += files::files_below(&directory)?.files.len() as u64;
                files::remove_tree(&directory)?;
            }
        }
        kill_point("erase.namespaces");
        Ok(removed)
    }
}

/// Where the indexes of namespaces lie, each in a directory that is named by its journal, below a tenant's own.
const NAMESPACES: &str = "memory";

/// Whether a name leads nowhere else.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains('/')
}
