//! `samite consent set`.

use super::{On, find};
use crate::shape::ConsentsShape;
use crate::surface::{Access, Surface};
use clap::{Args, ValueEnum};
use samite_model::Result;
use std::process::ExitCode;

/// Say whether a user's data, or a session, may be used for training
///
/// Each saying is kept, with who wrote it, when and on which basis. One no outweighs every yes: of the user for all of
/// their sessions, of the session for itself, and of either for whatever was made of it by a fork, a merge, a child
/// session or an artifact.
#[derive(Debug, Args)]
#[command(
    override_usage = "samite consent set --basis <BASIS> <ON> <SAID>",
    after_long_help = "\
Examples:
  samite consent set yes --user ada --basis 'form 12, signed 2026-11-02'
  samite consent set no --session 3f2a --basis 'letter of 2026-11-30'"
)]
pub(crate) struct Set {
    /// Whether it may
    said: Said,
    #[command(flatten)]
    on: On,
    /// On which basis: a form, a clause, a letter. It should name nobody
    #[arg(long)]
    basis: String,
    /// Also where there is nothing of the user yet
    #[arg(long)]
    ahead: bool,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Said {
    /// It may
    Yes,
    /// It may not
    No,
}

impl Set {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let on = find(&self.on, &client, !self.ahead).await?;
        client.set_consent(on, self.said == Said::Yes, &self.basis, self.reason.as_deref()).await?;
        surface.printer.answer(
            &ConsentsShape::new(&client, &client.consents().await?, Some(client.may_train(on).await?)).await?,
        )?;
        Ok(ExitCode::SUCCESS)
    }
}
