//! `samite step list`.

use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{StepShape, step_table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use samite_model::step::State;
use serde::Serialize;
use std::process::ExitCode;

/// List the steps of a branch and where they stand
///
/// A step that started, has no outcome and whose writer is gone is in doubt: `recover` says what to do about it, and
/// `step resolve` settles it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite step list 3f2a
  samite step list 3f2a:9c --open
  samite step list 3f2a --json | jq '.steps[] | {key, state}'")]
pub(crate) struct List {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
    /// Only steps without an outcome
    #[arg(long)]
    open: bool,
}

#[derive(Serialize)]
struct Steps {
    session: String,
    steps: Vec<StepShape>,
}

impl Answer for Steps {
    fn show(&self, page: &mut Page) {
        if self.steps.is_empty() {
            return page.styled(Style::Dim, "no steps");
        }
        page.table(&step_table(&self.steps));
    }
}

impl List {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let found = self.session.find_branch(&client).await?;
        let steps = client.steps(found.session, found.branch).await?;
        let wanted = |state: State| !self.open || matches!(state, State::Started | State::InDoubt);
        let steps = steps.iter().filter(|step| wanted(step.state)).map(StepShape::new).collect();
        surface.printer.answer(&Steps { session: found.session.to_string(), steps })?;
        Ok(ExitCode::SUCCESS)
    }
}
