//! `samite memory pin`.

use super::within::Target;
use crate::printer::words::short_id;
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::Writer;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Put a record into every prompt, or with --off no longer
///
/// Only what the user or an operator said is pinned.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory pin -n notes 8c1e
  samite memory pin -n notes 8c1e --off")]
pub(crate) struct Pin {
    #[command(flatten)]
    target: Target,
    /// The record
    record: String,
    /// No longer
    #[arg(long)]
    off: bool,
}

#[derive(Serialize)]
struct Done {
    id: String,
    pinned: bool,
    seq: u64,
}

impl Answer for Done {
    fn show(&self, page: &mut Page) {
        let words = if self.pinned { " is in every prompt" } else { " is not in every prompt any more" };
        page.spans(&[(Style::Strong, &short_id(&self.id)), (Style::Plain, words)]);
    }
}

impl Pin {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let memory = self.target.seen(&client).await?;
        let record = memory.find_record(&self.record).await?;
        let at = match &self.target.session {
            Some(session) => {
                let found = session.find_branch(&client).await?;
                let namespace = memory.namespace().clone();
                let act = async |writer: &Writer| writer.memory(namespace).pin(record, !self.off).await;
                surface.write_to(&client, found, act).await?
            }
            None => memory.pin(record, !self.off).await?,
        };
        surface.printer.answer(&Done { id: record.to_string(), pinned: !self.off, seq: at.seq })?;
        Ok(ExitCode::SUCCESS)
    }
}
