//! `samite memory revoke`.

use super::within::{Within, shape};
use crate::arguments::parse_time;
use crate::input::{asked, can_ask};
use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{RecordShape, record_table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::Client;
use samite::memory::{Memory, MemorySettings, Revocation, RevokedSource};
use samite_model::{EntryId, Error, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Retire all that came from a source, and all that was made of it
///
/// What is retired is found by nobody any more, and stays in the history; what it had taken the place of stands again. What others
/// said too stays. What branches wrote from there until now, and nobody took over, is retired with it. Where several things are given,
/// all of them are true of what is retired; without any, nothing is. It is shown first; where nobody can be asked it needs --yes.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory revoke -n notes --source example.org --reason 'forged' --plan
  samite memory revoke -n notes --session 3f2a --since 2027-01-31 \\
    --reason 'the agent was misled' --yes")]
pub(crate) struct Revoke {
    #[command(flatten)]
    within: Within,
    /// This record
    #[arg(long = "record", value_name = "RECORD")]
    records: Vec<String>,
    /// What was written in this session
    #[arg(long)]
    session: Option<Reference>,
    /// What this step brought, by the id of its started entry
    #[arg(long, value_name = "ENTRY")]
    step: Option<EntryId>,
    /// What comes from this address, path or tool
    #[arg(long)]
    source: Option<String>,
    /// What this agent wrote
    #[arg(long)]
    agent: Option<String>,
    /// What was written at this time or later: a day or a time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<i64>,
    /// Why
    #[arg(long)]
    reason: String,
    /// Show what would be retired, and change nothing
    #[arg(long, conflicts_with = "yes")]
    plan: bool,
    /// Retire it without asking
    #[arg(long)]
    yes: bool,
}

#[derive(Serialize)]
struct Retired {
    /// Whether nothing was changed.
    plan: bool,
    /// What comes from the source itself.
    direct: Vec<RecordShape>,
    /// What was made of that.
    derived: Vec<RecordShape>,
    /// What it said too, and stays, since others said it.
    stay: Vec<RecordShape>,
    /// What stands again.
    back: Vec<RecordShape>,
}

impl Retired {
    fn new(plan: bool, what: &Revocation, settings: &MemorySettings) -> Self {
        let shapes = |all: &[samite::memory::Standing]| all.iter().map(|one| shape(one, settings)).collect();
        Self {
            plan,
            direct: shapes(&what.direct),
            derived: shapes(&what.derived),
            stay: shapes(&what.stay),
            back: shapes(&what.back),
        }
    }
}

impl Answer for Retired {
    fn show(&self, page: &mut Page) {
        let would = if self.plan { "would be" } else { "are" };
        let many = (self.direct.len() + self.derived.len()) as u64;
        for (records, what) in [(&self.direct, "from the source"), (&self.derived, "made of it")] {
            if !records.is_empty() {
                page.styled(Style::Strong, what);
                page.table(&record_table(records));
                page.gap();
            }
        }
        if !self.stay.is_empty() {
            page.styled(Style::Strong, "stay, since others said them too");
            page.table(&record_table(&self.stay));
            page.gap();
        }
        if !self.back.is_empty() {
            page.styled(Style::Strong, if self.plan { "would stand again" } else { "stand again" });
            page.table(&record_table(&self.back));
            page.gap();
        }
        page.line(format!("{} {would} retired", count(many, "record")));
    }
}

impl Revoke {
    async fn what(&self, client: &Client, memory: &Memory) -> Result<RevokedSource> {
        let mut records = Vec::new();
        for record in &self.records {
            records.push(memory.find_record(record).await?);
        }
        let session = match &self.session {
            Some(session) => Some(session.find(client).await?.session),
            None => None,
        };
        let (source, agent) = (self.source.clone(), self.agent.clone());
        Ok(RevokedSource { records, session, step: self.step, source, agent, since: self.since })
    }

    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let access = if self.plan { Access::Read } else { Access::Write };
        let client = surface.open(access)?.client().await?;
        let memory = self.within.of(&client)?;
        let what = self.what(&client, &memory).await?;
        let plan = memory.plan_revocation(&what).await?;
        let settings = memory.settings().await?;
        let many = plan.direct.len() + plan.derived.len();
        if self.plan {
            surface.printer.answer(&Retired::new(self.plan, &plan, &settings))?;
            return Ok(ExitCode::SUCCESS);
        }
        if !self.yes {
            let would = Error::invalid("not_confirmed", format!("{} would be retired", count(many as u64, "record")))
                .hint("nothing was touched; --yes does it, --plan shows it");
            if !can_ask() {
                return Err(would);
            }
            surface.printer.aside_page(|page| Retired::new(true, &plan, &settings).show(page));
            if !asked("retire them?")? {
                return Err(would);
            }
        }
        let done = memory.revoke(&what, &self.reason).await?;
        surface.printer.answer(&Retired::new(false, &done, &settings))?;
        Ok(ExitCode::SUCCESS)
    }
}
