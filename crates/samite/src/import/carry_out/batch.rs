//! One branch of an import: entries gathered into commits.

use super::Before;
use super::known::Known;
use crate::artifact::{ArtifactSource, PutArtifact};
use crate::client::Client;
use crate::core::Draft;
use crate::import::frame::plan::{Append, Attachment, CallStarted, DedupeId};
use crate::payload::{StepEnded, StepStarted};
use crate::policy::frame;
use crate::views::{self, IndexHash, OpenStep, Projection};
use crate::writer::{Writer, WriterOptions};
use samite_ledger::Guard;
use samite_model::step::{Effect, OutcomeKind};
use samite_model::{BranchId, EntryKind, Position, Result, SessionId};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// A commit has about this many entries, or this many bytes.
const BATCH_ENTRIES: usize = 256;
const BATCH_BYTES: usize = 4 << 20;
/// A call's input up to this many bytes stands in its step too; a larger one only in the entry that made the call.
const INPUT_BYTES: usize = 256;

pub(super) struct BranchImport {
    writer: Writer,
    /// The head once the batch is committed is this and the batch's length.
    head: u64,
    drafts: Vec<Draft>,
    bytes: usize,
    open: HashMap<[u8; 16], OpenStep>,
    /// The line before its steps.
    last: Option<Last>,
    /// Whether anything was added.
    added: bool,
}

/// A line with its entry.
struct Last {
    line: u64,
    /// Where the entry is; an earlier import may have made it.
    seq: u64,
    is_new: bool,
}

impl BranchImport {
    pub(super) async fn open(client: &Client, session: SessionId, branch: BranchId) -> Result<Self> {
        let process = samite_host::process::current().ok();
        let writer =
            client.writer(session, Some(branch), WriterOptions { process, ..WriterOptions::default() }).await?;
        let head = client.head(session, branch).await?;
        let (_, open) = writer.open_steps(true).await?;
        let open = open.iter().map(|step| (step.key, step.clone())).collect();
        Ok(Self { writer, head: head.seq, drafts: Vec::new(), bytes: 0, open, last: None, added: false })
    }

    fn next(&self) -> Position {
        Position { journal: self.writer.branch(), seq: self.head + self.drafts.len() as u64 + 1 }
    }

    fn push(&mut self, draft: Draft) {
        self.bytes += draft.payload.len();
        self.drafts.push(draft);
    }

    pub(super) async fn append(
        &mut self,
        known: &mut Known,
        append: &Append<'_>,
        range: Option<(u64, u64)>,
    ) -> Result<(Position, Option<Before>)> {
        // Never between a line and its steps: they are one act.
        if self.drafts.len() >= BATCH_ENTRIES || self.bytes >= BATCH_BYTES {
            self.flush().await?;
        }
        let (hash, branch) = (self.writer.own_hash(), self.writer.branch());
        let fingerprint = hash.hash("submitted", &[&append.kind.code().to_be_bytes(), &append.payload])?;
        let mut id = append.dedupe.as_str();
        let mut key = hash.hash("dedupe", &[id.as_bytes()])?;
        let mut before = None;
        if known.entry(branch, &key).is_some_and(|(_, known)| known != fingerprint) {
            id = append.dedupe_if_changed.as_str();
            key = hash.hash("dedupe", &[id.as_bytes()])?;
            before = append.class.map(|class| Before::Changed(append.line, class));
        }
        let also = append.known_as.as_ref().map(|id| hash.hash("dedupe", &[id.as_str().as_bytes()])).transpose()?;
        if let Some((position, _)) = known.entry(branch, &key).or_else(|| known.entry(branch, &also?)) {
            self.last = Some(Last { line: append.line, seq: position.seq, is_new: false });
            return Ok((position, before.or(append.class.map(Before::Stored))));
        }
        // Their bytes are durable before the entry is. One that died in between finds them by their ids.
        for (at, attachment) in append.attachments.iter().enumerate() {
            self.publish(attachment, &append.dedupe_if_changed.derived("attachment", at)).await?;
        }
        let attributes = attributes(append, range);
        let capture = self.writer.capture().await?;
        let framed = frame(&capture, append.kind, Some(id), attributes.as_ref(), &append.payload, Some(fingerprint))?;
        let mut rows = vec![views::dedupe(key, fingerprint)];
        rows.extend(framed.row);
        let draft = Draft {
            id: self.writer.core().entry_id()?,
            kind: append.kind,
            payload: framed.payload,
            views: Projection { rows, registers: Vec::new() },
        };
        let position = self.next();
        known.add(key, position, fingerprint);
        self.last = Some(Last { line: append.line, seq: position.seq, is_new: true });
        self.push(draft);
        Ok((position, before))
    }

    /// Publishes an attachment, in a commit of its own after what is before it. When this returns, it is durable.
    async fn publish(&mut self, attachment: &Attachment, dedupe: &DedupeId) -> Result<()> {
        self.flush().await?;
        let put = PutArtifact {
            source: ArtifactSource::Bytes(attachment.bytes.clone()),
            name: Some(attachment.name.clone()),
            of_type: None,
            mime: attachment.mime.clone(),
            description: None,
            inputs: Vec::new(),
            step: None,
            command: None,
            dedupe: Some(dedupe.as_str().to_owned()),
        };
        self.writer.put_artifact(&put).await?;
        // One that is there already has no new record, but the id may be new.
        let head = self.writer.core().journal(self.writer.branch()).await?.head;
        self.added |= head > self.head;
        self.head = head;
        Ok(())
    }

    fn last(&self, line: u64) -> Option<&Last> {
        self.last.as_ref().filter(|last| last.line == line)
    }

    pub(super) fn call_started(&mut self, known: &mut Known, call: &CallStarted) -> Result<()> {
        // An entry that was there before has its steps.
        let Some(source) = self.last(call.line).filter(|last| last.is_new).map(|last| last.seq) else { return Ok(()) };
        let input = call.input.as_ref().filter(|input| input.to_string().len() <= INPUT_BYTES);
        let started = StepStarted {
            key: call.tool_use.clone(),
            tool: call.tool.clone(),
            input: input.cloned().unwrap_or_else(|| json!({ "in_entry": source })),
            effect: Effect::Opaque,
            touches: Vec::new(),
            probe: None,
            attempt: 1,
            idempotency_key: self.writer.idempotency_key(&call.tool_use)?,
            first_started: None,
            tree: None,
            process: None,
            source: Some(source),
            redaction: None,
        };
        let hashes = views::step_hashes(&self.writer.own_hash(), &started)?;
        // A record that was changed since tells its calls again: each is one step, which may still be open.
        if known.has_step(self.writer.branch(), &hashes.key) {
            return Ok(());
        }
        let id = self.writer.core().entry_id()?;
        let start = self.next();
        let draft = self.writer.start_draft(id, &started, &hashes)?;
        known.add_step(hashes.key, start);
        self.open.insert(hashes.key, OpenStep::new(id, start, self.writer.epoch(), 1, &hashes));
        self.push(draft);
        Ok(())
    }

    pub(super) fn call_ended(&mut self, line: u64, tool_use: &str, failed: bool) -> Result<()> {
        // Also where the result was there first: its call may have been missing until now.
        let Some(source) = self.last(line).map(|last| last.seq) else { return Ok(()) };
        let key = views::step_key(&self.writer.own_hash(), tool_use)?;
        // A call that this branch does not know was reported by the plan.
        let Some(open) = self.open.remove(&key) else { return Ok(()) };
        let ended = StepEnded {
            step: open.id,
            start: open.start,
            kind: if failed { OutcomeKind::Failed } else { OutcomeKind::Completed },
            output: json!({ "in_entry": source }),
            not_run: None,
            duration: None,
            source: Some(source),
        };
        let kind = if failed { EntryKind::STEP_FAILED } else { EntryKind::STEP_COMPLETED };
        let draft = self.writer.core().draft(kind, &ended, views::step_ended(&open, &ended))?;
        self.push(draft);
        Ok(())
    }

    /// Commits the batch. When this returns, it is durable.
    pub(super) async fn flush(&mut self) -> Result<()> {
        if self.drafts.is_empty() {
            return Ok(());
        }
        let drafts = std::mem::take(&mut self.drafts);
        let count = drafts.len() as u64;
        self.bytes = 0;
        let guard = Guard::Head { journal: self.writer.branch(), seq: self.head };
        self.writer.commit(vec![guard], drafts).await?;
        self.head += count;
        self.added = true;
        Ok(())
    }

    /// Makes everything durable, gives the branch up, and says whether anything was added.
    pub(super) async fn finish(mut self) -> Result<(BranchId, bool)> {
        let flushed = self.flush().await;
        let branch = self.writer.branch();
        self.writer.let_go(true, flushed).await?;
        Ok((branch, self.added))
    }
}

/// What an entry carries beside its bytes: only what its kind does not say.
fn attributes(append: &Append<'_>, range: Option<(u64, u64)>) -> Option<Value> {
    let attributes = append.attributes();
    let Some((from, to)) = range else { return attributes };
    let mut attributes = match attributes {
        Some(Value::Object(attributes)) => attributes,
        _ => Map::new(),
    };
    attributes.insert("from".to_owned(), from.into());
    attributes.insert("to".to_owned(), to.into());
    Some(Value::Object(attributes))
}
