//! Carrying an event out: what becomes of it in the log.

use super::event::{Compacting, HookEvent, What};
use super::policy::Policy;
use super::sessions::Place;
use super::spool::Unrecorded;
use crate::client::Client;
use crate::log::ReadOptions;
use crate::payload::Compaction;
use crate::workspace::CheckpointOptions;
use crate::writer::{NewEvent, Writer, WriterOptions};
use samite_host::process::Identity;
use samite_model::{BranchId, EntryKind, ErrorKind, Position, Result, SessionId};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// How long the lease of a harness lasts whose process cannot be told, in nanoseconds: ten minutes.
const TIME_TO_LIVE: i64 = 600_000_000_000;

/// How often, and how long each time, a branch is waited for that somebody holds for a moment.
const WAITS: u32 = 40;
const WAIT: Duration = Duration::from_millis(50);

/// How often an event is carried out anew because the session went to another branch meanwhile.
const ROUNDS: usize = 3;

/// An event's other fields are kept beside it up to so many bytes of JSON, and as an event of their own beyond.
const ATTRIBUTES: usize = 32 << 10;

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
        let writer = self.hook_writer(&place, options).await?;
        let mut handled = Handled {
            session: place.session,
            branch: writer.branch(),
            recorded: None,
            warnings: Vec::new(),
            block: None,
        };
        if place.is_new || event.what == What::SessionStart {
            handled.warnings.extend(writer.hook_workspace(event, options).await?);
        }
        let ends = matches!(event.what, What::TurnEnd(_) | What::SessionEnd | What::AgentEnd(_));
        writer.hook(event, options, &mut handled).await?;
        if ends {
            samite_host::kill_point("hook.before_release");
            // Until the next turn, a person may go back. A lease that stays would only keep them waiting.
            writer.release().await.ok();
        }
        Ok(handled)
    }

    /// Becomes the writer that the short processes of one harness session share.
    async fn hook_writer(&self, place: &Place, options: &HookOptions) -> Result<Writer> {
        let mut waits = 0;
        loop {
            let writer = WriterOptions {
                id: Some(place.key.clone()),
                process: options.runner,
                time_to_live: TIME_TO_LIVE,
                take_over: false,
            };
            match self.writer(place.session, place.branch, writer).await {
                // A person's command holds it for as long as it runs.
                Err(error) if error.code() == "lease_held" && waits < WAITS => {
                    waits += 1;
                    std::thread::sleep(WAIT);
                }
                other => return other,
            }
        }
    }

    /// Records what could not be recorded when it happened. When this returns, it is durable; again, it changes nothing.
    ///
    /// # Errors
    /// As [`Client::hook`].
    pub async fn hook_unrecorded(&self, missed: &Unrecorded, options: &HookOptions) -> Result<()> {
        let event = missed.event()?;
        let place = self.hook_place(&event).await?;
        let writer = self.hook_writer(&place, options).await?;
        let appended = writer
            .append(NewEvent {
                kind: EntryKind::EVENT,
                body: missed.line().into_bytes(),
                attributes: Some(json!({"harness": missed.harness, "event": missed.name, "unrecorded": true})),
                dedupe: Some(format!("unrecorded {}", missed.id)),
                expected_head: None,
            })
            .await?;
        if !appended.duplicate {
            writer.end_unrecorded(missed).await?;
        }
        Ok(())
    }
}

impl Writer {
    /// Carries an event out on this branch.
    async fn hook(&self, event: &HookEvent, options: &HookOptions, handled: &mut Handled) -> Result<()> {
        match &event.what {
            What::Repetition => return Ok(()),
            What::SessionStart | What::AgentStart | What::Other | What::Compaction(Compacting::After(None)) => {
                handled.recorded = self.hook_append(event, EntryKind::EVENT, event.raw.clone(), None).await?;
            }
            What::SessionEnd => {
                self.keep_transcript(event).await?;
                self.tree_now("session end", false).await?;
                handled.recorded = self.hook_append(event, EntryKind::EVENT, event.raw.clone(), None).await?;
            }
            What::Prompt(text) => {
                self.before_prompt().await?;
                let role = Some("user");
                handled.recorded = self.hook_append(event, EntryKind::MESSAGE, text.clone().into_bytes(), role).await?;
            }
            What::ModelResponse(response) => {
                let body = crate::core::to_json(response)?;
                handled.recorded = self.hook_append(event, EntryKind::MODEL_RESPONSE, body, Some("assistant")).await?;
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
                handled.recorded = self.hook_append(event, EntryKind::EVENT, event.raw.clone(), None).await?;
            }
            What::Compaction(Compacting::After(Some(summary))) => {
                let body = summary.clone().into_bytes();
                handled.recorded = self.hook_append(event, EntryKind::COMPACTION, body, None).await?;
            }
        }
        Ok(())
    }

    /// Appends an event, unless it came before. None when it did.
    pub(super) async fn hook_append(
        &self,
        event: &HookEvent,
        kind: EntryKind,
        body: Vec<u8>,
        role: Option<&str>,
    ) -> Result<Option<Position>> {
        let mut attributes = attributes(event, role, body == event.raw);
        let more = attributes.get("more").map_or(0, |more| more.to_string().len());
        if more > ATTRIBUTES {
            attributes.remove("more");
            if self
                .append_once(event, EntryKind::EVENT, event.raw.clone(), attributes.clone(), "more ")
                .await?
                .is_none()
            {
                return Ok(None);
            }
        }
        if kind == EntryKind::COMPACTION {
            let head = self.core().journal(self.branch()).await?.head;
            if let Value::Object(range) = crate::core::to_value(&Compaction { from: 1, to: head })? {
                attributes.extend(range);
            }
        }
        let recorded = self.append_once(event, kind, body, attributes, "").await?;
        samite_host::kill_point("hook.appended");
        Ok(recorded)
    }

    /// Appends once: by what tells the event from others, or else unless it is among the last entries.
    async fn append_once(
        &self,
        event: &HookEvent,
        kind: EntryKind,
        body: Vec<u8>,
        attributes: Map<String, Value>,
        which: &str,
    ) -> Result<Option<Position>> {
        let dedupe = event
            .identity
            .as_ref()
            .map(|identity| format!("hook {which}{} {identity}", super::sessions::name(&event.name)));
        let new = |expected_head| NewEvent {
            kind,
            body: body.clone(),
            attributes: Some(Value::Object(attributes.clone())),
            dedupe: dedupe.clone(),
            expected_head,
        };
        if dedupe.is_some() {
            let appended = match self.append(new(None)).await {
                // A range that moved on meanwhile is no other event.
                Err(error) if error.code() == "dedupe_mismatch" => return Ok(None),
                other => other?,
            };
            return Ok((!appended.duplicate).then_some(appended.position));
        }
        for _ in 0..ROUNDS {
            let head = self.core().journal(self.branch()).await?.head;
            if self.is_among_last(head, event, kind, &body).await? {
                return Ok(None);
            }
            match self.append(new(Some(head))).await {
                Err(error) if error.code() == "head_moved" => {}
                other => return other.map(|appended| Some(appended.position)),
            }
        }
        self.append(new(None)).await.map(|appended| Some(appended.position))
    }

    /// Whether one of the last three entries is this very event.
    async fn is_among_last(&self, head: u64, event: &HookEvent, kind: EntryKind, body: &[u8]) -> Result<bool> {
        if head == 0 {
            return Ok(false);
        }
        let options = ReadOptions { from: head.saturating_sub(2), kinds: vec![kind], ..ReadOptions::default() };
        let entries = self.read(options).await?.all().await?;
        let is_same = |entry: &crate::log::Entry| {
            entry.event().is_ok_and(|known| {
                let name = known.attributes.as_ref().and_then(|known| known.get("event")).and_then(Value::as_str);
                known.body == body && name == Some(&event.name)
            })
        };
        Ok(entries.iter().any(is_same))
    }
}

/// What is kept beside an event's words.
fn attributes(event: &HookEvent, role: Option<&str>, is_whole: bool) -> Map<String, Value> {
    let mut attributes = Map::new();
    attributes.insert("harness".to_owned(), event.harness.name().into());
    attributes.insert("event".to_owned(), super::sessions::name(&event.name).into());
    if let Some(role) = role {
        attributes.insert("role".to_owned(), role.into());
    }
    // An event that is kept whole says these itself.
    if !is_whole {
        attributes.insert("session".to_owned(), event.session.clone().into());
        if let Some(transcript) = event.transcript.as_ref().and_then(|path| path.to_str()) {
            attributes.insert("transcript".to_owned(), transcript.into());
        }
    }
    // How far the harness's own transcript went, where there is one: it tells which part of it this position has.
    let length = event.transcript.as_ref().and_then(|path| samite_host::files::size(path).ok());
    if let Some(length) = length {
        attributes.insert("transcript_bytes".to_owned(), length.into());
    }
    if !is_whole && !event.more.is_empty() {
        attributes.insert("more".to_owned(), Value::Object(event.more.clone()));
    }
    attributes
}
