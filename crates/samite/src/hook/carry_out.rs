//! Carrying an event out: what becomes of it in the log.

use super::event::{Compacting, HookEvent, What};
use super::once::newly;
use super::policy::Policy;
use super::sessions::Place;
use super::spool::Unrecorded;
use crate::client::Client;
use crate::workspace::CheckpointOptions;
use crate::writer::{NewEvent, Writer, WriterOptions};
use samite_host::process::Identity;
use samite_model::{BranchId, EntryKind, ErrorKind, Position, Result, SessionId};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// How long the lease of a harness lasts whose process cannot be told, in nanoseconds: ten minutes.
const TIME_TO_LIVE: i64 = 600_000_000_000;

/// How often, and how long each time, a branch is waited for that somebody holds for a moment.
const WAITS: u32 = 40;
const WAIT: Duration = Duration::from_millis(50);

/// How often an event is carried out anew because the session went to another branch meanwhile.
const ROUNDS: usize = 3;

/// How events are carried out.
#[derive(Clone, Debug, Default)]
pub struct HookOptions {
    /// What tools can do.
    pub policy: Policy,
    /// The harness's process: when it is gone, what it left open is in doubt. None where that cannot be told.
    pub runner: Option<Identity>,
    /// What no workspace may hold, such as the master key, or be, such as all of a person's files.
    pub never: Vec<PathBuf>,
}

/// What became of an event.
#[derive(Clone, Debug)]
pub struct Handled {
    /// The session.
    pub session: SessionId,
    /// The branch.
    pub branch: BranchId,
    /// Where it was recorded; none when it was there already, or is not recorded.
    pub recorded: Option<Position>,
    /// What a person or the agent should know.
    pub warnings: Vec<String>,
    /// Why the call should not be made, where the policy blocks.
    pub block: Option<String>,
}

impl Client {
    /// Carries out an event of a harness. When this returns, what it made is durable. The same event again changes nothing.
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while another writer holds the session's branch; else as what it does: see
    /// [`Writer::append`], [`Writer::begin`], [`Writer::finish`] and [`Writer::checkpoint`].
    pub async fn hook(&self, event: &HookEvent, options: &HookOptions) -> Result<Handled> {
        let mut round = 0;
        loop {
            round += 1;
            match self.hook_once(event, options).await {
                // A person went back, or took over: it belongs to the branch that is current now.
                Err(error) if error.kind() == ErrorKind::Fenced && round < ROUNDS => {}
                other => return other,
            }
        }
    }

    async fn hook_once(&self, event: &HookEvent, options: &HookOptions) -> Result<Handled> {
        let place = self.hook_place(event).await?;
        let writer = self.hook_writer(&place, options, WAITS).await?;
        let mut handled = Handled {
            session: place.session,
            branch: writer.branch(),
            recorded: None,
            warnings: Vec::new(),
            block: None,
        };
        let keeps = event.what.begins_work() || (!writer.is_new && !event.what.ends_work());
        let done = writer.hook(&place, event, options, &mut handled).await;
        if !keeps {
            samite_host::kill_point("hook.before_release");
            // Until the next turn, a person may go back. A lease that stays would only keep them waiting: also one that was
            // taken for an event between two turns, or for one that could not be recorded.
            writer.release_after_act().await.ok();
        }
        done.map(|()| handled)
    }

    /// Becomes the writer that the short processes of one harness session share.
    async fn hook_writer(&self, place: &Place, options: &HookOptions, most: u32) -> Result<Writer> {
        let mut waits = 0;
        loop {
            let writer = WriterOptions {
                id: Some(place.key.clone()),
                process: options.runner,
                time_to_live: TIME_TO_LIVE,
                take_over: false,
            };
            match self.writer(place.session, place.branch, writer).await {
                // A person's command holds it for as long as it runs; another process of the same agent for longer than any
                // call should wait.
                Err(error) if error.code() == "lease_held" && waits < most => {
                    if waits == 0 && self.is_held_by(place.session, place.branch, &place.key).await? {
                        return Err(error);
                    }
                    waits += 1;
                    std::thread::sleep(WAIT);
                }
                other => return other,
            }
        }
    }

    /// Records what could not be recorded when it happened, and says whether it did: while the session that it is of is at
    /// work, only its own hooks can. When this returns, it is durable; again, it changes nothing.
    ///
    /// # Errors
    /// As [`Client::hook`].
    pub async fn hook_unrecorded(&self, missed: &Unrecorded, options: &HookOptions) -> Result<bool> {
        let event = missed.event()?;
        let place = self.hook_place(&event).await?;
        let writer = match self.hook_writer(&place, options, 0).await {
            Err(error) if error.code() == "lease_held" => return Ok(false),
            other => other?,
        };
        let recorded = writer.hook_unrecorded(missed).await;
        // It is not this agent's session, or none that is at work: whoever works in it next must not find it held.
        if writer.is_new {
            writer.release_after_act().await.ok();
        }
        recorded.map(|()| true)
    }
}

impl Writer {
    /// Carries an event out on this branch.
    async fn hook(&self, place: &Place, event: &HookEvent, options: &HookOptions, handled: &mut Handled) -> Result<()> {
        if place.is_new || event.what == What::SessionStart {
            handled.warnings.extend(self.hook_workspace(event, options).await?);
        }
        match &event.what {
            What::Repetition => return Ok(()),
            What::SessionStart | What::AgentStart | What::Other | What::Compaction(Compacting::After(None)) => {
                handled.recorded = self.hook_event(event).await?;
            }
            What::SessionEnd => {
                self.keep_transcript(event).await?;
                self.tree_now("session end", false).await?;
                handled.recorded = self.hook_event(event).await?;
                self.client.audit_as_tenant().anchor_idle(&[self.branch()]).await?;
            }
            What::Prompt(text) => {
                self.before_prompt().await?;
                let role = Some("user");
                let said = self.hook_append(event, EntryKind::MESSAGE, text.clone().into_bytes(), role).await?;
                handled.recorded = newly(said);
            }
            What::ModelResponse(response) => {
                let body = samite_model::json::canonical(response);
                let said = self.hook_append(event, EntryKind::MODEL_RESPONSE, body, Some("assistant")).await?;
                handled.recorded = newly(said);
            }
            What::ToolStart(tool) => self.tool_start(event, tool, options, handled).await?,
            What::ToolEnd { tool, output, ending } => {
                self.tool_end(event, tool, (output, *ending), options, handled).await?;
            }
            What::TurnEnd(words) | What::AgentEnd(words) => self.turn_end(event, words.as_deref(), handled).await?,
            What::Compaction(Compacting::Before) => {
                let label = Some("before a compaction".to_owned());
                let options = CheckpointOptions { label, no_environment: true, ..CheckpointOptions::default() };
                if self.workspace().await?.is_some() {
                    self.checkpoint(options).await?;
                }
                handled.recorded = self.hook_event(event).await?;
            }
            What::Compaction(Compacting::After(Some(summary))) => {
                let body = summary.clone().into_bytes();
                handled.recorded = newly(self.hook_append(event, EntryKind::COMPACTION, body, None).await?);
            }
        }
        Ok(())
    }

    async fn hook_unrecorded(&self, missed: &Unrecorded) -> Result<()> {
        let appended = self
            .append(NewEvent {
                kind: EntryKind::EVENT,
                body: missed.line().into_bytes(),
                attributes: Some(json!({"harness": missed.harness, "event": missed.name, "unrecorded": true})),
                dedupe: Some(format!("unrecorded {}", missed.id)),
                expected_head: None,
            })
            .await?;
        if !appended.duplicate {
            self.end_unrecorded(missed).await?;
        }
        Ok(())
    }
}
