//! `samite memory quarantine`.

use super::within::{Within, shape};
use crate::printer::words::{count, short_id};
use crate::printer::{Answer, Page, Style};
use crate::shape::{RecordShape, record_table};
use crate::surface::{Access, Surface};
use clap::{Args, Subcommand};
use samite::memory::Verdict;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Look at records that wait for approval, and approve or reject them
///
/// What comes from the web, and what was made of that, is found by nobody until somebody approved it.
#[derive(Debug, Subcommand)]
pub(crate) enum Quarantine {
    List(List),
    Approve(Approve),
    Reject(Reject),
}

/// List the records that wait for approval
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite memory quarantine list -n notes")]
pub(crate) struct List {
    #[command(flatten)]
    within: Within,
}

/// Approve records, so that they are found
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite memory quarantine approve -n notes 8c1e --reason 'I read the page'")]
pub(crate) struct Approve {
    #[command(flatten)]
    decision: Decision,
}

/// Reject records: nobody finds them
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite memory quarantine reject -n notes 8c1e 77d0")]
pub(crate) struct Reject {
    #[command(flatten)]
    decision: Decision,
}

#[derive(Debug, Args)]
struct Decision {
    #[command(flatten)]
    within: Within,
    /// The records
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<String>,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Waiting {
    records: Vec<RecordShape>,
}

impl Answer for Waiting {
    fn show(&self, page: &mut Page) {
        if self.records.is_empty() {
            return page.styled(Style::Dim, "nothing waits for approval");
        }
        page.table(&record_table(&self.records));
    }
}

#[derive(Serialize)]
struct Decided {
    /// `approved` or `rejected`.
    verdict: &'static str,
    records: Vec<String>,
    seq: u64,
}

impl Answer for Decided {
    fn show(&self, page: &mut Page) {
        for record in &self.records {
            page.line(format!("{} {}", short_id(record), self.verdict));
        }
        page.styled(Style::Dim, count(self.records.len() as u64, "record"));
    }
}

impl Decision {
    async fn run(self, surface: &Surface, verdict: Verdict) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let memory = self.within.of(&client)?;
        let mut records = Vec::new();
        for record in &self.records {
            records.push(memory.find_record(record).await?);
        }
        let at = memory.decide(&records, verdict, self.reason.as_deref()).await?;
        let verdict = match verdict {
            Verdict::Approved => "approved",
            Verdict::Rejected => "rejected",
        };
        let records = records.iter().map(ToString::to_string).collect();
        surface.printer.answer(&Decided { verdict, records, seq: at.seq })?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Quarantine {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::List(list) => {
                let client = surface.open(Access::Read)?.client().await?;
                let memory = list.within.of(&client)?;
                let settings = memory.settings().await?;
                let records = memory.quarantined().await?.iter().map(|one| shape(one, &settings)).collect();
                surface.printer.answer(&Waiting { records })?;
                Ok(ExitCode::SUCCESS)
            }
            Self::Approve(approve) => approve.decision.run(surface, Verdict::Approved).await,
            Self::Reject(reject) => reject.decision.run(surface, Verdict::Rejected).await,
        }
    }
}
