//! From the rows of a thread to a plan. It holds hashes and numbers, no payload.

use super::database::{Blob, BlobRow, Checkpoint, CheckpointRow, Write};
use super::message::{Message, messages};
use super::value::decode;
use crate::import::frame::context::ContextRole;
use crate::import::frame::flat::tool_name;
use crate::import::frame::ids::{Key, key, printable};
use crate::import::frame::plan::{Append, Begin, BranchRef, CallStarted, DedupeId, Fork, Item, LineClass, SessionRef};
use crate::import::frame::report::{Finding, FindingKind, Report, Unit, shown};
use samite_model::EntryKind;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// A checkpoint's place.
#[derive(Clone, Copy, Debug)]
struct Node {
    branch: usize,
    /// Its own row.
    row: u64,
    /// The last row of it and its writes.
    line: u64,
    followed: bool,
}

/// A call of a tool.
#[derive(Debug)]
struct Call {
    branch: usize,
    line: u64,
    tool_use: String,
    tool: String,
    has_ended: bool,
}

/// A namespace: one session.
#[derive(Debug, Default)]
struct Session {
    /// Where each branch comes from; the first from nowhere.
    branches: Vec<Option<(usize, u64)>>,
    current: usize,
    nodes: HashMap<Key, Node>,
    /// The branch that holds each message, its row, and a hash of it.
    messages: HashMap<Key, Vec<(usize, u64, Key)>>,
    calls: Vec<Call>,
    calls_by_id: HashMap<Key, Vec<usize>>,
    /// Blobs that were told, with their rows; of one that waits 0.
    blobs: HashMap<Key, u64>,
    /// What messages without an id that were written after a checkpoint are known by, where they were told from there.
    written: HashMap<Key, Vec<DedupeId>>,
    /// Values that were read for the checkpoint that comes next.
    waiting: Vec<(BlobRow, Blob)>,
}

impl Session {
    /// Whether a row of a branch is on the current branch or in what it inherits.
    fn inherits(&self, branch: usize, line: u64) -> bool {
        let (mut at, mut until) = (self.current, u64::MAX);
        loop {
            if at == branch {
                return line <= until;
            }
            let Some((parent, fork)) = self.branches.get(at).copied().flatten() else { return false };
            (at, until) = (parent, until.min(fork));
        }
    }
}

/// Plans one thread.
#[derive(Debug)]
pub(super) struct Planner {
    thread: String,
    number: u64,
    /// The namespace that is read.
    session: Session,
    /// Those before it.
    done: Vec<Session>,
    begun: bool,
    line: u64,
    report: Report,
}

/// What the session of a thread's namespace is known by: of the first thread, second one, … that has its name.
pub(super) fn session_key(thread: &str, number: u64, namespace: &str) -> String {
    // No part has a space in it.
    let first = format!("langgraph:{}", printable(thread, 200));
    let own = if number > 1 { format!("{first} {number}") } else { first };
    if namespace.is_empty() { own } else { format!("{own} / {}", printable(namespace, 200)) }
}

/// What a checkpoint's row is known by.
pub(super) fn checkpoint_id(id: &str) -> DedupeId {
    DedupeId::of_parts("row", &["checkpoint", id])
}

/// What a write's row is known by.
pub(super) fn write_id(checkpoint: &str, write: &Write) -> DedupeId {
    let index = write.index.to_string();
    again(DedupeId::of_parts("row", &["write", checkpoint, &write.task, &index]), write.again)
}

/// What a row is known by that has the key of others before it.
fn again(id: DedupeId, before: u64) -> DedupeId {
    if before == 0 { id } else { id.derived("again", usize::try_from(before).unwrap_or(usize::MAX)) }
}

impl Planner {
    /// A plan for the first thread, second one, … that has its name.
    pub(super) fn new(thread: &str, number: u64) -> Self {
        let report = Report { unit: Unit::Row, ..Report::default() };
        let (session, done) = (Session::default(), Vec::new());
        Self { thread: thread.to_owned(), number, session, done, begun: false, line: 0, report }
    }

    /// How many rows there were.
    pub(super) fn rows(&self) -> u64 {
        self.line
    }

    fn find(&mut self, kind: FindingKind) {
        self.report.findings.push(Finding { line: self.line, kind });
    }

    fn reference(&self) -> SessionRef {
        SessionRef(self.done.len())
    }

    /// A namespace starts.
    pub(super) fn begin(&mut self, namespace: &str) -> Vec<Item<'static>> {
        let before = std::mem::replace(&mut self.session, Session { branches: vec![None], ..Session::default() });
        if std::mem::replace(&mut self.begun, true) {
            self.done.push(before);
        }
        let of = |namespace: &str| session_key(&self.thread, self.number, namespace);
        // node:task|node:task
        let parent = namespace.rsplit_once('|').map_or("", |(parent, _)| parent);
        let mut begin = Begin {
            session: self.reference(),
            harness: "langgraph",
            key: of(namespace),
            session_id: self.thread.clone(),
            line: self.line + 1,
            ..Begin::default()
        };
        if !namespace.is_empty() {
            begin.agent = Some(namespace.chars().filter(|one| !one.is_control()).take(200).collect());
            begin.parent = Some(of(parent));
        }
        vec![Item::Begin(begin)]
    }

    /// The channels whose values stand elsewhere, in versions that were not told yet.
    pub(super) fn missing_blobs(&self, checkpoint: Option<&Value>) -> Vec<(String, String)> {
        let versions = checkpoint.and_then(|checkpoint| checkpoint.get("channel_versions"));
        let versions = versions.and_then(Value::as_object).cloned().unwrap_or_default();
        let version = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let all = versions.into_iter().map(|(channel, value)| (channel, version(value)));
        all.filter(|(channel, version)| !self.has_blob(channel, version)).collect()
    }

    /// Whether a blob was told.
    pub(super) fn has_blob(&self, channel: &str, version: &str) -> bool {
        self.session.blobs.contains_key(&key(blob_id(channel, version).as_str().as_bytes()))
    }

    /// A blob of the checkpoint that comes next.
    pub(super) fn take_blob(&mut self, row: BlobRow, blob: Blob) {
        self.session.blobs.insert(key(blob_id(&row.channel, &row.version).as_str().as_bytes()), 0);
        self.session.waiting.push((row, blob));
    }

    /// A blob that no checkpoint names, or that has the name of another.
    pub(super) fn other_blob(&mut self, row: &BlobRow, blob: &Blob) -> Vec<Item<'static>> {
        let mut items = Vec::new();
        self.blob(row, blob, &mut items);
        items
    }

    fn blob(&mut self, row: &BlobRow, blob: &Blob, items: &mut Vec<Item<'static>>) -> Option<Value> {
        let BlobRow { channel, version, again: before, .. } = row;
        let value = decode(&blob.encoding, &blob.bytes);
        let more = [("row", json!("blob")), ("channel", json!(channel)), ("version", json!(version))];
        let dedupe = blob_id(channel, version);
        let id = key(dedupe.as_str().as_bytes());
        if *before == 0 {
            self.session.blobs.insert(id, self.line + 1);
        }
        let first = self.session.blobs.get(&id).copied().unwrap_or_default();
        let same = FindingKind::SameIdOtherBytes { uuid: shown(channel), first };
        let findings = if *before == 0 { Vec::new() } else { vec![same] };
        self.row(again(dedupe, *before), &blob.encoding, &blob.bytes, value.is_some(), &more, &findings, items);
        value
    }

    /// A checkpoint, and the messages that are new in it.
    pub(super) fn checkpoint(
        &mut self,
        at: &CheckpointRow,
        row: &Checkpoint,
        decoded: Option<&Value>,
    ) -> Vec<Item<'static>> {
        let mut items = Vec::new();
        let CheckpointRow { id, parent, .. } = at;
        let dedupe = checkpoint_id(id);
        let more = [
            ("row", json!("checkpoint")),
            ("checkpoint", json!(id)),
            ("parent", json!(parent)),
            ("metadata", decode("json", &row.metadata).unwrap_or_default()),
        ];
        if let Some(first) = self.session.nodes.get_mut(&key(id.as_bytes())).filter(|_| at.again > 0) {
            let same = FindingKind::SameIdOtherBytes { uuid: shown(id), first: first.row };
            first.line = self.line + 1;
            self.session.current = first.branch;
            let dedupe = again(dedupe, at.again);
            self.row(dedupe, &row.encoding, &row.bytes, decoded.is_some(), &more, &[same], &mut items);
            return items;
        }
        let mut findings = Vec::new();
        if let Some(parent) = parent {
            let reference = self.reference();
            let session = &mut self.session;
            match session.nodes.get_mut(&key(parent.as_bytes())) {
                Some(node) if node.followed => {
                    let (from, at_line) = (node.branch, node.line);
                    session.branches.push(Some((from, at_line)));
                    session.current = session.branches.len() - 1;
                    items.push(Item::Fork(Fork {
                        session: reference,
                        branch: BranchRef(session.current),
                        from: BranchRef(from),
                        at_line,
                        line: self.line + 1,
                        key: dedupe.clone(),
                    }));
                }
                Some(node) => {
                    node.followed = true;
                    session.current = node.branch;
                }
                None => findings.push(FindingKind::ParentMissing { parent: shown(parent) }),
            }
        }
        let mut values: Vec<(String, Value)> = Vec::new();
        for (row, blob) in std::mem::take(&mut self.session.waiting) {
            let value = self.blob(&row, &blob, &mut items);
            values.extend(value.map(|value| (row.channel, value)));
        }
        let inside = decoded.and_then(|decoded| decoded.get("channel_values"));
        if let Some(inside) = inside.and_then(Value::as_object) {
            // By name, which is the order that the same file has in every build and from every saver.
            let sorted: BTreeMap<_, _> = inside.iter().collect();
            values.extend(sorted.into_iter().map(|(channel, value)| (channel.clone(), value.clone())));
        }
        // The row's own number: its messages come before it, and belong to it.
        let line = self.line + 1;
        let mut taken = HashMap::new();
        for (channel, value) in &values {
            // What was given to the graph stands in its channels as well.
            if !channel.starts_with("__") {
                self.told(line, channel, value, parent.as_deref(), &mut taken, &mut items);
            }
        }
        self.row(dedupe, &row.encoding, &row.bytes, decoded.is_some(), &more, &findings, &mut items);
        let node = Node { branch: self.session.current, row: self.line, line: self.line, followed: false };
        self.session.nodes.insert(key(id.as_bytes()), node);
        items
    }

    /// A pending write of a checkpoint; of one that nothing follows, with the messages in it.
    pub(super) fn write(&mut self, checkpoint: &str, write: &Write, is_leaf: bool) -> Vec<Item<'static>> {
        let mut items = Vec::new();
        let line = self.line + 1;
        let session = &mut self.session;
        let mut findings = Vec::new();
        match session.nodes.get_mut(&key(checkpoint.as_bytes())) {
            Some(node) => {
                node.line = line;
                session.current = node.branch;
            }
            None => findings.push(FindingKind::ParentMissing { parent: shown(checkpoint) }),
        }
        let value = decode(&write.value.encoding, &write.value.bytes);
        if let Some(value) = value.as_ref().filter(|_| !write.channel.starts_with("__") && write.again == 0) {
            self.written(checkpoint, write, value, is_leaf, &mut items);
        }
        if write.again > 0 {
            // It stands right behind the others.
            findings.push(FindingKind::SameIdOtherBytes { uuid: shown(&write.task), first: line - write.again });
        }
        let dedupe = write_id(checkpoint, write);
        let more = [
            ("row", json!("write")),
            ("checkpoint", json!(checkpoint)),
            ("task", json!(write.task)),
            ("index", json!(write.index)),
            ("channel", json!(write.channel)),
        ];
        let (encoding, bytes) = (&write.value.encoding, &write.value.bytes);
        self.row(dedupe, encoding, bytes, value.is_some(), &more, &findings, &mut items);
        items
    }

    /// The messages of a pending write: told where no checkpoint has them yet, and known again where one has.
    fn written(
        &mut self,
        checkpoint: &str,
        write: &Write,
        value: &Value,
        is_leaf: bool,
        items: &mut Vec<Item<'static>>,
    ) {
        let (line, channel, index) = (self.line + 1, write.channel.as_str(), write.index.to_string());
        for (at, message) in messages(value).into_iter().enumerate() {
            if message.has_id {
                if is_leaf {
                    self.tell(line, channel, &message, None, items);
                }
                continue;
            }
            // The checkpoint that takes it up gives it an id: until then it is known by where it was written.
            let place = ["write", checkpoint, &write.task, &index, &at.to_string()];
            let dedupe = DedupeId::of_parts("message", &[&[channel], &place[..]].concat());
            if is_leaf {
                if !self.has_message(channel, &message) {
                    self.append_message(line, channel, &message, dedupe, None, items);
                }
            } else {
                self.session.written.entry(bare_key(checkpoint, channel, &message)).or_default().push(dedupe);
            }
        }
    }

    /// The messages of a channel of a checkpoint that are new on the current branch. `taken` counts how many equal ones
    /// that were written after its parent are taken up already.
    fn told(
        &mut self,
        line: u64,
        channel: &str,
        value: &Value,
        parent: Option<&str>,
        taken: &mut HashMap<Key, usize>,
        items: &mut Vec<Item<'static>>,
    ) {
        for message in messages(value) {
            let mut known_as = None;
            if let Some(parent) = parent.filter(|_| !self.has_message(channel, &message)) {
                let bare = bare_key(parent, channel, &message);
                if let Some(all) = self.session.written.get(&bare) {
                    let count = taken.entry(bare).or_default();
                    known_as = all.get(*count).cloned();
                    *count += 1;
                }
            }
            self.tell(line, channel, &message, known_as, items);
        }
    }

    /// Whether the current branch has a message, or inherits it.
    fn has_message(&self, channel: &str, message: &Message) -> bool {
        let id = key(message_id(channel, message).as_str().as_bytes());
        self.session.messages.get(&id).is_some_and(|all| {
            all.iter()
                .any(|(branch, line, content)| *content == message.content && self.session.inherits(*branch, *line))
        })
    }

    /// A message, unless the current branch has it.
    fn tell(
        &mut self,
        line: u64,
        channel: &str,
        message: &Message,
        known_as: Option<DedupeId>,
        items: &mut Vec<Item<'static>>,
    ) {
        if self.has_message(channel, message) {
            return;
        }
        let dedupe = message_id(channel, message);
        let (id, branch) = (key(dedupe.as_str().as_bytes()), self.session.current);
        self.session.messages.entry(id).or_default().push((branch, line, message.content));
        self.append_message(line, channel, message, dedupe, known_as, items);
    }

    fn append_message(
        &mut self,
        line: u64,
        channel: &str,
        message: &Message,
        dedupe: DedupeId,
        known_as: Option<DedupeId>,
        items: &mut Vec<Item<'static>>,
    ) {
        let more = [("channel".to_owned(), json!(channel))].into_iter().collect();
        let (reference, branch) = (self.reference(), self.session.current);
        let event = append(reference, branch, line, dedupe, message.json.clone(), message.kind, more);
        items.push(Item::Append(Append { known_as, ..event }));
        self.steps(line, message, items);
    }

    fn steps(&mut self, line: u64, message: &Message, items: &mut Vec<Item<'static>>) {
        let reference = self.reference();
        let session = &mut self.session;
        let branch = session.current;
        let mut findings = Vec::new();
        let on_branch = |session: &Session, id: &str| {
            let all = session.calls_by_id.get(&key(id.as_bytes())).cloned().unwrap_or_default();
            all.into_iter()
                .rev()
                .find(|at| session.calls.get(*at).is_some_and(|call| session.inherits(call.branch, call.line)))
        };
        for call in &message.calls {
            if call.id.is_empty() {
                findings.push(FindingKind::CallWithoutId);
                continue;
            }
            let (tool_use, tool) = (printable(&call.id, 256), tool_name(&call.tool));
            // A later version of the message tells its calls again.
            if on_branch(session, &call.id).is_some() {
                continue;
            }
            session.calls_by_id.entry(key(call.id.as_bytes())).or_default().push(session.calls.len());
            let (open, name) = (tool_use.clone(), tool.clone());
            session.calls.push(Call { branch, line, tool_use: open, tool: name, has_ended: false });
            let input = call.input.clone();
            let branch = BranchRef(branch);
            items.push(Item::CallStarted(CallStarted { session: reference, branch, line, tool_use, tool, input }));
        }
        if let Some((id, failed)) = &message.result {
            let at = on_branch(session, id);
            match at.and_then(|at| session.calls.get_mut(at)) {
                None => findings.push(FindingKind::ResultWithoutCall { tool_use: shown(id) }),
                // A later version of the message; on a branch that started between them it is the result there.
                Some(call) if call.has_ended && call.branch == branch => {}
                Some(call) => {
                    call.has_ended = true;
                    let (tool_use, branch) = (call.tool_use.clone(), BranchRef(branch));
                    let (session, failed) = (reference, *failed);
                    items.push(Item::CallEnded { session, branch, line, tool_use, failed });
                }
            }
        }
        self.report.findings.extend(findings.into_iter().map(|kind| Finding { line, kind }));
    }

    /// A row as an event.
    #[expect(clippy::too_many_arguments, reason = "they are the parts of one row, gathered in one place")]
    fn row(
        &mut self,
        dedupe: DedupeId,
        encoding: &str,
        bytes: &[u8],
        is_readable: bool,
        more: &[(&str, Value)],
        findings: &[FindingKind],
        items: &mut Vec<Item<'static>>,
    ) {
        self.line += 1;
        let line = self.line;
        for kind in findings {
            self.find(kind.clone());
        }
        if !is_readable {
            self.find(FindingKind::Undecodable { encoding: shown(encoding) });
        }
        let mut attributes: Map<String, Value> =
            more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        attributes.insert("encoding".to_owned(), encoding.into());
        let faults = self.report.findings.iter().rev().take_while(|finding| finding.line == line);
        let class = if faults.into_iter().any(|finding| finding.kind.is_fault()) {
            self.report.accounting.reported += 1;
            LineClass::Reported
        } else {
            self.report.accounting.imported += 1;
            LineClass::Imported
        };
        let (reference, branch) = (self.reference(), self.session.current);
        let event = append(reference, branch, line, dedupe, bytes.to_vec(), EntryKind::EVENT, attributes);
        items.push(Item::Append(Append { class: Some(class), ..event }));
    }

    /// Ends the plan: what there is to say, and the current branch of each session.
    pub(super) fn finish(self) -> (Report, Vec<BranchRef>) {
        let mut report = self.report;
        let mut sessions = self.done;
        sessions.push(self.session);
        for call in sessions.iter().flat_map(|session| &session.calls).filter(|call| !call.has_ended) {
            let (tool_use, tool) = (shown(&call.tool_use), shown(&call.tool));
            report.findings.push(Finding { line: call.line, kind: FindingKind::InDoubt { tool_use, tool } });
        }
        report.findings.sort_by_key(|finding| finding.line);
        // The checkpoint with the greatest id is the one that a graph goes on with.
        (report, sessions.iter().map(|session| BranchRef(session.current)).collect())
    }
}

fn message_id(channel: &str, message: &Message) -> DedupeId {
    DedupeId::of_parts("message", &[channel, &message.id])
}

/// What a message without an id is known by among those that were written after a checkpoint.
fn bare_key(checkpoint: &str, channel: &str, message: &Message) -> Key {
    let bare = data_encoding::HEXLOWER.encode(&message.bare);
    key(DedupeId::of_parts("bare", &[checkpoint, channel, &bare]).as_str().as_bytes())
}

fn blob_id(channel: &str, version: &str) -> DedupeId {
    DedupeId::of_parts("row", &["blob", channel, version])
}

fn append(
    session: SessionRef,
    branch: usize,
    line: u64,
    dedupe: DedupeId,
    payload: Vec<u8>,
    kind: EntryKind,
    more: Map<String, Value>,
) -> Append<'static> {
    let record = 0..payload.len();
    Append {
        session,
        branch: BranchRef(branch),
        line,
        offset: 0,
        dedupe_if_changed: dedupe.changed(&key(&payload)),
        known_as: None,
        payload: Cow::Owned(payload),
        dedupe,
        kind,
        context: ContextRole::of_kind(kind),
        summarises: None,
        flaw: None,
        record,
        class: None,
        attachments: Vec::new(),
        more,
    }
}
