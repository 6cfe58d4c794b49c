//! Records of processing: what is kept of whom, what for, who else receives it, and where.

use super::{Pinned, Processor, Retained, Transfer};
use crate::artifact::ArtifactFilter;
use crate::client::Client;
use crate::payload::{DatasetExported, ProcessorSet, Refused};
use crate::redaction::Mode;
use samite_ledger::{JournalFilter, JournalKind, JournalState, JournalStatus};
use samite_model::erasure::{Hold, Run};
use samite_model::{BlockId, EntryKind, JournalId, Pseudonym, Result};
use std::collections::{BTreeMap, BTreeSet};

/// How much there is of a category of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The category.
    pub category: &'static str,
    /// What it is.
    pub what: &'static str,
    /// How many there are: of what the category is counted in.
    pub count: u64,
}

/// What is kept of whom, what for, who else receives it, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessingRecords {
    /// The tenant.
    pub tenant: String,
    /// The region that it is pinned to.
    pub region: Option<Pinned>,
    /// How many persons there is data of.
    pub subjects: u64,
    /// The categories of data.
    pub held: Vec<Held>,
    /// Who else receives data.
    pub processors: Vec<Processor>,
    /// Who did before, and was removed: what they were given is theirs.
    pub former: Vec<ProcessorSet>,
    /// Transfers to other regions that were decided.
    pub transfers: Vec<Transfer>,
    /// The data sets that left.
    pub datasets: Vec<DatasetExported>,
    /// How many consents to training stand.
    pub consents_given: u64,
    /// How many days kinds of things are kept; others for ever.
    pub retentions: BTreeMap<Retained, u32>,
    /// The legal holds.
    pub holds: Vec<Hold>,
    /// How many erasures there were.
    pub erasures: u64,
    /// What was refused because of its region.
    pub refusals: Vec<Refused>,
    /// What happens with secrets in what is written.
    pub secrets: Mode,
}

/// How many entries of each journal erasures took, or are about to.
fn erased_of(mut runs: Vec<Run>) -> BTreeMap<JournalId, u64> {
    runs.sort_by_key(|run| (run.journal, run.first));
    let mut counts = BTreeMap::new();
    let mut before: Option<Run> = None;
    for run in runs {
        // Some may have been erased twice.
        let seen = before.filter(|before| before.journal == run.journal).map_or(0, |before| before.last);
        let first = run.first.max(seen.saturating_add(1));
        *counts.entry(run.journal).or_default() += run.last.saturating_add(1).saturating_sub(first);
        before = Some(Run { last: run.last.max(seen), ..run });
    }
    counts
}

impl Client {
    /// The records of processing, as far as the store knows.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `corrupt` when an entry cannot be read.
    pub async fn processing_records(&self) -> Result<ProcessingRecords> {
        let this = &self.operator().await?;
        let core = &this.core;
        let journals = core.0.ledger.journals(JournalFilter::default()).await?;
        let persons = this.for_each_person().await?;
        let living: BTreeSet<Pseudonym> = persons.iter().map(|person| person.subject.pseudonym).collect();
        let open = || {
            let is_there = |state: &&JournalState| state.status == JournalStatus::Open && living.contains(&state.owner);
            journals.iter().filter(is_there)
        };
        let erased = erased_of(core.erased_runs().await?);
        let branches = || open().filter(|state| state.kind == JournalKind::Branch);
        let entries = branches().fold(0, |sum: u64, state| {
            let own = state.head.saturating_sub(state.parent.map_or(0, |parent| parent.seq));
            let gone = erased.get(&state.id).copied().unwrap_or_default();
            sum.saturating_add(own.saturating_sub(gone))
        });
        let mut artifacts = 0;
        for person in &persons {
            let all = ArtifactFilter { all_versions: true, ..ArtifactFilter::default() };
            artifacts += person.artifacts(&all).await?.len() as u64;
        }
        let namespaces = open().filter(|state| state.kind == JournalKind::Memory);
        let whole: Vec<Run> = namespaces.map(|state| Run { journal: state.id, first: 1, last: state.head }).collect();
        let memory = core.count_records(&whole).await?;
        let mut acts = 0;
        let newest = core.0.ledger.audit_log(None).await?.map_or(0, |state| state.log);
        for log in 1..=newest {
            acts += core.0.ledger.audit_log(Some(log)).await?.map_or(0, |state| state.size);
        }
        let sessions = open().filter(|state| state.kind == JournalKind::SessionControl).count() as u64;
        let mut trees: BTreeSet<BlockId> = BTreeSet::new();
        for state in branches() {
            let own = this.trees(state).await?.into_iter().filter(|(position, _)| position.journal == state.id);
            trees.extend(own.map(|(_, tree)| tree));
        }
        // Those of what was erased went with it, and a collection may have taken others.
        let places = core.0.blocks.find_blocks(trees.into_iter().collect()).await?;
        let trees = places.iter().flatten().count() as u64;
        let held = vec![
            Held { category: "sessions", what: "what persons and agents said, and what agents did", count: sessions },
            Held { category: "entries", what: "the entries of branches", count: entries },
            Held { category: "artifacts", what: "what was made for persons", count: artifacts },
            Held { category: "memory", what: "what is remembered of persons beyond a session", count: memory },
            Held { category: "trees", what: "the files that agents work on", count: trees },
            Held { category: "acts", what: "who did what, without contents: the leaves of the audit log", count: acts },
        ];
        let said = core.said_of_tenant(EntryKind::DATASET_EXPORTED).await?;
        let consents = this.consents().await?;
        Ok(ProcessingRecords {
            tenant: core.0.keys.tenant().to_string(),
            region: this.region().await?,
            subjects: living.len() as u64,
            held,
            processors: this.processors().await?,
            former: core.processors_ever().await?.into_iter().filter(|one| one.removed).collect(),
            transfers: this.transfers().await?,
            datasets: said.into_iter().map(|(_, dataset)| dataset).collect(),
            consents_given: consents.iter().filter(|consent| consent.given && !consent.void).count() as u64,
            retentions: this.retentions().await?,
            holds: this.holds().await?,
            erasures: this.erasures().await?.len() as u64,
            refusals: this.refusals().await?,
            secrets: this.redaction_policy().await?.secrets,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_erased_twice_counts_once() {
        let run = |journal: u8, first, last| Run { journal: JournalId([journal; 16]), first, last };
        let runs = vec![run(1, 4, 6), run(2, 1, 1), run(1, 1, 5), run(1, 5, 5), run(1, 9, 9), run(1, 2, 3)];
        let erased = erased_of(runs);
        assert_eq!(erased, [(JournalId([1; 16]), 7), (JournalId([2; 16]), 1)].into());
    }
}
