//! `samite audit witness`.

use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::audit::tlog::{TreeHead, VerifierKey};
use samite_model::{Error, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Have witnesses cosign the newest head of the log
///
/// A witness signs only heads that continue what it saw before. Whoever trusts it knows then that nobody else is shown
/// another history. It speaks C2SP tlog-witness: heads are sent to `URL/add-checkpoint`. It must know the log's key. Several
/// are asked about one head, each with a --key in the order of the URLs; what one answers is kept when another fails, and where none
/// can be reached nothing is done.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit witness https://witness.example --key \"$(cat witness-key)\"
  samite audit witness https://a.example https://b.example \\
    --key \"$(cat a-key)\" --key \"$(cat b-key)\"")]
pub(crate) struct Witness {
    /// The witnesses' submission prefixes
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    /// A witness's verifier key, one for each URL
    #[arg(long, value_name = "KEY", required = true)]
    key: Vec<VerifierKey>,
}

#[derive(Serialize)]
struct Cosigned {
    log: u64,
    origin: String,
    size: u64,
    root: String,
    witnesses: Vec<Answered>,
}

#[derive(Serialize)]
struct Answered {
    witness: String,
    url: String,
    /// Seconds since 1970.
    cosigned_at: Option<u64>,
    error: Option<String>,
}

impl Answer for Cosigned {
    fn show(&self, page: &mut Page) {
        for one in &self.witnesses {
            match &one.error {
                None => page.line(format!("{} cosigned {} leaves of {}", one.witness, self.size, self.origin)),
                Some(error) => page.styled(Style::Bad, error),
            }
        }
    }
}

impl Witness {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        if self.urls.len() != self.key.len() {
            let what = format!("{} witnesses and {} keys are given", self.urls.len(), self.key.len());
            return Err(Error::invalid("keys_differ", what).hint("give a --key for each URL, in their order"));
        }
        let witnesses: Vec<(String, VerifierKey)> = self.urls.into_iter().zip(self.key).collect();
        let client = surface.open(Access::Write)?.client().await?;
        let progress = surface.printer.progress("asking the witness");
        let cosigned = client.audit().witness(&witnesses, &progress.observer()).await?;
        drop(progress);
        let mut failed = None;
        let mut answers = Vec::new();
        for ((url, key), answer) in witnesses.into_iter().zip(cosigned.answers) {
            let witness = key.name().to_owned();
            answers.push(match answer {
                Ok(signed) => Answered { witness, url, cosigned_at: Some(signed.seconds), error: None },
                Err(error) => {
                    let said = error.message().to_owned();
                    failed.get_or_insert(error);
                    Answered { witness, url, cosigned_at: None, error: Some(said) }
                }
            });
        }
        if let Some(error) = failed {
            if answers.iter().all(|one| one.error.is_some()) {
                return Err(error);
            }
            let status = error.kind().exit_status();
            surface.printer.answer(&Cosigned::new(cosigned.log, cosigned.head, answers))?;
            return Ok(ExitCode::from(status));
        }
        surface.printer.answer(&Cosigned::new(cosigned.log, cosigned.head, answers))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Cosigned {
    fn new(log: u64, head: TreeHead, witnesses: Vec<Answered>) -> Self {
        Self { log, origin: head.origin, size: head.size, root: head.root.to_string(), witnesses }
    }
}
