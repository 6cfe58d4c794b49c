//! `samite capture show`.

use super::CaptureShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Show how much is kept of which kinds of events
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite capture show")]
pub(crate) struct Show {}

impl Show {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        surface.printer.answer(&CaptureShape::new(&client.capture().await?))?;
        Ok(ExitCode::SUCCESS)
    }
}
