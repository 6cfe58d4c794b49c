//! Telling what was erased from what is missing: a payload that is not there must have gone by an erasure.

use super::unless_damaged;
use crate::core::Core;
use samite_ledger::verify::{Finding, What};
use samite_model::erasure::RunSet;
use samite_model::{JournalId, KeyId, Position, Result};
use std::collections::HashSet;

/// What erasures took, or are about to.
#[derive(Default)]
pub(super) struct Erasures {
    keys: HashSet<KeyId>,
    runs: RunSet,
    closed: HashSet<JournalId>,
    /// What they took of a journal that cannot be read is not known.
    unknown: bool,
}

impl Erasures {
    pub(super) async fn load(core: &Core, unreadable: &mut Vec<String>) -> Result<Self> {
        let keys = core.0.keys.destroyed_keys()?;
        let what = "what was erased";
        let runs = unless_damaged(unreadable, what, core.erased_runs().await)?;
        let closed = unless_damaged(unreadable, what, core.closed_by_erasures().await)?;
        let unknown = runs.is_none() || closed.is_none();
        Ok(Self { keys, runs: RunSet::new(runs.unwrap_or_default()), closed: closed.unwrap_or_default(), unknown })
    }

    /// Whether an entry that is sealed under this key may be a tombstone.
    pub(super) fn took(&self, at: Position, key: KeyId) -> bool {
        self.unknown || self.keys.contains(&key) || self.closed.contains(&at.journal) || self.runs.has(at)
    }

    /// Whether a journal was closed by an erasure.
    pub(super) fn closed(&self, journal: JournalId) -> bool {
        self.unknown || self.closed.contains(&journal)
    }
}

/// What there is to say of a payload that is not there.
pub(super) fn finding(at: Position) -> Finding {
    let message = format!("the payload of journal {}, seq {} is missing, and no erasure says so", at.journal, at.seq);
    Finding { journal: at.journal, first: at.seq, last: at.seq, what: What::Payload, message }
}
