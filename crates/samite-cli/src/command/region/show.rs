//! `samite region show`.

use crate::shape::RegionShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Show the region that the tenant is pinned to, transfers that were decided, and what was refused
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite region show")]
pub(crate) struct Show {}

impl Show {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Read)?;
        let client = store.client().await?;
        surface.printer.answer(&RegionShape::read(&store, &client).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
