//! `samite retain show`.

use super::Retentions;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Show how long kinds of things are kept
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite retain show")]
pub(crate) struct Show {}

impl Show {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        surface.printer.answer(&Retentions::read(&client).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
