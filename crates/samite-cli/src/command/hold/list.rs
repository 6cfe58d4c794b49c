//! `samite hold list`.

use crate::shape::HoldsShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// List the legal holds that stand
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite hold list")]
pub(crate) struct List {}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        surface.printer.answer(&HoldsShape::new(&client, &client.holds().await?).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
