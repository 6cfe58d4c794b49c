//! `samite memory brief`.

use super::encoder::with_encoder;
use super::search::mark;
use super::within::{Seen, shape};
use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::shape::RecordShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::memory::fenced;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Print what is worth having in a prompt
///
/// What is pinned comes first, then what answers best, or, without a question, what is newest, as far as the budget goes. It is data
/// between two marks that no record can end. A token is taken to be four bytes. Records of classes that are kept apart, such as documents
/// that were ingested as a tool's, are not in it: `samite memory search --prompt` has them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory brief -n notes
  samite memory brief -n notes --about 'the release' --budget 500
  samite memory brief -n notes --session 3f2a")]
pub(crate) struct Brief {
    #[command(flatten)]
    seen: Seen,
    /// What the session is about
    #[arg(long, default_value = "", value_name = "TEXT")]
    about: String,
    /// So many tokens at most
    #[arg(long, default_value_t = 2000, value_name = "TOKENS")]
    budget: usize,
}

#[derive(Serialize)]
struct Briefed {
    /// As a prompt has it.
    prompt: String,
    records: Vec<RecordShape>,
    tokens: usize,
    /// How many records there was no room for.
    left_out: usize,
}

impl Answer for Briefed {
    fn show(&self, page: &mut Page) {
        for line in self.prompt.lines() {
            page.line(line);
        }
    }
}

impl Brief {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let memory = with_encoder(surface, self.seen.of(&client).await?)?;
        let settings = memory.settings().await?;
        let brief = memory.brief(&self.about, self.budget).await?;
        if brief.left_out > 0 {
            let more =
                format!("{} had no room within --budget {}", count(brief.left_out as u64, "record"), self.budget);
            surface.printer.aside_page(|page| page.styled(Style::Dim, more));
        }
        surface.printer.answer(&Briefed {
            prompt: fenced(&brief.records, &mark()?),
            records: brief.records.iter().map(|one| shape(one, &settings)).collect(),
            tokens: brief.tokens,
            left_out: brief.left_out,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
