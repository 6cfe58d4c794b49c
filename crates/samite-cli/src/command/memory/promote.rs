//! `samite memory promote`.

use super::within::Within;
use crate::printer::words::{count, short_id};
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::Writer;
use samite::memory::Promotion;
use samite_model::{RecordId, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Take over what a branch wrote for itself, so that all sessions see it
///
/// What a line wrote that was rewound reaches nobody, unless it is taken over by name. A record that was to take the place of one that
/// ended meanwhile stands beside what took that place, and is named.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite memory promote -n notes 3f2a")]
pub(crate) struct Promote {
    #[command(flatten)]
    within: Within,
    /// The branch: SESSION or SESSION:BRANCH
    session: Reference,
}

#[derive(Serialize)]
struct Promoted {
    /// The records that all sessions see from now on.
    records: Vec<String>,
    /// Records of the namespace that the branch retracted.
    ended: Vec<String>,
    /// How many entries did nothing that was not there.
    there: u64,
    /// Records that took nobody's place.
    beside: Vec<String>,
    /// Records that say what was forgotten.
    forgotten: Vec<String>,
}

impl Promoted {
    fn new(promotion: &Promotion) -> Self {
        let ids = |records: &[RecordId]| records.iter().map(ToString::to_string).collect();
        Self {
            records: ids(&promotion.records),
            ended: ids(&promotion.ended),
            there: promotion.there,
            beside: ids(&promotion.beside),
            forgotten: ids(&promotion.forgotten),
        }
    }
}

impl Answer for Promoted {
    fn show(&self, page: &mut Page) {
        for record in &self.records {
            page.line(short_id(record));
        }
        for record in &self.ended {
            page.line(format!("{} is retracted", short_id(record)));
        }
        for record in &self.beside {
            let words = format!("{} took nobody's place: what it was to replace ended meanwhile", short_id(record));
            page.styled(Style::Care, words);
        }
        for record in &self.forgotten {
            page.styled(Style::Care, format!("{} stays on the branch: what it says was forgotten", short_id(record)));
        }
        page.styled(Style::Dim, format!("{} taken over", count(self.records.len() as u64, "record")));
    }
}

impl Promote {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let namespace = self.within.of(&client)?.namespace().clone();
        let found = self.session.find_branch(&client).await?;
        let act = async |writer: &Writer| writer.memory(namespace).promote().await;
        let promotion = surface.write_to(&client, found, act).await?;
        surface.printer.answer(&Promoted::new(&promotion))?;
        Ok(ExitCode::SUCCESS)
    }
}
