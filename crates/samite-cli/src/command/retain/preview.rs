//! `samite retain preview`.

use super::AllDue;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Show what is due, and what of it a legal hold keeps
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite retain preview")]
pub(crate) struct Preview {}

impl Preview {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        surface.printer.answer(&AllDue::read(&client).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
