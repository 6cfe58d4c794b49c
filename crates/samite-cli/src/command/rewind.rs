//! `samite rewind`.

use super::fork::before_call;
use super::session::write_for;
use crate::reference::Reference;
use crate::shape::{ForkShape, PlanShape};
use crate::surface::{Access, Surface, here, site};
use clap::Args;
use samite::ForkOptions;
use samite::payload::ForkReason;
use samite::workspace::{RestoreRequest, RewindPlan};
use samite_model::{Error, Result};
use std::process::ExitCode;

/// Go back: a new branch after a position becomes current
///
/// The workspace goes back to its last tree there; what samite did not write is kept and listed, and what was there
/// before is a checkpoint of its own. Nothing is deleted. The branch that was current stays, is listed by `session tree`, and can be made current again
/// with `branch use`. Effects outside the workspace after that position cannot be taken back, and are listed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite rewind 3f2a@40 --plan
  samite rewind 3f2a@40
  samite rewind @40          (in the session that worked here last)
  samite rewind 3f2a@40 --name 'before the migration'")]
pub(crate) struct Rewind {
    /// Where to go back to: SESSION@SEQ or SESSION:BRANCH@SEQ; @SEQ is one of the session that worked here last, which `log`
    /// shows
    to: Reference,
    /// A name for the new branch
    #[arg(long)]
    name: Option<String>,
    /// Overwrite files that were changed since the last tree
    #[arg(long)]
    force: bool,
    /// Only show what would become of the workspace's files
    #[arg(long)]
    plan: bool,
    /// Keep the workspace trees of the branch that was current for good, and not for 30 days
    #[arg(long)]
    keep: bool,
}

impl Rewind {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(if self.plan { Access::Read } else { Access::Write })?;
        let client = store.client().await?;
        let found = self.to.find(&client).await?;
        let Some(named) = found.seq else {
            return Err(Error::invalid("no_position", format!("{} names no position to go back to", self.to))
                .hint(format!("write {}@SEQ; `samite log {}` shows the positions", self.to, self.to)));
        };
        let branch = found.branch_or_current(&client).await?;
        let (seq, before) = before_call(&client, found.session, branch, named).await?;
        let request =
            RestoreRequest { force: self.force, site: Some(site(&store, &here()?)?), ..RestoreRequest::default() };
        let options = ForkOptions {
            branch: Some(branch),
            seq: Some(seq),
            reason: ForkReason::Rewind,
            name: self.name,
            key: None,
            keep: self.keep,
        };
        if self.plan {
            let shape = match client.plan_rewind(found.session, &options, &request).await? {
                RewindPlan::Files(planned) => PlanShape::new(&planned.plan),
                RewindPlan::Stay(stay) => PlanShape::staying(&stay, seq),
            };
            surface.printer.answer(&shape.with_before(before, seq))?;
            return Ok(ExitCode::SUCCESS);
        }
        let progress = surface.printer.progress("going back");
        let (report, restored) = client.rewind(found.session, options, surface.writer_options()?, &request).await?;
        drop(progress);
        let mut shape = ForkShape::new(found.session, &report, true).with_workspace(restored.as_ref());
        if restored.is_none() {
            let stay = client.files_stay(found.session, report.branch, report.at).await?;
            shape = shape.with_files_stay(stay.as_ref());
        }
        let left = client.left_in_doubt(found.session, report.branch).await?;
        let shape = shape.with_left_in_doubt(&left).with_before(before);
        let any = !client.workspaces(found.session).await?.is_empty();
        let transcript = write_for(surface, &client, found.session, report.branch).await;
        surface.printer.answer(&shape.with_trees(any).with_transcript(transcript))?;
        Ok(ExitCode::SUCCESS)
    }
}
