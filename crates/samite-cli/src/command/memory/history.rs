//! `samite memory history`.

use super::within::{Seen, shape};
use crate::printer::{Answer, Page};
use crate::shape::{RecordShape, record_table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// List the records that took each other's place, of which this is one
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite memory history -n notes 8c1e")]
pub(crate) struct History {
    #[command(flatten)]
    seen: Seen,
    /// The record
    record: String,
}

#[derive(Serialize)]
struct Versions {
    history: Vec<RecordShape>,
}

impl Answer for Versions {
    fn show(&self, page: &mut Page) {
        page.table(&record_table(&self.history));
    }
}

impl History {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let memory = self.seen.of(&client).await?;
        let record = memory.find_record(&self.record).await?;
        let standings = memory.standings(None).await?;
        let history = standings.history(record).into_iter().map(|one| shape(one, standings.settings())).collect();
        surface.printer.answer(&Versions { history })?;
        Ok(ExitCode::SUCCESS)
    }
}
