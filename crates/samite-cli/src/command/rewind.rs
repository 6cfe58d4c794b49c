//! `samite rewind`.

use crate::reference::Reference;
use crate::shape::ForkShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::ForkOptions;
use samite::payload::ForkReason;
use samite_model::{Error, Result};
use std::process::ExitCode;

/// Go back: a new branch after a position becomes current
///
/// Nothing is deleted. The branch that was current stays, is listed by `session tree`, and can be made current again
/// with `branch use`. Effects outside the workspace after that position cannot be taken back, and are listed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite rewind 3f2a@40
  samite rewind 3f2a@40 --name 'before the migration'")]
pub(crate) struct Rewind {
    /// Where to go back to: SESSION@SEQ or SESSION:BRANCH@SEQ
    to: Reference,
    /// A name for the new branch
    #[arg(long)]
    name: Option<String>,
    /// Keep the workspace trees of the branch that was current for good, and not for 30 days
    #[arg(long)]
    keep: bool,
}

impl Rewind {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let found = self.to.find(&client).await?;
        let Some(seq) = found.seq else {
            return Err(Error::invalid("no_position", format!("{} names no position to go back to", self.to))
                .hint(format!("write {}@SEQ; `samite read {}` shows the positions", self.to, self.to)));
        };
        let options = ForkOptions {
            branch: found.branch,
            seq: Some(seq),
            reason: ForkReason::Rewind,
            name: self.name,
            key: None,
            keep: self.keep,
        };
        let report = client.fork(found.session, options).await?;
        surface.printer.answer(&ForkShape::new(found.session, &report, true))?;
        Ok(ExitCode::SUCCESS)
    }
}
