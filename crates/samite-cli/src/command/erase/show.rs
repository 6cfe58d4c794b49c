//! `samite erase show`.

use crate::shape::ErasureShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Show an erasure with its proof: what was found, deleted, retained and not reached
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite erase show 5b1e
  samite erase show 5b1e --json | jq .proof.unreached")]
pub(super) struct Show {
    /// The erasure
    erasure: String,
}

impl Show {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        surface.printer.answer(&ErasureShape::new(&client.erasure(&self.erasure).await?, Some(&client)).await)?;
        Ok(ExitCode::SUCCESS)
    }
}
