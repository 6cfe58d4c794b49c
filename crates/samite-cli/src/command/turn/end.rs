//! `samite turn end`.

use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{CheckpointShape, ErrorShape, show_paths};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::EndedTurn;
use samite_model::cadence::Why;
use samite_model::{Result, SessionId};
use serde::Serialize;
use std::process::ExitCode;

/// Record that a turn of the agent has ended, with a checkpoint of the workspace in the same commit
///
/// Every cadence takes one here; an adaptive one leaves it out where turns follow each other so fast that checkpoints would
/// take more of the time than they may. A checkpoint that fails is told, and the turn has ended all the same. With a dedupe
/// id a turn ends once, however often that is said.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite turn end 3f2a
  samite turn end 3f2a --dedupe turn-17
  samite turn end 3f2a --json | jq .checkpoint.new_bytes")]
pub(crate) struct End {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
    /// The caller's id for the turn
    #[arg(long, value_name = "ID")]
    dedupe: Option<String>,
}

#[derive(Serialize)]
struct Ended {
    session: String,
    branch: String,
    seq: u64,
    duplicate: bool,
    checkpoint: Option<CheckpointShape>,
    /// Why the cadence has none.
    not_due: Option<&'static str>,
    /// Why there is none although one was to be taken.
    failed: Option<ErrorShape>,
    /// How many deliverables were published.
    delivered: usize,
    /// Those that could not be.
    not_delivered: Vec<String>,
    /// Those that are as an artifact that was erased.
    passed_over: Vec<String>,
    /// What was to be taken over into long-term memory, and could not be.
    not_adopted: Vec<String>,
}

impl Ended {
    fn new(session: SessionId, ended: &EndedTurn) -> Self {
        Self {
            session: session.to_string(),
            branch: ended.position.journal.to_string(),
            seq: ended.position.seq,
            duplicate: ended.duplicate,
            checkpoint: ended.checkpoint.as_ref().map(|taken| CheckpointShape::new(session.to_string(), taken)),
            not_due: ended.not_due.map(Why::name),
            failed: ended.failed.as_deref().map(ErrorShape::new),
            delivered: ended.delivered.as_ref().map_or(0, |delivered| delivered.published.len()),
            not_adopted: ended.not_adopted.iter().map(ToString::to_string).collect(),
            passed_over: ended.delivered.iter().flat_map(|all| all.passed_over.clone()).collect(),
            not_delivered: ended.delivered.iter().flat_map(|all| &all.failed).map(|one| one.path.clone()).collect(),
        }
    }
}

impl Answer for Ended {
    fn show(&self, page: &mut Page) {
        let already = if self.duplicate { " already" } else { "" };
        page.line(format!("the turn has ended{already} at seq {}", self.seq));
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.show(page);
        }
        if self.not_due.is_some() {
            page.styled(
                Style::Care,
                "no checkpoint: turns follow each other too fast for the overhead that is allowed",
            );
        }
        if self.delivered > 0 {
            page.line(format!("{} published", count(self.delivered as u64, "deliverable")));
        }
        show_paths(page, "could not be published:", &self.not_delivered);
        show_paths(page, "passed over, since they were erased as artifacts:", &self.passed_over);
        show_paths(page, "not taken over into long-term memory, which the branch keeps:", &self.not_adopted);
        if let Some(failed) = &self.failed {
            page.styled(Style::Care, format!("no checkpoint could be taken: {}", failed.message));
        }
    }
}

impl End {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let found = self.session.find_branch(&client).await?;
        let ended =
            surface.write_to(&client, found, async |writer| writer.end_turn(self.dedupe.as_deref()).await).await?;
        surface.printer.answer(&Ended::new(found.session, &ended))?;
        Ok(ExitCode::SUCCESS)
    }
}
