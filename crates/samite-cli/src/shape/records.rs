//! Records of processing as an answer.

use super::policy::{ProcessorShape, RefusalShape, TransferShape, processor_table};
use crate::printer::words::{count, rfc3339, short_id};
use crate::printer::{Answer, Column, Page, Table};
use samite::payload::ProcessorSet;
use samite::policy::{ProcessingRecords, Retained};
use samite::redaction::Mode;
use serde::Serialize;

/// What samite itself keeps data for.
const PURPOSES: [&str; 3] = [
    "keep and resume the work of agents, and show what they did",
    "give persons what was made for them",
    "prove what was done, and what was erased",
];

/// How it is protected.
const MEASURES: [&str; 6] = [
    "contents are sealed with AES-256-GCM under keys of the person, which a master key outside of the store wraps",
    "headers, links and the audit log hold pseudonyms and commitments, and no name or word",
    "every decision and erasure is a leaf of a signed log, which others verify with a public key",
    "erasing a person destroys the keys; a copy that is older is erased before it serves",
    "a tenant that is pinned to a region is served by nodes of that region alone",
    "the store's directories are for its user alone (0700)",
];

#[derive(Clone, Debug, Serialize)]
struct HeldShape {
    category: &'static str,
    what: &'static str,
    count: u64,
}

#[derive(Clone, Debug, Serialize)]
struct DatasetShape {
    dataset: String,
    region: String,
    basis: String,
    entries: u64,
    root: String,
}

/// Somebody who was given data, and is not any more.
#[derive(Clone, Debug, Serialize)]
struct FormerShape {
    name: String,
    region: String,
    receives: Vec<String>,
    reason: Option<String>,
}

impl FormerShape {
    fn new(one: &ProcessorSet) -> Self {
        Self {
            name: one.name.clone(),
            region: one.region.to_string(),
            receives: one.receives.clone(),
            reason: one.reason.clone(),
        }
    }
}

/// How long something is kept.
#[derive(Clone, Debug, Serialize)]
struct RetainedShape {
    category: String,
    kept: String,
}

/// Records of processing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RecordsShape {
    tenant: String,
    region: Option<String>,
    region_since: Option<String>,
    subjects: u64,
    purposes: [&'static str; 3],
    categories: Vec<HeldShape>,
    recipients: Vec<ProcessorShape>,
    former_recipients: Vec<FormerShape>,
    transfers: Vec<TransferShape>,
    datasets: Vec<DatasetShape>,
    consents_given: u64,
    holds: usize,
    erasures: u64,
    refusals: Vec<RefusalShape>,
    retention: Vec<RetainedShape>,
    measures: Vec<&'static str>,
}

impl RecordsShape {
    pub(crate) fn new(records: &ProcessingRecords) -> Self {
        let acts = records.retentions.get(&Retained::Audit).map_or_else(
            || "for ever, without contents".to_owned(),
            |days| format!("{days} days at least, without contents; older acts move to an archive where one is named"),
        );
        let kept = |category: &str, kept: &str| RetainedShape { category: category.to_owned(), kept: kept.to_owned() };
        Self {
            tenant: records.tenant.clone(),
            region: records.region.as_ref().map(|pinned| pinned.region.to_string()),
            region_since: records.region.as_ref().map(|pinned| rfc3339(pinned.since)),
            subjects: records.subjects,
            purposes: PURPOSES,
            categories: records
                .held
                .iter()
                .map(|held| HeldShape { category: held.category, what: held.what, count: held.count })
                .collect(),
            recipients: records.processors.iter().map(ProcessorShape::new).collect(),
            former_recipients: records.former.iter().map(FormerShape::new).collect(),
            transfers: records.transfers.iter().map(TransferShape::new).collect(),
            datasets: records
                .datasets
                .iter()
                .map(|one| DatasetShape {
                    dataset: one.dataset.to_string(),
                    region: one.region.to_string(),
                    basis: one.basis.clone(),
                    entries: one.entries,
                    root: one.root.clone(),
                })
                .collect(),
            consents_given: records.consents_given,
            holds: records.holds.len(),
            erasures: records.erasures,
            refusals: records.refusals.iter().map(RefusalShape::new).collect(),
            retention: vec![
                kept("sessions", &decided(records.retentions.get(&Retained::Session))),
                kept(
                    "artifacts",
                    &format!(
                        "as `artifact policy` says, else {}",
                        decided(records.retentions.get(&Retained::Artifact))
                    ),
                ),
                kept("memory", &decided(records.retentions.get(&Retained::Memory))),
                kept("trees", "of branches that are not current for 30 days, else until they are erased"),
                kept("acts", &acts),
            ],
            measures: MEASURES.into_iter().chain(of_secrets(records.secrets)).collect(),
        }
    }
}

/// What is done about secrets, where something is.
fn of_secrets(mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Off => None,
        Mode::Report => Some("secrets in what is written are counted, and stay in it"),
        Mode::Redact => Some("secrets in what is written are replaced before it is stored, as `policy redaction` says"),
    }
}

/// How long something is kept, in words.
fn decided(days: Option<&u32>) -> String {
    let erased = "until they are erased";
    days.map_or_else(|| erased.to_owned(), |days| format!("{days} days, {erased} by `retain apply`"))
}

impl Answer for RecordsShape {
    fn show(&self, page: &mut Page) {
        page.facts(&[
            ("tenant", self.tenant.clone()),
            ("region", self.region.clone().unwrap_or_else(|| "not pinned".to_owned())),
            ("persons", self.subjects.to_string()),
            ("consents to training", self.consents_given.to_string()),
            ("legal holds", self.holds.to_string()),
            ("erasures", self.erasures.to_string()),
        ]);
        let list = |title: &str, lines: &[&str], page: &mut Page| {
            page.gap();
            page.line(title);
            for line in lines {
                page.line(format!("  {line}"));
            }
        };
        list("purposes:", &self.purposes, page);
        page.gap();
        let mut table = Table::new(&[("CATEGORY", Column::Left), ("COUNT", Column::Right), ("WHAT", Column::Flexible)]);
        for held in &self.categories {
            table.row([held.category.to_owned(), held.count.to_string(), held.what.to_owned()]);
        }
        page.table(&table);
        page.gap();
        let mut table = Table::new(&[("CATEGORY", Column::Left), ("KEPT", Column::Flexible)]);
        for one in &self.retention {
            table.row([one.category.clone(), one.kept.clone()]);
        }
        page.table(&table);
        page.gap();
        if self.recipients.is_empty() {
            page.line("nobody else is given data");
        } else {
            processor_table(&self.recipients, page);
        }
        for one in &self.former_recipients {
            let (name, region, receives) = (&one.name, &one.region, one.receives.join(", "));
            page.line(format!("{name} in region {region} was given {receives} before, and is given nothing any more"));
        }
        for transfer in &self.transfers {
            transfer.show(page);
        }
        for one in &self.datasets {
            let entries = count(one.entries, "entry");
            page.line(format!(
                "data set {}: {entries} to region {}, {}",
                short_id(&one.dataset),
                one.region,
                one.basis
            ));
        }
        RefusalShape::show_all(&self.refusals, page);
        list("measures:", &self.measures, page);
    }
}
