//! `samite step resolve`.

use crate::input::file_or_input;
use crate::printer::{Answer, Page};
use crate::reference::{Found, Reference};
use crate::shape::PositionShape;
use crate::surface::{Access, Surface};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use samite::payload::SettledBy;
use samite::{Client, Resolution, Settled, StepRecord};
use samite_model::step::State;
use samite_model::{Error, Result, limits};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Settle a doubt as a person: it happened, it did not, or it is given up
///
/// The decision is an entry of the branch itself. A step that did not happen may run again under its key; one that
/// happened answers with the given output from now on. The first new call on the same tool or resource may then be that
/// step in other words, and is not run (see `step run --help`), unless a call with the step's own key comes before.
#[derive(Debug, Args)]
#[command(
    group(clap::ArgGroup::new("what").required(true)),
    override_usage = "samite step resolve [OPTIONS] --happened|--did-not|--abandon SESSION STEP",
    after_long_help = "\
Examples:
  samite step resolve 3f2a mail-7 --happened --note 'seen in the outbox'
  samite step resolve 3f2a mail-7 --did-not
  samite step resolve 3f2a 5d01 --abandon
  echo '{\"ticket\": 12}' | samite step resolve 3f2a ticket-1 \\
      --happened --output -"
)]
pub(crate) struct Resolve {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
    /// The step: its key, or the beginning of its id
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    step: String,
    /// It happened
    #[arg(long, group = "what")]
    happened: bool,
    /// It did not happen, and may run again
    #[arg(long, group = "what")]
    did_not: bool,
    /// It is given up, whatever happened
    #[arg(long, group = "what")]
    abandon: bool,
    /// What stands for its output, as JSON from a file; - is standard input
    #[arg(long, requires = "happened", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

#[derive(Serialize)]
struct Resolved {
    /// The step.
    id: String,
    session: String,
    /// Where the decision is.
    #[serde(flatten)]
    position: PositionShape,
    key: String,
    settled: &'static str,
}

impl Answer for Resolved {
    fn show(&self, page: &mut Page) {
        let what = match self.settled {
            "happened" => "is settled: it happened",
            "did_not" => "is settled: it did not happen, and may run again",
            _ => "is given up",
        };
        page.line(format!("step {} {what} (seq {})", self.key, self.position.seq));
    }
}

impl Resolve {
    fn what(&self) -> Result<(Settled, &'static str)> {
        if self.abandon {
            return Ok((Settled::Abandoned, "abandoned"));
        }
        if self.did_not {
            return Ok((Settled::DidNot, "did_not"));
        }
        let output = match &self.output {
            Some(file) => {
                let bytes = file_or_input("the output", file, limits::INLINE_PAYLOAD)?;
                serde_json::from_slice(&bytes)
                    .map_err(|error| Error::invalid("bad_json", format!("the output is not JSON: {error}")))?
            }
            None => Value::Null,
        };
        Ok((Settled::Happened(output), "happened"))
    }

    /// The step that has this key; where none has, the one whose id begins so. Open ones come before others.
    async fn find(&self, client: &Client, found: Found) -> Result<StepRecord> {
        let open = |step: &StepRecord| matches!(step.state, State::Started | State::InDoubt);
        let by_key = |step: &StepRecord| step.started.key == self.step;
        let mut steps = client.steps(found.session, found.branch).await?;
        // A key is meant whole, and is never the beginning of another step's id.
        let key = steps.iter().any(by_key);
        steps.retain(|step| if key { by_key(step) } else { step.id.to_string().starts_with(&self.step) });
        if steps.iter().any(open) {
            steps.retain(open);
        }
        if key {
            // All of them are tries of one step: the last one counts.
            steps = steps.split_off(steps.len().saturating_sub(1));
        }
        match (steps.len(), steps.pop()) {
            (1, Some(step)) => Ok(step),
            (0, _) | (_, None) => Err(Error::not_found("no_step", format!("there is no step {}", self.step))
                .hint(format!("`samite step list {} --open` shows the steps without an outcome", self.session))),
            _ => Err(Error::invalid("ambiguous_prefix", format!("{} means several steps", self.step))
                .hint("give the step's key, or more digits of its id")),
        }
    }

    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let (what, settled) = self.what()?;
        let client = surface.open(Access::Write)?.client().await?;
        let found = self.session.find_branch(&client).await?;
        let step = self.find(&client, found).await?;
        let resolution = Resolution { what, by: SettledBy::Person, evidence: None, note: self.note };
        let position =
            surface.write_to(&client, found, async |writer| writer.resolve_unseen(step.id, &resolution).await).await?;
        surface.printer.answer(&Resolved {
            id: step.id.to_string(),
            session: found.session.to_string(),
            position: position.into(),
            key: step.started.key.clone(),
            settled,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
