//! `samite processor register`.

use crate::shape::ProcessorsShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::payload::ProcessorSet;
use samite::policy::Region;
use samite_model::Result;
use std::process::ExitCode;

/// Register somebody else who is given data, or say anew what they receive
///
/// samite itself sends nothing to anybody, but texts of memory to a processor by whose model a namespace is searched
/// (`samite memory reindex --to endpoint:NAME`): this is the record. One outside of the region that the tenant is pinned to is
/// refused, and the refusal recorded, unless a transfer there was decided (`samite region transfer`). Records of
/// processing and proofs of deletion name each, also once it was removed.
#[derive(Debug, Args)]
#[command(
    override_usage = "samite processor register [OPTIONS] <NAME>",
    after_long_help = "\
Examples:
  samite processor register vectors --region eu --purpose 'embeddings' \\
      --agreement 'DPA 2026-14' --receives memory,sessions
  samite processor register offsite --region eu --purpose 'copies' \\
      --agreement 'DPA 2026-15' --receives backups"
)]
pub(crate) struct Register {
    /// Its name
    name: String,
    /// Where it is
    #[arg(long)]
    region: Region,
    /// What it is given data for
    #[arg(long)]
    purpose: String,
    /// The agreement with it
    #[arg(long, value_name = "REFERENCE")]
    agreement: String,
    /// What it receives: sessions, workspaces, artifacts, memory, audit, backups, datasets
    #[arg(long, value_name = "STORES", required = true, value_delimiter = ',')]
    receives: Vec<String>,
}

impl Register {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Create)?.client().await?;
        let Self { name, region, purpose, agreement, receives } = self;
        let set = ProcessorSet { name, region, purpose, agreement, receives, removed: false, reason: None };
        client.register_processor(set).await?;
        surface.printer.answer(&ProcessorsShape::new(&client.processors().await?))?;
        Ok(ExitCode::SUCCESS)
    }
}
