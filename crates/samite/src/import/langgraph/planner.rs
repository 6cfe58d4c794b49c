//! From the rows of a thread to a plan. It holds hashes and numbers, no payload.

use super::database::{Blob, Checkpoint, Write};
use super::message::{Message, messages};
use super::msgpack;
use crate::import::frame::context::ContextRole;
use crate::import::frame::flat::tool_name;
use crate::import::frame::ids::{Key, key, printable};
use crate::import::frame::plan::{Append, Begin, BranchRef, CallStarted, DedupeId, Fork, Item, LineClass, SessionRef};
use crate::import::frame::report::{Finding, FindingKind, Report, Unit, shown};
use samite_model::EntryKind;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A checkpoint's place.
#[derive(Clone, Copy, Debug)]
struct Node {
    branch: usize,
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
    blobs: HashSet<Key>,
    /// Values that were read for the checkpoint that comes next.
    waiting: Vec<(String, String, Blob)>,
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
    /// The namespace that is read.
    session: Session,
    /// Those before it.
    done: Vec<Session>,
    begun: bool,
    line: u64,
    report: Report,
}

/// A value by its encoding; nothing when it cannot be read, and `Null` for none.
fn decode(encoding: &str, bytes: &[u8]) -> Option<Value> {
    match encoding {
        // Nothing, or bytes that stand for themselves.
        "null" | "empty" | "bytes" | "bytearray" => Some(Value::Null),
        "json" => serde_json::from_slice(bytes).ok(),
        "msgpack" => msgpack::decode(bytes),
        _ => None,
    }
}

impl Planner {
    pub(super) fn new(thread: &str) -> Self {
        let report = Report { unit: Unit::Row, ..Report::default() };
        let (session, done) = (Session::default(), Vec::new());
        Self { thread: thread.to_owned(), session, done, begun: false, line: 0, report }
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
        let own = format!("langgraph:{}", printable(&self.thread, 200));
        // node:task|node:task
        let of = |namespace: &str| match namespace {
            "" => own.clone(),
            inside => format!("{own}/{}", printable(inside, 200)),
        };
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

    /// What a checkpoint holds; an empty object when it cannot be read.
    pub(super) fn decode(row: &Checkpoint) -> Value {
        decode(&row.encoding, &row.bytes).unwrap_or_else(|| json!({}))
    }

    /// The channels whose values stand elsewhere, in versions that were not told yet.
    pub(super) fn missing_blobs(&self, checkpoint: &Value) -> Vec<(String, String)> {
        let versions = checkpoint.get("channel_versions").and_then(Value::as_object).cloned().unwrap_or_default();
        let version = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let all = versions.into_iter().map(|(channel, value)| (channel, version(value)));
        all.filter(|(channel, version)| !self.has_blob(channel, version)).collect()
    }

    /// Whether a blob was told.
    pub(super) fn has_blob(&self, channel: &str, version: &str) -> bool {
        self.session.blobs.contains(&key(blob_id(channel, version).as_str().as_bytes()))
    }

    /// A blob of the checkpoint that comes next.
    pub(super) fn take_blob(&mut self, channel: &str, version: &str, blob: &Blob) {
        let id = key(blob_id(channel, version).as_str().as_bytes());
        self.session.blobs.insert(id);
        self.session.waiting.push((channel.to_owned(), version.to_owned(), blob.clone()));
    }

    /// A blob that no checkpoint names.
    pub(super) fn other_blob(&mut self, channel: &str, version: &str, blob: &Blob) -> Vec<Item<'static>> {
        let mut items = Vec::new();
        self.blob(channel, version, blob, &mut items);
        items
    }

    fn blob(&mut self, channel: &str, version: &str, blob: &Blob, items: &mut Vec<Item<'static>>) -> Option<Value> {
        let value = decode(&blob.encoding, &blob.bytes);
        let more = [("row", json!("blob")), ("channel", json!(channel)), ("version", json!(version))];
        self.row(blob_id(channel, version), &blob.encoding, &blob.bytes, value.is_some(), &more, &[], items);
        value
    }

    /// A checkpoint, and the messages that are new in it.
    pub(super) fn checkpoint(
        &mut self,
        id: &str,
        parent: Option<&str>,
        row: &Checkpoint,
        decoded: &Value,
    ) -> Vec<Item<'static>> {
        let mut items = Vec::new();
        let dedupe = DedupeId::of_parts("row", &["checkpoint", id]);
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
        for (channel, version, blob) in std::mem::take(&mut self.session.waiting) {
            let value = self.blob(&channel, &version, &blob, &mut items);
            values.extend(value.map(|value| (channel, value)));
        }
        if let Some(inside) = decoded.get("channel_values").and_then(Value::as_object) {
            values.extend(inside.iter().map(|(channel, value)| (channel.clone(), value.clone())));
        }
        // The row's own number: its messages come before it, and belong to it.
        let line = self.line + 1;
        for (channel, value) in &values {
            // What was given to the graph stands in its channels as well.
            if !channel.starts_with("__") {
                self.told(line, channel, value, &mut items);
            }
        }
        let more = [
            ("row", json!("checkpoint")),
            ("checkpoint", json!(id)),
            ("parent", json!(parent)),
            ("metadata", serde_json::from_slice(&row.metadata).unwrap_or_default()),
        ];
        let readable = decode(&row.encoding, &row.bytes).is_some();
        self.row(dedupe, &row.encoding, &row.bytes, readable, &more, &findings, &mut items);
        let node = Node { branch: self.session.current, line: self.line, followed: false };
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
        if let Some(value) = value.as_ref().filter(|_| is_leaf && !write.channel.starts_with("__")) {
            self.told(line, &write.channel, value, &mut items);
        }
        let index = write.index.to_string();
        let dedupe = DedupeId::of_parts("row", &["write", checkpoint, &write.task, &index]);
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

    /// The messages of a value that are new on the current branch.
    fn told(&mut self, line: u64, channel: &str, value: &Value, items: &mut Vec<Item<'static>>) {
        for message in messages(value) {
            let dedupe = DedupeId::of_parts("message", &[channel, &message.id]);
            let id = key(dedupe.as_str().as_bytes());
            let reference = self.reference();
            let session = &mut self.session;
            let known = session.messages.get(&id).is_some_and(|all| {
                all.iter()
                    .any(|(branch, line, content)| *content == message.content && session.inherits(*branch, *line))
            });
            if known {
                continue;
            }
            let branch = session.current;
            session.messages.entry(id).or_default().push((branch, line, message.content));
            let more = [("channel".to_owned(), json!(channel))].into_iter().collect();
            items.push(Item::Append(append(reference, branch, line, dedupe, message.json.clone(), message.kind, more)));
            self.steps(line, &message, items);
        }
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
