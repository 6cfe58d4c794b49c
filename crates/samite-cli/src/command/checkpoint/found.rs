//! `samite checkpoint found`.

use crate::printer::words::{count, short_id};
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{KindFoundShape, PositionShape, show_found};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::redaction::HoldingFile;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// List the files of a checkpoint in which redaction found something
///
/// New content of files is looked at when a checkpoint or a merge stores it. This lists the files of the last checkpoint up to a
/// position whose content is one in which something was found, whoever of your sessions stored it, wherever it was moved or
/// copied since. The secrets themselves are not shown: the fingerprints are those of placeholders, so equal ones are equal.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite checkpoint found 3f2a
  samite checkpoint found 3f2a@40
  samite checkpoint found 3f2a --json | jq -r '.files[].path'")]
pub(super) struct Found {
    /// The checkpoint: SESSION, SESSION@SEQ or SESSION:BRANCH@SEQ
    session: Reference,
}

#[derive(Serialize)]
struct Holding {
    at: PositionShape,
    files: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    path: String,
    block: String,
    separate: bool,
    from: PositionShape,
    found: Vec<KindFoundShape>,
}

impl Row {
    fn new(holding: HoldingFile) -> Self {
        let HoldingFile { path, from, found } = holding;
        Self {
            path,
            block: found.block.to_string(),
            separate: found.separate,
            from: from.into(),
            found: found.found.iter().map(KindFoundShape::new).collect(),
        }
    }
}

impl Answer for Holding {
    fn show(&self, page: &mut Page) {
        if self.files.is_empty() {
            return page.styled(Style::Dim, "nothing was found in its files");
        }
        for file in &self.files {
            show_found(&file.path, &file.found, file.separate, page);
            let seen = format!("  found at seq {} of branch {}", file.from.seq, short_id(&file.from.branch));
            page.styled(Style::Dim, seen);
        }
        page.styled(Style::Dim, count(self.files.len() as u64, "file"));
    }
}

impl Found {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let at = self.session.find_position(&client).await?.position;
        let files = client.holding_files(at).await?.into_iter().map(Row::new).collect();
        surface.printer.answer(&Holding { at: at.into(), files })?;
        Ok(ExitCode::SUCCESS)
    }
}
