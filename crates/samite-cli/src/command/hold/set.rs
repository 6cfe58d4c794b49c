//! `samite hold set`.

use super::{On, find};
use crate::shape::HoldsShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Set a legal hold on a user or a session
///
/// No erasure, deletion of a branch, thinning or collection takes what is under it until it is lifted. One that stands
/// keeps its first reason.
#[derive(Debug, Args)]
#[command(
    override_usage = "samite hold set --reason <REASON> <ON>",
    after_long_help = "\
Examples:
  samite hold set --user ada --reason 'case 12/2027'
  samite hold set --session 3f2a --reason 'case 12/2027'"
)]
pub(crate) struct Set {
    #[command(flatten)]
    on: On,
    /// Also where there is nothing of the user yet
    #[arg(long)]
    ahead: bool,
    /// Why
    #[arg(long)]
    reason: String,
}

impl Set {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let on = find(&self.on, &client, !self.ahead).await?;
        if !client.set_hold(on, &self.reason).await? {
            surface.printer.note("it was held already, and keeps its first reason");
        }
        if self.ahead && self.on.user_unknown(&client).await? {
            surface
                .printer
                .note("there is nothing of this user yet: the list has a pseudonym, and no name, until there is");
        }
        surface.printer.answer(&HoldsShape::new(&client, &client.holds().await?).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
