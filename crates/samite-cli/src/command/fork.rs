//! `samite fork`.

use crate::reference::Reference;
use crate::shape::ForkShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::ForkOptions;
use samite::payload::ForkReason;
use samite_model::Result;
use std::path::PathBuf;
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
    /// The caller's id for the new branch: forking again with it is a conflict
    #[arg(long)]
    key: Option<String>,
    /// Keep its workspace trees for good, and not for 30 days
    #[arg(long)]
    keep: bool,
}

impl Fork {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let found = self.at.find(&client).await?;
        let options = ForkOptions {
            branch: found.branch,
            seq: found.seq,
            reason: ForkReason::Fork,
            name: self.name,
            key: self.key,
            keep: self.keep,
        };
        let report = client.fork(found.session, options).await?;
        surface.printer.answer(&ForkShape::new(found.session, &report, false))?;
        Ok(ExitCode::SUCCESS)
    }
}
