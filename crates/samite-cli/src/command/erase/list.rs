//! `samite erase list`.

use crate::shape::ErasuresShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// List all erasures, those that are not done too
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite erase list
  samite erase list --json | jq '.erasures[] | select(.state == \"started\")'")]
pub(super) struct List {}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        surface.printer.answer(&ErasuresShape::new(&client.erasures().await?, Some(&client)).await)?;
        Ok(ExitCode::SUCCESS)
    }
}
