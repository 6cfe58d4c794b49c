//! Looking at artifacts: lists, records, bytes.

use super::place::BYTES;
use super::views::{Decisions, RecordRow};
use crate::client::Client;
use crate::payload::ArtifactRecord;
use samite_ledger::JournalState;
use samite_model::artifact::{ByteRange, Kept};
use samite_model::tree::TreePath;
use samite_model::{ArtifactId, EntryKind, Error, Position, Result, SessionId};
use samite_workspace::Tree;
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// An artifact.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// Its record.
    pub record: ArtifactRecord,
    /// Where the record is, in the owner's artifacts.
    pub position: Position,
    /// How many versions of its name there are in its session, on all of its branches.
    pub versions: u64,
    /// How long it is kept.
    pub kept: Kept,
    /// Whether a collection took its bytes: the record stays.
    pub collected: bool,
}

/// Which artifacts to list.
#[derive(Clone, Debug, Default)]
pub struct ArtifactFilter {
    /// Only this type.
    pub of_type: Option<String>,
    /// Only what was published in this session.
    pub session: Option<SessionId>,
    /// Only what is visible at this position of a branch: published there or before a fork point.
    pub at: Option<Position>,
    /// Only what was published for this user.
    pub user: Option<String>,
    /// Only this name.
    pub name: Option<String>,
    /// Every version, and not the latest of each name alone.
    pub all_versions: bool,
}

/// What tells about all of an owner's artifacts.
pub(super) struct Known {
    state: JournalState,
    decisions: Decisions,
    collected: HashSet<ArtifactId>,
}

impl Client {
    /// What is decided about this principal's artifacts, and what of them went; none before the first of them.
    pub(super) async fn known_artifacts(&self) -> Result<Option<Known>> {
        let Some(state) = self.artifacts_state().await? else { return Ok(None) };
        let (_, registers) = self.core.0.ledger.registers(state.id).await?;
        let collected = self.core.collected().await?.artifacts;
        Ok(Some(Known { state, decisions: Decisions::decode(&registers)?, collected }))
    }

    /// All of this principal's artifacts, in the order in which they were published.
    pub(super) async fn all_artifacts(&self) -> Result<Vec<Artifact>> {
        let Some(known) = self.known_artifacts().await? else { return Ok(Vec::new()) };
        let rows: HashMap<ArtifactId, RecordRow> =
            self.core.artifact_rows(&known.state).await?.into_iter().map(|(_, row)| (row.artifact, row)).collect();
        let mut counts: HashMap<(SessionId, String), u64> = HashMap::new();
        let mut artifacts = Vec::new();
        for entry in self.artifact_entries(EntryKind::ARTIFACT_PUBLISHED).await? {
            // Erased with its owner.
            if entry.payload.is_none() {
                continue;
            }
            let record: ArtifactRecord = entry.json()?;
            let count = counts.entry((record.lineage.session, record.name.clone())).or_default();
            *count += 1;
            let kept = rows.get(&record.artifact).map_or(Kept::NoPolicy, |row| known.decisions.kept(row));
            let collected = known.collected.contains(&record.artifact);
            artifacts.push(Artifact { position: entry.position, versions: 0, kept, collected, record });
        }
        for artifact in &mut artifacts {
            let key = (artifact.record.lineage.session, artifact.record.name.clone());
            artifact.versions = counts.get(&key).copied().unwrap_or(1);
        }
        Ok(artifacts)
    }

    /// Artifacts in the order in which they were published: the latest version of each name in each session, unless all are
    /// asked for.
    ///
    /// # Errors
    /// `not_found` when there is no such position; `corrupt` when a record cannot be read.
    pub async fn artifacts(&self, filter: &ArtifactFilter) -> Result<Vec<Artifact>> {
        let mut artifacts = self.all_artifacts().await?;
        if let Some(at) = filter.at {
            let visible: HashSet<ArtifactId> = self.published_along(at).await?.into_iter().collect();
            artifacts.retain(|artifact| visible.contains(&artifact.record.artifact));
        }
        artifacts.retain(|artifact| {
            let record = &artifact.record;
            let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
            is(&filter.of_type, &record.of_type)
                && is(&filter.user, &record.by.user)
                && is(&filter.name, &record.name)
                && filter.session.is_none_or(|session| session == record.lineage.session)
        });
        if !filter.all_versions {
            let mut seen = HashSet::new();
            artifacts.reverse();
            // On a branch, a name that was inherited and published again is one.
            artifacts.retain(|artifact| {
                let session = filter.at.is_none().then_some(artifact.record.lineage.session);
                seen.insert((session, artifact.record.name.clone()))
            });
            artifacts.reverse();
        }
        Ok(artifacts)
    }

    /// One artifact.
    ///
    /// # Errors
    /// `not_found` (`no_artifact`) when there is none that this principal may see; `corrupt` when its record cannot be read.
    pub async fn artifact(&self, artifact: ArtifactId) -> Result<Artifact> {
        let found = self.all_artifacts().await?.into_iter().find(|found| found.record.artifact == artifact);
        found.ok_or_else(|| super::no_artifact(&artifact.to_string()))
    }

    /// Writes the bytes of an artifact, or a range of them, and returns how many that were.
    ///
    /// # Errors
    /// `not_found`: `no_artifact`, or `artifact_collected` when its time is over and its bytes went; `invalid` (`bad_range`)
    /// when the range begins behind the end; `corrupt` naming the block.
    pub async fn artifact_bytes(
        &self,
        artifact: ArtifactId,
        range: Option<ByteRange>,
        to: &mut dyn Write,
    ) -> Result<u64> {
        let record = self.present(artifact).await?;
        let range = match range {
            Some(range) => range.of(record.size)?,
            None => 0..record.size,
        };
        let store = self.core.blocks();
        Tree::new(&store, self.subject.pseudonym, record.root).cat_range(&TreePath::new(BYTES)?, range, to)
    }

    /// Whether an artifact's bytes are there and stay: no collection takes them, or has said that it will.
    pub(super) async fn stays(&self, record: &ArtifactRecord, known: &Known) -> Result<bool> {
        let row = RecordRow::of(&self.core.hasher(self.subject.pseudonym, known.state.family), record)?;
        if known.collected.contains(&record.artifact) || known.decisions.kept(&row).is_over(self.core.now()) {
            return Ok(false);
        }
        self.is_there(record).await
    }

    async fn is_there(&self, record: &ArtifactRecord) -> Result<bool> {
        Ok(self.core.0.blocks.find_blocks(vec![record.root]).await?.iter().all(Option::is_some))
    }

    /// The record of an artifact whose bytes are there.
    pub(super) async fn present(&self, artifact: ArtifactId) -> Result<ArtifactRecord> {
        let (_, record) = self.record_of(artifact).await?.ok_or_else(|| super::no_artifact(&artifact.to_string()))?;
        if self.is_there(&record).await? {
            return Ok(record);
        }
        if self.core.collected().await?.artifacts.contains(&artifact) {
            return Err(Error::not_found(
                "artifact_collected",
                format!("the time of artifact {} is over, and its bytes were collected", artifact.short()),
            )
            .hint("its record stays: `samite artifact show`"));
        }
        Err(Error::corrupt("artifact_missing", format!("the bytes of artifact {artifact} are missing"))
            .hint("run `samite verify`; a backup may have them"))
    }

    /// The checkpoints that artifacts of a session name as where they come from.
    ///
    /// # Errors
    /// `corrupt` when a record cannot be read.
    pub async fn checkpoints_of_artifacts(&self, session: SessionId) -> Result<HashSet<Position>> {
        let artifacts = self.all_artifacts().await?.into_iter().filter(|artifact| !artifact.collected);
        let lineages = artifacts.map(|artifact| artifact.record.lineage);
        Ok(lineages.filter(|lineage| lineage.session == session).filter_map(|lineage| lineage.checkpoint).collect())
    }
}
