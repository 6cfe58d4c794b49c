//! `samite memory get`.

use super::list::AsOf;
use super::within::{Seen, shape};
use crate::printer::{Answer, Page};
use crate::shape::RecordShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::{Error, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Show a record, with where it came from
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory get -n notes 8c1e
  samite memory get -n notes 8c1e --as-of 2027-01-31")]
pub(crate) struct Get {
    #[command(flatten)]
    seen: Seen,
    /// The record
    record: String,
    #[command(flatten)]
    as_of: AsOf,
}

#[derive(Serialize)]
struct Got {
    record: RecordShape,
}

impl Answer for Got {
    fn show(&self, page: &mut Page) {
        self.record.show(page);
    }
}

impl Get {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let memory = self.seen.of(&client).await?;
        let record = memory.find_record(&self.record).await?;
        let standings = memory.standings(self.as_of.recorded()).await?;
        let standing = standings.get(record).ok_or_else(|| {
            Error::not_found("no_record", format!("record {} was not there yet", record.short()))
                .hint("leave --as-of and --as-of-seq out")
        })?;
        surface.printer.answer(&Got { record: shape(standing, standings.settings()) })?;
        Ok(ExitCode::SUCCESS)
    }
}
