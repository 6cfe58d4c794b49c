//! `samite memory supersede`.

use super::add::Done;
use super::new::New;
use super::within::Target;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::Writer;
use samite_model::Result;
use std::process::ExitCode;

/// Write a record in the place of another
///
/// The other stays in the history: it was so until now, or, with --correct, it was never so. Whoever replaces a record that was
/// replaced meanwhile is told by what.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory supersede -n notes 8c1e 'The user prefers coffee'
  samite memory supersede -n notes 8c1e --correct 'The user never drank tea'")]
pub(crate) struct Supersede {
    #[command(flatten)]
    target: Target,
    /// The record whose place it takes
    record: String,
    /// The other was never so
    #[arg(long)]
    correct: bool,
    #[command(flatten)]
    new: New,
}

impl Supersede {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let memory = self.target.seen(&client).await?;
        let replaced = memory.find_record(&self.record).await?;
        let new = self.new.record(&memory).await?;
        let written = match &self.target.session {
            Some(session) => {
                let found = session.find_branch(&client).await?;
                let act = async |writer: &Writer| {
                    let memory = writer.memory(memory.namespace().clone());
                    if self.correct {
                        memory.correct(replaced, &new).await
                    } else {
                        memory.supersede(replaced, &new).await
                    }
                };
                surface.write_to(&client, found, act).await?
            }
            None if self.correct => memory.correct(replaced, &new).await?,
            None => memory.supersede(replaced, &new).await?,
        };
        surface.printer.answer(&Done::new(written, &self.target.seen(&client).await?).await?)?;
        Ok(ExitCode::SUCCESS)
    }
}
