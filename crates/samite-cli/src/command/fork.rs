//! `samite fork`.

use crate::reference::Reference;
use crate::shape::ForkShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::payload::ForkReason;
use samite::{Client, ForkOptions};
use samite_host::files;
use samite_model::{Error, Position, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Fork a session: a second branch that goes on after a position
///
/// The new branch inherits everything up to the position; nothing is copied but, with --into, the workspace's files as
/// they were there. What happened outside after that position cannot be forked, and is listed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite fork 3f2a
  samite fork 3f2a@40 --into ../second-try --name 'another way'
  samite fork 3f2a:9c@55 --keep")]
pub(crate) struct Fork {
    /// Where to fork: SESSION, SESSION@SEQ or SESSION:BRANCH@SEQ
    at: Reference,
    /// Put the workspace as it was there into this directory, which is empty or not there yet
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// A name for the new branch
    #[arg(long)]
    name: Option<String>,
    /// The caller's id for the new branch: forking again with it answers with the first fork
    #[arg(long)]
    key: Option<String>,
    /// Keep its workspace trees for good, and not for 30 days
    #[arg(long)]
    keep: bool,
}

impl Fork {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let found = self.at.find_position(&client).await?;
        if let Some(directory) = &self.into {
            check_target(&client, found.position, directory).await?;
        }
        let options = ForkOptions {
            branch: Some(found.branch),
            seq: Some(found.position.seq),
            reason: ForkReason::Fork,
            name: self.name,
            key: self.key,
            keep: self.keep,
        };
        let report = client.fork(found.session, options).await?;
        let restored = match &self.into {
            Some(directory) => {
                let progress = surface.printer.progress("copying the workspace");
                let restored = client.materialise(found.session, report.branch, directory).await;
                drop(progress);
                Some(restored.map_err(|error| {
                    let reference = format!("{}:{}", found.session.short(), report.branch.short());
                    error.hint(format!("the branch was made: {reference}; attach another directory to it"))
                })?)
            }
            None => None,
        };
        surface.printer.answer(&ForkShape::new(found.session, &report, false).with_workspace(restored.as_ref()))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Refuses what cannot work before a branch is made for it.
async fn check_target(client: &Client, at: Position, directory: &Path) -> Result<()> {
    client.checkpoint_at(at).await?;
    if files::exists(directory)? && !files::list(directory)?.is_empty() {
        return Err(Error::conflict("not_empty", format!("{} holds something already", directory.display()))
            .hint("name a directory that is empty or not there yet"));
    }
    Ok(())
}
