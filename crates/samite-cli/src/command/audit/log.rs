//! `samite audit log`.

use crate::printer::words::{rfc3339, time};
use crate::printer::{Answer, Column, Page, Table};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::audit::{AuditQuery, AuditedAct};
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Show what was done, and by whom
///
/// The newest acts by default. Names are those that the store's keys know: an erased person has none any more.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit log
  samite audit log --act branch_deleted --act artifact_published
  samite audit log --session . --all
  samite audit log --all --json | jq -r '.acts[] | [.at, .user, .act] | @tsv'")]
pub(crate) struct Log {
    /// Only acts on this session
    #[arg(long, value_name = "SESSION")]
    session: Option<Reference>,
    /// Only this act; may be given several times
    #[arg(long, value_name = "ACT")]
    act: Vec<String>,
    /// Only acts of this person, such as user:ada
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// How many, counted from the newest
    #[arg(long, value_name = "N", default_value_t = 30)]
    last: usize,
    /// All of them
    #[arg(long, conflicts_with = "last")]
    all: bool,
    /// An older log of this store, by its number
    #[arg(long = "log", value_name = "LOG")]
    older: Option<u64>,
}

/// One act.
#[derive(Debug, Serialize)]
pub(super) struct Act {
    pub(super) log: u64,
    pub(super) index: u64,
    pub(super) at: String,
    #[serde(rename = "act")]
    pub(super) did: String,
    pub(super) user: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) workload: Option<String>,
    pub(super) owner: Option<String>,
    pub(super) session: Option<String>,
    pub(super) journal: String,
    pub(super) seq: u64,
    #[serde(skip)]
    time: i64,
}

impl Act {
    pub(super) fn new(act: &AuditedAct) -> Self {
        let leaf = &act.leaf;
        Self {
            log: act.log,
            index: act.index,
            at: rfc3339(leaf.at),
            did: leaf.act.to_string(),
            user: act.actor.user.clone(),
            agent: act.actor.agent.clone(),
            workload: act.actor.workload.clone(),
            owner: act.owner.clone(),
            session: act.session.map(|session| session.to_string()),
            journal: leaf.journal.to_string(),
            seq: leaf.seq,
            time: leaf.at,
        }
    }

    /// Who, in one word for a person.
    pub(super) fn who(&self) -> String {
        let user = self.user.as_deref().unwrap_or("(erased)");
        match &self.agent {
            Some(agent) => format!("{user} by {agent}"),
            None => user.to_owned(),
        }
    }
}

#[derive(Serialize)]
struct Acts {
    acts: Vec<Act>,
}

impl Answer for Acts {
    fn show(&self, page: &mut Page) {
        if self.acts.is_empty() {
            return page.line("nothing that matches was logged");
        }
        let mut table = Table::new(&[
            ("LEAF", Column::Right),
            ("WHEN", Column::Left),
            ("ACT", Column::Left),
            ("WHO", Column::Flexible),
            ("SESSION", Column::Left),
        ]);
        for act in &self.acts {
            let session = act.session.as_deref().map(crate::printer::words::short_id).unwrap_or_default();
            table.row([act.index.to_string(), time(act.time), act.did.clone(), act.who(), session]);
        }
        page.table(&table);
    }
}

impl Log {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let session = match &self.session {
            Some(session) => Some(session.find_session(&client).await?),
            None => None,
        };
        let query = AuditQuery {
            log: self.older,
            acts: self.act,
            session,
            user: self.user,
            last: (!self.all).then_some(self.last),
            ..AuditQuery::default()
        };
        let acts = client.audit().read(&query).await?.iter().map(Act::new).collect();
        surface.printer.answer(&Acts { acts })?;
        Ok(ExitCode::SUCCESS)
    }
}
