//! What is kept of erased entries so that they do not come back: the rows by which a repetition is told, and hashes of
//! artifacts' names and bytes. All are hashes under the keys of whose data it was, and say nothing without those.

use crate::core::Core;
use crate::payload::{ArtifactRecord, ErasureExtended, ErasureStarted, KeptRow, KeptRows};
use crate::views::{IndexHash as _, row};
use data_encoding::BASE64;
use samite_ledger::{NewRow, Row, RowQuery};
use samite_model::erasure::{Run, RunSet};
use samite_model::{EntryKind, Error, FamilyId, JournalId, Position, Pseudonym, Result, SessionId};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The kinds of rows that stay with tombstones: dedupe ids, keys of steps, how far transcripts were kept, and which record it was
/// whose place was taken by one that is forgotten: it stays ended.
pub(super) const KINDS: [u16; 5] = [row::DEDUPE, row::STEP, row::TRANSCRIPT, row::MEMORY_RECORD, row::MEMORY_ENDED];

/// The error of who would do again a step that was erased.
pub(crate) fn step_erased(key: &str, at: Position) -> Error {
    Error::denied(
        "step_erased",
        format!("the step with the key {key:?} was erased, at seq {}: it is not run again", at.seq),
    )
    .hint("use another key for another act")
}

/// The error of who would publish again what was erased.
pub(crate) fn artifact_erased(name: &str) -> Error {
    Error::denied("artifact_erased", format!("an artifact {name:?} with these very bytes was erased"))
        .hint("publish it under another name if it is to be there again")
}

impl Core {
    /// The rows of some entries that stay, as they are now. Those of closed journals do not: nothing is appended there.
    pub(super) async fn rows_to_keep(&self, runs: &[Run], closed: &[JournalId]) -> Result<Vec<KeptRows>> {
        let closed: HashSet<JournalId> = closed.iter().copied().collect();
        let runs = RunSet::new(runs.iter().filter(|run| !closed.contains(&run.journal)).copied());
        let journals: BTreeSet<JournalId> = runs.journals().collect();
        let mut kept = Vec::new();
        for journal in journals {
            let Some(state) = self.0.ledger.journal(journal).await? else { continue };
            let at = Position { journal, seq: state.head };
            let goes = |row: &Row| row.position.journal == journal && runs.has(row.position);
            let mut rows = Vec::new();
            for kind in KINDS {
                let query = RowQuery { at, kind, hashes: Vec::new(), limit: usize::MAX };
                let found = self.0.ledger.rows(query).await?.into_iter().filter(goes);
                rows.extend(
                    found.map(|row| KeptRow(row.position.seq, kind, FamilyId(row.hash), BASE64.encode(&row.value))),
                );
            }
            if !rows.is_empty() {
                kept.push(KeptRows { journal, rows });
            }
        }
        Ok(kept)
    }

    /// The rows that stay with the tombstones of a journal, by seq.
    pub(crate) async fn kept_rows(&self, journal: JournalId) -> Result<BTreeMap<u64, Vec<NewRow>>> {
        let control = self.tenant_control();
        let mut kept: BTreeMap<u64, Vec<NewRow>> = BTreeMap::new();
        let Some(state) = self.0.ledger.journal(control).await? else { return Ok(kept) };
        let at = Position { journal: control, seq: state.head };
        let query = RowQuery { at, kind: row::KEPT, hashes: vec![*journal.as_bytes()], limit: usize::MAX };
        for found in self.0.ledger.rows(query).await? {
            let entry = self.whole(self.entry_at(found.position).await?)?;
            let said = if entry.header.kind == EntryKind::ERASURE_STARTED {
                entry.json::<ErasureStarted>()?.kept.unwrap_or_default()
            } else {
                entry.json::<ErasureExtended>()?.kept
            };
            for KeptRow(seq, kind, hash, value) in
                said.into_iter().filter(|one| one.journal == journal).flat_map(|one| one.rows)
            {
                let value = BASE64.decode(value.as_bytes()).map_err(|error| {
                    Error::corrupt(
                        "bad_payload",
                        format!("a row that is kept of journal {journal}, seq {seq} is damaged"),
                    )
                    .because(error)
                })?;
                let rows = kept.entry(seq).or_default();
                let new = NewRow { kind, hash: hash.0, value };
                // Two erasures may have named the same entry.
                if !rows.contains(&new) {
                    rows.push(new);
                }
            }
        }
        Ok(kept)
    }

    /// What is kept of an erased artifact: a hash of its session, its name and its bytes, under its owner's key. A usual name
    /// with usual bytes elsewhere is another.
    pub(crate) fn artifact_hash(
        &self,
        owner: Pseudonym,
        session: SessionId,
        name: &str,
        sha256: &str,
    ) -> Result<[u8; 16]> {
        let of = self.hasher(owner, FamilyId(self.tenant_control().0));
        let length = (name.len() as u64).to_be_bytes();
        of.hash("erased-artifact-of", &[session.as_bytes(), &length, name.as_bytes(), sha256.as_bytes()])
    }

    /// By what it is told that an artifact was erased: that, and what older versions kept, which knew no session.
    pub(crate) fn erased_hashes(&self, owner: Pseudonym, record: &ArtifactRecord) -> Result<Vec<[u8; 16]>> {
        let of = self.hasher(owner, FamilyId(self.tenant_control().0));
        let (name, sha256) = (record.name.as_bytes(), record.sha256.as_bytes());
        let older = of.hash("erased-artifact", &[&(name.len() as u64).to_be_bytes(), name, sha256])?;
        Ok(vec![self.artifact_hash(owner, record.lineage.session, &record.name, &record.sha256)?, older])
    }

    /// Refuses to publish what was erased.
    pub(crate) async fn refuse_erased(&self, owner: Pseudonym, record: &ArtifactRecord) -> Result<()> {
        let control = self.tenant_control();
        let Some(state) = self.0.ledger.journal(control).await? else { return Ok(()) };
        let at = Position { journal: control, seq: state.head };
        let hashes = self.erased_hashes(owner, record)?;
        let found = self.0.ledger.rows(RowQuery { at, kind: row::ERASED_ARTIFACT, hashes, limit: 1 }).await?;
        if found.is_empty() { Ok(()) } else { Err(artifact_erased(&record.name)) }
    }
}
