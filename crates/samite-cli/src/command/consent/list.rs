//! `samite consent list`.

use crate::shape::ConsentsShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// List what stands about training
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite consent list")]
pub(crate) struct List {}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        surface.printer.answer(&ConsentsShape::new(&client, &client.consents().await?, None).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
