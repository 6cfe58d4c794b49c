//! How long artifacts are kept: decisions, and what a collection makes of them.

use super::views::{self, Decisions, type_hash};
use crate::client::Client;
use crate::core::Core;
use crate::payload::{ArtifactRetained, Keep};
use samite_ledger::{Guard, JournalState};
use samite_model::access::Right;
use samite_model::artifact::Retention;
use samite_model::{ArtifactId, EntryKind, Error, FamilyId, JournalId, Position, Pseudonym, Result, limits};
use samite_workspace::Root;
use std::collections::HashSet;

/// How often a decision looks again because somebody collected meanwhile.
const ROUNDS: usize = 16;

/// How long artifacts of a type are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The type.
    pub of_type: String,
    /// Days after its publication; none is for ever.
    pub days: Option<u32>,
}

impl Client {
    /// Decides how long one artifact is kept; days are counted from now, and `None` of them is for ever. When this returns,
    /// it is durable.
    ///
    /// # Errors
    /// `not_found`: `no_artifact`, or `artifact_collected` when a collection has taken its bytes or is about to.
    pub async fn keep_artifact(&self, artifact: ArtifactId, days: Option<u32>) -> Result<()> {
        let keep = match days.map(|days| Retention::Days(days).since(self.core.now())) {
            Some(Retention::Until(time)) => Keep::Until(time),
            _ => Keep::Forever,
        };
        self.decide(artifact, keep).await
    }

    /// Takes back what was decided for one artifact: its type's policy counts again. When this returns, it is durable.
    ///
    /// # Errors
    /// As [`Client::keep_artifact`].
    pub async fn keep_artifact_by_policy(&self, artifact: ArtifactId) -> Result<()> {
        self.decide(artifact, Keep::Default).await
    }

    async fn decide(&self, artifact: ArtifactId, keep: Keep) -> Result<()> {
        let gone = || {
            Error::not_found("artifact_collected", format!("the bytes of artifact {} were collected", artifact.short()))
                .hint("its record stays: `samite artifact show`")
        };
        self.authority.refresh().await?;
        self.authority.unless_forbidden_on_artifact(Right::Manage, artifact, self.subject.pseudonym)?;
        for _ in 0..ROUNDS {
            // A collection records in the tenant's control journal what it is about to take: what is not there by then stays.
            let control = self.tenant_control();
            let seq = self.core.0.ledger.journal(control).await?.map(|state| state.head);
            self.present(artifact).await?;
            if self.core.collected().await?.artifacts.contains(&artifact) {
                return Err(gone());
            }
            let guards = seq.map(|seq| Guard::Head { journal: control, seq });
            let retained = ArtifactRetained { artifact: Some(artifact), of_type: None, keep };
            match self.record_retention(&retained, guards.into_iter().collect()).await {
                Err(error) if error.code() == "head_moved" => {}
                other => return other,
            }
        }
        Err(Error::unavailable("store_busy", "the store is written to all the time, so nothing was decided")
            .hint("try again when there is less going on"))
    }

    async fn record_retention(&self, retained: &ArtifactRetained, guards: Vec<Guard>) -> Result<()> {
        let family = FamilyId(self.own_artifacts().0);
        let projection = views::retained(&self.core.hasher(self.subject.pseudonym, family), retained)?;
        let draft = self.core.draft(EntryKind::ARTIFACT_RETAINED, retained, projection)?;
        self.append_to_artifacts(draft, guards).await
    }

    /// Decides how long artifacts of a type are kept after their publication, where nothing was decided for them alone;
    /// `Some(None)` keeps them for ever, `None` decides nothing any more. When this returns, it is durable.
    ///
    /// # Errors
    /// `invalid` for a type past the limits of names.
    pub async fn set_artifact_policy(&self, of_type: &str, days: Option<Option<u32>>) -> Result<()> {
        limits::check_name("a type", of_type)?;
        let keep = match days {
            Some(Some(days)) => Keep::Days(days),
            Some(None) => Keep::Forever,
            None => Keep::Default,
        };
        let retained = ArtifactRetained { artifact: None, of_type: Some(of_type.to_owned()), keep };
        self.record_retention(&retained, Vec::new()).await
    }

    /// The policies of types, sorted by type.
    ///
    /// # Errors
    /// `corrupt` when one cannot be read.
    pub async fn artifact_policies(&self) -> Result<Vec<Policy>> {
        let Some(state) = self.artifacts_state().await? else { return Ok(Vec::new()) };
        let (_, registers) = self.core.0.ledger.registers(state.id).await?;
        let mut policies = Vec::new();
        for (keep, seq) in Decisions::decode(&registers)?.types.into_values() {
            let entry = self.core.entry_at(Position { journal: state.id, seq }).await?;
            let retained: ArtifactRetained = entry.json()?;
            let days = match keep {
                Retention::Days(days) => Some(days),
                _ => None,
            };
            policies.extend(retained.of_type.map(|of_type| Policy { of_type, days }));
        }
        policies.sort_by(|a, b| a.of_type.cmp(&b.of_type));
        Ok(policies)
    }

    /// Whether a type has a policy.
    ///
    /// # Errors
    /// `corrupt` when that cannot be read.
    pub async fn has_artifact_policy(&self, of_type: &str) -> Result<bool> {
        let Some(state) = self.artifacts_state().await? else { return Ok(false) };
        let (_, registers) = self.core.0.ledger.registers(state.id).await?;
        let hash = type_hash(&self.core.hasher(self.subject.pseudonym, state.family), of_type)?;
        Ok(Decisions::decode(&registers)?.types.contains_key(&hash))
    }
}

/// An artifact, as a collection and a verification see it: of any owner.
pub(crate) struct Retained {
    /// The artifact.
    pub(crate) artifact: ArtifactId,
    /// Where its record is.
    pub(crate) position: Position,
    /// Whose it is.
    pub(crate) owner: Pseudonym,
    /// Its tree.
    pub(crate) root: Root,
    /// Whether its time is over.
    pub(crate) is_over: bool,
    /// Whether a collection recorded that it takes it.
    pub(crate) collected: bool,
}

impl Core {
    /// The artifacts in one journal of them.
    pub(crate) async fn retained(
        &self,
        state: &JournalState,
        now: i64,
        collected: &HashSet<ArtifactId>,
    ) -> Result<Vec<Retained>> {
        let (_, registers) = self.0.ledger.registers(state.id).await?;
        let decisions = Decisions::decode(&registers)?;
        let rows = self.artifact_rows(state).await?;
        Ok(rows
            .into_iter()
            .map(|(position, row)| Retained {
                artifact: row.artifact,
                position,
                owner: state.owner,
                root: Root { label: row.artifact.short(), owner: state.owner, block: row.root, tree: true },
                is_over: decisions.kept(&row).is_over(now),
                collected: collected.contains(&row.artifact),
            })
            .collect())
    }
}

/// That nobody decided anything about these journals meanwhile.
pub(crate) fn unmoved(journals: impl Iterator<Item = (JournalId, u64)>) -> Vec<Guard> {
    journals.map(|(journal, seq)| Guard::Head { journal, seq }).collect()
}
