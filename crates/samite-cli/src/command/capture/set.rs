//! `samite capture set`.

use super::CaptureShape;
use crate::surface::{Access, Surface};
use clap::{Args, ValueEnum};
use samite::policy::Level;
use samite_model::{EntryKind, Error, Result};
use std::process::ExitCode;

/// Decide how much is kept of events that come from now on
///
/// `full` keeps all. `decisions` drops deliberation before anything is written: blocks of thinking and reasoning in every
/// provider's form, and text in tags of thinking; an event that cannot be read and may hold some is dropped whole. `metadata`
/// keeps kind, size and time. It holds for what callers append, hooks record and imports bring; what steps are called with
/// and answer, and the files of workspaces, are kept. Each entry says how much was dropped of it, and `samite status` how
/// much in all. What is stored already stays.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite capture set decisions
  samite capture set metadata --kind event
  samite capture set default --kind event")]
pub(crate) struct Set {
    /// How much; `default` takes a kind's own decision back
    level: Kept,
    /// Of this kind alone: `message`, `model_response`, `event` or `compaction`
    #[arg(long)]
    kind: Option<String>,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kept {
    /// All of it
    Full,
    /// All but deliberation
    Decisions,
    /// Kind, size and time
    Metadata,
    /// What is decided for all kinds; for all kinds, full
    Default,
}

impl Set {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let kind = match &self.kind {
            Some(name) => Some(EntryKind::from_name(name).ok_or_else(|| {
                Error::invalid("bad_kind", format!("{name:?} is nothing that callers write"))
                    .hint("message, model_response, event and compaction are")
            })?),
            None => None,
        };
        let level = match self.level {
            Kept::Full => Some(Level::Full),
            Kept::Decisions => Some(Level::Decisions),
            Kept::Metadata => Some(Level::Metadata),
            Kept::Default => None,
        };
        let client = surface.open(Access::Create)?.client().await?;
        client.set_capture(kind, level).await?;
        surface.printer.answer(&CaptureShape::new(&client.capture().await?))?;
        Ok(ExitCode::SUCCESS)
    }
}
