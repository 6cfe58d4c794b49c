//! Which open step an outcome belongs to.

use super::carry_out::HookOptions;
use super::event::Tool;
use super::sessions::name;
use crate::log::ReadOptions;
use crate::payload::StepStarted;
use crate::recover::runner_of;
use crate::views::OpenStep;
use crate::writer::Writer;
use samite_model::{EntryKind, Result};
use serde_json::Value;

/// An open step that a call without an id may be.
pub(super) struct Alike {
    step: OpenStep,
    started: StepStarted,
    /// Whether this process of the agent started it, in the turn that runs.
    of_turn: bool,
}

/// Of calls at once, the one that began first.
pub(super) fn call_of_turn(alike: &[Alike]) -> Option<(OpenStep, StepStarted)> {
    alike.iter().find(|alike| alike.of_turn).map(|alike| (alike.step.clone(), alike.started.clone()))
}

/// Of calls of turns before, whose outcome comes late, the one that began last.
pub(super) fn call_before_turn(alike: &[Alike]) -> Option<(OpenStep, StepStarted)> {
    alike.iter().rfind(|alike| !alike.of_turn).map(|alike| (alike.step.clone(), alike.started.clone()))
}

impl Writer {
    /// The open step of a call, by the harness's id for it.
    pub(super) async fn open_call(&self, id: &str) -> Result<Option<(OpenStep, StepStarted)>> {
        let keys = self.hashes("step-key", name(id).as_bytes())?;
        let (_, open) = self.open_steps(false).await?;
        let Some(step) = open.iter().filter(|step| keys.contains(&step.key)).min_by_key(|step| step.start.seq) else {
            return Ok(None);
        };
        let started = self.core().entry_at(step.start).await?.json()?;
        Ok(Some((step.clone(), started)))
    }

    /// The open steps with the name and the input of a call, in their order, where nothing else tells which is its own. Those
    /// of an agent's process that is another one are left out: it was cut off in them, and an outcome that comes now is of a
    /// call that this process made.
    pub(super) async fn open_alike(&self, tool: &Tool, options: &HookOptions) -> Result<Vec<Alike>> {
        let (_, open) = self.open_steps(false).await?;
        let mut open: Vec<&OpenStep> = open.iter().collect();
        open.sort_by_key(|step| step.start.seq);
        let mut alike: Vec<Alike> = Vec::new();
        for step in open {
            let started: StepStarted = self.core().entry_at(step.start).await?.json()?;
            let is_it = started.input.get("name").and_then(Value::as_str) == Some(&tool.name)
                && started.input.get("input") == Some(&tool.input);
            let is_own = match (runner_of(&started), &options.runner) {
                (Some(of), Some(own)) => of == *own,
                _ => step.epoch == self.epoch() && !step.inherited,
            };
            let is_others = !is_own && runner_of(&started).is_some() && options.runner.is_some();
            if is_it && !is_others {
                alike.push(Alike { step: step.clone(), started, of_turn: is_own });
            }
        }
        if let Some(first) = alike.iter().find(|alike| alike.of_turn).map(|alike| alike.step.start.seq) {
            let turn = self.turn_since(first).await?;
            for alike in &mut alike {
                alike.of_turn = alike.of_turn && alike.step.start.seq > turn;
            }
        }
        Ok(alike)
    }

    /// Where the turn began, when that is not before an entry: at the last prompt, or the end of the turn before.
    async fn turn_since(&self, from: u64) -> Result<u64> {
        let kinds = vec![EntryKind::MESSAGE, EntryKind::TURN_ENDED];
        let options = ReadOptions { from, kinds, backward: true, ..ReadOptions::default() };
        for entry in self.read(options).await?.all().await? {
            let attributes = || entry.event().ok().and_then(|event| event.attributes);
            let is_prompt = || attributes().is_some_and(|of| of.get("role").and_then(Value::as_str) == Some("user"));
            if entry.header.kind == EntryKind::TURN_ENDED || is_prompt() {
                return Ok(entry.position.seq);
            }
        }
        Ok(0)
    }
}
