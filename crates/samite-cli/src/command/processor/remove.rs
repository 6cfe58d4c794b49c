//! `samite processor remove`.

use crate::shape::ProcessorsShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Record that somebody is given data no more
///
/// What they were given stays with them: proofs of deletion still name them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite processor remove vectors --reason 'the agreement ended'")]
pub(crate) struct Remove {
    /// Its name
    name: String,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

impl Remove {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        client.remove_processor(&self.name, self.reason.as_deref()).await?;
        surface.printer.answer(&ProcessorsShape::new(&client.processors().await?))?;
        Ok(ExitCode::SUCCESS)
    }
}
