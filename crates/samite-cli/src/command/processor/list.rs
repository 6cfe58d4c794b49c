//! `samite processor list`.

use crate::shape::ProcessorsShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// List others who are given data
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite processor list")]
pub(crate) struct List {}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        surface.printer.answer(&ProcessorsShape::new(&client.processors().await?))?;
        Ok(ExitCode::SUCCESS)
    }
}
