//! `samite retain`: how long things are kept.

mod apply;
mod preview;
mod set;
mod show;

use crate::printer::words::{count, rfc3339, short_id, time};
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::surface::Surface;
use clap::Subcommand;
use samite::Client;
use samite::audit::ArchivedPart;
use samite::policy::{Due, Retained};
use samite_model::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::process::ExitCode;

/// Decide how long sessions, artifacts and memory are kept, and erase what is due; nothing decided keeps all
#[derive(Debug, Subcommand)]
pub(crate) enum Retain {
    Set(set::Set),
    Show(show::Show),
    Preview(preview::Preview),
    Apply(apply::Apply),
}

impl Retain {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Set(command) => command.run(surface).await,
            Self::Show(command) => command.run(surface).await,
            Self::Preview(command) => command.run(surface).await,
            Self::Apply(command) => command.run(surface).await,
        }
    }
}

#[derive(Serialize)]
struct OfKind {
    kind: &'static str,
    days: Option<u32>,
    archive: Option<String>,
}

/// Leaves of the audit log that went to one archive, one after the other.
#[derive(Serialize)]
struct Moved {
    log: u64,
    from: u64,
    to: u64,
    archive: String,
    /// When the last of them went.
    since: String,
}

/// How long kinds of things are kept, and where the audit log's old leaves are.
#[derive(Serialize)]
struct Retentions {
    retentions: Vec<OfKind>,
    moved: Vec<Moved>,
}

impl Retentions {
    async fn read(client: &Client) -> Result<Self> {
        let decided = client.retentions().await?;
        let audit = client.audit_retention().await?.and_then(|kept| kept.archive);
        let of_kind = |kind: &Retained| OfKind {
            kind: kind.name(),
            days: decided.get(kind).copied(),
            archive: audit.as_ref().filter(|_| *kind == Retained::Audit).map(|folder| folder.display().to_string()),
        };
        let parts = match client.audit().archived().await {
            Err(error) if error.code() == "no_audit_log" => Vec::new(),
            parts => parts?,
        };
        let mut moved: Vec<Moved> = Vec::new();
        for part in parts {
            let since = rfc3339(part.since);
            match moved.last_mut() {
                Some(last) if (last.log, last.to, &last.archive) == (part.log, part.from, &part.archive) => {
                    (last.to, last.since) = (part.to, since);
                }
                _ => {
                    moved.push(Moved { log: part.log, from: part.from, to: part.to, archive: part.archive, since });
                }
            }
        }
        Ok(Self { retentions: Retained::ALL.iter().map(of_kind).collect(), moved })
    }
}

impl Answer for Retentions {
    fn show(&self, page: &mut Page) {
        let mut table = Table::new(&[("KIND", Column::Left), ("KEPT", Column::Left)]);
        for one in &self.retentions {
            let mut kept = one.days.map_or_else(|| "for ever".to_owned(), |days| format!("{days} days"));
            if let Some(archive) = &one.archive {
                kept = format!("{kept}, then in {archive}");
            }
            table.row([one.kind.to_owned(), kept]);
        }
        page.table(&table);
        for Moved { log, from, to, archive, .. } in &self.moved {
            page.line(format!("leaves {from} to {to} of audit log {log} are in {archive}"));
        }
    }
}

#[derive(Serialize)]
struct DueShape {
    kind: &'static str,
    subject: String,
    user: Option<String>,
    session: Option<String>,
    artifact: Option<String>,
    /// The segments of the namespace.
    namespace: Option<Vec<String>>,
    records: Vec<String>,
    since: String,
    held: bool,
    erasure: Option<String>,
    #[serde(skip)]
    at: i64,
}

/// Leaves of the audit log that are due.
#[derive(Serialize)]
struct LeavesShape {
    log: u64,
    from: u64,
    to: u64,
    archive: Option<String>,
    moved: bool,
}

/// What is due, and what was erased or moved of it.
#[derive(Serialize)]
struct AllDue {
    applied: bool,
    due: Vec<DueShape>,
    leaves: Vec<LeavesShape>,
    /// It is about to be erased.
    #[serde(skip)]
    about_to_be: bool,
}

impl AllDue {
    /// What is due, of sessions, artifacts, memory and the audit log.
    async fn read(client: &Client) -> Result<Self> {
        let audit = client.audit();
        let archive = client.audit_retention().await?.and_then(|kept| kept.archive);
        let leaves = audit.retention_due(None).await?.into_iter().map(|due| LeavesShape {
            log: due.log,
            from: due.from,
            to: due.to,
            archive: archive.as_ref().map(|folder| folder.display().to_string()),
            moved: false,
        });
        let leaves = leaves.collect();
        Ok(Self { leaves, ..Self::new(client, false, &client.retention_due(None).await?).await? })
    }

    /// What was done.
    async fn done(client: &Client, due: &[Due], moved: &[ArchivedPart]) -> Result<Self> {
        let leaves = moved.iter().map(|part| LeavesShape {
            log: part.log,
            from: part.from,
            to: part.to,
            archive: Some(part.archive.clone()),
            moved: true,
        });
        Ok(Self { leaves: leaves.collect(), ..Self::new(client, true, due).await? })
    }

    async fn new(client: &Client, applied: bool, due: &[Due]) -> Result<Self> {
        let mut users = BTreeMap::new();
        for one in due {
            if let Entry::Vacant(user) = users.entry(one.owner) {
                user.insert(client.name_of(one.owner).await?.map(|owner| owner.to_string()));
            }
        }
        let shape = |one: &Due| DueShape {
            kind: one.kind.name(),
            subject: one.owner.to_string(),
            user: users.get(&one.owner).cloned().flatten(),
            session: one.session.map(|session| session.to_string()),
            artifact: one.artifact.map(|artifact| artifact.to_string()),
            namespace: one.namespace.as_ref().map(|namespace| namespace.segments().to_vec()),
            records: one.records.iter().map(ToString::to_string).collect(),
            since: rfc3339(one.since),
            held: one.held,
            erasure: one.erasure.map(|erasure| erasure.to_string()),
            at: one.since,
        };
        Ok(Self { applied, due: due.iter().map(shape).collect(), leaves: Vec::new(), about_to_be: false })
    }

    fn free(&self) -> usize {
        self.due.iter().filter(|one| !one.held).count()
    }

    /// Whether leaves would move.
    fn moves(&self) -> bool {
        self.leaves.iter().any(|leaves| leaves.archive.is_some())
    }
}

impl Answer for AllDue {
    fn show(&self, page: &mut Page) {
        for one in &self.leaves {
            let LeavesShape { log, from, to, archive, moved } = one;
            page.line(match archive {
                Some(archive) if *moved => format!("leaves {from} to {to} of audit log {log} moved to {archive}"),
                Some(archive) => format!("leaves {from} to {to} of audit log {log} would move to {archive}"),
                None => format!("leaves {from} to {to} of audit log {log} are due, and no archive is named for them"),
            });
        }
        if self.due.is_empty() {
            if self.leaves.is_empty() {
                page.line("nothing is due");
            }
            return;
        }
        let mut table = Table::new(&[
            ("KIND", Column::Left),
            ("ID", Column::Left),
            ("OF", Column::Flexible),
            ("SINCE", Column::Left),
            ("", Column::Left),
            ("ERASURE", Column::Left),
        ]);
        for one in &self.due {
            let id = match &one.namespace {
                Some(namespace) => {
                    format!("{} of {}", count(one.records.len() as u64, "record"), namespace.join(" / "))
                }
                None => one.artifact.as_deref().or(one.session.as_deref()).map(short_id).unwrap_or_default(),
            };
            let held = if one.held { "stays: legal hold" } else { "" };
            let erasure = one.erasure.as_deref().map(short_id).unwrap_or_default();
            let user = one.user.clone().unwrap_or_else(|| short_id(&one.subject));
            table.row([one.kind.to_owned(), id, user, time(one.at), held.to_owned(), erasure]);
        }
        page.table(&table);
        if !self.applied && !self.about_to_be {
            page.styled(Style::Dim, "nothing was touched: `samite retain apply` erases what no hold keeps");
        }
    }
}
