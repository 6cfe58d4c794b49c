//! `samite audit export`.

use crate::printer::words::{bytes, count};
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the log as a plain folder that anybody can verify with its key alone
///
/// The folder has C2SP tiles: a `checkpoint` (the signed head), `tile/` and `tile/entries/`. A second export into the same
/// folder adds what is new. Every journal is anchored first. What was exported is noted beside the master key, so that a
/// copy of the store from before never contradicts it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit export /media/auditor
  samite audit export /media/auditor --cosigned
  samite audit verify --folder /media/auditor --key \"$(cat key)\"")]
pub(crate) struct Export {
    /// The folder; it is made, or has an earlier export of this log
    folder: PathBuf,
    /// Up to the last head that a witness cosigned, also where something was done since
    #[arg(long)]
    cosigned: bool,
    /// An older log of this store, by its number
    #[arg(long, value_name = "LOG")]
    log: Option<u64>,
}

#[derive(Serialize)]
struct Exported {
    folder: String,
    origin: String,
    size: u64,
    root: String,
    added: u64,
    files: u64,
    bytes: u64,
}

impl Answer for Exported {
    fn show(&self, page: &mut Page) {
        let leaves = count(self.size, "leaf");
        page.line(format!("{} has {leaves} of {}, {} of them new", self.folder, self.origin, self.added));
        page.line(format!("wrote {} ({})", count(self.files, "file"), bytes(self.bytes)));
    }
}

impl Export {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let progress = surface.printer.progress("exporting the audit log");
        let (head, exported) =
            client.audit().export(self.log, self.cosigned, &self.folder, &progress.observer()).await?;
        drop(progress);
        surface.printer.answer(&Exported {
            folder: self.folder.display().to_string(),
            origin: head.origin,
            size: head.size,
            root: head.root.to_string(),
            added: exported.after.saturating_sub(exported.before),
            files: exported.files,
            bytes: exported.bytes,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
