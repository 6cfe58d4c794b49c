//! `samite consent show`.

use super::{On, find};
use crate::shape::ConsentsShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Show all that was ever said about training with a user's data, or a session, oldest first
#[derive(Debug, Args)]
#[command(
    override_usage = "samite consent show <ON>",
    after_long_help = "\
Examples:
  samite consent show --user ada
  samite consent show --session 3f2a --json"
)]
pub(crate) struct Show {
    #[command(flatten)]
    on: On,
    /// Also where there is nothing of the user yet
    #[arg(long)]
    ahead: bool,
}

impl Show {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let on = find(&self.on, &client, !self.ahead).await?;
        surface.printer.answer(
            &ConsentsShape::new(&client, &client.consent_history(on).await?, Some(client.may_train(on).await?)).await?,
        )?;
        Ok(ExitCode::SUCCESS)
    }
}
