//! `samite log`.

use crate::reference::Reference;
use crate::shape::TurnLogShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Show what a session did, turn by turn, the newest at the bottom
///
/// For the sessions of CLI agents above all: what was asked and answered, each call with what it could do and how it ended,
/// which files changed, and where other lines go on. Each SEQ is a position for `rewind` and `fork`: `samite rewind @40` goes
/// back to 40 in the session that worked here last. ● marks those that have files of their own; at any other, the files are
/// those of the ● before it. ○ marks those whose files are gone: thinned out, or left behind too long ago. Of a session that
/// was imported, what its records say is shown, with their times. `read` shows the entries themselves, whole.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite log
  samite log 3f2a --turns 3
  samite log 3f2a:9c@40
  samite log --json | jq '.turns[].steps[] | {seq, tool, state}'")]
pub(crate) struct Log {
    /// The session, SESSION:BRANCH, and @SEQ for the last entry to show; without one, the session that worked here last
    #[arg(default_value = ".", hide_default_value = true)]
    session: Reference,
    /// At most so many turns, the last ones
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    turns: u32,
}

impl Log {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let found = self.session.find(&client).await?;
        let count = usize::try_from(self.turns).unwrap_or(usize::MAX);
        let log = client.turns(found.session, found.branch, found.seq, count).await?;
        let info = client.session(found.session).await?;
        let workspace = client.workspace_of_branch(found.session, log.branch).await?;
        let directory = workspace.map(|workspace| workspace.directory);
        surface.printer.answer(&TurnLogShape::new(&info, directory.as_deref(), &log))?;
        Ok(ExitCode::SUCCESS)
    }
}
