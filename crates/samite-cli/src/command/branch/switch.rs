//! `samite branch use`.

use super::keep::{Changed, named_branch};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Make a branch current
///
/// Nothing else changes; the workspace's files stay as they are (`workspace restore` brings another branch's).
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  samite branch use 3f2a:9c41")]
pub(crate) struct Use {
    /// The branch: SESSION:BRANCH
    branch: Reference,
}

impl Use {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let (session, branch) = named_branch(&client, &self.branch).await?;
        client.make_current(session, branch).await?;
        let has_files = client.workspace_of_branch(session, branch).await?.is_some();
        let restore = format!(
            "; its files stay as they are: `samite workspace restore {}` brings this branch's",
            session.short()
        );
        let how = format!("is current now{}", if has_files { restore.as_str() } else { "" });
        surface.printer.answer(&Changed::current(session, branch, how))?;
        Ok(ExitCode::SUCCESS)
    }
}
