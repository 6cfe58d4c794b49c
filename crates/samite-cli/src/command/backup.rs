//! `samite backup`.

use crate::printer::words::{bytes, count};
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::BackupOptions;
use samite_model::Result;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Copy the store while it is in use, consistently, and check the copy
///
/// A copied live store is no backup; this is. The copy holds no master key: keep that apart (`key export`). It is a
/// store itself, which `--store` opens.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite backup /media/disk/samite-monday
  samite --store /media/disk/samite-monday verify")]
pub(crate) struct Backup {
    /// The directory, which does not exist yet or is empty
    to: PathBuf,
}

#[derive(Serialize)]
struct BackedUp {
    directory: String,
    packs: usize,
    bytes: u64,
}

impl Answer for BackedUp {
    fn show(&self, page: &mut Page) {
        let packs = count(self.packs as u64, "pack");
        page.line(format!("backed up to {}: {packs}, {}, checked", self.directory, bytes(self.bytes)));
        page.line("it holds no master key: `samite key export` makes a copy of that");
    }
}

impl Backup {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Write)?;
        let progress = surface.printer.progress("copying");
        let options = BackupOptions { observer: progress.observer() };
        let backup = store.backup_by(&store.client().await?, &self.to, &options).await?;
        drop(progress);
        surface.printer.answer(&BackedUp {
            directory: backup.directory.display().to_string(),
            packs: backup.packs,
            bytes: backup.bytes,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
