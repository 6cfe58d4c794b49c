//! `samite memory why`.

use super::within::{Seen, shape};
use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::shape::{RecordShape, record_table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::memory::Seen as Which;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Show where a record comes from, what was made of it, and who was shown it
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite memory why -n notes 8c1e")]
pub(crate) struct Why {
    #[command(flatten)]
    seen: Seen,
    /// The record
    record: String,
}

#[derive(Serialize)]
struct Told {
    record: RecordShape,
    /// What it was made of, what that was made of, and so on.
    made_of: Vec<RecordShape>,
    /// What was made of it.
    made: Vec<RecordShape>,
    /// How many searches found it.
    searches: u64,
}

impl Answer for Told {
    fn show(&self, page: &mut Page) {
        self.record.show(page);
        for (records, what) in [(&self.made_of, "it was made of"), (&self.made, "what was made of it")] {
            if !records.is_empty() {
                page.gap();
                page.styled(Style::Strong, what);
                page.table(&record_table(records));
            }
        }
        page.gap();
        page.styled(Style::Dim, format!("found by {}", count(self.searches, "search")));
    }
}

impl Why {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let memory = self.seen.of(&client).await?;
        let record = memory.find_record(&self.record).await?;
        let settings = memory.settings().await?;
        let standing = memory.record_of(record, None).await?;
        let (above, below) = memory.made_of(record).await?;
        let searches = memory.seen(&Which { record: Some(record), ..Which::default() }).await?.len() as u64;
        let shapes = |all: &[samite::memory::Standing]| all.iter().map(|one| shape(one, &settings)).collect();
        let told = Told {
            record: shape(&standing, &settings),
            made_of: shapes(above.get(1..).unwrap_or_default()),
            made: shapes(&below),
            searches,
        };
        surface.printer.answer(&told)?;
        Ok(ExitCode::SUCCESS)
    }
}
