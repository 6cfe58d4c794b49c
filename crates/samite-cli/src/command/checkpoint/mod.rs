//! `samite checkpoint`: taking one, and looking after those that there are.

mod found;
mod list;
mod thin;

use crate::reference::Reference;
use crate::shape::CheckpointShape;
use crate::surface::{Access, Surface};
use clap::{Args, Subcommand};
use samite::workspace::CheckpointOptions;
use samite_model::{Error, Result};
use std::process::ExitCode;

/// Take a checkpoint: a position of the branch that has its workspace's files
///
/// The directory is looked at, what changed is stored, and the tree becomes an entry. Files that look like secrets,
/// files in whose new content redaction found something, files that changed while they were read, and what no tree can
/// hold are named. `.samiteignore` (in gitignore's
/// syntax) leaves paths out; git's own ignored files are not left out. When checkpoints are taken that nobody asks for is
/// decided with `samite session set --cadence`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_long_help = "\
Examples:
  samite checkpoint 3f2a --label 'tests pass'
  samite checkpoint 3f2a --json | jq .seq
  samite checkpoint list 3f2a
  samite checkpoint found 3f2a
  samite checkpoint thin 3f2a --dry-run"
)]
pub(crate) struct Checkpoint {
    #[command(subcommand)]
    other: Option<Other>,
    /// The session: SESSION or SESSION:BRANCH
    #[arg(required = true)]
    session: Option<Reference>,
    /// A word for it
    #[arg(long)]
    label: Option<String>,
    /// Leave the environment's fingerprint (toolchains, manifests, services) out
    #[arg(long)]
    no_environment: bool,
}

/// What can be done with checkpoints that there are.
#[derive(Debug, Subcommand)]
enum Other {
    Found(found::Found),
    List(list::List),
    Thin(thin::Thin),
}

impl Checkpoint {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self.other {
            Some(Other::Found(command)) => return command.run(surface).await,
            Some(Other::List(command)) => return command.run(surface).await,
            Some(Other::Thin(command)) => return command.run(surface).await,
            None => {}
        }
        let session = self.session.ok_or_else(|| {
            Error::invalid("usage", "no session is named").hint("`samite checkpoint SESSION` takes one")
        })?;
        let client = surface.open(Access::Write)?.client().await?;
        let found = session.find_branch(&client).await?;
        let progress = surface.printer.progress("looking at the workspace");
        let options = CheckpointOptions {
            label: self.label,
            no_environment: self.no_environment,
            observer: progress.observer(),
            ..CheckpointOptions::default()
        };
        let taken = client.checkpoint(found.session, found.branch, surface.writer_options()?, options).await?;
        drop(progress);
        surface.printer.answer(&CheckpointShape::new(found.session.to_string(), &taken))?;
        Ok(ExitCode::SUCCESS)
    }
}
