//! `samite artifact lineage`.

use crate::printer::{Answer, Page};
use crate::shape::LineageShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Show where an artifact comes from: session, branch, checkpoint, step, command and inputs
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite artifact lineage 8c1e
  samite artifact lineage 8c1e --json | jq '.inputs[].path'")]
pub(crate) struct Lineage {
    /// The artifact
    artifact: String,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Shown(LineageShape);

impl Answer for Shown {
    fn show(&self, page: &mut Page) {
        self.0.show(page);
    }
}

impl Lineage {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let artifact = client.find_artifact(&self.artifact).await?;
        surface.printer.answer(&Shown(LineageShape::new(&client.artifact(artifact).await?.record)))?;
        Ok(ExitCode::SUCCESS)
    }
}
