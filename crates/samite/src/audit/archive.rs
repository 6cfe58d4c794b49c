//! The beginning of the log that is past its retention: moved to a colder place, where it verifies, and then out of the ledger.
//!
//! What stays in the store is enough to go on: the leaves from the minimum index on, and of what is before the root over each 256
//! leaves, in the entries that say where they went. Such an entry and the going of its leaves are one commit, of a bounded size. All
//! that is due is copied and verified first, so that the archive is read once.

use super::Audit;
use super::archived::ArchivedPart;
use super::place::folder_in;
use super::read::PAGE;
use crate::payload::AuditArchived;
use crate::policy::AuditRetention;
use data_encoding::BASE64;
use samite_audit::export::{archive, prune};
use samite_audit::merkle::leaf_hash;
use samite_audit::tile::FULL;
use samite_audit::{Frontier, Leaf, TreeHead};
use samite_host::{files, kill_point};
use samite_ledger::{Append, Commit, Guard, JournalKind, LogState, NewJournal};
use samite_model::policy::retention::{Retained, is_due};
use samite_model::{EntryKind, Error, FamilyId, Observer, Result};
use std::path::{Path, PathBuf};

/// How often the archiving looks again because the log's own journal changed meanwhile.
const ROUNDS: usize = 16;

/// How many bundles of 256 leaves one commit takes away.
pub const BUNDLES_A_COMMIT: u32 = 256;

/// Leaves of a log that are all older than a time, from the first one in the store on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueLeaves {
    /// The log.
    pub log: u64,
    /// The first of them.
    pub from: u64,
    /// The first one after them.
    pub to: u64,
}

impl Audit {
    /// The leaves that are all older than so many days: whole bundles of 256, and never the last leaf. One for each log that has
    /// some, but for those of which another history was published.
    ///
    /// # Errors
    /// `not_found` (`no_audit_log`); `corrupt` for a leaf that cannot be read.
    pub async fn due(&self, days: u32, now: i64) -> Result<Vec<DueLeaves>> {
        let newest = self.state(None).await?.log;
        let mut due = Vec::new();
        for log in 1..=newest {
            let Some(state) = self.client.core.0.ledger.audit_log(Some(log)).await? else { continue };
            if self.may_leave(&state, newest).await? {
                due.extend(self.due_of(&state, days, now).await?);
            }
        }
        Ok(due)
    }

    /// The leaves that the retention of the audit log says are to be moved, where it was decided and names an archive.
    ///
    /// # Errors
    /// As [`Audit::due`].
    pub async fn retention_due(&self, now: Option<i64>) -> Result<Vec<DueLeaves>> {
        match self.client.audit_retention().await? {
            Some(kept) => self.due(kept.days, now.unwrap_or_else(|| self.client.core.now())).await,
            None => Ok(Vec::new()),
        }
    }

    /// Moves what is due to the archive that the retention of the audit log names; without one nothing moves.
    ///
    /// # Errors
    /// As [`Audit::archive`].
    pub async fn apply_retention(&self, observer: &Observer) -> Result<Vec<ArchivedPart>> {
        match self.client.audit_retention().await? {
            Some(AuditRetention { days, archive: Some(folder) }) => self.archive(days, &folder, observer).await,
            _ => Ok(Vec::new()),
        }
    }

    async fn due_of(&self, state: &LogState, days: u32, now: i64) -> Result<Option<DueLeaves>> {
        let from = self.minimum(state.log).await?;
        let (mut at, last) = (from, state.size.saturating_sub(1));
        'leaves: while at < last {
            let (first, page) = self.page_on(state.log, at, last).await?;
            if first > at {
                // Others move them at this moment, and it is theirs to do.
                return Ok(None);
            }
            for bytes in page {
                if !is_due(Leaf::parse(&bytes)?.at, days, now) {
                    break 'leaves;
                }
                at += 1;
            }
        }
        let to = at - at % u64::from(FULL);
        Ok((to > from).then_some(DueLeaves { log: state.log, from, to }))
    }

    /// Moves the leaves that are older than so many days to a folder, `log-N` in it for log N, where they verify with the log's
    /// key, and takes them out of the store; an entry for each part says so. The folder must be the one that the retention of the
    /// audit log named. Without them the log still verifies, proves and grows. When this returns, all of it is durable. A kill
    /// anywhere leaves each leaf in the store, or verified in the archive and recorded.
    ///
    /// # Errors
    /// `invalid` (`below_floor`) for less than 183 days, (`inside_store`) for a folder in the store; `not_found` (`archive_missing`)
    /// for a folder that is not there or is another one than was named; as [`Audit::export`]; what the archive's folder answers.
    pub async fn archive(&self, days: u32, folder: &Path, observer: &Observer) -> Result<Vec<ArchivedPart>> {
        self.archive_by(days, folder, BUNDLES_A_COMMIT, observer).await
    }

    /// The same, with at most so many bundles of 256 leaves a commit: what others write waits for one of them.
    ///
    /// # Errors
    /// As [`Audit::archive`].
    pub async fn archive_by(
        &self,
        days: u32,
        folder: &Path,
        bundles: u32,
        observer: &Observer,
    ) -> Result<Vec<ArchivedPart>> {
        Retained::Audit.check(days)?;
        let due = self.due(days, self.client.core.now()).await?;
        if !due.is_empty() {
            self.check_archive(folder, &due).await?;
        }
        let mut moved = Vec::new();
        for due in due {
            moved.extend(self.move_leaves(due, &folder_in(folder, due.log), bundles, observer).await?);
        }
        self.prune_tiles().await?;
        Ok(moved)
    }

    async fn move_leaves(
        &self,
        due: DueLeaves,
        cold: &Path,
        bundles: u32,
        observer: &Observer,
    ) -> Result<Vec<ArchivedPart>> {
        // What only these leaves say of a journal is said again before they go, so that it is proven and compared as before.
        let until = self.last_of_own(due).await?;
        self.anchor_after(until, observer).await?;
        kill_point("audit.prune.anchored");
        // Its head leaves the store: no older copy may contradict it.
        let handed = self.hand_out(Some(due.log)).await?;
        if handed.minimum() != due.from {
            return Err(contended());
        }
        let (tiles, key) = (self.tiles(due.log)?, self.key_of(due.log)?);
        let each = u64::from(bundles.clamp(1, BUNDLES_A_COMMIT)) * u64::from(FULL);
        let mut parts = Vec::new();
        let mut from = due.from;
        while from < due.to {
            let to = from.saturating_add(each).min(due.to);
            parts.push(DueLeaves { from, to, ..due });
            from = to;
        }
        // One lock for both: what is copied are the tiles that were looked at.
        let (expected, copied) = self.with_tiles(&handed, &mut |reader| {
            let expected = parts.iter().map(|part| Frontier::read(reader, part.to)).collect::<Result<Vec<_>>>()?;
            match archive(&tiles, cold, &key, due.from..due.to) {
                // One that is missing among the store's is made again.
                Err(error) if error.code() == "no_tile" => Err(error),
                copied => Ok((expected, copied)),
            }
        })?;
        copied?;
        kill_point("audit.prune.archived");
        let mut frontier = Frontier::of_bundles(&handed.cold.roots());
        let mut moved = Vec::new();
        for (part, expected) in parts.into_iter().zip(expected) {
            moved.push(self.move_part(part, cold, &mut frontier, &expected).await?);
            kill_point("audit.prune.recorded");
            observer.tell("archiving leaves", part.to - due.from, Some(due.to - due.from));
        }
        Ok(moved)
    }

    /// The last seq of the log's own journal that these leaves have; 0 when they have none.
    async fn last_of_own(&self, due: DueLeaves) -> Result<u64> {
        let (own, mut at, mut last) = (self.journal(), due.from, 0);
        while at < due.to {
            let page = self.page(due.log, at, due.to).await.map_err(moved_by_others)?;
            for bytes in &page {
                let leaf = Leaf::parse(bytes)?;
                last = last.max(if leaf.journal == own { leaf.seq } else { 0 });
            }
            at += page.len() as u64;
        }
        Ok(last)
    }

    /// Moves some leaves that the archive has, once they are seen to lead to the frontier that is expected.
    async fn move_part(
        &self,
        due: DueLeaves,
        cold: &Path,
        frontier: &mut Frontier,
        expected: &Frontier,
    ) -> Result<ArchivedPart> {
        let (mut bundles, mut previous) = (Vec::new(), None);
        let mut at = due.from;
        while at < due.to {
            let mut bundle = Frontier::new();
            let end = at.saturating_add(u64::from(FULL));
            for bytes in self.page(due.log, at, end).await.map_err(moved_by_others)? {
                if at == 0 && bundle.size() == 0 {
                    previous = Leaf::parse(&bytes)?.previous;
                }
                bundle.push(leaf_hash(&bytes));
            }
            at = end;
            bundles.push(bundle.root());
            frontier.push_bundle(bundle.root());
        }
        if frontier != expected {
            let what = format!("the leaves of log {} are not those that were archived", due.log);
            return Err(Error::corrupt("other_root", what).hint("run `samite audit verify`; nothing was taken away"));
        }
        let part = AuditArchived {
            log: due.log,
            from: due.from,
            to: due.to,
            archive: cold.display().to_string(),
            bundles: BASE64.encode(&bundles.iter().flat_map(|hash| hash.0).collect::<Vec<u8>>()),
            previous: previous.as_ref().map(TreeHead::text),
        };
        self.record_archived(&part).await?;
        let (since, AuditArchived { log, from, to, archive, .. }) = (self.client.core.now(), part);
        Ok(ArchivedPart { log, from, to, archive, since, bundles, previous })
    }

    /// Records that leaves were moved, and takes them away: one commit.
    async fn record_archived(&self, part: &AuditArchived) -> Result<()> {
        let scribe = self.scribe()?;
        let (core, own) = (&scribe.core, self.journal());
        for _ in 0..ROUNDS {
            let mut commit = Commit { prune: Some((part.log, part.to)), ..Commit::default() };
            if core.0.ledger.journal(own).await?.is_some() {
                if self.minimum(part.log).await? != part.from {
                    return Err(contended());
                }
                let (version, _) = core.0.ledger.registers(own).await?;
                commit.guards.push(Guard::Registers { journal: own, version });
            } else {
                let owner = core.0.keys.tenant_pseudonym();
                let kind = JournalKind::Audit;
                commit.journals.push(NewJournal { id: own, family: FamilyId(own.0), kind, owner, parent: None });
            }
            let draft = core.draft(EntryKind::AUDIT_ARCHIVED, part, crate::views::audit_archived(part))?;
            let entry = core.seal_into(own, &scribe.author(0), draft, &mut commit)?;
            commit.appends.push(Append { journal: own, entries: vec![entry] });
            match core.0.ledger.commit(commit).await {
                Err(error) if matches!(error.code(), "registers_moved" | "journal_exists") => {}
                other => return other.map(|_| ()),
            }
        }
        Err(Error::conflict("audit_contended", "the audit log's own journal keeps changing").hint("try again"))
    }

    /// Takes away the tiles of what is not in the store any more.
    async fn prune_tiles(&self) -> Result<()> {
        if self.derived().is_none() {
            return Ok(());
        }
        for log in 1..=self.state(None).await?.log {
            let (folder, minimum) = (self.tiles(log)?, self.minimum(log).await?);
            let _lock = self.lock()?;
            if minimum > 0 && files::exists(&folder)? {
                prune(&folder, &self.key_of(log)?, minimum)?;
            }
        }
        Ok(())
    }
}

fn contended() -> Error {
    Error::conflict("audit_contended", "another process archives this log")
        .hint("look at `samite retain preview` again")
}

fn moved_by_others(error: Error) -> Error {
    if error.code() == "leaf_archived" { contended() } else { error }
}

/// The folder of a log in an archive, or the archive where it is that folder itself.
pub(super) fn folder_of(archive: &Path, log: u64) -> Result<PathBuf> {
    let inside = folder_in(archive, log);
    Ok(if files::exists(&inside)? { inside } else { archive.to_owned() })
}

/// So many leaves are read at a time, and a bundle is one of them.
const _: () = assert!(PAGE >= FULL as usize, "a page holds a bundle");
