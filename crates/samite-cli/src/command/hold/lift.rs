//! `samite hold lift`.

use super::{On, find};
use crate::shape::HoldsShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Lift a legal hold
#[derive(Debug, Args)]
#[command(
    override_usage = "samite hold lift --reason <REASON> <ON>",
    after_long_help = "\
Examples:
  samite hold lift --user ada --reason 'case 12/2027 is closed'"
)]
pub(crate) struct Lift {
    #[command(flatten)]
    on: On,
    /// Why
    #[arg(long)]
    reason: String,
}

impl Lift {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let on = find(&self.on, &client, false).await?;
        client.lift_hold(on, &self.reason).await?;
        surface.printer.answer(&HoldsShape::new(&client, &client.holds().await?).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
