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
    /// The first leaf that was written; those before it were there, or were moved to an archive.
    from: u64,
    added: u64,
    files: u64,
    bytes: u64,
    /// Whether the folder lacks the leaves before that.
    #[serde(skip)]
    lacks: bool,
}

impl Answer for Exported {
    fn show(&self, page: &mut Page) {
        let leaves = count(if self.lacks { self.added } else { self.size }, "leaf");
        page.line(format!("{} has {leaves} of {}, {} of them new", self.folder, self.origin, self.added));
        page.line(format!("wrote {} ({})", count(self.files, "file"), bytes(self.bytes)));
        if self.lacks {
            let from = self.from;
            page.line(format!(
                "leaves before {from} were moved to an archive and are not in it: verify it with --from {from}"
            ));
        }
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
            from: exported.from,
            added: exported.after.saturating_sub(exported.from),
            files: exported.files,
            bytes: exported.bytes,
            lacks: exported.before == 0 && exported.from > 0,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
