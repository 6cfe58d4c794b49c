//! What artifacts take.

use super::list::Artifact;
use crate::client::Client;
use samite_model::Result;
use samite_model::artifact::Kept;
use std::collections::{BTreeMap, BTreeSet};

/// What to sum up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageBy {
    /// The type.
    #[default]
    Type,
    /// The session that it was published in.
    Session,
    /// The user that it was published for.
    User,
}

/// What a group of artifacts takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The type, the session's id, or the user.
    pub group: String,
    /// How many names there are, each in its session.
    pub names: u64,
    /// How many versions.
    pub versions: u64,
    /// Their bytes in all. What versions, inputs and workspaces share is stored once, so less may be on disk.
    pub bytes: u64,
    /// The bytes of their inputs in all.
    pub input_bytes: u64,
    /// How many versions are kept without a policy.
    pub without_policy: u64,
}

/// All artifacts in short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactsStatus {
    /// How many versions there are whose bytes are there.
    pub versions: u64,
    /// Their bytes in all.
    pub bytes: u64,
    /// How many of them are kept for ever only because nobody said anything.
    pub without_policy: u64,
    /// Of which types those are.
    pub types_without_policy: Vec<String>,
}

impl Client {
    /// What this principal's artifacts take, by group. What was collected does not count.
    ///
    /// # Errors
    /// `corrupt` when a record cannot be read.
    pub async fn artifact_usage(&self, by: UsageBy) -> Result<Vec<Usage>> {
        Ok(sum(&self.all_artifacts().await?, by))
    }

    /// All of them in short.
    ///
    /// # Errors
    /// `corrupt` when a record cannot be read.
    pub async fn artifacts_status(&self) -> Result<ArtifactsStatus> {
        let artifacts = self.all_artifacts().await?;
        let mut status = ArtifactsStatus::default();
        let mut types = BTreeSet::new();
        for artifact in artifacts.iter().filter(|artifact| !artifact.collected) {
            status.versions += 1;
            status.bytes += artifact.record.size;
            if artifact.kept == Kept::NoPolicy {
                status.without_policy += 1;
                types.insert(artifact.record.of_type.clone());
            }
        }
        status.types_without_policy = types.into_iter().collect();
        Ok(status)
    }
}

fn sum(artifacts: &[Artifact], by: UsageBy) -> Vec<Usage> {
    let mut groups: BTreeMap<String, (Usage, BTreeSet<(String, String)>)> = BTreeMap::new();
    for Artifact { record, kept, .. } in artifacts.iter().filter(|artifact| !artifact.collected) {
        let session = record.lineage.session.to_string();
        let group = match by {
            UsageBy::Type => record.of_type.clone(),
            UsageBy::Session => session.clone(),
            UsageBy::User => record.by.user.clone(),
        };
        let (usage, names) =
            groups.entry(group.clone()).or_insert_with(|| (Usage { group, ..Usage::default() }, BTreeSet::new()));
        usage.versions += 1;
        usage.bytes += record.size;
        usage.input_bytes += record.lineage.inputs.iter().map(|input| input.size).sum::<u64>();
        usage.without_policy += u64::from(*kept == Kept::NoPolicy);
        names.insert((session, record.name.clone()));
    }
    groups.into_values().map(|(usage, names)| Usage { names: names.len() as u64, ..usage }).collect()
}
