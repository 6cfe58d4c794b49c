//! `samite memory diff`.

use super::within::{Within, seen_at, shape};
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{RecordShape, record_table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Compare what is found at two places
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory diff -n notes 3f2a@17 3f2a@29
  samite memory diff -n notes 3f2a 3f2a:9c")]
pub(crate) struct Diff {
    #[command(flatten)]
    within: Within,
    /// Before: SESSION, SESSION:BRANCH, or SESSION@SEQ as the last checkpoint up to there had it
    before: Reference,
    /// After
    after: Reference,
}

#[derive(Serialize)]
struct Differs {
    /// What is found after and was not before.
    came: Vec<RecordShape>,
    /// What was found before and is not after.
    went: Vec<RecordShape>,
}

impl Answer for Differs {
    fn show(&self, page: &mut Page) {
        if self.came.is_empty() && self.went.is_empty() {
            return page.styled(Style::Dim, "nothing differs");
        }
        for (records, style, what) in [(&self.came, Style::Good, "came"), (&self.went, Style::Bad, "went")] {
            if !records.is_empty() {
                page.styled(style, what);
                page.table(&record_table(records));
            }
        }
    }
}

impl Diff {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let memory = self.within.of(&client)?;
        let before = seen_at(&client, &memory, &self.before).await?;
        let after = seen_at(&client, &memory, &self.after).await?;
        let settings = after.settings().await?;
        let (came, went) = after.changed_since(&before).await?;
        let shapes = |all: Vec<samite::memory::Standing>| all.iter().map(|one| shape(one, &settings)).collect();
        surface.printer.answer(&Differs { came: shapes(came), went: shapes(went) })?;
        Ok(ExitCode::SUCCESS)
    }
}
