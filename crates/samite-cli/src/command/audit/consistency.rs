//! `samite audit consistency`.

use crate::input::check_new_file;
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_host::files;
use samite_model::{Error, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prove that the log continues what it was at an older size
///
/// Prints the two roots and the hashes between them (RFC 6962). With --to also a file, with the newer head signed: whoever
/// kept an older head (the `checkpoint` of an export) checks offline with `audit verify-proof` that nothing before it was
/// changed. The file is what a C2SP witness is sent.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit consistency 100 --to grown
  samite audit verify-proof grown --old older/checkpoint --key \"$(cat key)\"
  samite audit consistency 100 250 --json")]
pub(crate) struct Consistency {
    /// The older size, in leaves
    old: u64,
    /// The newer size [default: the log's]
    new: Option<u64>,
    /// The file to write, which must not exist: the newer size is then that of the newest, or of a cosigned head
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// An older log of this store, by its number
    #[arg(long, value_name = "LOG")]
    log: Option<u64>,
}

#[derive(Serialize)]
struct Consistent {
    log: u64,
    old: u64,
    old_root: String,
    new: u64,
    new_root: String,
    hashes: Vec<String>,
    path: Option<String>,
}

impl Answer for Consistent {
    fn show(&self, page: &mut Page) {
        for (size, root) in [(self.old, &self.old_root), (self.new, &self.new_root)] {
            page.spans(&[(Style::Dim, &format!("{size} leaves: ")), (Style::Plain, root)]);
        }
        for hash in &self.hashes {
            page.line(hash);
        }
        if let Some(path) = &self.path {
            page.line(format!("{path} proves that {} leaves continue {}", self.new, self.old));
        }
    }
}

impl Consistency {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        self.to.as_deref().map_or(Ok(()), check_new_file)?;
        let client = surface.open(Access::Write)?.client().await?;
        let continued = client.audit().consistency(self.log, self.old, self.new).await?;
        if let Some(path) = &self.to {
            let proof = continued.proof.as_ref().ok_or_else(|| {
                let what = format!("no head of {} leaves is signed, so no file proves anything of it", continued.new.0);
                Error::invalid("no_signed_head", what).hint("leave the newer size out: the newest head is signed")
            })?;
            files::write_atomic(path, proof.encode()?.as_bytes(), files::PRIVATE_FILE)?;
        }
        surface.printer.answer(&Consistent {
            log: continued.log,
            old: continued.old.0,
            old_root: continued.old.1.to_string(),
            new: continued.new.0,
            new_root: continued.new.1.to_string(),
            hashes: continued.hashes.iter().map(ToString::to_string).collect(),
            path: self.to.as_ref().map(|path| path.display().to_string()),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
