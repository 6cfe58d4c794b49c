//! The beginning of the log that is past its retention: moved to a colder place, where it verifies, and then out of the ledger.
//!
//! What stays in the store is enough to go on: the leaves from the minimum index on, and of what is before the root over each 256
//! leaves, in the entry that says where they went. That entry and the going of the leaves are one commit.

use super::Audit;
use super::read::PAGE;
use crate::payload::AuditArchived;
use crate::policy::AuditRetention;
use crate::views::register;
use data_encoding::BASE64;
use samite_audit::export::{Archived, archive, prune};
use samite_audit::merkle::leaf_hash;
use samite_audit::tile::FULL;
use samite_audit::{Frontier, Hash, Leaf};
use samite_host::{files, kill_point};
use samite_ledger::{Append, Commit, Guard, JournalKind, LogState, NewJournal};
use samite_model::policy::retention::{Retained, is_due};
use samite_model::{EntryKind, Error, FamilyId, Observer, Position, Result};
use std::path::{Path, PathBuf};

/// How often the archiving looks again because the log's own journal changed meanwhile.
const ROUNDS: usize = 16;

/// Leaves of a log that are not in the store any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedPart {
    /// The log.
    pub log: u64,
    /// The first of them.
    pub from: u64,
    /// The first one after them.
    pub to: u64,
    /// The folder that they were moved to, as it was called then.
    pub archive: String,
    /// When, in nanoseconds since 1970.
    pub since: i64,
    /// The root over each 256 of them.
    pub bundles: Vec<Hash>,
}

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
    /// What of a log is not in the store any more, oldest first.
    pub(super) async fn parts(&self, log: u64) -> Result<Vec<ArchivedPart>> {
        let mut parts = self.all_parts().await?;
        parts.retain(|part| part.log == log);
        Ok(parts)
    }

    async fn all_parts(&self) -> Result<Vec<ArchivedPart>> {
        let (own, core) = (self.journal(), &self.client.core);
        if core.0.ledger.journal(own).await?.is_none() {
            return Ok(Vec::new());
        }
        let (_, registers) = core.0.ledger.registers(own).await?;
        let mut parts = Vec::new();
        for found in registers.into_iter().filter(|found| found.kind == register::ARCHIVED) {
            let entry = core.whole(core.entry_at(Position { journal: own, seq: found.seq }).await?)?;
            let AuditArchived { log, from, to, archive, bundles } = entry.json()?;
            let decoded = BASE64.decode(bundles.as_bytes()).unwrap_or_default();
            let (hashes, rest) = decoded.as_chunks::<32>();
            let bundles: Vec<Hash> = hashes.iter().map(|bytes| Hash(*bytes)).collect();
            if !rest.is_empty() || to.checked_sub(from) != Some(u64::from(FULL).saturating_mul(bundles.len() as u64)) {
                let what =
                    format!("entry {} of the audit log's own journal does not have the roots that it says", found.seq);
                return Err(Error::corrupt("bad_payload", what).hint("run `samite verify`"));
            }
            parts.push(ArchivedPart { log, from, to, archive, since: entry.header.time, bundles });
        }
        parts.sort_by_key(|part| (part.log, part.from));
        Ok(parts)
    }

    /// What of the tenant's logs is not in the store any more, and where it went, oldest first.
    ///
    /// # Errors
    /// `corrupt` when an entry that says so cannot be read.
    pub async fn archived(&self) -> Result<Vec<ArchivedPart>> {
        self.state(None).await?;
        self.all_parts().await
    }

    /// The index of the first leaf of a log that is in the store.
    pub(super) async fn minimum(&self, log: u64) -> Result<u64> {
        let (own, ledger) = (self.journal(), &self.client.core.0.ledger);
        if ledger.journal(own).await?.is_none() {
            return Ok(0);
        }
        let (_, registers) = ledger.registers(own).await?;
        let of_log = registers
            .iter()
            .filter(|found| found.kind == register::ARCHIVED && found.hash.starts_with(&log.to_be_bytes()));
        let ends = of_log.filter_map(|found| found.value.as_slice().try_into().ok().map(u64::from_be_bytes));
        Ok(ends.max().unwrap_or_default())
    }

    /// The roots over each 256 leaves of a log that are not in the store any more.
    pub(super) async fn bundles(&self, log: u64) -> Result<Vec<Hash>> {
        if self.minimum(log).await? == 0 {
            return Ok(Vec::new());
        }
        Ok(self.parts(log).await?.into_iter().flat_map(|part| part.bundles).collect())
    }

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
            for bytes in self.page(state.log, at, last).await? {
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
    /// key, and takes them out of the store; an entry says so. Without them the log still verifies, proves and grows. When this
    /// returns, all of it is durable. A kill anywhere leaves each leaf in the store, or verified in the archive and recorded.
    ///
    /// # Errors
    /// `invalid` (`below_floor`) for less than 183 days; as [`Audit::export`]; what the archive's folder answers.
    pub async fn archive(&self, days: u32, folder: &Path, observer: &Observer) -> Result<Vec<ArchivedPart>> {
        Retained::Audit.check(days)?;
        let mut moved = Vec::new();
        for due in self.due(days, self.client.core.now()).await? {
            moved.push(self.archive_of(due, &folder.join(format!("log-{}", due.log)), observer).await?);
        }
        self.prune_tiles().await?;
        Ok(moved)
    }

    async fn archive_of(&self, due: DueLeaves, cold: &Path, observer: &Observer) -> Result<ArchivedPart> {
        // Its head leaves the store: no older copy may contradict it.
        let handed = self.hand_out(Some(due.log)).await?;
        let (tiles, key) = (self.tiles(due.log)?, self.key_of(due.log)?);
        // One lock for both: what is copied are the tiles that were looked at.
        let expected = self.with_tiles(&handed, &mut |reader| {
            let expected = Frontier::read(reader, due.to)?;
            let Archived { .. } = archive(&tiles, cold, &key, due.from..due.to)?;
            Ok(expected)
        })?;
        let before = handed.bundles;
        kill_point("audit.prune.archived");
        let mut bundles = Vec::new();
        let mut at = due.from;
        while at < due.to {
            let mut bundle = Frontier::new();
            for bytes in self.page(due.log, at, at.saturating_add(u64::from(FULL))).await? {
                bundle.push(leaf_hash(&bytes));
            }
            at = at.saturating_add(u64::from(FULL));
            bundles.push(bundle.root());
            observer.tell("archiving leaves", at - due.from, Some(due.to - due.from));
        }
        if Frontier::of_bundles(&[before, bundles.clone()].concat()) != expected {
            let what = format!("the leaves of log {} are not those that were archived", due.log);
            return Err(Error::corrupt("other_root", what).hint("run `samite audit verify`; nothing was taken away"));
        }
        let part = AuditArchived {
            log: due.log,
            from: due.from,
            to: due.to,
            archive: cold.display().to_string(),
            bundles: BASE64.encode(&bundles.iter().flat_map(|hash| hash.0).collect::<Vec<u8>>()),
        };
        self.record_archived(&part).await?;
        kill_point("audit.prune.recorded");
        let (since, AuditArchived { log, from, to, archive, .. }) = (self.client.core.now(), part);
        Ok(ArchivedPart { log, from, to, archive, since, bundles })
    }

    /// Records that leaves were moved, and takes them away: one commit.
    async fn record_archived(&self, part: &AuditArchived) -> Result<()> {
        let scribe = self.scribe()?;
        let (core, own) = (&scribe.core, self.journal());
        for _ in 0..ROUNDS {
            let mut commit = Commit { prune: Some((part.log, part.to)), ..Commit::default() };
            if core.0.ledger.journal(own).await?.is_some() {
                if self.minimum(part.log).await? != part.from {
                    return Err(Error::conflict("audit_contended", "another process archives this log")
                        .hint("look at `samite retain preview` again"));
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

    /// That a leaf is not in the store any more.
    pub(super) async fn leaf_archived(&self, log: u64, index: u64, minimum: u64) -> Result<Error> {
        let parts = self.parts(log).await?;
        let place = parts.iter().find(|part| (part.from..part.to).contains(&index));
        let place = place.map_or_else(|| "an archive".to_owned(), |part| part.archive.clone());
        let what = format!("log {log} begins at leaf {minimum} in the store; leaf {index} was moved to {place}");
        Ok(Error::not_found("leaf_archived", what)
            .hint(format!("`samite audit verify --folder {place} --key KEY --to {minimum}` verifies it there")))
    }
}

/// The folder of a log in an archive, or the archive where it is that folder itself.
pub(super) fn folder_of(archive: &Path, log: u64) -> Result<PathBuf> {
    let inside = archive.join(format!("log-{log}"));
    Ok(if files::exists(&inside)? { inside } else { archive.to_owned() })
}

/// So many leaves are read at a time, and a bundle is one of them.
const _: () = assert!(PAGE >= FULL as usize, "a page holds a bundle");
