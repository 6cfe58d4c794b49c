//! `samite branch delete`.

use super::keep::named_branch;
use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Delete a branch: its log and its claim on workspace trees
///
/// What forks of it inherit stays. The current branch cannot be deleted. `gc` then frees the space.
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  samite branch delete 3f2a:9c41")]
pub(crate) struct Delete {
    /// The branch: SESSION:BRANCH
    branch: Reference,
}

#[derive(Serialize)]
struct Deleted {
    session: String,
    branch: String,
    kept_to: u64,
}

impl Answer for Deleted {
    fn show(&self, page: &mut Page) {
        page.line(format!("branch {} is deleted", self.branch));
        if self.kept_to > 0 {
            page.line(format!("entries up to seq {} stay, since other branches inherit them", self.kept_to));
        }
    }
}

impl Delete {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let (session, branch) = named_branch(&client, &self.branch).await?;
        let deleted = client.delete_branch(session, branch).await?;
        surface.printer.answer(&Deleted {
            session: session.to_string(),
            branch: branch.to_string(),
            kept_to: deleted.kept_to,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
