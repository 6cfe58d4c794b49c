//! `samite artifact found`.

use super::list::filter_at;
use crate::printer::words::{count, short_id};
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{KindFoundShape, PositionShape, show_found};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::artifact::ArtifactFilter;
use samite::redaction::HoldingArtifact;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// List the artifacts in which redaction found something
///
/// New content of an artifact and of its inputs is looked at when it is published, as files are when a checkpoint stores them. This
/// lists the artifacts that hold content in which something was found, whoever of your sessions stored it, and wherever: what a
/// checkpoint had stored before is told there and listed here. The secrets themselves are not shown: the fingerprints are those of
/// placeholders, so equal ones are equal.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite artifact found
  samite artifact found 3f2a --all-versions
  samite artifact found --json | jq -r '.artifacts[].name'")]
pub(crate) struct Found {
    /// Only those of SESSION, or those visible at SESSION:BRANCH or SESSION@SEQ
    at: Option<Reference>,
    /// Every version
    #[arg(long)]
    all_versions: bool,
}

#[derive(Serialize)]
struct Holding {
    artifacts: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    name: String,
    version: u64,
    input: Option<String>,
    block: String,
    separate: bool,
    from: PositionShape,
    found: Vec<KindFoundShape>,
}

impl Row {
    fn new(holding: HoldingArtifact) -> Self {
        let HoldingArtifact { artifact, name, version, input, from, found } = holding;
        Self {
            id: artifact.to_string(),
            name,
            version,
            input,
            block: found.block.to_string(),
            separate: found.separate,
            from: from.into(),
            found: found.found.iter().map(KindFoundShape::new).collect(),
        }
    }
}

impl Answer for Holding {
    fn show(&self, page: &mut Page) {
        if self.artifacts.is_empty() {
            return page.styled(Style::Dim, "nothing was found in artifacts");
        }
        for one in &self.artifacts {
            let whole = format!("{} {} version {}", short_id(&one.id), one.name, one.version);
            let what = match &one.input {
                Some(input) => format!("{whole}, input {input}"),
                None => whole,
            };
            show_found(&what, &one.found, one.separate, page);
            let seen = format!("  found at seq {} of branch {}", one.from.seq, short_id(&one.from.branch));
            page.styled(Style::Dim, seen);
        }
        page.styled(Style::Dim, count(self.artifacts.len() as u64, "place"));
    }
}

impl Found {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let mut filter = ArtifactFilter { all_versions: self.all_versions, ..ArtifactFilter::default() };
        if let Some(at) = &self.at {
            filter_at(&client, at, &mut filter).await?;
        }
        let artifacts = client.holding_artifacts(&filter).await?.into_iter().map(Row::new).collect();
        surface.printer.answer(&Holding { artifacts })?;
        Ok(ExitCode::SUCCESS)
    }
}
