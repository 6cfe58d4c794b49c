//! `samite memory list`.

use super::new::{parse_kind, parse_trust};
use super::within::{Seen, shape};
use crate::arguments::parse_time;
use crate::printer::{Answer, Page, Style};
use crate::shape::{RecordShape, record_table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::memory::{MemoryFilter, RecordKind, RecordedIn, Trust};
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// As of when.
#[derive(Debug, Args)]
pub(super) struct AsOf {
    /// As it stood at this time: a day or a time
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "as_of_seq")]
    as_of: Option<i64>,
    /// As it stood after this entry of the namespace
    #[arg(long, value_name = "SEQ")]
    as_of_seq: Option<u64>,
}

impl AsOf {
    pub(super) fn recorded(&self) -> Option<RecordedIn> {
        self.as_of.map(RecordedIn::Time).or(self.as_of_seq.map(RecordedIn::Seq))
    }
}

/// List the records of a namespace in the order in which they came
///
/// Those that ended, do not hold now or wait for approval are left out, unless all are asked for.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory list -n notes
  samite memory list -n notes --kind semantic --trust user
  samite memory list -n notes --as-of 2027-01-31T12:00:00Z
  samite memory list -n notes --all --json | jq -r '.records[].text'")]
pub(crate) struct List {
    #[command(flatten)]
    seen: Seen,
    /// Only of this kind
    #[arg(long, value_parser = parse_kind)]
    kind: Vec<RecordKind>,
    /// Only what this class stands behind
    #[arg(long, value_parser = parse_trust)]
    trust: Vec<Trust>,
    /// Also those that ended, do not hold now or wait for approval
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    as_of: AsOf,
    /// What is so at this time: a day or a time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    valid_at: Option<i64>,
}

#[derive(Serialize)]
struct Records {
    records: Vec<RecordShape>,
}

impl Answer for Records {
    fn show(&self, page: &mut Page) {
        if self.records.is_empty() {
            return page.styled(Style::Dim, "no records");
        }
        page.table(&record_table(&self.records));
    }
}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let memory = self.seen.of(&client).await?;
        let recorded = self.as_of.recorded();
        let settings = memory.standings(recorded).await?.settings().clone();
        let filter =
            MemoryFilter { kinds: self.kind, trusts: self.trust, all: self.all, recorded, valid_at: self.valid_at };
        let records = memory.records(&filter).await?.iter().map(|standing| shape(standing, &settings)).collect();
        surface.printer.answer(&Records { records })?;
        Ok(ExitCode::SUCCESS)
    }
}
