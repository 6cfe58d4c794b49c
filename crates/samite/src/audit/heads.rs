//! Heads that leave the store: each is noted where the master key lives before anybody gets it, and only ever a larger one.

use super::Audit;
use super::archived::Cold;
use samite_audit::log::{Published, PublishedHeads};
use samite_audit::merkle::leaf_hash;
use samite_audit::tile::FULL;
use samite_audit::{Note, TreeHead};
use samite_host::files::{self, FileLock};
use samite_ledger::LogState;
use samite_model::{Error, Result};
use std::path::PathBuf;

/// How often another process may publish a larger head meanwhile.
const TRIES: usize = 50;

/// A head of a log that may leave the store, since it was noted, or a larger one was.
pub(super) struct Handed {
    /// The log as it was when it was noted.
    pub(super) state: LogState,
    /// Its head.
    pub(super) head: TreeHead,
    /// The same, signed.
    pub(super) note: Note,
    /// What is not in the store any more.
    pub(super) cold: Cold,
}

impl Handed {
    /// The index of the first leaf that is in the store.
    pub(super) fn minimum(&self) -> u64 {
        self.cold.minimum()
    }

    /// Whether the store alone has the root at a size: of the leaves before the minimum, only at the end of a bundle.
    pub(super) fn has(&self, size: u64) -> bool {
        size >= self.minimum() || size.is_multiple_of(u64::from(FULL))
    }

    /// Whether the root at a size can be computed, by an archive where the store alone does not have it.
    pub(super) fn shows(&self, size: u64) -> bool {
        self.has(size) || self.cold.bundle(size).is_some()
    }
}

impl Audit {
    /// The newest head of a log, noted: whoever gets it never sees another history under the same origin.
    ///
    /// # Errors
    /// `conflict` (`published_ahead`) when a head was published that this store does not have.
    pub(super) async fn hand_out(&self, log: Option<u64>) -> Result<Handed> {
        let keys = &self.client.core.0.keys;
        let (master, name) = (keys.master(), keys.name());
        for _ in 0..TRIES {
            let newest = self.state(None).await?.log;
            let state = self.state(log).await?;
            let (head, stored) = self.head(&state)?;
            let before = master.load_note(&name, PublishedHeads::NOTE)?;
            let mut published = decoded(before.as_deref())?;
            self.check_published(&published, &state, newest).await?;
            let cold = self.cold(state.log).await?;
            let handed = |state| Handed { state, head: head.clone(), note: stored.note.clone(), cold: cold.clone() };
            let Some(last) = head.size.checked_sub(1) else { return Ok(handed(state)) };
            let last_leaf = leaf_hash(&self.leaf(&state, last).await?);
            if !published.advance(Published { log: state.log, head: head.clone(), last_leaf }) {
                return Ok(handed(state));
            }
            // A master that cannot lock is at least not asked by two processes of this store at once.
            let _lock = self.lock()?;
            if master.swap_note(&name, PublishedHeads::NOTE, before.as_deref(), &published.encode()?)?.is_some() {
                return Ok(handed(state));
            }
        }
        Err(Error::unavailable("store_busy", "other processes kept publishing heads of the audit log")
            .hint("try again when there is less going on"))
    }

    /// The heads that were published, as they are noted beside the master key.
    pub(super) fn published(&self) -> Result<PublishedHeads> {
        let keys = &self.client.core.0.keys;
        decoded(keys.master().load_note(&keys.name(), PublishedHeads::NOTE)?.as_deref())
    }

    /// Refuses to publish a log that does not have what was published of it: this store is an older copy of itself.
    async fn check_published(&self, published: &PublishedHeads, state: &LogState, newest: u64) -> Result<()> {
        let Some(last) = published.newest() else { return Ok(()) };
        let refused = |head: &Published, hint: &'static str| {
            let what = format!(
                "a head of log {} with {} leaves was published, which this store does not have",
                head.log, head.head.size
            );
            Err(Error::conflict("published_ahead", what).hint(hint))
        };
        if last.log > newest {
            return refused(last, OLDER);
        }
        match published.of(state.log) {
            Some(head) if self.has(head, state).await? => Ok(()),
            Some(head) if state.log < newest => refused(head, LOST),
            Some(head) => refused(head, OLDER),
            // A later log began because one of this log was published, by a version that noted the last log's alone.
            None if state.log < last.log => {
                let what = format!("which heads of log {} were published is not noted any more", state.log);
                Err(Error::conflict("published_ahead", what).hint(LOST))
            }
            None => Ok(()),
        }
    }

    /// Whether heads of a log may leave the store: not those of an earlier log of which another history was published. The newest
    /// is asked only when it is published.
    pub(super) async fn may_leave(&self, state: &LogState, newest: u64) -> Result<bool> {
        match self.check_published(&self.published()?, state, newest).await {
            Err(error) if error.code() == "published_ahead" => Ok(state.log == newest),
            other => other.map(|()| true),
        }
    }

    /// The log that the next leaf is in: the newest, or the one after what was published, where this store lacks that.
    pub(super) async fn log_to_be(&self) -> Result<u64> {
        let newest = self.client.core.0.ledger.audit_log(None).await?;
        let log = newest.as_ref().map_or(0, |state| state.log);
        let published = self.published()?;
        let Some(last) = published.newest() else { return Ok(log.max(1)) };
        let there = match &newest {
            Some(state) if log == last.log => self.has(last, state).await?,
            _ => log > last.log,
        };
        Ok(if there { log } else { log.max(last.log).saturating_add(1) })
    }

    /// Whether a log of this store has a head that was published of it. Leaves hold random ids: two copies that went on apart
    /// have no leaf in common.
    async fn has(&self, published: &Published, state: &LogState) -> Result<bool> {
        let Some(last) = published.head.size.checked_sub(1) else { return Ok(true) };
        // What was moved to an archive was published by that.
        if last < self.minimum(state.log).await? {
            return Ok(true);
        }
        if last >= state.size {
            return Ok(false);
        }
        match self.leaf(state, last).await {
            // Just now.
            Err(error) if error.code() == "leaf_archived" => Ok(true),
            leaf => Ok(leaf_hash(&leaf?) == published.last_leaf),
        }
    }

    /// Where the files are that are derived from the logs.
    pub(super) fn derived(&self) -> Option<&PathBuf> {
        self.client.core.0.tiles.as_ref()
    }

    /// The lock of these files.
    pub(super) fn lock(&self) -> Result<Option<FileLock>> {
        let Some(folder) = self.derived() else { return Ok(None) };
        files::create_private_dir(folder)?;
        FileLock::acquire(&folder.join("lock")).map(Some)
    }
}

const OLDER: &str = "it is an older copy of itself: `samite audit anchor` begins another log, which names that head and has every journal";
const LOST: &str =
    "`samite audit anchor` puts every journal into the newest log: prove and export through that, without --log";

fn decoded(bytes: Option<&[u8]>) -> Result<PublishedHeads> {
    Ok(bytes.map(PublishedHeads::decode).transpose()?.unwrap_or_default())
}
