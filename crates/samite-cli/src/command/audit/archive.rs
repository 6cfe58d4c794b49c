//! `samite audit archive`.

use crate::printer::words::{bytes, count};
use crate::printer::{Answer, Page};
use crate::surface::Surface;
use clap::Args;
use samite::audit::tlog::VerifierKey;
use samite::audit::tlog::export::{Archived, Pruned, archive, older_than, prune};
use samite_host::{Clock, SystemClock};
use samite_model::Result;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

const DAY: i64 = 24 * 3600 * 1_000_000_000;

/// Copy the beginning of an exported log to a colder place, where it still verifies
///
/// The archive has the files of these leaves and all nodes above them; it is verified before anything else is done. Later
/// archives of the log may go into the same folder. With --prune the export then does without what is in the archive: the
/// rest of it still verifies, proves and grows. The store keeps its log.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit archive out /mnt/cold --key \"$(cat key)\" --days 400 --prune
  samite audit verify --folder /mnt/cold --key \"$(cat key)\" --to 100000
  samite audit verify --folder out --key \"$(cat key)\" --from 100000")]
pub(crate) struct Archive {
    /// The exported log
    folder: PathBuf,
    /// The archive; it is made, or has an earlier part of the log
    #[arg(value_name = "ARCHIVE")]
    cold: PathBuf,
    /// The log's verifier key
    #[arg(long, value_name = "KEY")]
    key: VerifierKey,
    /// The leaves before this index
    #[arg(long, value_name = "INDEX", required_unless_present = "days")]
    before: Option<u64>,
    /// The leaves from the first one on that are all older than so many days
    #[arg(long, value_name = "DAYS", conflicts_with = "before", value_parser = clap::value_parser!(u16))]
    days: Option<u16>,
    /// Then remove them from the export
    #[arg(long)]
    prune: bool,
}

#[derive(Serialize)]
struct Moved {
    archive: String,
    before: u64,
    leaves: u64,
    files: u64,
    bytes: u64,
    pruned_files: u64,
    pruned_bytes: u64,
    #[serde(skip)]
    prune: bool,
}

impl Answer for Moved {
    fn show(&self, page: &mut Page) {
        if self.before == 0 {
            return page.line("no leaf is that old");
        }
        let (leaves, files) = (count(self.leaves, "leaf"), count(self.files, "file"));
        page.line(format!("{} verifies with {leaves}, those before {}", self.archive, self.before));
        if !self.before.is_multiple_of(256) {
            page.line("a file holds up to 256 leaves: later ones in the same file are there as well");
        }
        page.line(format!("wrote {files} ({})", bytes(self.bytes)));
        if self.prune && self.pruned_files == 0 {
            page.line("nothing was removed: no file of the export is only of leaves before that (256 to a file)");
        }
        if self.pruned_files > 0 {
            page.line(format!("removed {} ({})", count(self.pruned_files, "file"), bytes(self.pruned_bytes)));
            page.line(format!("verify the export from there on: --from {}", self.before));
        }
    }
}

impl Archive {
    #[expect(clippy::unused_async, reason = "all commands are run alike")]
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let progress = surface.printer.progress("archiving the audit log");
        let before = match (self.before, self.days) {
            (Some(before), _) => before,
            (None, days) => {
                let time = SystemClock.now().saturating_sub(DAY.saturating_mul(days.unwrap_or_default().into()));
                older_than(&self.folder, &self.key, time)?
            }
        };
        let (mut archived, mut pruned) = (Archived::default(), Pruned::default());
        if before > 0 {
            archived = archive(&self.folder, &self.cold, &self.key, 0..before)?;
            if self.prune {
                pruned = prune(&self.folder, &self.key, before)?;
            }
        }
        drop(progress);
        surface.printer.answer(&Moved {
            archive: self.cold.display().to_string(),
            before,
            leaves: archived.entries,
            files: archived.files,
            bytes: archived.bytes,
            pruned_files: pruned.files,
            pruned_bytes: pruned.bytes,
            prune: self.prune,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
