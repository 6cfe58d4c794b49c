//! Grants and reads by others.

use crate::printer::words::{rfc3339, short_id};
use crate::printer::{Column, Table};
use samite::access::{RecordedRead, Shared};
use samite::payload::Looked;
use samite_model::Principal;
use serde::Serialize;

/// A principal.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PrincipalShape {
    tenant: String,
    pub(crate) user: String,
    pub(crate) agent: String,
    workload: String,
    /// The agents that it works for, the outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parents: Vec<String>,
}

impl PrincipalShape {
    /// The shape of a principal.
    pub(crate) fn new(principal: &Principal) -> Self {
        Self {
            tenant: principal.tenant.to_string(),
            user: principal.user.clone(),
            agent: principal.agent.clone(),
            workload: principal.workload.clone(),
            parents: principal.parents.clone(),
        }
    }

    /// What it is, for a page.
    pub(crate) fn facts(&self) -> [(&'static str, String); 5] {
        [
            ("tenant", self.tenant.clone()),
            ("user", self.user.clone()),
            ("agent", self.agent.clone()),
            ("works for", self.parents.join(", ")),
            ("workload", self.workload.clone()),
        ]
    }
}

/// A grant.
#[derive(Debug, Serialize)]
pub(crate) struct GrantShape {
    id: String,
    user: Option<String>,
    agent: Option<String>,
    rights: Vec<String>,
    until: Option<String>,
    /// Whether its time is over.
    over: bool,
    at: String,
    by: PrincipalShape,
}

impl GrantShape {
    /// The shape of a grant, as it stands at a time.
    pub(crate) fn new(shared: &Shared, now: i64) -> Self {
        let grant = &shared.grant;
        Self {
            id: shared.id.to_string(),
            user: grant.to.user.clone(),
            agent: grant.to.agent.clone(),
            rights: grant.rights.names(),
            until: grant.until.map(rfc3339),
            over: grant.until.is_some_and(|until| until <= now),
            at: rfc3339(shared.at),
            by: PrincipalShape::new(&grant.by),
        }
    }

    /// To whom, in words.
    pub(crate) fn whom(&self) -> String {
        let named = [("user", &self.user), ("agent", &self.agent)];
        let named = named.iter().filter_map(|(kind, name)| name.as_ref().map(|name| format!("{kind}:{name}")));
        named.collect::<Vec<_>>().join(" ")
    }

    /// What it allows, in words.
    pub(crate) fn rights(&self) -> String {
        self.rights.join(", ")
    }

    /// Until when, in words.
    pub(crate) fn until(&self) -> String {
        match &self.until {
            None => "revoked".to_owned(),
            Some(until) => {
                let until = until.chars().take(16).collect::<String>().replace('T', " ");
                if self.over { format!("{until} (over)") } else { until }
            }
        }
    }
}

/// Grants in a table.
pub(crate) fn grant_table(grants: &[GrantShape]) -> Table {
    let mut table = Table::new(&[
        ("WITH", Column::Flexible),
        ("MAY", Column::Left),
        ("UNTIL (UTC)", Column::Left),
        ("BY", Column::Left),
    ]);
    for grant in grants {
        let until = if grant.until.is_some() { grant.until() } else { "no end".to_owned() };
        table.row([grant.whom(), grant.rights(), until, grant.by.user.clone()]);
    }
    table
}

/// A read by somebody else.
#[derive(Debug, Serialize)]
pub(crate) struct ReadShape {
    reader: PrincipalShape,
    from: String,
    until: String,
    journal: String,
    first: u64,
    last: u64,
    entries: u64,
    bytes: u64,
}

impl ReadShape {
    /// What was read of one journal.
    pub(crate) fn new(read: &RecordedRead, looked: &Looked) -> Self {
        Self {
            reader: PrincipalShape::new(&read.recorded.reader),
            from: rfc3339(read.recorded.from),
            until: rfc3339(read.recorded.until),
            journal: looked.journal.to_string(),
            first: looked.first,
            last: looked.last,
            entries: looked.entries,
            bytes: looked.bytes,
        }
    }
}

/// Reads in a table.
pub(crate) fn read_table(reads: &[ReadShape]) -> Table {
    let mut table = Table::new(&[
        ("READ BY", Column::Flexible),
        ("WHEN (UTC)", Column::Left),
        ("JOURNAL", Column::Left),
        ("SEQS", Column::Left),
        ("ENTRIES", Column::Right),
    ]);
    for read in reads {
        table.row([
            format!("{} ({})", read.reader.user, read.reader.agent),
            read.from.chars().take(19).collect::<String>().replace('T', " "),
            short_id(&read.journal),
            format!("{}-{}", read.first, read.last),
            read.entries.to_string(),
        ]);
    }
    table
}
