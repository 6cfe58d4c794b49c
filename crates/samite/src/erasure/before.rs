//! What earlier erasures took: an erasure counts, and proves, what it took itself.

use crate::core::Core;
use crate::payload::{ErasureExtended, ErasureStarted};
use samite_ledger::Read;
use samite_model::erasure::Run;
use samite_model::{EntryKind, FamilyId, Header, JournalId, KeyId, Position, Result};
use std::collections::{HashMap, HashSet};

const PAGE: u64 = 512;

/// What erasures took that were recorded before one.
#[derive(Debug, Default)]
pub(super) struct Before {
    keys: HashSet<KeyId>,
    runs: HashMap<JournalId, Vec<Run>>,
    closed: HashSet<JournalId>,
}

impl Before {
    /// Whether one of them may have taken this entry: where it has no payload, it did.
    pub(super) fn may_have(&self, at: Position, key: KeyId) -> bool {
        let within = |run: &Run| run.first <= at.seq && at.seq <= run.last;
        self.keys.contains(&key)
            || self.closed.contains(&at.journal)
            || self.runs.get(&at.journal).is_some_and(|runs| runs.iter().any(within))
    }

    /// Whether some of a journal's entries may have gone without their keys.
    fn is_near(&self, journal: JournalId) -> bool {
        self.closed.contains(&journal) || self.runs.contains_key(&journal)
    }
}

impl Core {
    /// What the erasures took that were recorded before this one; without one, all of them.
    pub(super) async fn erased_before(&self, this: Option<FamilyId>) -> Result<Before> {
        let all: Vec<(Position, ErasureStarted)> = self.said_of_tenant(EntryKind::ERASURE_STARTED).await?;
        let mut before = Before::default();
        let mut ids = HashSet::new();
        for (_, started) in all.into_iter().take_while(|(_, started)| this.is_none_or(|this| this != started.erasure)) {
            ids.insert(started.erasure);
            before.keys.extend(started.keys);
            before.closed.extend(started.close);
            for run in started.runs {
                before.runs.entry(run.journal).or_default().push(run);
            }
        }
        let extended: Vec<(Position, ErasureExtended)> = self.said_of_tenant(EntryKind::ERASURE_EXTENDED).await?;
        for run in extended.into_iter().filter(|(_, one)| ids.contains(&one.erasure)).flat_map(|(_, one)| one.runs) {
            before.runs.entry(run.journal).or_default().push(run);
        }
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
