//! `samite workspace restore`.

use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::shape::{PlanShape, RestoredShape};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::workspace::RestoreRequest;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Put a branch's workspace back to a position, in place
///
/// Nothing that samite did not write is lost: a path that was changed since the last tree, made by others, or excluded
/// is kept and listed. What was there before is a checkpoint of its own, taken first. A restore is a step: one that is
/// cut off is finished by `recover`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite workspace restore 3f2a@12 --plan
  samite workspace restore 3f2a@12
  samite workspace restore 3f2a@12 --within src --within Cargo.toml")]
pub(crate) struct Restore {
    /// Where to: SESSION@SEQ or SESSION:BRANCH@SEQ; without @SEQ, the branch's last tree
    to: Reference,
    /// Only this path and what is in it; may be repeated
    #[arg(long, value_name = "PATH")]
    within: Vec<String>,
    /// Overwrite what was changed since the last tree
    #[arg(long)]
    force: bool,
    /// Only show what would be done
    #[arg(long)]
    plan: bool,
}

#[derive(Serialize)]
struct PutBack {
    session: String,
    branch: String,
    #[serde(flatten)]
    restored: RestoredShape,
    /// What was asked for.
    #[serde(skip)]
    at: u64,
}

impl Answer for PutBack {
    fn show(&self, page: &mut Page) {
        self.restored.show(page, self.at);
    }
}

impl Restore {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let progress = surface.printer.progress(if self.plan { "looking at the workspace" } else { "restoring" });
        let request =
            RestoreRequest { within: self.within, force: self.force, observer: progress.observer(), site: None };
        if self.plan {
            let client = surface.open(Access::Read)?.client().await?;
            let found = self.to.find_position(&client).await?;
            let planned = client.plan_restore(found.session, Some(found.branch), found.position, &request).await?;
            drop(progress);
            surface.printer.answer(&PlanShape::new(&planned.plan))?;
            return Ok(ExitCode::SUCCESS);
        }
        let client = surface.open(Access::Write)?.client().await?;
        let found = self.to.find_position(&client).await?;
        let restored = client
            .restore(found.session, Some(found.branch), found.position, surface.writer_options()?, &request)
            .await?;
        drop(progress);
        surface.printer.answer(&PutBack {
            session: found.session.to_string(),
            branch: found.branch.to_string(),
            at: self.to.seq().unwrap_or(restored.from.seq),
            restored: RestoredShape::new(&restored),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
