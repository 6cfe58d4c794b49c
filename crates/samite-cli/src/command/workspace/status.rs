//! `samite workspace status`.

use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{ChangeShape, ClosedAtShape, TreeShape, show_scan};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

/// Show how a branch's workspace differs from its last tree
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite workspace status 3f2a
  samite workspace status 3f2a --json | jq '.changes | length'")]
pub(crate) struct Status {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
}

#[derive(Serialize)]
struct Stands {
    session: String,
    branch: String,
    directory: String,
    exists: bool,
    last: Option<TreeShape>,
    /// The receipt, while nothing was recorded here since it was closed.
    closed: Option<ClosedAtShape>,
    changes: Vec<ChangeShape>,
    report: Option<Value>,
}

impl Answer for Stands {
    fn show(&self, page: &mut Page) {
        let gone = if self.exists { "" } else { " (gone)" };
        let last = self.last.as_ref().map_or_else(|| "none".to_owned(), TreeShape::words);
        let closed = self.closed.as_ref().map_or_else(String::new, ClosedAtShape::words);
        page.facts(&[
            ("workspace", format!("{}{gone}", self.directory)),
            ("last checkpoint", last),
            ("closed", closed),
        ]);
        if !self.changes.is_empty() {
            ChangeShape::show_all(&self.changes, page);
        } else if self.exists && self.last.is_some() {
            page.styled(Style::Dim, "nothing differs");
        }
        if let Some(report) = &self.report {
            show_scan(page, report);
        }
    }
}

impl Status {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let found = self.session.find_branch(&client).await?;
        let branch = found.branch_or_current(&client).await?;
        let closed = client.receipt(found.session, branch).await?;
        let progress = surface.printer.progress("looking at the workspace");
        let status = client.workspace_status(found.session, Some(branch)).await?;
        drop(progress);
        surface.printer.answer(&Stands {
            session: found.session.to_string(),
            branch: branch.to_string(),
            directory: status.directory.display().to_string(),
            exists: status.exists,
            last: status.last.as_ref().map(TreeShape::new),
            closed: closed.as_ref().map(ClosedAtShape::new),
            changes: ChangeShape::all(&status.changes),
            report: status.report.map(|report| serde_json::to_value(report).unwrap_or_default()),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
