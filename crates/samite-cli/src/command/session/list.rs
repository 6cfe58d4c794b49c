//! `samite session list`.

use crate::printer::{Answer, Column, Page, Table};
use crate::shape::SessionRow;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// List the sessions
///
/// A session that cannot be read is listed too, with what is wrong with it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite session list
  samite session list --json | jq -r '.sessions[] | select(.name) | .id'")]
pub(crate) struct List {}

#[derive(Serialize)]
struct Sessions {
    sessions: Vec<SessionRow>,
}

impl Answer for Sessions {
    fn show(&self, page: &mut Page) {
        if self.sessions.is_empty() {
            return page.line("there are no sessions yet; `samite session new` makes one");
        }
        let mut table = Table::new(&[
            ("ID", Column::Left),
            ("NAME", Column::Flexible),
            ("BRANCH", Column::Left),
            ("HEAD", Column::Right),
            ("BRANCHES", Column::Right),
            ("MADE", Column::Left),
        ]);
        for session in &self.sessions {
            table.row(session.cells());
        }
        page.table(&table);
    }
}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let sessions = client.sessions().await?.iter().map(SessionRow::new).collect();
        surface.printer.answer(&Sessions { sessions })?;
        Ok(ExitCode::SUCCESS)
    }
}
