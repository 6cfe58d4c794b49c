//! `samite erase resume`.

use crate::shape::ErasuresShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use std::process::ExitCode;

/// Finish erasures that were cut off, and do again those that an older copy of the store has forgotten
///
/// Whatever opens the store for writing does this too; here it waits until it is done, and shows what was done.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite erase resume
  samite --store /restored/copy erase resume")]
pub(super) struct Resume {}

impl Resume {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let progress = surface.printer.progress("erasing");
        let store = surface.open(Access::Write)?;
        let resumed = store.resume_erasures(&progress.observer()).await?;
        drop(progress);
        surface.printer.answer(&ErasuresShape::new(store.erased_at_open().iter().chain(&resumed), None).await)?;
        Ok(ExitCode::SUCCESS)
    }
}
