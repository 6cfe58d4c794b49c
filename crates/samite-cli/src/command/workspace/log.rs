//! `samite workspace log`.

use crate::printer::{Answer, Column, Page, Style, Table};
use crate::reference::Reference;
use crate::shape::TreeShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// List the checkpoints at which a path changed, newest first
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite workspace log 3f2a src/main.rs
  samite workspace log 3f2a:9c@40 Cargo.toml")]
pub(crate) struct Log {
    /// Up to where: SESSION, SESSION@SEQ or SESSION:BRANCH@SEQ
    at: Reference,
    /// The path, relative to the workspace
    path: String,
}

#[derive(Serialize)]
struct PathLog {
    session: String,
    branch: String,
    seq: u64,
    path: String,
    versions: Vec<Version>,
}

#[derive(Serialize)]
struct Version {
    #[serde(flatten)]
    tree: TreeShape,
    exists: bool,
}

impl Answer for PathLog {
    fn show(&self, page: &mut Page) {
        if self.versions.is_empty() {
            return page.styled(Style::Dim, format!("no checkpoint has {}", self.path));
        }
        let mut table = Table::new(&[
            ("SEQ", Column::Right),
            ("TAKEN", Column::Left),
            ("WHAT", Column::Left),
            ("LABEL", Column::Flexible),
        ]);
        for version in &self.versions {
            let what = if version.exists { "changed" } else { "removed" };
            table.row([
                version.tree.seq.to_string(),
                version.tree.when(),
                what.to_owned(),
                version.tree.label.clone().unwrap_or_default(),
            ]);
        }
        page.table(&table);
    }
}

impl Log {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let found = self.at.find_position(&client).await?;
        let versions = client.path_log(found.position, super::cat::inside(&self.path)).await?;
        let versions =
            versions.iter().map(|found| Version { tree: TreeShape::new(&found.tree), exists: found.exists }).collect();
        surface.printer.answer(&PathLog {
            session: found.session.to_string(),
            branch: found.branch.to_string(),
            seq: found.position.seq,
            path: self.path,
            versions,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
