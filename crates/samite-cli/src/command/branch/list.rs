//! `samite branch list`.

use crate::printer::{Answer, Column, Page, Style, Table};
use crate::reference::Reference;
use crate::shape::{BranchShape, branches};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// List the branches of a session
///
/// FROM is where a branch left another, TREES UNTIL how long its workspace trees are kept, OPEN how many of its steps
/// have no outcome.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite branch list 3f2a
  samite branch list 3f2a --json | jq -r '.branches[] | select(.current).id'")]
pub(crate) struct List {
    /// The session
    session: Reference,
}

#[derive(Serialize)]
struct Branches {
    session: String,
    branches: Vec<BranchShape>,
}

impl Answer for Branches {
    fn show(&self, page: &mut Page) {
        let mut table = Table::new(&[
            ("ID", Column::Left),
            ("NAME", Column::Flexible),
            ("FROM", Column::Left),
            ("WHY", Column::Left),
            ("HEAD", Column::Right),
            ("TREES UNTIL", Column::Left),
            ("OPEN", Column::Right),
        ]);
        for branch in &self.branches {
            let style = if branch.current { Style::Strong } else { Style::Plain };
            let from = branch.forked_at.as_ref().map_or_else(String::new, |at| format!("{}@{}", at.short(), at.seq));
            let open = if branch.open_steps == 0 { String::new() } else { branch.open_steps.to_string() };
            table.styled(
                style,
                [
                    branch.short(),
                    branch.name.clone().unwrap_or_default(),
                    from,
                    branch.reason().to_owned(),
                    branch.head.to_string(),
                    branch.trees_kept(),
                    open,
                ],
            );
        }
        page.table(&table);
    }
}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let session = self.session.find_session(&client).await?;
        let branches = branches(&client, session).await?;
        surface.printer.answer(&Branches { session: session.to_string(), branches })?;
        Ok(ExitCode::SUCCESS)
    }
}
