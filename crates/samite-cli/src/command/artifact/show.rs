//! `samite artifact show`.

use crate::printer::{Answer, Page};
use crate::shape::ListedArtifact;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Show an artifact's record: what it is, who published it, how long it is kept
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite artifact show 8c1e
  samite artifact show 8c1e --json | jq -r .sha256")]
pub(crate) struct Show {
    /// The artifact
    artifact: String,
}

/// All that is known of one.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Shown(pub(super) ListedArtifact);

impl Answer for Shown {
    fn show(&self, page: &mut Page) {
        self.0.show(page);
    }
}

impl Show {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let artifact = client.find_artifact(&self.artifact).await?;
        surface.printer.answer(&Shown(ListedArtifact::new(&client.artifact(artifact).await?)))?;
        Ok(ExitCode::SUCCESS)
    }
}
