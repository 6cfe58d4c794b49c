//! `samite workspace attach`.

use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::surface::{Access, Surface, refuse_master};
use clap::Args;
use samite_host::files;
use samite_model::Result;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Attach a directory to a branch as its workspace
///
/// Sessions may share a directory; two live branches of one session may not. A directory that holds the master key is
/// refused; one that holds the store is not, but the store is in no tree of it and no restore touches it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite workspace attach 3f2a .
  samite workspace attach 3f2a:9c ../second-try")]
pub(crate) struct Attach {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
    /// The directory
    directory: PathBuf,
}

#[derive(Serialize)]
struct Attached {
    id: String,
    session: String,
    branch: String,
    directory: String,
}

impl Answer for Attached {
    fn show(&self, page: &mut Page) {
        page.line(format!("branch {} works in {}", self.branch, self.directory));
    }
}

impl Attach {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Write)?;
        let client = store.client().await?;
        let found = self.session.find_branch(&client).await?;
        if files::exists(&self.directory)? {
            refuse_master(&self.directory)?;
        }
        let attached = client.attach(found.session, found.branch, &self.directory).await?;
        let inside = files::canonical(store.directory())?;
        if inside.starts_with(&attached.directory) {
            surface.printer.warn(&format!(
                "the store is in this workspace ({}): it is left out of checkpoints and restores, but whatever works \
                 here can reach it",
                inside.display()
            ));
        }
        surface.printer.answer(&Attached {
            id: attached.id.to_string(),
            session: found.session.to_string(),
            branch: attached.branch.to_string(),
            directory: attached.directory.display().to_string(),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
