//! `samite memory add`.

use super::new::New;
use super::within::{Target, shape};
use crate::printer::words::short_id;
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::memory::{Memory, Written};
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Write a record
///
/// What says the same, of the same kind, trust and source, is no second record. Who stands behind it is fixed: a model's conclusion
/// unless it is said otherwise. What comes from the web waits until somebody approved it; what a tool said is found in a list of its
/// own.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory add -n notes 'Prefers tea' --trust user
  samite memory add -n notes --trust web --source example.org 'Tea is a drink'
  samite memory add -n people 'Ada knows Grace' --kind edge \\
    --from Ada --relation knows --to Grace
  echo 'a longer text' | samite memory add -n notes -")]
pub(crate) struct Add {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    new: New,
}

/// A record that was written.
#[derive(Serialize)]
pub(super) struct Done {
    id: String,
    seq: u64,
    duplicate: bool,
    /// `found`, or what keeps it from being found.
    state: &'static str,
}

impl Done {
    /// What was written, as it is seen where it was.
    pub(super) async fn new(written: Written, seen: &Memory) -> Result<Self> {
        let (standing, settings) = (seen.record_of(written.record, None).await?, seen.settings().await?);
        let state = shape(&standing, &settings).state();
        Ok(Self { id: written.record.to_string(), seq: written.at.seq, duplicate: written.duplicate, state })
    }
}

impl Answer for Done {
    fn show(&self, page: &mut Page) {
        let words = if self.duplicate { " was there already" } else { " is written" };
        page.spans(&[(Style::Strong, &short_id(&self.id)), (Style::Plain, words)]);
        let approve = "`samite memory quarantine approve`";
        let care = match self.state {
            "quarantined" => format!("nobody finds it until it is approved: {approve}"),
            "rejected" => format!("it was rejected, and nobody finds it: {approve} lets it in"),
            _ => return,
        };
        page.styled(Style::Care, care);
    }
}

impl Add {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Create)?.client().await?;
        let memory = self.target.seen(&client).await?;
        let new = self.new.record(&memory).await?;
        let written = match &self.target.session {
            Some(session) => {
                let found = session.find_branch(&client).await?;
                let namespace = memory.namespace().clone();
                surface.write_to(&client, found, async |writer| writer.memory(namespace).assert(&new).await).await?
            }
            None => memory.assert(&new).await?,
        };
        surface.printer.answer(&Done::new(written, &self.target.seen(&client).await?).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
