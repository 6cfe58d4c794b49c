//! What is recorded of erasures: which have begun, which are done, and the proofs.

use crate::client::Client;
use crate::core::Core;
use crate::payload::{Erased, ErasureExtended, ErasureStarted};
use crate::views::{register, row};
use samite_ledger::{Read, RowQuery};
use samite_model::erasure::Run;
use samite_model::{EntryKind, Error, FamilyId, JournalId, Position, Result};
use std::collections::{HashMap, HashSet};

const PAGE: usize = 512;

/// How far an erasure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasureState {
    /// It has begun.
    Started,
    /// It is done.
    Done,
}

/// An erasure, as recorded.
#[derive(Clone, Debug)]
pub struct ErasureRecord {
    /// How far it is.
    pub state: ErasureState,
    /// What it took, or is to take.
    pub started: ErasureStarted,
    /// The proof, once it is done, with where that is recorded.
    pub proof: Option<(Position, Erased)>,
}

impl Core {
    /// The entries of one kind in the tenant's control journal, each as what its kind says.
    pub(crate) async fn said_of_tenant<T: serde::de::DeserializeOwned>(
        &self,
        kind: EntryKind,
    ) -> Result<Vec<(Position, T)>> {
        let control = self.tenant_control();
        let Some(state) = self.0.ledger.journal(control).await? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let mut from = 1;
        while from <= state.head {
            let read = Read { kinds: vec![kind], limit: PAGE, ..Read::range(control, from, state.head) };
            let page = self.0.ledger.read(read).await?;
            let Some(last) = page.last() else { break };
            from = last.seq + 1;
            for stored in &page {
                let entry = self.whole(self.open(control, stored)?)?;
                // In nobody's name but the tenant's own: others may have been erased with who wrote them.
                if entry.payload.is_some() {
                    found.push((entry.position, entry.json()?));
                }
            }
        }
        Ok(found)
    }

    /// The erasures that have begun and are not done.
    pub(crate) async fn unfinished_erasures(&self) -> Result<Vec<ErasureStarted>> {
        let control = self.tenant_control();
        if self.0.ledger.journal(control).await?.is_none() {
            return Ok(Vec::new());
        }
        let (_, registers) = self.0.ledger.registers(control).await?;
        // As they began: what the first takes is not counted by a later one.
        let mut open: Vec<_> = registers.iter().filter(|entry| entry.kind == register::ERASING).collect();
        open.sort_by_key(|entry| entry.seq);
        let mut unfinished = Vec::with_capacity(open.len());
        for open in open {
            let entry = self.entry_at(Position { journal: control, seq: open.seq }).await?;
            unfinished.push(self.whole(entry)?.json()?);
        }
        Ok(unfinished)
    }

    /// Of some erasures, those that this store knows nothing of.
    pub(crate) async fn unknown_erasures(&self, all: Vec<ErasureStarted>) -> Result<Vec<ErasureStarted>> {
        if all.is_empty() {
            return Ok(all);
        }
        let control = self.tenant_control();
        let Some(state) = self.0.ledger.journal(control).await? else { return Ok(all) };
        let at = Position { journal: control, seq: state.head };
        let hashes = all.iter().map(|started| started.erasure.0).collect();
        let query = RowQuery { at, kind: row::ERASURE, hashes, limit: usize::MAX };
        let known: Vec<[u8; 16]> = self.0.ledger.rows(query).await?.into_iter().map(|row| row.hash).collect();
        Ok(all.into_iter().filter(|started| !known.contains(&started.erasure.0)).collect())
    }

    /// Whether one of these hashes is what an erased session was known by.
    pub(crate) async fn is_erased_key(&self, hashes: &[[u8; 16]]) -> Result<bool> {
        let control = self.tenant_control();
        let Some(state) = self.0.ledger.journal(control).await? else { return Ok(false) };
        let at = Position { journal: control, seq: state.head };
        let query = RowQuery { at, kind: row::ERASED_KEY, hashes: hashes.to_vec(), limit: 1 };
        Ok(!hashes.is_empty() && !self.0.ledger.rows(query).await?.is_empty())
    }

    /// The journals that erasures closed, or are about to.
    pub(crate) async fn closed_by_erasures(&self) -> Result<HashSet<JournalId>> {
        let started: Vec<(Position, ErasureStarted)> = self.said_of_tenant(EntryKind::ERASURE_STARTED).await?;
        Ok(started.into_iter().flat_map(|(_, started)| started.close).collect())
    }

    /// The entries that erasures took, or are about to, under keys that live.
    pub(crate) async fn erased_runs(&self) -> Result<Vec<Run>> {
        let started: Vec<(Position, ErasureStarted)> = self.said_of_tenant(EntryKind::ERASURE_STARTED).await?;
        let mut runs: Vec<Run> = started.into_iter().flat_map(|(_, started)| started.runs).collect();
        runs.extend(self.extended_runs(None).await?);
        Ok(runs)
    }

    /// The entries that came while an erasure, or any, was planned.
    pub(super) async fn extended_runs(&self, erasure: Option<FamilyId>) -> Result<Vec<Run>> {
        let extended: Vec<(Position, ErasureExtended)> = self.said_of_tenant(EntryKind::ERASURE_EXTENDED).await?;
        let of_it = extended.into_iter().filter(|(_, one)| erasure.is_none_or(|erasure| one.erasure == erasure));
        Ok(of_it.flat_map(|(_, one)| one.runs).collect())
    }

    /// All erasures, in the order in which they began.
    pub(crate) async fn erasures(&self) -> Result<Vec<ErasureRecord>> {
        let started: Vec<(Position, ErasureStarted)> = self.said_of_tenant(EntryKind::ERASURE_STARTED).await?;
        let erased: Vec<(Position, Erased)> = self.said_of_tenant(EntryKind::ERASED).await?;
        let mut proofs: HashMap<FamilyId, (Position, Erased)> =
            erased.into_iter().map(|(at, erased)| (erased.erasure, (at, erased))).collect();
        Ok(started
            .into_iter()
            .map(|(_, started)| {
                let proof = proofs.remove(&started.erasure);
                let state = if proof.is_some() { ErasureState::Done } else { ErasureState::Started };
                ErasureRecord { state, started, proof }
            })
            .collect())
    }
}

impl Client {
    /// All erasures of the store, in the order in which they began.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `corrupt` when one cannot be read.
    pub async fn erasures(&self) -> Result<Vec<ErasureRecord>> {
        self.operator().await?.core.erasures().await
    }

    /// The erasure whose id begins with these digits.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `not_found` (`no_erasure`) when there is none; `invalid` (`ambiguous_prefix`) when there are several.
    pub async fn erasure(&self, prefix: &str) -> Result<ErasureRecord> {
        let digits = prefix.to_ascii_lowercase();
        let all = self.operator().await?.core.erasures().await?;
        let is_it =
            |record: &ErasureRecord| !digits.is_empty() && record.started.erasure.to_string().starts_with(&digits);
        let mut found: Vec<ErasureRecord> = all.into_iter().filter(is_it).collect();
        if found.len() > 1 {
            let ids: Vec<String> = found.iter().take(5).map(|one| one.started.erasure.to_string()).collect();
            return Err(Error::invalid(
                "ambiguous_prefix",
                format!("{prefix} is the beginning of several erasures' ids"),
            )
            .hint(format!("give more digits: {}", ids.join(", "))));
        }
        found.pop().ok_or_else(|| {
            Error::not_found("no_erasure", format!("there is no erasure {prefix}"))
                .hint("`samite erase list` shows all of them")
        })
    }
}
