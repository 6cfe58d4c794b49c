//! Records of processing: what is kept of whom, what for, who else receives it, and where.

use super::{Pinned, Processor, Retained, Transfer};
use crate::client::Client;
use crate::payload::{DatasetExported, Refused};
use samite_ledger::{JournalFilter, JournalKind, JournalStatus};
use samite_model::erasure::Hold;
use samite_model::{EntryKind, Pseudonym, Result};
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
}

impl Client {
    /// The records of processing, as far as the store knows.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not operate the tenant; `corrupt` when an entry cannot be read.
    pub async fn processing_records(&self) -> Result<ProcessingRecords> {
        let this = &self.operator()?;
        let core = &this.core;
        let journals = core.0.ledger.journals(JournalFilter::default()).await?;
        let tenant = core.0.keys.tenant_pseudonym();
        let open = || journals.iter().filter(|state| state.status == JournalStatus::Open);
        let count = |kind: JournalKind| open().filter(|state| state.kind == kind).count() as u64;
        let entries = |kind: JournalKind| {
            open().filter(|state| state.kind == kind).fold(0, |sum: u64, state| {
                sum.saturating_add(state.head.saturating_sub(state.parent.map_or(0, |parent| parent.seq)))
            })
        };
        let mut acts: u64 = 0;
        for log in 1..=core.0.ledger.audit_log(None).await?.map_or(0, |newest| newest.log) {
            acts = acts.saturating_add(core.0.ledger.audit_log(Some(log)).await?.map_or(0, |state| state.size));
        }
        let subjects: BTreeSet<Pseudonym> = open().map(|state| state.owner).filter(|owner| *owner != tenant).collect();
        let held = vec![
            Held {
                category: "sessions",
                what: "what persons and agents said, and what agents did",
                count: count(JournalKind::SessionControl),
            },
            Held { category: "entries", what: "the entries of branches", count: entries(JournalKind::Branch) },
            Held { category: "artifacts", what: "what was made for persons", count: entries(JournalKind::Artifacts) },
            Held { category: "trees", what: "the files that agents work on", count: entries(JournalKind::Workspace) },
            Held { category: "acts", what: "leaves of the audit log: who did what, without contents", count: acts },
        ];
        let said = core.said_of_tenant(EntryKind::DATASET_EXPORTED).await?;
        let consents = this.consents().await?;
        Ok(ProcessingRecords {
            tenant: core.0.keys.tenant().to_string(),
            region: this.region().await?,
            subjects: subjects.len() as u64,
            held,
            processors: this.processors().await?,
            transfers: this.transfers().await?,
            datasets: said.into_iter().map(|(_, dataset)| dataset).collect(),
            consents_given: consents.iter().filter(|consent| consent.given && !consent.void).count() as u64,
            retentions: this.retentions().await?,
            holds: this.holds().await?,
            erasures: this.erasures().await?.len() as u64,
            refusals: this.refusals().await?,
        })
    }
}
