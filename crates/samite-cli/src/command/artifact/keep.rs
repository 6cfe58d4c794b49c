//! `samite artifact keep`.

use super::show::Shown;
use crate::shape::ListedArtifact;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Decide how long one artifact is kept, whatever its type's policy says
///
/// Once its time is over, `samite gc --dry-run` lists it and `samite gc` takes its bytes and inputs; its record stays.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite artifact keep 8c1e --days 90
  samite artifact keep 8c1e --forever
  samite artifact keep 8c1e --policy")]
pub(crate) struct Keep {
    /// The artifact
    artifact: String,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct How {
    /// So many days from now
    #[arg(long, value_name = "N")]
    days: Option<u32>,
    /// For ever
    #[arg(long)]
    forever: bool,
    /// As its type's policy says
    #[arg(long)]
    policy: bool,
}

impl Keep {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let artifact = client.find_artifact(&self.artifact).await?;
        if self.how.policy {
            client.keep_artifact_by_policy(artifact).await?;
        } else {
            client.keep_artifact(artifact, self.how.days).await?;
        }
        surface.printer.answer(&Shown(ListedArtifact::new(&client.artifact(artifact).await?)))?;
        Ok(ExitCode::SUCCESS)
    }
}
