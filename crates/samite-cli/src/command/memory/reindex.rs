//! `samite memory reindex`.

use super::encoder::with_encoder;
use super::within::Within;
use crate::printer::words::count;
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Make the vectors of all records that have none yet
///
/// A search makes some by itself, the newest first, and finds the rest by their words. They are kept sealed beside the database, are in
/// no backup, and are made again where they are gone.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite memory reindex -n notes")]
pub(crate) struct Reindex {
    #[command(flatten)]
    within: Within,
}

#[derive(Serialize)]
struct Reindexed {
    /// How many vectors were made.
    made: u64,
}

impl Answer for Reindexed {
    fn show(&self, page: &mut Page) {
        page.line(format!("{} made", count(self.made, "vector")));
    }
}

impl Reindex {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let memory = with_encoder(self.within.of(&client)?)?;
        let progress = surface.printer.progress("making vectors");
        let made = memory.embed_all(&progress.observer()).await?;
        drop(progress);
        surface.printer.answer(&Reindexed { made })?;
        Ok(ExitCode::SUCCESS)
    }
}
