//! `samite region set`.

use crate::shape::RegionShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::policy::Region;
use samite_model::Result;
use std::process::ExitCode;

/// Pin the tenant to a region
///
/// At first this node itself must be in it (`SAMITE_REGION`). Later another region needs a transfer that was decided
/// (`samite region transfer`); from then on the nodes of the old one are refused.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  SAMITE_REGION=eu samite region set eu")]
pub(crate) struct Set {
    /// The region: lower-case letters, digits and -
    region: Region,
}

impl Set {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Create)?;
        let client = store.client().await?;
        if !store.set_region(&client, &self.region).await? {
            surface.printer.note("it was pinned there already");
        }
        surface.printer.answer(&RegionShape::read(&store, &client).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
