//! Turns and the tool calls in them.

use super::calls::{call_before_turn, call_of_turn};
use super::carry_out::{Handled, HookOptions};
use super::event::{Ending, HookEvent, Tool};
use super::once::newly;
use super::policy::Policy;
use super::sessions::name;
use super::spool::Unrecorded;
use super::tools::{Judged, Site, judge, tool_name};
use crate::log::ReadOptions;
use crate::payload::{StepEnded, StepStarted};
use crate::recover::runner_value;
use crate::step::{Begin, Completion, NewStep, StepHandle, output_of};
use crate::views::{OpenStep, row};
use crate::writer::Writer;
use samite_model::step::Effect;
use samite_model::{EntryKind, Result};
use serde_json::{Map, Value, json};

/// How many of the last outcomes are looked through for one that came twice.
const LAST: u64 = 64;

impl Writer {
    /// What changed since the last tree, while no tool ran, is somebody else's: going back keeps it.
    pub(super) async fn before_prompt(&self) -> Result<()> {
        let nobody_at_work = self.nobody_at_work().await?;
        self.tree_now("before a prompt", nobody_at_work).await?;
        samite_host::kill_point("hook.before_prompt");
        Ok(())
    }

    /// Whether no call is under way. One that no hook told the end of, as one that a person refused, is over with its turn.
    async fn nobody_at_work(&self) -> Result<bool> {
        let (_, open) = self.open_steps(false).await?;
        let going_on = open.iter().filter(|step| step.epoch == self.epoch() && !step.inherited);
        let Some(last) = going_on.map(|step| step.start.seq).max() else { return Ok(true) };
        let kinds = vec![EntryKind::TURN_ENDED];
        let options = ReadOptions { from: last, kinds, headers_only: true, ..ReadOptions::default() };
        Ok(!self.read(options).await?.next().await?.is_empty())
    }

    /// The agent's last words, and the end of its turn: the checkpoint that the session's cadence takes, and the
    /// deliverables.
    pub(super) async fn turn_end(&self, event: &HookEvent, words: Option<&str>, handled: &mut Handled) -> Result<()> {
        let said = match words.filter(|words| !words.is_empty()) {
            Some(words) => {
                let body = words.as_bytes().to_vec();
                self.hook_append(event, EntryKind::MESSAGE, body, Some("assistant")).await?
            }
            None => self.hook_append(event, EntryKind::EVENT, event.raw.clone(), None).await?,
        };
        samite_host::kill_point("hook.turn_said");
        self.keep_transcript(event).await?;
        handled.recorded = newly(said);
        // Known by what was said at it: whoever was cut off between the two, and says it again, ends the turn.
        let ended = self.end_turn(Some(&format!("hook turn said at {}", said.position.seq))).await?;
        samite_host::kill_point("hook.turn_ended");
        if ended.duplicate {
            self.tree_now("turn end", false).await?;
        }
        if let Some(error) = ended.failed {
            handled.warnings.push(format!("the turn ends without a checkpoint: {error}"));
        }
        match ended.delivered {
            Some(delivered) => {
                let failed = delivered.failed.iter().map(|failed| format!("{}: {}", failed.path, failed.error));
                handled.warnings.extend(failed.map(|why| format!("a deliverable is not published: {why}")));
                let passed = delivered.passed_over.iter();
                handled
                    .warnings
                    .extend(passed.map(|path| format!("{path} is not published: it was erased as an artifact")));
            }
            None => handled.warnings.push("deliverables are not published: they could not be looked at".to_owned()),
        }
        Ok(())
    }

    /// What a call is as a step.
    async fn step_of(&self, event: &HookEvent, tool: &Tool, options: &HookOptions) -> Result<NewStep> {
        let policy: &Policy = &options.policy;
        let workspace = self.workspace().await?;
        let here = event.directory.clone().unwrap_or_default();
        let directory = samite_host::files::canonical(&here).unwrap_or(here);
        let site = Site { workspace: workspace.as_ref().map(|found| found.directory.as_path()), directory: &directory };
        let mut input = Map::new();
        input.insert("name".to_owned(), tool.name.clone().into());
        input.insert("input".to_owned(), tool.input.clone());
        if !event.more.is_empty() {
            input.insert("more".to_owned(), Value::Object(event.more.clone()));
        }
        let mut step = NewStep::new(key_of(event, tool), name(&tool_name(policy, tool)), Value::Object(input));
        step.process = options.runner.as_ref().map(runner_value).transpose()?;
        match judge(policy, tool, &site) {
            Judged::Idempotent => step.effect = Effect::Idempotent,
            Judged::Contained(within) => step.effect = Effect::Contained { within },
            Judged::Push(push) => {
                if let Some((probe, touched)) = push.probe(&directory) {
                    step.effect = Effect::Observable { settle_seconds: None };
                    step.probe = Some(probe);
                    step.touches = vec![touched];
                }
            }
            Judged::Opaque => {}
        }
        Ok(step)
    }

    /// A tool is about to run: its start is durable before it does.
    pub(super) async fn tool_start(
        &self,
        event: &HookEvent,
        tool: &Tool,
        options: &HookOptions,
        handled: &mut Handled,
    ) -> Result<()> {
        let mut step = self.step_of(event, tool, options).await?;
        if matches!(step.effect, Effect::Contained { .. }) {
            step.tree = self.tree_now("before a tool", false).await?;
        }
        samite_host::kill_point("hook.before_start");
        let begun = if options.policy.block { self.begin(&step).await } else { self.begin_observed(&step).await };
        match begun {
            Ok(Begin::Run(handle)) => {
                samite_host::kill_point("hook.started");
                handled.recorded = Some(handle.position);
            }
            Ok(Begin::Replay(outcome)) => {
                if let Some(other) = outcome.not_run {
                    let start = other.start.seq;
                    handled.block = Some(format!(
                        "it may be the same act as a call that was cut off and did happen (seq {start}): look before you \
                         repeat it"
                    ));
                }
            }
            Ok(Begin::InDoubt(doubt)) if !doubt.same_key => {
                let tool = &doubt.step.started.tool;
                let (session, seq) = (self.session().short(), doubt.step.start.seq);
                handled.block = Some(format!(
                    "a call of {tool} was cut off (seq {seq}) and may have happened: `samite recover {session}` settles it"
                ));
            }
            // It came twice.
            Ok(Begin::Busy(_) | Begin::InDoubt(_)) => {}
            Err(error) if error.code() == "step_mismatch" => {
                handled.warnings.push(error.to_string());
                handled.recorded = self.hook_event(event).await?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// A tool has run: its outcome, with the workspace's tree where it may have changed files.
    pub(super) async fn tool_end(
        &self,
        event: &HookEvent,
        tool: &Tool,
        (output, ending): (&Value, Ending),
        options: &HookOptions,
        handled: &mut Handled,
    ) -> Result<()> {
        let completion = completion(event, output, ending);
        let alike = if tool.id.is_none() { self.open_alike(tool, options).await? } else { Vec::new() };
        let first = match &tool.id {
            Some(id) => self.open_call(id).await?,
            None => call_of_turn(&alike),
        };
        if let Some((open, started)) = &first {
            handled.recorded = Some(self.end_step(open, started, &completion).await?);
            return Ok(());
        }
        if self.has_ended(event, tool, &completion).await? {
            return Ok(());
        }
        if let Some((open, started)) = call_before_turn(&alike) {
            handled.recorded = Some(self.end_step(&open, &started, &completion).await?);
            return Ok(());
        }
        // Its start was not seen, or could not be recorded: both are now, since it did run.
        let step = self.step_of(event, tool, options).await?;
        match self.begin_observed(&step).await? {
            Begin::Run(handle) => {
                let completion =
                    Completion { output: with(completion.output, "start_not_seen", true.into()), ..completion };
                handled.recorded = Some(self.end(&handle, &step.effect, &completion).await?);
            }
            _ => {
                handled.recorded = self.hook_event(event).await?;
            }
        }
        Ok(())
    }

    /// Whether a call that is not open has this very outcome: it came twice.
    async fn has_ended(&self, event: &HookEvent, tool: &Tool, completion: &Completion) -> Result<bool> {
        if let Some(id) = &tool.id {
            let keys = self.hashes("step-key", name(id).as_bytes())?;
            return Ok(self.latest_row(row::STEP, keys).await?.is_some());
        }
        let head = self.core().journal(self.branch()).await?.head;
        let kinds = vec![EntryKind::STEP_COMPLETED, EntryKind::STEP_FAILED];
        let from = head.saturating_sub(LAST).max(1);
        let entries = self.read(ReadOptions { from, kinds, ..ReadOptions::default() }).await?.all().await?;
        let again = output_of(&completion.output)?;
        for entry in &entries {
            let Ok(ended) = entry.json::<StepEnded>() else { continue };
            let told = ended.output.get("event").and_then(Value::as_str);
            if (told.is_some() && told == event.identity.as_deref()) || self.core().repeats(entry, &again).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn end_step(
        &self,
        open: &OpenStep,
        started: &StepStarted,
        completion: &Completion,
    ) -> Result<samite_model::Position> {
        let handle = StepHandle {
            id: open.id,
            position: open.start,
            attempt: open.attempt,
            idempotency_key: started.idempotency_key.clone(),
            key: started.key.clone(),
        };
        self.end(&handle, &started.effect, completion).await
    }

    async fn end(
        &self,
        handle: &StepHandle,
        effect: &Effect,
        completion: &Completion,
    ) -> Result<samite_model::Position> {
        samite_host::kill_point("hook.before_outcome");
        let position = if matches!(effect, Effect::Idempotent) {
            self.finish(handle, completion).await?
        } else {
            self.finish_with_tree(handle, completion).await?.position
        };
        samite_host::kill_point("hook.ended");
        Ok(position)
    }

    /// Ends the step of a call whose outcome could not be recorded when it came: that it ended is known, and what it put
    /// out is not.
    pub(super) async fn end_unrecorded(&self, missed: &Unrecorded) -> Result<()> {
        let (Some(_), Some(ending)) = (&missed.tool, missed.ending) else { return Ok(()) };
        let Some(id) = &missed.call else { return Ok(()) };
        if let Some((open, started)) = self.open_call(id).await? {
            let output = json!({ "not_recorded": missed.why });
            let completion = match ending {
                Ending::Completed => Completion::completed(output),
                Ending::Failed => Completion::failed(output, false),
            };
            self.end_step(&open, &started, &completion).await?;
        }
        Ok(())
    }
}

/// The key of a call's step: the harness's id for it, or one that only this very event has.
fn key_of(event: &HookEvent, tool: &Tool) -> String {
    match (&tool.id, &event.identity) {
        (Some(id), _) => name(id),
        (None, Some(identity)) => format!("call {identity}"),
        (None, None) => format!("call {}", blake3::hash(&event.raw).to_hex()),
    }
}

fn completion(event: &HookEvent, output: &Value, ending: Ending) -> Completion {
    let mut kept = json!({ "response": output });
    if !event.more.is_empty() {
        kept = with(kept, "more", Value::Object(event.more.clone()));
    }
    if let Some(identity) = &event.identity {
        kept = with(kept, "event", identity.clone().into());
    }
    match ending {
        Ending::Completed => Completion::completed(kept),
        Ending::Failed => Completion::failed(kept, false),
    }
}

fn with(mut value: Value, name: &str, more: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.insert(name.to_owned(), more);
    }
    value
}
