//! `samite workspace attach`.

use crate::printer::words::short_id;
use crate::printer::{Answer, Page, Style};
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
/// Sessions may share a directory: the answer says who else works there. Two live branches of one session may neither share
/// one nor work in each other's. A git repository's own directory is refused. A directory that holds the master key is
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
    shared_with: Vec<Shared>,
}

/// Another session's branch that works in this directory, or below or above it.
#[derive(Serialize)]
struct Shared {
    session: String,
    branch: String,
    directory: String,
}

impl Answer for Attached {
    fn show(&self, page: &mut Page) {
        page.line(format!("branch {} works in {}", self.branch, self.directory));
        for other in &self.shared_with {
            let place = if other.directory == self.directory { "here" } else { &other.directory };
            let (session, branch) = (short_id(&other.session), short_id(&other.branch));
            page.styled(Style::Care, format!("session {session} works {place} too (branch {branch})"));
        }
        if !self.shared_with.is_empty() {
            page.line("what one session changes there, the other's rewind keeps and lists");
        }
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
        let near = client.neighbours(&attached.directory).await?.into_iter();
        let shared = near.filter(|other| other.session != found.session).map(|other| Shared {
            session: other.session.to_string(),
            branch: other.branch.to_string(),
            directory: other.directory.display().to_string(),
        });
        surface.printer.answer(&Attached {
            shared_with: shared.collect(),
            id: attached.id.to_string(),
            session: found.session.to_string(),
            branch: attached.branch.to_string(),
            directory: attached.directory.display().to_string(),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
