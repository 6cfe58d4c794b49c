//! `samite artifact list`.

use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{ListedArtifact, artifact_table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::Client;
use samite::artifact::ArtifactFilter;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// List artifacts: the latest version of each, in the order in which they were published
///
/// A session has all that was published in it. A branch, or a position, has what is visible there: published on it, or
/// before the fork point on the branches that it came from.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite artifact list
  samite artifact list 3f2a --type chart
  samite artifact list 3f2a:9c@40 --all-versions
  samite artifact list --json | jq '.artifacts[] | {id, name, bytes}'")]
pub(crate) struct List {
    /// Only those of SESSION, or those visible at SESSION:BRANCH or SESSION@SEQ
    at: Option<Reference>,
    /// Only this type
    #[arg(long = "type", value_name = "TYPE")]
    of_type: Option<String>,
    /// Only what was published for this user
    #[arg(long)]
    user: Option<String>,
    /// Only this name
    #[arg(long)]
    name: Option<String>,
    /// Every version
    #[arg(long)]
    all_versions: bool,
}

#[derive(Serialize)]
struct Artifacts {
    artifacts: Vec<ListedArtifact>,
}

impl Answer for Artifacts {
    fn show(&self, page: &mut Page) {
        if self.artifacts.is_empty() {
            return page.styled(Style::Dim, "no artifacts");
        }
        page.table(&artifact_table(&self.artifacts));
    }
}

/// Leaves those of a session, or those that are visible at one of its branches or positions.
pub(super) async fn filter_at(client: &Client, at: &Reference, filter: &mut ArtifactFilter) -> Result<()> {
    let found = at.find(client).await?;
    if found.branch.is_some() || found.seq.is_some() {
        filter.at = Some(at.find_position(client).await?.position);
    } else {
        filter.session = Some(found.session);
    }
    Ok(())
}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let mut filter = ArtifactFilter {
            of_type: self.of_type,
            user: self.user,
            name: self.name,
            all_versions: self.all_versions,
            ..ArtifactFilter::default()
        };
        if let Some(at) = &self.at {
            filter_at(&client, at, &mut filter).await?;
        }
        let artifacts = client.artifacts(&filter).await?.iter().map(ListedArtifact::new).collect();
        surface.printer.answer(&Artifacts { artifacts })?;
        Ok(ExitCode::SUCCESS)
    }
}
