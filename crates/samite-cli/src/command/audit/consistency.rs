//! `samite audit consistency`.

use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Prove that the log continues what it was at an older size
///
/// Prints the two roots and the hashes between them (RFC 6962). Whoever kept an older head checks with them that nothing
/// before it was changed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit consistency 100
  samite audit consistency 100 250 --json")]
pub(crate) struct Consistency {
    /// The older size, in leaves
    old: u64,
    /// The newer size [default: the log's]
    new: Option<u64>,
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
}

impl Answer for Consistent {
    fn show(&self, page: &mut Page) {
        for (size, root) in [(self.old, &self.old_root), (self.new, &self.new_root)] {
            page.spans(&[(Style::Dim, &format!("{size} leaves: ")), (Style::Plain, root)]);
        }
        for hash in &self.hashes {
            page.line(hash);
        }
    }
}

impl Consistency {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let continued = client.audit().consistency(self.log, self.old, self.new).await?;
        surface.printer.answer(&Consistent {
            log: continued.log,
            old: continued.old.0,
            old_root: continued.old.1.to_base64(),
            new: continued.new.0,
            new_root: continued.new.1.to_base64(),
            hashes: continued.hashes.into_iter().map(samite::audit::tlog::Hash::to_base64).collect(),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
