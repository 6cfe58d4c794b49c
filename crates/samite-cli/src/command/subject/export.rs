//! `samite subject export`.

use crate::printer::words::{bytes, count};
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::SubjectExportOptions;
use samite_model::Result;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write all data of a user into a directory: entries as lines of JSON, files as files, and what proves both
///
/// A line holds an entry's stored header, its link, salt and payload: enough to check its commitment and its place in the
/// chain without the store. Of each branch the last tree is written as a directory, of each artifact the bytes and
/// inputs; of each journal a receipt of the audit log, with the log's verifier key. It is not sealed: keep it where only the person and you can read it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite subject export --user ada --to /secure/ada
  samite subject export --user ada --to /secure/ada --all-trees --json")]
pub(crate) struct Export {
    /// The user
    #[arg(long, value_name = "USER")]
    user: String,
    /// The directory: one that is empty or does not exist, or what an export left that was cut off
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Write every tree that was recorded, and not only the last of each branch
    #[arg(long)]
    all_trees: bool,
}

#[derive(Serialize)]
struct Exported {
    directory: String,
    subject: String,
    journals: u64,
    entries: u64,
    elsewhere: u64,
    erased: u64,
    trees: u64,
    artifacts: u64,
    bytes: u64,
    receipts: u64,
}

impl Answer for Exported {
    fn show(&self, page: &mut Page) {
        let entries = count(self.entries, "entry");
        let journals = count(self.journals, "journal");
        page.line(format!("{entries} of {journals} in {}, {}", self.directory, bytes(self.bytes)));
        if self.elsewhere > 0 {
            page.line(format!("{} in sessions of others", count(self.elsewhere, "entry")));
        }
        page.line(format!("{}, {}", count(self.trees, "tree"), count(self.artifacts, "artifact")));
        if self.erased > 0 {
            page.line(format!("{} erased before: their headers are there", count(self.erased, "entry")));
        }
        page.line(format!(
            "{} of the audit log, which `samite audit verify-proof` checks",
            count(self.receipts, "receipt")
        ));
        page.line("it is not sealed: keep it where only the person and you can read it");
    }
}

impl Export {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Write)?;
        let client = store.client().await?;
        let progress = surface.printer.progress("writing");
        let options = SubjectExportOptions {
            user: self.user,
            to: self.to,
            all_trees: self.all_trees,
            observer: progress.observer(),
        };
        let done = store.export_subject(&client, &options).await?;
        drop(progress);
        surface.printer.answer(&Exported {
            directory: options.to.display().to_string(),
            subject: done.subject,
            journals: done.journals,
            entries: done.entries,
            elsewhere: done.elsewhere,
            erased: done.erased,
            trees: done.trees,
            artifacts: done.artifacts,
            bytes: done.bytes,
            receipts: done.receipts,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
