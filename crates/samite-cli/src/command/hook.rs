//! `samite hook`.

use crate::input::standard_input;
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface, configuration, master_file};
use clap::Args;
use data_encoding::HEXLOWER;
use samite::hook::{Handled, Harness, HookEvent, HookOptions, Policy, Spool, Unrecorded, What};
use samite_host::{Clock, SystemClock, SystemRandomness, files, look, process, random_id};
use samite_model::{Error, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// So much of an event is read: 1 GiB.
const INPUT: u64 = 1 << 30;

/// The exit status by which each harness knows that a call is not to be made; standard error says why.
const BLOCKED: u8 = 2;

/// How long a hook that gives up takes to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Record what a CLI agent tells: called by the agent itself, at each of its events
///
/// `samite init` sets it up. The event comes as JSON on standard input. Prompts and answers become messages, tool calls
/// become steps, the end of a turn a checkpoint. What cannot be recorded is noted beside the store, and recorded with the
/// next event that can be; the agent goes on in any case, unless the policy says `block = true`: then a call that cannot be
/// recorded, or that may repeat one that was cut off, ends with the exit status 2, and the agent is told why.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite init claude-code
  samite hook codex < event.json
  samite hook gemini-cli --json < event.json")]
pub(crate) struct Hook {
    /// The agent: claude-code, codex or gemini-cli
    #[arg(value_name = "HARNESS", value_parser = harness)]
    harness: Harness,
}

pub(super) fn harness(name: &str) -> Result<Harness, String> {
    Harness::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Harness::ALL.into_iter().map(Harness::name).collect();
        format!("the agents are {}", known.join(", "))
    })
}

/// What became of an event.
#[derive(Debug, Serialize)]
struct Answered {
    harness: &'static str,
    event: String,
    id: String,
    branch: String,
    /// Where it was recorded; none when it was there already, or is not recorded.
    seq: Option<u64>,
    /// Why the call should not be made.
    block: Option<String>,
}

impl Answer for Answered {
    // Standard output is the agent's, which reads it.
    fn show(&self, _: &mut Page) {}
}

/// What is known of an event before it is recorded.
struct Told {
    name: String,
    starts_a_tool: bool,
}

/// Where a hook that gives up finds what it was about.
type Known = Arc<Mutex<Option<Unrecorded>>>;

impl Hook {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let harness = self.harness;
        let (policy, trouble) = policy();
        if let Some(trouble) = trouble {
            surface.printer.warn(&trouble.to_string());
        }
        let known = Known::default();
        // What takes too long ends with this process, as safely as if it had been killed. It runs right here: another thread
        // would have to find its memory anew.
        let late = {
            let (surface, policy, known) = (surface.again(), policy.clone(), Arc::clone(&known));
            move || std::process::exit(answer(&surface, harness, &policy, too_late(&policy, &known)).into())
        };
        let watch = look::watch(Duration::from_secs(policy.time_limit_seconds), late);
        let done = record(surface, harness, policy.clone(), &known).await;
        watch.done();
        Ok(ExitCode::from(answer(surface, harness, &policy, done)))
    }
}

fn too_late(policy: &Policy, known: &Known) -> Done {
    let seconds = policy.time_limit_seconds;
    let error = Error::unavailable("hook_timeout", format!("recording it took more than {seconds} s"))
        .hint("the policy's time_limit_seconds may be raised: docs/hooks.md");
    let missed = known.lock().unwrap_or_else(PoisonError::into_inner).take();
    Done { told: None, handled: Err(error), missed }
}

/// What came of an event.
struct Done {
    told: Option<Told>,
    handled: Result<Handled>,
    /// What to note of it where it was not recorded.
    missed: Option<Unrecorded>,
}

/// Reads an event and records it.
async fn record(surface: &Surface, harness: Harness, policy: Policy, known: &Known) -> Done {
    let event = match standard_input("the event", INPUT).and_then(|raw| HookEvent::parse(harness, raw)) {
        Ok(event) => event,
        Err(error) => return Done { told: None, handled: Err(error), missed: None },
    };
    // Only the codes of errors are noted; the right one is put in its place when there is one.
    let unknown = Error::unavailable("hook_timeout", "it took too long");
    let missed = id().ok().map(|id| Unrecorded::of(&event, id, SystemClock.now(), &unknown));
    known.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&missed);
    let handled = carry_out(surface, &event, policy).await;
    let missed = missed.map(|missed| match &handled {
        Err(error) => Unrecorded { why: error.code().to_owned(), ..missed },
        Ok(_) => missed,
    });
    // Of an erased session or step nothing is noted either: it would come back by that.
    let missed = missed.filter(|missed| !matches!(missed.why.as_str(), "session_erased" | "step_erased"));
    let starts_a_tool = matches!(event.what, What::ToolStart(_));
    Done { told: Some(Told { name: event.name, starts_a_tool }), handled, missed }
}

async fn carry_out(surface: &Surface, event: &HookEvent, policy: Policy) -> Result<Handled> {
    let store = surface.open(Access::Create)?;
    let client = store.client().await?;
    let never = [master_file()?, std::env::home_dir()].into_iter().flatten();
    let never = never.map(|path| files::canonical(&path).unwrap_or(path)).collect();
    let options = HookOptions { policy, runner: process::starter(), never };
    let spool = Spool::beside(store.directory());
    let noted = spool.has_notes();
    if noted == Some(true) {
        let recorded = spool.drain(async |missed| client.hook_unrecorded(missed, &options).await).await;
        if let Err(error) = recorded {
            surface.printer.warn(&format!("what was not recorded before stays in {}: {error}", spool.path().display()));
        }
    }
    let handled = client.hook(event, &options).await?;
    if noted.is_none() {
        // Now, while there is room: it must not take any once the disk is full.
        spool.reserve().ok();
    }
    Ok(handled)
}

fn answer(surface: &Surface, harness: Harness, policy: &Policy, done: Done) -> u8 {
    let block = match &done.handled {
        Ok(handled) => handled.block.clone(),
        Err(error) => {
            surface.printer.warn(&format!("this event is not recorded: {error}"));
            if let Some(missed) = done.missed {
                note(surface, missed);
            }
            let starts = done.told.as_ref().is_none_or(|told| told.starts_a_tool);
            starts.then(|| format!("the call is not recorded ({}), so it is not made", error.code()))
        }
    };
    let block = block.filter(|_| policy.block);
    if let Ok(handled) = &done.handled {
        for warning in &handled.warnings {
            surface.printer.warn(warning);
        }
        if surface.printer.is_json() {
            let answered = Answered {
                harness: harness.name(),
                event: done.told.map(|told| told.name).unwrap_or_default(),
                id: handled.session.to_string(),
                branch: handled.branch.to_string(),
                seq: handled.recorded.map(|position| position.seq),
                block: block.clone(),
            };
            surface.printer.answer(&answered).ok();
        }
    }
    if let Some(why) = block {
        surface.printer.warn(&why);
        return BLOCKED;
    }
    if harness == Harness::GeminiCli && !surface.printer.is_json() {
        surface.printer.bytes(b"{}\n").ok();
    }
    0
}

/// Notes beside the store what was not recorded. Where that cannot be done either, only the warning tells.
fn note(surface: &Surface, missed: Unrecorded) {
    let Ok(directory) = surface.directory() else { return };
    let spool = Spool::beside(&directory);
    let path = spool.path().display().to_string();
    let noted = look::within(LAST_WORDS, move |_| spool.add(&missed));
    if let Some(Err(error)) = noted {
        surface.printer.warn(&format!("nor can it be noted in {path}: {error}"));
    }
}

/// The policy, and what is wrong with the file, where the built-in one holds instead of it.
fn policy() -> (Policy, Option<Error>) {
    let read = || -> Result<Option<Policy>> {
        let Some(bytes) = files::read_if_exists(&policy_file()?)? else { return Ok(None) };
        Policy::parse(&String::from_utf8_lossy(&bytes)).map(Some)
    };
    match read() {
        Ok(found) => (found.unwrap_or_default(), None),
        Err(error) => (Policy::default(), Some(error)),
    }
}

/// The file of the policy: the one that `SAMITE_HOOKS_POLICY` names, or one in the user's configuration directory.
///
/// # Errors
/// `invalid` when the user has no home directory and nothing names a file.
pub(super) fn policy_file() -> Result<PathBuf> {
    match std::env::var_os("SAMITE_HOOKS_POLICY").filter(|value| !value.is_empty()) {
        Some(path) => Ok(PathBuf::from(path)),
        None => Ok(configuration()?.join("hooks.toml")),
    }
}

fn id() -> Result<String> {
    Ok(HEXLOWER.encode(&random_id::<8>(&SystemRandomness::new())?))
}
