//! `samite artifact deliver`.

use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{ArtifactShape, ErrorShape};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::artifact::Delivered;
use samite_model::{ErrorKind, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Publish the deliverables of a session that changed
///
/// Which files those are is said by `samite session set SESSION --deliver PATTERN`, with patterns as in `.gitignore`. A file
/// whose bytes are those of its last version on the branch is not published again. A file that cannot be published is
/// named, the others are published all the same, and the exit status is 7.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite session set 3f2a --deliver 'dist/**' --deliver report.pdf
  samite artifact deliver 3f2a")]
pub(crate) struct Deliver {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
}

#[derive(Serialize)]
struct Done {
    published: Vec<ArtifactShape>,
    unchanged: u64,
    passed_over: Vec<String>,
    failed: Vec<NotDelivered>,
}

#[derive(Serialize)]
struct NotDelivered {
    path: String,
    error: ErrorShape,
}

impl Done {
    fn new(delivered: &Delivered) -> Self {
        Self {
            published: delivered.published.iter().map(ArtifactShape::new).collect(),
            unchanged: delivered.unchanged,
            passed_over: delivered.passed_over.clone(),
            failed: delivered
                .failed
                .iter()
                .map(|failed| NotDelivered { path: failed.path.clone(), error: ErrorShape::new(&failed.error) })
                .collect(),
        }
    }
}

impl Answer for Done {
    fn show(&self, page: &mut Page) {
        for artifact in &self.published {
            let words = format!(" {} version {}, {}", artifact.name, artifact.version, artifact.size());
            page.spans(&[(Style::Strong, &artifact.short()), (Style::Plain, &words)]);
        }
        for failed in &self.failed {
            page.styled(Style::Bad, format!("not published: {}: {}", failed.path, failed.error.message));
        }
        for path in &self.passed_over {
            page.styled(Style::Care, format!("passed over, since it was erased as an artifact: {path}"));
        }
        let (published, unchanged) = (self.published.len() as u64, self.unchanged);
        page.styled(Style::Dim, format!("{} published, {unchanged} unchanged", count(published, "version")));
    }
}

impl Deliver {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let found = self.session.find_branch(&client).await?;
        let progress = surface.printer.progress("looking at deliverables");
        let observer = progress.observer();
        let delivered =
            surface.write_to(&client, found, async |writer| writer.publish_deliverables(&observer).await).await?;
        drop(progress);
        surface.printer.answer(&Done::new(&delivered))?;
        let complete = delivered.is_complete();
        Ok(if complete { ExitCode::SUCCESS } else { ExitCode::from(ErrorKind::Unavailable.exit_status()) })
    }
}
