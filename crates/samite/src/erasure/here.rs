//! What an erasure that another copy of the store recorded finds in this one.

use super::start::Prepared;
use crate::client::Client;
use crate::payload::{Counted, ErasureStarted};
use crate::views::row;
use samite_ledger::{JournalFilter, JournalKind, JournalState, JournalStatus, RowQuery};
use samite_model::erasure::{Derived, DerivedKind, Facts, Scope, plan};
use samite_model::{ArtifactId, ErrorKind, FamilyId, Position, Result};
use std::collections::{BTreeSet, HashSet};

impl Client {
    /// What there is of it before it is done here, beside what those take that were looked at `before`.
    pub(super) async fn found_here(
        &self,
        noted: &ErasureStarted,
        before: &mut HashSet<FamilyId>,
    ) -> Result<(Vec<Counted>, Vec<Derived>)> {
        let core = &self.core;
        let (scope, subject) = (noted.scope, noted.subject);
        let states = core.0.ledger.journals(JournalFilter::default()).await?;
        let mut facts = match core.erasure_facts(&scope, subject, &[]).await {
            // The entries that it names are not in this copy.
            Err(error) if error.kind() == ErrorKind::NotFound => Facts::default(),
            facts => facts?,
        };
        facts.sessions.retain(|one| !before.contains(&one.session));
        facts.artifacts.retain(|one| !before.contains(&FamilyId(one.artifact.0)));
        let also: Vec<FamilyId> = noted.derived.iter().filter(|one| one.taken).map(|one| one.id).collect();
        let mut plan = plan(&scope, subject, &facts, &also);
        if scope.destroys_keys() {
            // Where the master destroyed the keys, nothing of the person can be read here either: the note says what it was.
            let is_here = |id: &FamilyId| is_session(&states, *id) && !before.contains(id);
            plan.sessions = noted.sessions.iter().filter(|id| is_here(id)).copied().collect();
            plan.artifacts = self.artifacts_here(&states, &noted.artifacts).await?;
            plan.artifacts.retain(|id| !before.contains(&FamilyId(id.0)));
            let mut derived: BTreeSet<Derived> = plan.derived.iter().copied().collect();
            let is_here = |one: &&Derived| match one.kind {
                DerivedKind::Session => is_session(&states, one.id),
                DerivedKind::Fork | DerivedKind::Merge => states.iter().any(|state| state.id.0 == one.id.0),
                DerivedKind::Record => facts.records.iter().any(|known| known.record.0 == one.id.0),
                DerivedKind::Artifact => facts.artifacts.iter().any(|known| known.artifact.0 == one.id.0),
            };
            derived.extend(noted.derived.iter().filter(is_here));
            plan.derived = derived.into_iter().collect();
        } else {
            plan.sessions.retain(|id| is_session(&states, *id) && !before.contains(id));
            plan.artifacts.retain(|id| facts.artifacts.iter().any(|one| one.artifact == *id));
        }
        before.extend(plan.sessions.iter().copied());
        before.extend(plan.artifacts.iter().map(|id| FamilyId(id.0)));
        if matches!(scope, Scope::Entries { .. } | Scope::Secret { .. } | Scope::Records { .. }) {
            plan.runs.clone_from(&noted.runs);
        }
        let prepared = Prepared { scope, subject, keys: noted.keys.clone(), held: None, facts, plan };
        let found = self.count(&prepared).await?;
        Ok((found, prepared.plan.derived))
    }

    /// Of some artifacts, those whose records are in this copy.
    async fn artifacts_here(&self, states: &[JournalState], of: &[ArtifactId]) -> Result<Vec<ArtifactId>> {
        let mut here: BTreeSet<ArtifactId> = BTreeSet::new();
        for state in states.iter().filter(|state| state.kind == JournalKind::Artifacts) {
            for some in of.chunks(512) {
                let at = Position { journal: state.id, seq: state.head };
                let hashes = some.iter().map(|id| id.0).collect();
                let found =
                    self.core.0.ledger.rows(RowQuery { at, kind: row::ARTIFACT, hashes, limit: usize::MAX }).await?;
                here.extend(found.into_iter().map(|row| ArtifactId(row.hash)));
            }
        }
        Ok(here.into_iter().collect())
    }
}

fn is_session(states: &[JournalState], session: FamilyId) -> bool {
    let is_it = |state: &JournalState| state.kind == JournalKind::SessionControl && state.family == session;
    states.iter().any(|state| is_it(state) && state.status == JournalStatus::Open)
}
