//! Consent, processors and regions as answers.

use crate::printer::words::{rfc3339, short_id, time};
use crate::printer::{Answer, Column, Page, Style, Table};
use samite::Client;
use samite::embedded::Embedded;
use samite::payload::Refused;
use samite::policy::{Consent, ConsentOn, Processor, Transfer};
use samite_model::Result;
use serde::Serialize;

/// What was said about training.
#[derive(Clone, Debug, Serialize)]
struct ConsentShape {
    on: &'static str,
    subject: String,
    session: Option<String>,
    given: bool,
    basis: String,
    reason: Option<String>,
    actor: String,
    time: String,
    void: bool,
    #[serde(skip)]
    at: i64,
}

/// All that was said, or that stands.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ConsentsShape {
    consents: Vec<ConsentShape>,
}

impl ConsentsShape {
    pub(crate) fn new(consents: &[Consent]) -> Self {
        let shape = |consent: &Consent| ConsentShape {
            on: consent.on.name(),
            subject: consent.on.subject().to_string(),
            session: match consent.on {
                ConsentOn::Session { session, .. } => Some(session.to_string()),
                ConsentOn::User { .. } => None,
            },
            given: consent.given,
            basis: consent.basis.clone(),
            reason: consent.reason.clone(),
            actor: consent.actor.to_string(),
            time: rfc3339(consent.time),
            void: consent.void,
            at: consent.time,
        };
        Self { consents: consents.iter().map(shape).collect() }
    }
}

impl Answer for ConsentsShape {
    fn show(&self, page: &mut Page) {
        if self.consents.is_empty() {
            return page.line("nothing was said: nothing may be used for training");
        }
        let mut table = Table::new(&[
            ("ON", Column::Left),
            ("ID", Column::Left),
            ("SAID", Column::Left),
            ("WHEN", Column::Left),
            ("BASIS", Column::Flexible),
        ]);
        for one in &self.consents {
            let said = match (one.given, one.void) {
                (true, true) => "yes, before an erasure",
                (true, false) => "yes",
                (false, _) => "no",
            };
            let id = short_id(one.session.as_deref().unwrap_or(&one.subject));
            table.row([one.on.to_owned(), id, said.to_owned(), time(one.at), one.basis.clone()]);
        }
        page.table(&table);
    }
}

/// Somebody else who is given data.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ProcessorShape {
    name: String,
    region: String,
    purpose: String,
    agreement: String,
    receives: Vec<String>,
    actor: String,
    since: String,
}

/// All of them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProcessorsShape {
    processors: Vec<ProcessorShape>,
}

impl ProcessorsShape {
    pub(crate) fn new(processors: &[Processor]) -> Self {
        Self { processors: processors.iter().map(ProcessorShape::new).collect() }
    }
}

impl ProcessorShape {
    pub(super) fn new(one: &Processor) -> Self {
        Self {
            name: one.name.clone(),
            region: one.region.to_string(),
            purpose: one.purpose.clone(),
            agreement: one.agreement.clone(),
            receives: one.receives.clone(),
            actor: one.actor.to_string(),
            since: rfc3339(one.since),
        }
    }
}

/// A table of processors.
pub(super) fn processor_table(processors: &[ProcessorShape], page: &mut Page) {
    let mut table = Table::new(&[
        ("NAME", Column::Flexible),
        ("REGION", Column::Left),
        ("RECEIVES", Column::Flexible),
        ("PURPOSE", Column::Flexible),
        ("AGREEMENT", Column::Flexible),
    ]);
    for one in processors {
        let receives = one.receives.join(", ");
        table.row([one.name.clone(), one.region.clone(), receives, one.purpose.clone(), one.agreement.clone()]);
    }
    page.table(&table);
}

impl Answer for ProcessorsShape {
    fn show(&self, page: &mut Page) {
        if self.processors.is_empty() {
            return page.line("nobody else is given data");
        }
        processor_table(&self.processors, page);
    }
}

/// A transfer that was decided.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TransferShape {
    to: String,
    basis: String,
    reason: Option<String>,
    actor: String,
    since: String,
}

impl TransferShape {
    pub(super) fn new(one: &Transfer) -> Self {
        Self {
            to: one.to.to_string(),
            basis: one.basis.clone(),
            reason: one.reason.clone(),
            actor: one.actor.to_string(),
            since: rfc3339(one.since),
        }
    }

    pub(super) fn show(&self, page: &mut Page) {
        page.line(format!("data may go to region {}: {}", self.to, self.basis));
    }
}

/// What was refused because of its region.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RefusalShape {
    refusal: String,
    what: String,
    region: Option<String>,
    time: String,
    #[serde(skip)]
    at: i64,
}

impl RefusalShape {
    pub(super) fn new(one: &Refused) -> Self {
        Self {
            refusal: one.refusal.to_string(),
            what: one.what.clone(),
            region: one.region.as_ref().map(ToString::to_string),
            time: rfc3339(one.time),
            at: one.time,
        }
    }

    pub(super) fn show(&self, page: &mut Page) {
        let what = if self.what == "open" { "a node" } else { &self.what };
        let region = self.region.as_deref().map_or_else(|| "no region".to_owned(), |name| format!("region {name}"));
        page.styled(Style::Care, format!("refused: {what} of {region}, {}", time(self.at)));
    }
}

/// The region that the tenant is pinned to.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RegionShape {
    region: Option<String>,
    previous: Option<String>,
    since: Option<String>,
    node: Option<String>,
    transfers: Vec<TransferShape>,
    refusals: Vec<RefusalShape>,
}

impl RegionShape {
    pub(crate) async fn read(store: &Embedded, client: &Client) -> Result<Self> {
        let pinned = client.region().await?;
        Ok(Self {
            since: pinned.as_ref().map(|pinned| rfc3339(pinned.since)),
            previous: pinned.as_ref().and_then(|pinned| pinned.previous.as_ref().map(ToString::to_string)),
            region: pinned.map(|pinned| pinned.region.to_string()),
            node: store.region().map(ToString::to_string),
            transfers: client.transfers().await?.iter().map(TransferShape::new).collect(),
            refusals: client.refusals().await?.iter().map(RefusalShape::new).collect(),
        })
    }
}

impl Answer for RegionShape {
    fn show(&self, page: &mut Page) {
        page.line(match &self.region {
            Some(region) => format!("the tenant is pinned to region {region}"),
            None => "the tenant is pinned to no region".to_owned(),
        });
        for transfer in &self.transfers {
            transfer.show(page);
        }
        for refusal in &self.refusals {
            refusal.show(page);
        }
    }
}
