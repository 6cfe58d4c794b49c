//! `samite audit prove`.

use crate::input::check_new_file;
use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_host::files;
use samite_model::{Error, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a receipt: a file that proves, offline, that an act is in the log
///
/// ENTRY is a leaf's index, or a position such as SESSION@SEQ: then the receipt is for that entry, through its own leaf or the
/// first later one that covers it, in any log of the store. The file is a C2SP .tlog-proof; the leaf goes with it, and the
/// headers (kinds, times, lengths, hashes) from the entry to the leaf. With --reveal also what the entry says: whoever has the
/// file can read it then, and check it against the commitment. The head in it is noted as published.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit prove 12 --to act.tlog-proof
  samite audit prove .@40 --to step.tlog-proof
  samite audit verify-proof act.tlog-proof --key \"$(cat key)\"")]
pub(crate) struct Prove {
    /// A leaf's index, or SESSION@SEQ or SESSION:BRANCH@SEQ
    entry: String,
    /// The file to write, which must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Show what the entry says, too
    #[arg(long)]
    reveal: bool,
    /// Only this log of the store, by its number
    #[arg(long, value_name = "LOG")]
    log: Option<u64>,
}

#[derive(Serialize)]
struct Proven {
    log: u64,
    index: u64,
    act: String,
    kind: String,
    journal: String,
    seq: u64,
    has_entry: bool,
    path: Option<String>,
    proof: String,
    /// Whether the leaf is the entry's own.
    #[serde(skip)]
    own: bool,
}

impl Answer for Proven {
    fn show(&self, page: &mut Page) {
        match &self.path {
            Some(path) => {
                let leaf = format!("leaf {} of log {} ({})", self.index, self.log, self.act);
                if self.own {
                    page.line(format!("{path} proves {leaf}"));
                } else if self.has_entry {
                    page.line(format!("{path} proves {} of journal {} ({})", self.seq, self.journal, self.kind));
                    page.line(format!("{leaf} covers it"));
                } else {
                    page.line(format!("{path} proves {leaf}, which covers {} of journal {}", self.seq, self.journal));
                    page.line("the entry itself is not in the file: too many are between it and the leaf");
                }
            }
            None => page.line(self.proof.trim_end()),
        }
    }
}

impl Prove {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        self.to.as_deref().map_or(Ok(()), check_new_file)?;
        let client = surface.open(Access::Write)?.client().await?;
        let audit = client.audit();
        let proven = if let Ok(index) = self.entry.parse() {
            audit.prove(self.log, index, self.reveal).await?
        } else {
            let bad = |what: String| Error::invalid("bad_reference", what);
            let reference: Reference = self.entry.parse().map_err(bad)?;
            let at = reference.find_position(&client).await?.position;
            audit.prove_entry(self.log, at, self.reveal).await?
        };
        let proof = proven.proof.to_string();
        if let Some(path) = &self.to {
            files::write_atomic(path, proof.as_bytes(), files::PRIVATE_FILE)?;
        } else if !surface.printer.is_json() {
            surface.printer.bytes(proof.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        surface.printer.answer(&Proven {
            log: proven.log,
            index: proven.index,
            act: proven.leaf.act.to_string(),
            kind: proven.what,
            journal: proven.at.journal.to_string(),
            seq: proven.at.seq,
            has_entry: proven.has_entry,
            path: self.to.as_ref().map(|path| path.display().to_string()),
            proof,
            own: (proven.leaf.journal, proven.leaf.seq) == (proven.at.journal, proven.at.seq),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
