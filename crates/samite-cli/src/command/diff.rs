//! `samite diff`.

use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{ChangeShape, PositionShape};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Show what differs between the workspace's trees at two positions
///
/// A position has the last tree up to it. A is added, D removed, M changed, T became another type of thing, m has other
/// permissions or attributes, t only another time.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite diff 3f2a@12 3f2a
  samite diff 3f2a:9c@40 3f2a:5e
  samite workspace status 3f2a     (the directory against its last tree)")]
pub(crate) struct Diff {
    /// The earlier position: SESSION@SEQ or SESSION:BRANCH@SEQ
    before: Reference,
    /// The later position; without @SEQ, the branch's head
    after: Reference,
}

#[derive(Serialize)]
struct Differences {
    before: PositionShape,
    after: PositionShape,
    changes: Vec<ChangeShape>,
}

impl Answer for Differences {
    fn show(&self, page: &mut Page) {
        if self.changes.is_empty() {
            return page.styled(Style::Dim, "nothing differs");
        }
        ChangeShape::show_all(&self.changes, page);
    }
}

impl Diff {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let before = self.before.find_position(&client).await?.position;
        let after = self.after.find_position(&client).await?.position;
        let changes = ChangeShape::all(&client.diff(before, after).await?);
        surface.printer.answer(&Differences { before: before.into(), after: after.into(), changes })?;
        Ok(ExitCode::SUCCESS)
    }
}
