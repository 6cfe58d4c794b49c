//! What of a log is not in the store any more: where it went, and reading it there while that can be reached.
//!
//! Nothing of an archive is believed but what leads to a root that stayed in the store.

use super::Audit;
use crate::payload::AuditArchived;
use crate::views::register;
use data_encoding::BASE64;
use samite_audit::export::FolderTiles;
use samite_audit::merkle::leaf_hash;
use samite_audit::tile::{FULL, TileKind, TilePath, TileSource, bundle_entries};
use samite_audit::{Frontier, Hash, TreeHead};
use samite_model::{Error, Position, Result};
use std::ops::Range;
use std::path::Path;

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
    /// The head whose place the log took, where its first leaf is among them and names one.
    pub previous: Option<TreeHead>,
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
            let AuditArchived { log, from, to, archive, bundles, previous } = entry.json()?;
            let decoded = BASE64.decode(bundles.as_bytes()).unwrap_or_default();
            let (hashes, rest) = decoded.as_chunks::<32>();
            let bundles: Vec<Hash> = hashes.iter().map(|bytes| Hash(*bytes)).collect();
            if !rest.is_empty() || to.checked_sub(from) != Some(u64::from(FULL).saturating_mul(bundles.len() as u64)) {
                let what =
                    format!("entry {} of the audit log's own journal does not have the roots that it says", found.seq);
                return Err(Error::corrupt("bad_payload", what).hint("run `samite verify`"));
            }
            let previous = previous.map(|head| TreeHead::parse(&head)).transpose()?;
            parts.push(ArchivedPart { log, from, to, archive, since: entry.header.time, bundles, previous });
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

    /// What of a log is not in the store any more.
    pub(super) async fn cold(&self, log: u64) -> Result<Cold> {
        let parts = if self.minimum(log).await? == 0 { Vec::new() } else { self.parts(log).await? };
        Ok(Cold { log, parts })
    }
}

/// What of a log is not in the store any more.
#[derive(Clone)]
pub(super) struct Cold {
    log: u64,
    parts: Vec<ArchivedPart>,
}

impl Cold {
    /// The index of the first leaf that is in the store.
    pub(super) fn minimum(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.to)
    }

    /// The roots over each 256 leaves before that.
    pub(super) fn roots(&self) -> Vec<Hash> {
        self.parts.iter().flat_map(|part| part.bundles.iter().copied()).collect()
    }

    /// The 256 leaves that one is among, as a bundle, where the archive that they went to can be read and still has them.
    pub(super) fn bundle(&self, index: u64) -> Option<Vec<u8>> {
        let full = u64::from(FULL);
        let part = self.parts.iter().find(|part| (part.from..part.to).contains(&index))?;
        let root = part.bundles.get(usize::try_from((index - part.from) / full).ok()?)?;
        let path = TilePath { kind: TileKind::Entries, index: index / full, width: FULL };
        let bytes = FolderTiles::new(Path::new(&part.archive)).read(path).ok()?;
        let mut frontier = Frontier::new();
        bundle_entries(&bytes).ok()?.into_iter().for_each(|leaf| frontier.push(leaf_hash(leaf)));
        (frontier.size() == full && frontier.root() == *root).then_some(bytes)
    }

    /// A leaf that was moved, where the archive that it went to can be read and still has it.
    pub(super) fn leaf(&self, index: u64) -> Result<Vec<u8>> {
        let bundle = self.bundle(index).ok_or_else(|| self.gone(index))?;
        let place = usize::try_from(index % u64::from(FULL)).unwrap_or_default();
        bundle_entries(&bundle)?.get(place).map(|leaf| leaf.to_vec()).ok_or_else(|| self.gone(index))
    }

    /// The leaves that were moved and can be read, in their order, each with its index.
    pub(super) fn leaves(&self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        let full = u64::from(FULL);
        (0..self.minimum() / full).filter_map(move |at| Some((at * full, self.bundle(at * full)?))).flat_map(
            |(first, bundle)| {
                let leaves = bundle_entries(&bundle).unwrap_or_default();
                (first..).zip(leaves.into_iter().map(<[u8]>::to_vec)).collect::<Vec<_>>()
            },
        )
    }

    /// The folders that leaves went to, each once.
    pub(super) fn places(&self) -> Vec<&str> {
        let mut places: Vec<&str> = self.parts.iter().map(|part| part.archive.as_str()).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// That a leaf is not in the store any more, nor can be read where it went.
    pub(super) fn gone(&self, index: u64) -> Error {
        let (log, minimum) = (self.log, self.minimum());
        let Some((place, range)) = self.place(index) else {
            return Error::not_found("leaf_archived", format!("log {log} begins at leaf {minimum} in the store"));
        };
        let what = format!(
            "log {log} begins at leaf {minimum} in the store; leaf {index} was moved to {place}, and cannot be read there"
        );
        let Range { start, end } = range;
        Error::not_found("leaf_archived", what).hint(format!(
            "have the archive there again; `samite audit verify --folder {place} --key KEY --from {start} --to {end}` verifies it"
        ))
    }

    /// The folder that a leaf went to, with all leaves about it that went there too.
    fn place(&self, index: u64) -> Option<(&str, Range<u64>)> {
        let at = self.parts.iter().position(|part| (part.from..part.to).contains(&index))?;
        let place = self.parts.get(at)?.archive.as_str();
        let there = |part: &&ArchivedPart| part.archive == place;
        let first = self.parts.get(..=at)?.iter().rev().take_while(there).last()?;
        let last = self.parts.get(at..)?.iter().take_while(there).last()?;
        Some((place, first.from..last.to))
    }
}

/// The tiles of a log in the store, and of what was moved those in its archive.
pub(super) struct StoreTiles<'a> {
    folder: FolderTiles,
    cold: &'a Cold,
}

impl<'a> StoreTiles<'a> {
    pub(super) fn new(folder: &Path, cold: &'a Cold) -> Self {
        Self { folder: FolderTiles::new(folder), cold }
    }
}

impl TileSource for StoreTiles<'_> {
    fn read(&mut self, path: TilePath) -> Result<Vec<u8>> {
        let first = path.first();
        match self.folder.read(path) {
            Err(error) if error.code() == "no_tile" && path.level() == 0 && first < self.cold.minimum() => {
                let bundle = self.cold.bundle(first).ok_or_else(|| self.cold.gone(first))?;
                Ok(match path.kind {
                    TileKind::Entries => bundle,
                    TileKind::Hashes(_) => bundle_entries(&bundle)?.iter().flat_map(|leaf| leaf_hash(leaf).0).collect(),
                })
            }
            other => other,
        }
    }
}
