//! `samite diverge`.

use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{PositionShape, StepShape};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::StepRecord;
use samite::merge::SharedResource;
use samite_model::{Error, Result};
use serde::Serialize;
use std::process::ExitCode;

/// List what two branches of a session both touched outside since they parted
///
/// Effects outside the workspace are never merged: where both branches pushed, called or wrote the same thing, somebody
/// has to look. Steps that may have touched anything are listed apart.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite diverge 3f2a:9c 3f2a:7d
  samite diverge 3f2a 3f2a:9c --json | jq -r '.shared[].resource'")]
pub(crate) struct Diverge {
    /// One branch: SESSION:BRANCH, or SESSION for its current one
    first: Reference,
    /// The other
    second: Reference,
}

#[derive(Serialize)]
struct Diverged {
    session: String,
    first: String,
    second: String,
    parted_at: Option<PositionShape>,
    shared: Vec<SharedShape>,
    first_anything: Vec<StepShape>,
    second_anything: Vec<StepShape>,
}

#[derive(Serialize)]
struct SharedShape {
    resource: String,
    first: Vec<StepShape>,
    second: Vec<StepShape>,
}

fn shapes(steps: &[StepRecord]) -> Vec<StepShape> {
    steps.iter().map(StepShape::new).collect()
}

impl SharedShape {
    fn new(shared: &SharedResource) -> Self {
        Self { resource: shared.resource.clone(), first: shapes(&shared.first), second: shapes(&shared.second) }
    }
}

fn show_steps(page: &mut Page, steps: &[StepShape]) {
    for step in steps {
        let at = crate::printer::words::short_id(&step.start.branch);
        page.line(format!("  {} ({}, {}) at seq {} of {at}", step.tool, step.key, step.state(), step.start.seq));
    }
}

impl Answer for Diverged {
    fn show(&self, page: &mut Page) {
        for shared in &self.shared {
            page.styled(Style::Care, &shared.resource);
            show_steps(page, &shared.first);
            show_steps(page, &shared.second);
        }
        if !self.first_anything.is_empty() || !self.second_anything.is_empty() {
            page.styled(Style::Care, "may have touched anything outside:");
            show_steps(page, &self.first_anything);
            show_steps(page, &self.second_anything);
        }
        let many = count(self.shared.len() as u64, "thing");
        let since = self.parted_at.as_ref().map_or_else(String::new, |at| format!(" since seq {}", at.seq));
        page.styled(Style::Dim, format!("both branches touched {many}{since}"));
    }
}

impl Diverge {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let (first, second) = (self.first.find_branch(&client).await?, self.second.find_branch(&client).await?);
        if first.session != second.session {
            return Err(Error::invalid("other_session", "the two branches are of different sessions")
                .hint("name two branches of one session: SESSION:BRANCH twice"));
        }
        let (one, other) = (first.branch_or_current(&client).await?, second.branch_or_current(&client).await?);
        let found = client.diverge(first.session, one, other).await?;
        surface.printer.answer(&Diverged {
            session: first.session.to_string(),
            first: one.to_string(),
            second: other.to_string(),
            parted_at: found.parted_at.map(PositionShape::from),
            shared: found.shared.iter().map(SharedShape::new).collect(),
            first_anything: shapes(&found.first_anything),
            second_anything: shapes(&found.second_anything),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
