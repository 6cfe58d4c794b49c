//! `samite memory retract`.

use super::within::Target;
use crate::printer::words::short_id;
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::Writer;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Say that a record does not hold any more
///
/// Nobody finds it from then on. It stays in the history; `samite memory forget` takes what is to be gone.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite memory retract -n notes 8c1e --reason 'the user changed their mind'")]
pub(crate) struct Retract {
    #[command(flatten)]
    target: Target,
    /// The record
    record: String,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Retracted {
    id: String,
    seq: u64,
}

impl Answer for Retracted {
    fn show(&self, page: &mut Page) {
        page.spans(&[(Style::Strong, &short_id(&self.id)), (Style::Plain, " does not hold any more")]);
    }
}

impl Retract {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let memory = self.target.seen(&client).await?;
        let record = memory.find_record(&self.record).await?;
        let reason = self.reason.as_deref();
        let at = match &self.target.session {
            Some(session) => {
                let found = session.find_branch(&client).await?;
                let namespace = memory.namespace().clone();
                let act = async |writer: &Writer| writer.memory(namespace).retract(record, reason).await;
                surface.write_to(&client, found, act).await?
            }
            None => memory.retract(record, reason).await?,
        };
        surface.printer.answer(&Retracted { id: record.to_string(), seq: at.seq })?;
        Ok(ExitCode::SUCCESS)
    }
}
