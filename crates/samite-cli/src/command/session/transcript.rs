//! `samite session transcript`.

use crate::reference::Reference;
use crate::shape::TranscriptShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::Client;
use samite_model::{BranchId, Error, Result, SessionId};
use std::process::ExitCode;

/// Show or write the transcript from which an agent goes on
///
/// For a session that hooks recorded: the conversation at a branch's end, or at a position, in the format of the agent
/// that had it. The agent's own records are reused as they are; what they lack is made from what was recorded. `rewind`
/// and `fork` write it for their new branch. With --write it is written where the agent finds it, never over one that is
/// there, and the command that goes on from it is shown.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite session transcript 3f2a
  samite session transcript 3f2a:9c --write
  samite session transcript 3f2a@40 > before.jsonl")]
pub(crate) struct Transcript {
    /// The session, SESSION:BRANCH, or a position SESSION@SEQ to only look at
    at: Reference,
    /// Write it where the agent finds it
    #[arg(long)]
    write: bool,
}

impl Transcript {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let found = self.at.find(&client).await?;
        let branch = found.branch_or_current(&client).await?;
        let resumption = client.resumption(found.session, branch, found.seq).await?.ok_or_else(|| {
            Error::not_found(
                "no_harness",
                format!("no agent told its hooks anything of session {}", found.session.short()),
            )
            .hint("`samite init` sets an agent's hooks up")
        })?;
        if self.write {
            let written = resumption.write()?;
            surface.printer.answer(&TranscriptShape::new(&resumption, written))?;
        } else if surface.printer.is_json() {
            let shape = TranscriptShape::new(&resumption, false).with_content(&resumption.transcript.bytes);
            surface.printer.answer(&shape)?;
        } else {
            surface.printer.bytes(&resumption.transcript.bytes)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the transcript of a branch that was just made, where an agent's hooks recorded the session. What was done already
/// does not fail for it: then that is said beside the answer.
pub(crate) async fn write_for(
    surface: &Surface,
    client: &Client,
    session: SessionId,
    branch: BranchId,
) -> Option<TranscriptShape> {
    let written = async {
        let Some(resumption) = client.resumption(session, branch, None).await? else { return Ok(None) };
        let written = resumption.write()?;
        Ok(Some(TranscriptShape::new(&resumption, written)))
    };
    match written.await {
        Ok(shape) => shape,
        Err(error) => {
            let error: Error = error;
            let reference = format!("{}:{}", session.short(), branch.short());
            surface.printer.warn(&format!(
                "the agent's transcript could not be written: {error}; `samite session transcript {reference} --write` does it again"
            ));
            None
        }
    }
}
