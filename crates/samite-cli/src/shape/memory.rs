//! Records of long-term memory as answers.

use crate::printer::words::{rfc3339, short_id, time};
use crate::printer::{Column, Page, Style, Table};
use samite::memory::{Ended, Standing};
use serde::Serialize;
use serde_json::{Map, Value};

/// A record, and where it stands.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RecordShape {
    pub(crate) id: String,
    kind: &'static str,
    text: String,
    metadata: Map<String, Value>,
    edge: Option<EdgeShape>,
    trust: &'static str,
    pinned: bool,
    /// `found`, `quarantined`, `rejected`, `superseded`, `corrected`, `retracted` or `revoked`.
    state: &'static str,
    reason: Option<String>,
    replaced_by: Option<String>,
    replaces: Option<String>,
    ended: Option<String>,
    recorded: String,
    valid_from: Option<String>,
    valid_to: Option<String>,
    seq: u64,
    previous: Option<String>,
    session: Option<String>,
    branch: Option<String>,
    step: Option<String>,
    entries: Vec<SpanShape>,
    inputs: Vec<String>,
    source: Option<String>,
    extractor: Option<String>,
    user: String,
    agent: String,
    workload: String,
    /// The other times that it was said.
    again: Vec<SayingShape>,
    #[serde(skip)]
    time: i64,
}

/// Another time that a record was said.
#[derive(Clone, Debug, Serialize)]
struct SayingShape {
    id: String,
    written: String,
    session: Option<String>,
    step: Option<String>,
    inputs: Vec<String>,
    agent: String,
    #[serde(skip)]
    time: i64,
}

/// A relation.
#[derive(Clone, Debug, Serialize)]
struct EdgeShape {
    from: String,
    relation: String,
    to: String,
}

/// A part of an entry.
#[derive(Clone, Debug, Serialize)]
struct SpanShape {
    journal: String,
    seq: u64,
    bytes: Option<(u64, u64)>,
}

impl RecordShape {
    pub(crate) fn new(standing: &Standing, is_quarantined: bool) -> Self {
        let record = &standing.record;
        let from = &record.provenance;
        let (state, reason, replaced_by) = match &standing.ended {
            Some((Ended::Replaced { by, changed }, _)) => {
                let state = match changed {
                    samite::memory::Changed::Superseded => "superseded",
                    samite::memory::Changed::Corrected => "corrected",
                };
                (state, None, Some(by.to_string()))
            }
            Some((Ended::Retracted { reason }, _)) => ("retracted", reason.clone(), None),
            Some((Ended::Revoked { reason }, _)) => ("revoked", Some(reason.clone()), None),
            None if standing.verdict == Some(samite::memory::Verdict::Rejected) => ("rejected", None, None),
            None if is_quarantined => ("quarantined", None, None),
            None => ("found", None, None),
        };
        Self {
            id: record.record.to_string(),
            kind: record.kind.name(),
            text: record.text.clone(),
            metadata: record.metadata.clone(),
            edge: record.edge.as_ref().map(|edge| EdgeShape {
                from: edge.from.clone(),
                relation: edge.relation.clone(),
                to: edge.to.clone(),
            }),
            trust: from.trust.name(),
            pinned: standing.pinned,
            state,
            reason,
            replaced_by,
            replaces: standing.replaces.map(|replaced| replaced.to_string()),
            ended: standing.ended.as_ref().map(|(_, time)| rfc3339(*time)),
            recorded: rfc3339(standing.recorded),
            valid_from: record.valid.from.map(rfc3339),
            valid_to: record.valid.to.map(rfc3339),
            seq: standing.at.seq,
            previous: record.previous.map(|previous| previous.to_string()),
            session: from.session.map(|session| session.to_string()),
            branch: from.branch.map(|branch| branch.to_string()),
            step: from.step.map(|step| step.to_string()),
            entries: from
                .entries
                .iter()
                .map(|span| SpanShape {
                    journal: span.position.journal.to_string(),
                    seq: span.position.seq,
                    bytes: span.bytes,
                })
                .collect(),
            inputs: from.inputs.iter().map(ToString::to_string).collect(),
            source: from.source.clone(),
            extractor: from.extractor.as_ref().map(|made_by| format!("{} {}", made_by.name, made_by.version)),
            user: from.writer.user.clone(),
            agent: from.writer.agent.clone(),
            workload: from.writer.workload.clone(),
            again: standing
                .again
                .iter()
                .map(|saying| SayingShape {
                    id: saying.id.to_string(),
                    written: rfc3339(saying.time),
                    session: saying.provenance.session.map(|session| session.to_string()),
                    step: saying.provenance.step.map(|step| step.to_string()),
                    inputs: saying.provenance.inputs.iter().map(ToString::to_string).collect(),
                    agent: saying.provenance.writer.agent.clone(),
                    time: saying.time,
                })
                .collect(),
            time: standing.recorded,
        }
    }

    /// The first digits of its id.
    pub(crate) fn short(&self) -> String {
        short_id(&self.id)
    }

    /// How it stands, in a word.
    pub(crate) const fn state(&self) -> &'static str {
        self.state
    }

    /// What it says.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What there is to say of it in a few words.
    pub(crate) fn about(&self) -> String {
        let mut words = vec![self.kind.to_owned(), format!("said by {}", self.trust), time(self.time)];
        words.extend(self.source.clone());
        words.extend(self.pinned.then(|| "pinned".to_owned()));
        words.join(", ")
    }

    /// All of it, for a person.
    pub(crate) fn show(&self, page: &mut Page) {
        page.block(0, &self.text, None);
        page.gap();
        let mut facts = vec![
            ("record", self.id.clone()),
            ("kind", self.kind.to_owned()),
            ("state", self.words()),
            ("trust", self.trust.to_owned()),
            ("written", format!("{} by {} with {}", time(self.time), self.user, self.agent)),
        ];
        let mut more =
            |name: &'static str, value: &Option<String>| facts.extend(value.clone().map(|value| (name, value)));
        more("replaces", &self.replaces);
        more("source", &self.source);
        more("made by", &self.extractor);
        more("session", &self.session);
        more("step", &self.step);
        more("valid from", &self.valid_from);
        more("valid to", &self.valid_to);
        if let Some(edge) = &self.edge {
            facts.push(("edge", format!("{} {} {}", edge.from, edge.relation, edge.to)));
        }
        for input in &self.inputs {
            facts.push(("made of", input.clone()));
        }
        for said in &self.again {
            let session = said.session.as_deref().map(|id| format!(", session {}", short_id(id))).unwrap_or_default();
            facts.push(("said again", format!("{} with {}{session}", time(said.time), said.agent)));
        }
        for (name, value) in &self.metadata {
            facts.push((name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
        }
        page.facts(&facts);
    }

    fn words(&self) -> String {
        let pinned = if self.pinned { ", pinned" } else { "" };
        let by = self.replaced_by.as_deref().map(|by| format!(" by {}", short_id(by))).unwrap_or_default();
        let reason = self.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{}{pinned}{by}{reason}", self.state)
    }
}

/// A table of records.
pub(crate) fn record_table(records: &[RecordShape]) -> Table {
    let mut table = Table::new(&[
        ("RECORD", Column::Left),
        ("KIND", Column::Left),
        ("TRUST", Column::Left),
        ("STATE", Column::Left),
        ("WRITTEN", Column::Left),
        ("TEXT", Column::Flexible),
    ]);
    for one in records {
        let state = match (one.state, one.pinned) {
            ("found", true) => "pinned",
            ("found", false) => "",
            (state, _) => state,
        };
        let style = if matches!(one.state, "found") { Style::Plain } else { Style::Dim };
        table.styled(
            style,
            [
                short_id(&one.id),
                one.kind.to_owned(),
                one.trust.to_owned(),
                state.to_owned(),
                time(one.time),
                one.text.clone(),
            ],
        );
    }
    table
}
