//! `samite erase prove`.

use crate::input::check_new_file;
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_host::files;
use samite_model::{EntryKind, Error, Observer, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the proof of deletion to a file that verifies offline, with the audit log's key alone
///
/// The file is a C2SP .tlog-proof of the act `erased`, with what that says: the Merkle root of what went, keys and epochs
/// that were destroyed, what was found, deleted and retained, and what was not reached. It names the person by a pseudonym.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite erase prove 5b1e --to erased.tlog-proof
  samite audit verify-proof erased.tlog-proof --key \"$(cat key)\"")]
pub(super) struct Prove {
    /// The erasure
    erasure: String,
    /// The file to write, which must not exist
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

#[derive(Serialize)]
struct Proven {
    id: String,
    path: String,
    log: u64,
    index: u64,
}

impl Answer for Proven {
    fn show(&self, page: &mut Page) {
        page.line(format!("{} proves erasure {} (leaf {} of log {})", self.path, self.id, self.index, self.log));
    }
}

impl Prove {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        check_new_file(&self.to)?;
        let client = surface.open(Access::Write)?.client().await?;
        let erasure = client.erasure(&self.erasure).await?;
        let id = erasure.started.erasure.to_string();
        let Some((at, _)) = erasure.proof else {
            return Err(Error::conflict(
                "erasure_unfinished",
                format!("erasure {id} is not done, so nothing proves it"),
            )
            .hint("finish it: `samite erase resume`"));
        };
        let audit = client.audit();
        let proven = match audit.prove_entry(None, at, true).await {
            // A store that was put back has the act in a log that is not gone on with: its new log covers it from now on.
            Err(error) if matches!(error.code(), "not_covered" | "published_ahead") => {
                audit.anchor(&Observer::default()).await?;
                audit.prove_entry(None, at, true).await?
            }
            proven => proven?,
        };
        if proven.at != at || proven.what != EntryKind::ERASED.name() {
            let what = format!("leaf {} of log {} does not prove erasure {id}", proven.index, proven.log);
            return Err(Error::corrupt("other_act", what).hint("run `samite audit verify`"));
        }
        let (log, index) = (proven.log, proven.index);
        files::write_atomic(&self.to, proven.proof.to_string().as_bytes(), files::PRIVATE_FILE)?;
        surface.printer.answer(&Proven { id, path: self.to.display().to_string(), log, index })?;
        Ok(ExitCode::SUCCESS)
    }
}
