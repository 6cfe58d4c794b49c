//! `samite region transfer`.

use crate::shape::RegionShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::payload::TransferDecided;
use samite::policy::Region;
use samite_model::Result;
use std::process::ExitCode;

/// Decide that data may go to another region, or take that back
///
/// Processors there can then be registered, data sets exported to it, and the tenant pinned to it. What went there stays
/// there when it is taken back.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite region transfer us --basis 'standard clauses 2021/914, module 2'
  samite region transfer us --withdraw --basis 'decision of 2026-11-30'")]
pub(crate) struct Transfer {
    /// The region
    region: Region,
    /// On which basis
    #[arg(long)]
    basis: String,
    /// Why
    #[arg(long)]
    reason: Option<String>,
    /// Take back what was decided
    #[arg(long)]
    withdraw: bool,
}

impl Transfer {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Create)?;
        let client = store.client().await?;
        let Self { region, basis, reason, withdraw } = self;
        client.decide_transfer(&TransferDecided { to: region, basis, reason, withdrawn: withdraw }).await?;
        surface.printer.answer(&RegionShape::read(&store, &client).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
