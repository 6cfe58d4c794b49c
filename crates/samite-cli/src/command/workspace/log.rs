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
struct Versions {
    path: String,
    versions: Vec<Version>,
}

#[derive(Serialize)]
struct Version {
    #[serde(flatten)]
    tree: TreeShape,
    exists: bool,
}

impl Answer for Versions {
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
                version.tree.at.seq.to_string(),
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
        let at = self.at.find_position(&client).await?.position;
        let versions = client.path_log(at, super::cat::inside(&self.path)).await?;
        let versions =
            versions.iter().map(|found| Version { tree: TreeShape::new(&found.tree), exists: found.exists }).collect();
        surface.printer.answer(&Versions { path: self.path, versions })?;
        Ok(ExitCode::SUCCESS)
    }
}
