//! `samite audit witness`.

use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::audit::tlog::VerifierKey;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Have a witness cosign the newest head of the log
///
/// A witness signs only heads that continue what it saw before. Whoever trusts it knows then that nobody else is shown
/// another history. It speaks C2SP tlog-witness: heads are sent to `URL/add-checkpoint`. It must know the log's key.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit witness https://witness.example --key \"$(cat witness-key)\"")]
pub(crate) struct Witness {
    /// The witness's submission prefix
    url: String,
    /// The witness's verifier key
    #[arg(long, value_name = "KEY")]
    key: VerifierKey,
}

#[derive(Serialize)]
struct Answered {
    witness: String,
    origin: String,
    size: u64,
    root: String,
    /// Seconds since 1970.
    cosigned_at: u64,
}

impl Answer for Answered {
    fn show(&self, page: &mut Page) {
        page.line(format!("{} cosigned {} leaves of {}", self.witness, self.size, self.origin));
    }
}

impl Witness {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let progress = surface.printer.progress("asking the witness");
        let (head, cosigner) = client.audit().witness(&self.url, &self.key, &progress.observer()).await?;
        drop(progress);
        surface.printer.answer(&Answered {
            witness: self.key.name().to_owned(),
            origin: head.origin,
            size: head.size,
            root: head.root.to_string(),
            cosigned_at: cosigner.seconds,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
