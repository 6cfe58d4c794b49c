//! `samite checkpoint`.

use crate::reference::Reference;
use crate::shape::CheckpointShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::workspace::CheckpointOptions;
use samite_model::Result;
use std::process::ExitCode;

/// Take a checkpoint: a position of the branch that has its workspace's files
///
/// The directory is looked at, what changed is stored, and the tree becomes an entry. Files that look like secrets,
/// files that changed while they were read, and what no tree can hold are named. `.samiteignore` (in gitignore's
/// syntax) leaves paths out; git's own ignored files are not left out.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite checkpoint 3f2a --label 'tests pass'
  samite checkpoint 3f2a --json | jq .seq")]
pub(crate) struct Checkpoint {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
    /// A word for it
    #[arg(long)]
    label: Option<String>,
    /// Leave the environment's fingerprint (toolchains, manifests, services) out
    #[arg(long)]
    no_environment: bool,
}

impl Checkpoint {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let found = self.session.find_branch(&client).await?;
        let progress = surface.printer.progress("looking at the workspace");
        let options =
            CheckpointOptions { label: self.label, no_environment: self.no_environment, observer: progress.observer() };
        let taken = client.checkpoint(found.session, found.branch, surface.writer_options()?, options).await?;
        drop(progress);
        surface.printer.answer(&CheckpointShape::new(found.session.to_string(), &taken))?;
        Ok(ExitCode::SUCCESS)
    }
}
