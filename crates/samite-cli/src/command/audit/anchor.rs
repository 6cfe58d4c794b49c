//! `samite audit anchor`.

use crate::printer::words::count;
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Put into the log how far every journal has come
///
/// From then on the log covers all that was appended before. `export` and `witness` do it by themselves.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit anchor")]
pub(crate) struct Anchor {}

#[derive(Serialize)]
struct Anchored {
    journals: usize,
}

impl Answer for Anchored {
    fn show(&self, page: &mut Page) {
        match self.journals {
            0 => page.line("the log has every journal as it is already"),
            many => page.line(format!("put {} into the log as they are now", count(many as u64, "journal"))),
        }
    }
}

impl Anchor {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let progress = surface.printer.progress("anchoring journals");
        let journals = client.audit().anchor(&progress.observer()).await?;
        drop(progress);
        surface.printer.answer(&Anchored { journals })?;
        Ok(ExitCode::SUCCESS)
    }
}
