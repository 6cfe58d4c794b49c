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
    user: Option<String>,
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
    /// Whether what was asked about may be used, where something was asked about.
    may: Option<bool>,
}

impl ConsentsShape {
    /// What was said, and whether what was asked about may be used by that.
    pub(crate) async fn new(client: &Client, consents: &[Consent], may: Option<bool>) -> Result<Self> {
        let mut all = Vec::new();
        for consent in consents {
            let user = client.name_of(consent.on.subject()).await?.map(|owner| owner.to_string());
            all.push(ConsentShape { user, ..Self::shape(consent) });
        }
        Ok(Self { consents: all, may })
    }

    fn shape(consent: &Consent) -> ConsentShape {
        ConsentShape {
            on: consent.on.name(),
            user: None,
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
        }
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
            ("OF", Column::Flexible),
            ("SAID", Column::Flexible),
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
            let user = one.user.clone().unwrap_or_default();
            table.row([one.on.to_owned(), id, user, said.to_owned(), time(one.at), one.basis.clone()]);
        }
        page.table(&table);
        match self.may {
            Some(true) => page.line("it may be used for training, as far as it is made of nothing else"),
            Some(false) => page.line("it may not be used for training"),
            None => {}
        }
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
        let day = self.since.split('T').next().unwrap_or_default();
        page.line(format!("data may go to region {} since {day}: {}", self.to, self.basis));
    }
}

/// So many refusals a person is shown.
const SHOWN: usize = 3;

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

    /// The last few of them: a node that is misplaced is refused at every command.
    pub(super) fn show_all(all: &[Self], page: &mut Page) {
        let before = all.len().saturating_sub(SHOWN);
        if before > 0 {
            page.styled(Style::Dim, format!("refused before: {before} (--json has all)"));
        }
        for one in all.iter().skip(before) {
            one.show(page);
        }
    }

    fn show(&self, page: &mut Page) {
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
        RefusalShape::show_all(&self.refusals, page);
    }
}
