//! What earlier erasures took: an erasure counts, and proves, what it took itself.

use crate::core::Core;
use crate::payload::{ErasureExtended, ErasureStarted};
use samite_ledger::Read;
use samite_model::erasure::{Run, RunSet};
use samite_model::{EntryKind, FamilyId, Header, JournalId, KeyId, Position, Result};
use std::collections::HashSet;

const PAGE: u64 = 512;

/// What erasures took that were recorded before one.
#[derive(Debug, Default)]
pub(super) struct Before {
    keys: HashSet<KeyId>,
    runs: RunSet,
    closed: HashSet<JournalId>,
}

impl Before {
    /// Whether one of them may have taken this entry: where it has no payload, it did.
    pub(super) fn may_have(&self, at: Position, key: KeyId) -> bool {
        self.keys.contains(&key) || self.closed.contains(&at.journal) || self.runs.has(at)
    }

    /// Whether some of a journal's entries may have gone without their keys.
    fn is_near(&self, journal: JournalId) -> bool {
        self.closed.contains(&journal) || self.runs.has_of(journal)
    }
}

impl Core {
    /// What the erasures took that were recorded before this one; without one, all of them.
    pub(super) async fn erased_before(&self, this: Option<FamilyId>) -> Result<Before> {
        let all: Vec<(Position, ErasureStarted)> = self.said_of_tenant(EntryKind::ERASURE_STARTED).await?;
        let mut before = Before::default();
        let mut ids = HashSet::new();
        let mut runs: Vec<Run> = Vec::new();
        for (_, started) in all.into_iter().take_while(|(_, started)| this.is_none_or(|this| this != started.erasure)) {
            ids.insert(started.erasure);
            before.keys.extend(started.keys);
            before.closed.extend(started.close);
            runs.extend(started.runs);
        }
        let extended: Vec<(Position, ErasureExtended)> = self.said_of_tenant(EntryKind::ERASURE_EXTENDED).await?;
        runs.extend(extended.into_iter().filter(|(_, one)| ids.contains(&one.erasure)).flat_map(|(_, one)| one.runs));
        before.runs = RunSet::new(runs);
        Ok(before)
    }

    /// How many of these entries are there, and how many are tombstones of earlier erasures.
    pub(super) async fn count_entries(&self, runs: &[Run], before: &Before) -> Result<(u64, u64)> {
        let (mut there, mut gone) = (0, 0);
        for run in runs {
            let payloads = before.is_near(run.journal);
            if !payloads && before.keys.is_empty() {
                there += run.count();
                continue;
            }
            let mut from = run.first;
            while from <= run.last {
                let to = run.last.min(from.saturating_add(PAGE - 1));
                let read = Read { payloads, unchecked: true, ..Read::range(run.journal, from, to) };
                for stored in self.0.ledger.read(read).await? {
                    let at = Position { journal: run.journal, seq: stored.seq };
                    // Without its key nothing is there.
                    if stored.payload.is_none() && before.may_have(at, Header::decode(&stored.header)?.key) {
                        gone += 1;
                    } else {
                        there += 1;
                    }
                }
                from = to.saturating_add(1);
            }
        }
        Ok((there, gone))
    }
}
