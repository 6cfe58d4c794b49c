//! `samite step run`.

use crate::printer::{Answer, Page, Printer, Style};
use crate::reference::Reference;
use crate::shape::{AssessmentShape, OutcomeShape, SettlementShape, StepShape};
use crate::surface::{Access, Surface, here, program, site};
use clap::Args;
use samite::run::{Captured, CommandOutput, Interrupted, Kept, OnCheckpoint, OnStart, Ran, RunStep, tool_of};
use samite::syntax::{parse_effect, parse_probe, parse_target};
use samite::{Client, Entry, NewStep, Outcome, ReadOptions};
use samite_model::step::{Effect, OutcomeKind};
use samite_model::{BranchId, Error, Position, Result, SessionId};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

/// Run a command as a step: once, whatever crashes
///
/// Its start is durable before it begins and its outcome is durable when this returns. Under a key that has an outcome
/// the command is not run: its output is printed again. When an earlier step on the same resource or tool was cut off
/// between its effect and its record, that doubt is settled first, by the effect that it declared: run again
/// (idempotent, keyed), put the workspace back and run again (contained), look with its probe (observable), or ask
/// (opaque, which is the default).
///
/// The command sees `SAMITE_IDEMPOTENCY_KEY`, `SAMITE_EPOCH` and `SAMITE_SESSION`. It runs in a process session of its own,
/// and nothing of it outlives this process. Its standard input is empty. The exit status is the command's (128 + N after
/// signal N), or samite's own when the command was not run and no outcome of it is known: 4 when somebody else is at it or
/// a person must decide, 9 when it may have been done as another step. A command may end with these as well: what
/// `--json` answers tells them apart (`"answer": "ran"` or `"replayed"` goes with the command's own).
///
/// When a step on the same tool or resource was cut off and turns out to have happened, this command may be the same act
/// in other words. It is not run: the exit status is 9, and the answer (`"answer": "other"`) has the outcome of the other
/// step. Calling again answers the same, so that a script which repeats its calls does nothing twice. If the command is
/// another act, call with `--anyway`. What belongs to one tool can be said with `--tool`. When `recover` or `step resolve`
/// found that out before, the first new key is told so; a call with the cut off step's own key is answered from the log, and
/// then there is nothing left to be told.
///
/// Ctrl-C, SIGTERM and SIGHUP end the command, and the exit status is 130, 143 or 129. A step that is idempotent, keyed or
/// contained has then failed and may run again; what a contained one changed stays as it is. One that is observable or
/// opaque is in doubt, since half of it may have happened. So it is when a signal ends the command while samite lives: an
/// observable one is looked at at once, an opaque one is in doubt (exit status 4). Should the command itself end with 137 or
/// the like, because a child of it was killed, it has failed. A contained step must run in the workspace of its branch. A contained step records the workspace's tree when it starts
/// and when it ends, so that `rewind` takes back what it changed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Probes:
  git:REPO[@REMOTE]#REF[=COMMIT]   a ref, here or there, is what this makes it
  file:PATH[=SHA256]               a file is there
  command:WORDS                    a command says 0 (happened) or 1 (did not)
  https://…[#contains=TEXT]        a GET answers 2xx (happened) or 404 (did not)
  workspace                        the workspace changed

Examples:
  samite step run 3f2a --key test-1 --effect contained -- cargo test
  samite step run 3f2a --key commit-1 --effect observable \\
      --probe git:.#HEAD -- git commit -am 'fix'
  samite step run 3f2a --key push-1 --effect observable \\
      --touches git:origin/main --probe git:.@origin#main=HEAD \\
      -- git push origin main
  samite step run 3f2a --key pay-7 --effect keyed:24h \\
      --touches https://api.example.com/pay -- ./pay.sh 7")]
pub(crate) struct Run {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
    /// The step's key: the same key on the same branch is the same step
    #[arg(long)]
    key: String,
    /// The tool that it belongs to [default: the program that does the work]
    ///
    /// Behind `env`, `timeout` and their like that is what they start, of a script the script, and of code for a shell (`sh
    /// -c`) the last program that it runs. Code that has loops or conditions, and code for other interpreters (`python
    /// -c`), belongs to the interpreter: what it does cannot be told, and a call that is worded anew must still be
    /// recognised. Name a tool for those, so that unrelated ones do not stand in each other's way.
    #[arg(long)]
    tool: Option<String>,
    /// What it can do: idempotent, keyed[:WINDOW], contained, observable[:SETTLE] or opaque
    #[arg(long, default_value = "opaque")]
    effect: String,
    /// The paths of the workspace that a contained step may change; may be repeated
    #[arg(long, value_name = "PATH")]
    within: Vec<String>,
    /// A resource outside that it touches, such as `git:origin/main` or `https://host/path`; may be repeated
    #[arg(long, value_name = "RESOURCE")]
    touches: Vec<String>,
    /// How to look whether it happened
    #[arg(long)]
    probe: Option<String>,
    /// A non-zero exit status may run again under the same key; a step that failed before does
    #[arg(long)]
    retry: bool,
    /// It is another act than the step that the exit status 9 names: run it
    #[arg(long)]
    anyway: bool,
    /// Where the command runs [default: here]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What came of it.
#[derive(Serialize)]
struct Answered {
    /// The step that the outcome is of.
    id: String,
    session: String,
    /// `ran`, `replayed`, or `other`.
    answer: &'static str,
    key: String,
    /// The step that was asked for and not run, when the outcome is of another.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_run: Option<String>,
    outcome: OutcomeShape,
    settled: Option<SettlementShape>,
}

impl Answer for Answered {
    // The command's own output is the answer; it was passed on already, or is printed as bytes.
    fn show(&self, _: &mut Page) {}
}

impl Run {
    fn step(&self, directory: &Path) -> Result<NewStep> {
        let tool = self.tool.clone().unwrap_or_else(|| tool_of(&self.command));
        let effect = parse_effect(&self.effect, &self.within)?;
        let probe = self.probe.as_deref().map(parse_probe).transpose()?;
        if probe.is_some() && !matches!(effect, Effect::Observable { .. }) {
            return Err(Error::invalid(
                "bad_effect",
                format!("--probe says nothing about a step that is {}", effect.name()),
            )
            .hint("use it with --effect observable"));
        }
        let touches = self.touches.iter().map(|touch| parse_target(touch, directory)).collect::<Result<_>>()?;
        Ok(NewStep { effect, probe, touches, ..NewStep::new(&self.key, tool, serde_json::Value::Null) })
    }

    pub(super) async fn run(self: Box<Self>, surface: &Surface) -> Result<ExitCode> {
        let here = here()?;
        let directory = self.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
        let step = self.step(&directory)?;
        let store = surface.open(Access::Write)?;
        let client = store.client().await?;
        let found = self.session.find_branch(&client).await?;
        let site = site(&store, &directory)?;
        let run = RunStep {
            step,
            argv: self.command,
            directory,
            program: program()?,
            echo: !surface.printer.is_json(),
            retry: self.retry,
            anyway: self.anyway,
            on_start: Some(stop_on_signals()),
            on_checkpoint: Some(warn_of_failures(surface.printer.is_json())),
        };
        let key = run.step.key.clone();
        let ran = client.run_step(found.session, found.branch, surface.writer_options()?, run, &site).await?;
        match ran {
            Ran::Ended { outcome, replayed, settled } => {
                let settled = settled.as_deref().map(SettlementShape::new);
                if let Some(words) = settled.as_ref().and_then(|settled| settled.note(&key))
                    && !surface.printer.is_json()
                {
                    surface.printer.note(&words);
                }
                if replayed {
                    replay(&surface.printer, &client, found.session, &outcome).await?;
                }
                answer(
                    surface,
                    &Answered {
                        id: step_of(&client, found.session, &outcome).await?,
                        session: found.session.to_string(),
                        answer: if replayed { "replayed" } else { "ran" },
                        key,
                        not_run: None,
                        outcome: OutcomeShape::new(&outcome),
                        settled,
                    },
                    &outcome,
                )
            }
            Ran::Other { key: other, settlement, outcome } => {
                surface.printer.aside_page(|page| show_other(page, &key, &other, &outcome));
                surface.printer.answer(&Answered {
                    id: step_of(&client, found.session, &outcome).await?,
                    session: found.session.to_string(),
                    answer: "other",
                    key: other,
                    not_run: Some(key),
                    outcome: OutcomeShape::new(&outcome),
                    settled: settlement.as_deref().map(SettlementShape::new),
                })?;
                Ok(ExitCode::from(OTHER))
            }
            Ran::Interrupted(interrupted) => Ok(interruption(surface, &self.session, &interrupted)),
            Ran::Busy(step) => {
                let step = StepShape::new(&step);
                Err(Error::conflict("step_busy", format!("step {} is being run (seq {})", step.key, step.start.seq))
                    .hint("wait for it to end, then call again"))
            }
            Ran::InDoubt(assessment) => {
                let shape = AssessmentShape::new(&assessment);
                Err(shape.error(&self.session))
            }
        }
    }
}

/// The id of the step that an outcome is of, as the outcome's own entry has it.
async fn step_of(client: &Client, session: SessionId, outcome: &Outcome) -> Result<String> {
    let entry: serde_json::Value = match entry_at(client, session, outcome.position).await? {
        Some(entry) => entry.json()?,
        None => serde_json::Value::Null,
    };
    Ok(entry.get("step").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned())
}

async fn entry_at(client: &Client, session: SessionId, at: Position) -> Result<Option<Entry>> {
    let only = ReadOptions { from: at.seq, to: Some(at.seq), ..ReadOptions::default() };
    Ok(client.read(session, Some(at.journal), only).await?.all().await?.into_iter().next())
}

/// The exit status when another step was settled, and the command was not run because it may be the same act.
const OTHER: u8 = 9;

/// Says that a command was not run, and what to do.
fn show_other(page: &mut Page, key: &str, other: &str, outcome: &Outcome) {
    let what = match (outcome.kind, outcome.settled) {
        (OutcomeKind::Completed, Some(_)) => "turned out to have happened",
        (OutcomeKind::Completed, None) => "was run again under its own key, and is done",
        (OutcomeKind::FailedRetryable, _) => "may have happened before it failed, and may run again under its own key",
        (OutcomeKind::Failed, _) => "may have happened before it failed",
    };
    page.styled(Style::Care, format!("step {key} was not run, and this is not its outcome"));
    page.line(format!(
        "step {other} on the same tool or resource had been cut off, and {what} (seq {})",
        outcome.position.seq
    ));
    page.line("if your command is the same act in other words, go on with the outcome of that step (--json has it)");
    page.line("if it is another act, call again with --anyway; without that, calling again answers the same");
}

/// Says what an interruption left, on standard error, and gives the exit status that a shell would give.
fn interruption(surface: &Surface, session: &Reference, interrupted: &Interrupted) -> ExitCode {
    let key = &interrupted.key;
    let error = if !interrupted.begun {
        Error::unavailable("step_interrupted", format!("step {key} was interrupted before it began"))
            .hint("nothing of it was done; call again to run it")
    } else if interrupted.outcome.is_some() {
        Error::unavailable("step_interrupted", format!("step {key} was interrupted"))
            .hint("nothing of it runs any more; call again to run it again")
    } else {
        Error::unavailable("step_interrupted", format!("step {key} was interrupted, and half of it may have happened"))
            .hint(format!("it is in doubt: call again, or run `samite recover {session}`, to have it looked at"))
    };
    surface.printer.failure(&error);
    ExitCode::from(u8::try_from(128 + (interrupted.signal & 0x7f)).unwrap_or(u8::MAX))
}

/// Ctrl-C, SIGTERM and SIGHUP end the command, or keep it from being started.
fn stop_on_signals() -> OnStart {
    OnStart(Arc::new(|running| {
        if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) {
            std::thread::spawn(move || {
                for signal in signals.forever() {
                    if !running.interrupt(signal) {
                        // Nothing of a step would be cut off.
                        signal_hook::low_level::emulate_default_handler(signal).ok();
                    }
                }
            });
        }
    }))
}

/// A checkpoint that the cadence asks for and that fails is told, each reason once; the step is none the worse.
fn warn_of_failures(json: bool) -> OnCheckpoint {
    let told: Mutex<Vec<&'static str>> = Mutex::default();
    OnCheckpoint(Arc::new(move |kept| {
        let Kept::Failed(error) = kept else { return };
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.contains(&error.code()) {
            told.push(error.code());
            Printer::new(json)
                .warn(&format!("a checkpoint could not be taken: {error}; the step is recorded all the same"));
        }
    }))
}

fn answer(surface: &Surface, answered: &Answered, outcome: &Outcome) -> Result<ExitCode> {
    if let Some(why) = outcome.output.get("not_started").and_then(serde_json::Value::as_str) {
        surface.printer.note(&format!("the command was not started: {why}"));
    }
    if outcome.abandoned {
        surface.printer.note("the step was abandoned: take another key to do it after all");
    }
    surface.printer.answer(answered)?;
    Ok(ExitCode::from(status(outcome)))
}

/// The command's exit status, as a shell would have it.
fn status(outcome: &Outcome) -> u8 {
    let output: Option<CommandOutput> = serde_json::from_value(outcome.output.clone()).ok();
    let told = output.and_then(|output| match (output.status, output.signal) {
        (Some(status), _) => u8::try_from(status & 0xff).ok(),
        (None, Some(signal)) => u8::try_from(128 + (signal & 0x7f)).ok(),
        (None, None) => None,
    });
    match (told, outcome.kind) {
        (Some(status), _) => status,
        (None, OutcomeKind::Completed) => 0,
        // It could not be started.
        (None, _) => 127,
    }
}

/// Prints again what the command put out when it ran.
async fn replay(printer: &Printer, client: &Client, session: SessionId, outcome: &Outcome) -> Result<()> {
    if printer.is_json() {
        return Ok(());
    }
    if let Ok(output) = serde_json::from_value::<CommandOutput>(outcome.output.clone()) {
        let branch = outcome.position.journal;
        printer.bytes(&whole(client, session, branch, &output.stdout).await?)?;
        printer.error_bytes(&whole(client, session, branch, &output.stderr).await?);
    }
    Ok(())
}

/// The whole of an output: what the outcome has of it, or the event that holds it.
async fn whole(client: &Client, session: SessionId, branch: BranchId, captured: &Captured) -> Result<Vec<u8>> {
    let Some(seq) = captured.entry else { return Ok(captured.bytes()) };
    match entry_at(client, session, Position { journal: branch, seq }).await? {
        Some(entry) => Ok(entry.event()?.body.to_vec()),
        None => Ok(captured.bytes()),
    }
}
