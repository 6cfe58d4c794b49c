//! `samite records`.

use crate::shape::RecordsShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Show records of processing: what is kept of whom, what for, how long, who else receives it, and where
///
/// What only the organisation knows is not in them: who is responsible and how to reach them, and what it does with the
/// answers of its agents.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite records
  samite records --json > records-of-processing.json")]
pub(crate) struct Records {}

impl Records {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        surface.printer.answer(&RecordsShape::new(&client.processing_records().await?))?;
        Ok(ExitCode::SUCCESS)
    }
}
