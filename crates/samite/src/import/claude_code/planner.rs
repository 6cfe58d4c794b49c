//! From lines to a plan.

use super::context::ContextRole;
use super::damage::{Flaw, decode, glued, is_blank};
use super::identity::{Identity, agent_key, session_key, sidechain_key};
use super::index::{Index, Key, KnownRecords, Node, NodeId, key, printable};
use super::lines::Line;
use super::plan::{Append, Begin, BranchRef, CallStarted, DedupeId, Fork, Item, LineClass, LineRange, SessionRef};
use super::record::{Parsed, Record, parse, prompt, tool_inputs};
use super::report::{Finding, FindingKind, Report, shown};
use super::sidechain::Sidechains;
use super::steps::{Calls, OpenCall, ResultIs};
use super::tree::{Place, Shape, Tree};
use samite_model::EntryKind;
use serde_json::Value;
use std::ops::Range;

/// Tools that start a sub-agent with a prompt.
const AGENT_TOOLS: [&str; 2] = ["Task", "Agent"];

/// Plans one transcript, line by line.
///
/// Memory: some two hundred bytes a line, and what calls without a result so far are called; no payload is kept.
#[derive(Debug)]
pub struct Planner {
    identity: Identity,
    outside: KnownRecords,
    begun: bool,
    index: Index,
    trees: Vec<Tree>,
    calls: Calls,
    sidechains: Sidechains,
    report: Report,
}

/// The end of a plan.
#[derive(Debug)]
pub struct Finished {
    /// What there is to say; doubts about steps are among its findings.
    pub report: Report,
    /// Calls without a result, in order: their steps are in doubt.
    pub in_doubt: Vec<OpenCall>,
    /// The current branch of each session, by [`SessionRef`]; empty when the transcript has no line but blank ones.
    pub current: Vec<BranchRef>,
    /// The transcript's records, for the transcripts of its sub-agents.
    pub known: KnownRecords,
}

/// A line's record, and where it belongs.
struct Reading<'r> {
    record: Option<&'r Record<'r>>,
    text: &'r str,
    flaw: Option<Flaw>,
    range: Range<usize>,
    content: Key,
}

/// What a record is.
#[derive(Clone, Copy)]
struct Meaning {
    kind: EntryKind,
    shape: Shape,
    role: ContextRole,
}

impl Meaning {
    const EVENT: Self = Self { kind: EntryKind::EVENT, shape: Shape::Side, role: ContextRole::Outside };
}

/// What a record's id makes of it.
enum Known {
    /// It has no id.
    Nameless,
    /// Its id is new.
    New(NodeId),
    /// Its id is another's, in this line.
    Other(u64),
}

impl Planner {
    /// A plan for a transcript of this identity ([`super::identify`]).
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            outside: KnownRecords::default(),
            begun: false,
            index: Index::default(),
            trees: vec![Tree::new(0)],
            calls: Calls::default(),
            sidechains: Sidechains::default(),
            report: Report::default(),
        }
    }

    /// For a sub-agent's transcript: the records of its parent's ([`Finished::known`]), which are no missing parents.
    #[must_use]
    pub fn below(mut self, parent: KnownRecords) -> Self {
        self.outside = parent;
        self
    }

    /// The report so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// What a line asks for, in order. Lines must come in order, each once.
    pub fn accept<'a>(&mut self, line: &Line<'a>) -> Vec<Item<'a>> {
        if is_blank(line.bytes) {
            self.find(line.number, FindingKind::Blank);
            self.report.accounting.reported += 1;
            return vec![Item::Blank { line: line.number }];
        }
        let mut items = Vec::new();
        if !self.begun {
            self.begun = true;
            items.push(Item::Begin(self.begin_own()));
        }
        let decoded = decode(line.bytes);
        let whole = parse(&decoded.text);
        let behind = match whole {
            Parsed::Broken => glued(&decoded.text),
            Parsed::Record(_) | Parsed::Other => None,
        };
        let content = key(line.bytes);
        let reading = |record, text, flaw, range| Reading { record, text, flaw, range, content };
        match (&whole, behind) {
            (_, Some(at)) => {
                let text = decoded.text.get(at..).unwrap_or_default();
                let start = decoded.range.end.saturating_sub(text.len());
                let tail = start..decoded.range.end;
                let range = if line.bytes.get(tail.clone()) == Some(text.as_bytes()) { tail } else { decoded.range };
                let parsed = parse(text);
                let record = match &parsed {
                    Parsed::Record(record) => Some(record.as_ref()),
                    Parsed::Other | Parsed::Broken => None,
                };
                self.accept_reading(line, &reading(record, text, Some(Flaw::Glued), range), &mut items);
            }
            (Parsed::Record(record), None) => {
                let reading = reading(Some(record.as_ref()), &*decoded.text, decoded.flaw, decoded.range);
                self.accept_reading(line, &reading, &mut items);
            }
            (Parsed::Other, None) => {
                self.find(line.number, FindingKind::NotARecord);
                let reading = reading(None, &*decoded.text, decoded.flaw, decoded.range);
                self.accept_reading(line, &reading, &mut items);
            }
            (Parsed::Broken, None) => {
                let flaw = if line.terminated { Flaw::Torn } else { Flaw::Unfinished };
                self.accept_reading(line, &reading(None, "", Some(flaw), 0..line.bytes.len()), &mut items);
            }
        }
        items
    }

    /// Ends the plan after the last line.
    pub fn finish(self) -> Finished {
        let mut report = self.report;
        let in_doubt = self.calls.into_open();
        report.findings.extend(in_doubt.iter().map(|call| Finding {
            line: call.line,
            kind: FindingKind::InDoubt { tool_use: shown(&call.tool_use), tool: shown(&call.tool) },
        }));
        report.findings.sort_by_key(|finding| finding.line);
        let current =
            if self.begun { self.trees.iter().map(|tree| BranchRef(tree.current())).collect() } else { vec![] };
        Finished { report, in_doubt, current, known: KnownRecords::of(&self.index) }
    }

    fn find(&mut self, line: u64, kind: FindingKind) {
        self.report.findings.push(Finding { line, kind });
    }

    fn accept_reading<'a>(&mut self, line: &Line<'a>, reading: &Reading<'_>, items: &mut Vec<Item<'a>>) {
        let number = line.number;
        if let Some(flaw) = reading.flaw {
            self.find(number, FindingKind::Damaged(flaw));
        }
        let nothing = Record::default();
        let record = reading.record.unwrap_or(&nothing);
        let known = match self.know(record, &reading.content) {
            Ok(known) => known,
            Err(first) => {
                while self.report.findings.pop_if(|finding| finding.line == number).is_some() {}
                self.find(number, FindingKind::Repeated { first });
                self.report.accounting.duplicates += 1;
                items.push(Item::Duplicate { line: number, first });
                return;
            }
        };
        if let Known::Other(first) = known {
            let uuid = shown(record.uuid.get().unwrap_or_default());
            self.find(number, FindingKind::SameIdOtherBytes { uuid, first });
        }
        let meaning = self.meaning(record, number);
        let parent = self.parent(record, &known, number);
        let session = self.session(record, parent, reading, number, items);
        let place = match self.trees.get_mut(session) {
            Some(tree) => tree.place(&mut self.index, parent, meaning.shape, number),
            None => Place { branch: 0, fork: None },
        };
        let tree = self.trees.get_mut(session);
        let mut summarises = tree.and_then(|tree| tree.see(place.branch, meaning.role, number));
        if record.kind.is("summary") {
            summarises = self.title(record, number);
        }
        self.note(&known, &meaning, parent, session, place.branch, reading.content, number);
        let (dedupe, dedupe_if_changed) = self.dedupe(record, &known, &reading.content);
        if let Some((from, at_line)) = place.fork {
            items.push(Item::Fork(Fork {
                session: SessionRef(session),
                branch: BranchRef(place.branch),
                from: BranchRef(from),
                at_line,
                line: number,
                key: dedupe.clone(),
            }));
        }
        let steps = self.steps(record, reading, SessionRef(session), BranchRef(place.branch), number);
        let class = if self.has_fault(number) { LineClass::Reported } else { LineClass::Imported };
        match class {
            LineClass::Imported => self.report.accounting.imported += 1,
            LineClass::Reported => self.report.accounting.reported += 1,
        }
        items.push(Item::Append(Append {
            session: SessionRef(session),
            branch: BranchRef(place.branch),
            line: number,
            offset: line.offset,
            payload: line.bytes,
            dedupe,
            dedupe_if_changed,
            kind: meaning.kind,
            context: meaning.role,
            summarises,
            flaw: reading.flaw,
            record: reading.range.clone(),
            class,
        }));
        items.extend(steps);
    }

    fn has_fault(&self, line: u64) -> bool {
        self.report.findings.iter().rev().take_while(|finding| finding.line == line).any(|one| one.kind.is_fault())
    }

    /// What the record's id makes of it, or the line that it repeats.
    fn know(&mut self, record: &Record<'_>, content: &Key) -> Result<Known, u64> {
        let Some(uuid) = record.uuid.get() else { return Ok(Known::Nameless) };
        match self.index.find(uuid).map(|(_, node)| (node.line, node.content)) {
            None => Ok(Known::New(self.index.node_id(uuid))),
            Some((first, same)) if same == *content => Err(first),
            Some((first, _)) if self.index.note_other(uuid, content) => Ok(Known::Other(first)),
            Some((first, _)) => Err(first),
        }
    }

    fn meaning(&mut self, record: &Record<'_>, line: u64) -> Meaning {
        let message = record.message.0.as_ref();
        let is_user = record.kind.is("user");
        match (message, is_user || record.kind.is("assistant")) {
            (Some(_), true) if is_user && record.is_compact_summary.0 => {
                Meaning { kind: EntryKind::COMPACTION, shape: Shape::Compaction, role: ContextRole::Summary }
            }
            (Some(_), true) if is_user => {
                let reply = record.is_meta.0 || record.brings_results();
                let shape = if reply { Shape::Reply } else { Shape::Turn(None) };
                Meaning { kind: EntryKind::MESSAGE, shape, role: ContextRole::Inside }
            }
            (Some(_), true) if record.is_api_error.0 => {
                Meaning { kind: EntryKind::MODEL_RESPONSE, shape: Shape::Reply, role: ContextRole::Outside }
            }
            (Some(message), true) => Meaning {
                kind: EntryKind::MODEL_RESPONSE,
                shape: Shape::Turn(message.id.get().map(|id| key(id.as_bytes()))),
                role: ContextRole::Inside,
            },
            (None, true) => {
                self.find(line, FindingKind::NoMessage);
                Meaning::EVENT
            }
            _ if is_boundary(record) => {
                Meaning { shape: Shape::Compaction, role: ContextRole::Boundary, ..Meaning::EVENT }
            }
            _ if record.kind.is("attachment") => Meaning { role: ContextRole::Inside, ..Meaning::EVENT },
            _ => Meaning::EVENT,
        }
    }

    /// The record's parent, when it is in a line before it.
    fn parent(&mut self, record: &Record<'_>, known: &Known, line: u64) -> Option<NodeId> {
        let Some(uuid) = record.parent.get() else {
            // The record before a compaction. It often was never written, which takes nothing from the compaction.
            let logical = record.logical_parent.get().filter(|_| is_boundary(record))?;
            return self.index.find(logical).map(|(id, _)| id);
        };
        let joined = match known {
            Known::New(child) => {
                let parent = self.index.node_id(uuid);
                if !self.index.join(*child, parent) {
                    self.find(line, FindingKind::ParentCycle { parent: shown(uuid) });
                    return None;
                }
                Some(parent).filter(|parent| self.index.node(*parent).is_some())
            }
            Known::Nameless | Known::Other(_) => self.index.find(uuid).map(|(id, _)| id),
        };
        if joined.is_none() && !self.outside.contains(uuid) {
            self.find(line, FindingKind::ParentMissing { parent: shown(uuid) });
        }
        joined
    }

    /// The session that the record belongs to; a sidechain's starts with its first record.
    fn session(
        &mut self,
        record: &Record<'_>,
        parent: Option<NodeId>,
        reading: &Reading<'_>,
        line: u64,
        items: &mut Vec<Item<'_>>,
    ) -> usize {
        if self.identity.agent.is_some() || !record.is_sidechain.0 {
            return 0;
        }
        let agent = record.agent.get();
        let of_parent = parent.and_then(|id| self.index.node(id)).map(|node| node.session).filter(|id| *id != 0);
        let starts = record.parent.get().is_none() && record.kind.is("user");
        let found = match agent {
            Some(agent) => self.sidechains.of_agent(agent),
            None => of_parent.or_else(|| self.sidechains.latest().filter(|_| !starts)),
        };
        let session = found.unwrap_or(self.trees.len());
        self.sidechains.note(agent, session);
        if found.is_none() {
            self.trees.push(Tree::new(session));
            let by_prompt = if starts { prompt(reading.text) } else { None };
            let by_prompt = by_prompt.and_then(|prompt| self.sidechains.take_prompt(&prompt));
            let tool_use = agent.and_then(|agent| self.sidechains.call_of(agent)).or(by_prompt);
            let first = record.uuid.get().map_or_else(|| format!("line-{line}"), str::to_owned);
            let own = &self.identity.session_id;
            items.push(Item::Begin(Begin {
                session: SessionRef(session),
                key: agent.map_or_else(|| sidechain_key(own, &first), |agent| agent_key(own, agent)),
                session_id: own.clone(),
                agent: Some(agent.map_or(first, str::to_owned)),
                parent: Some(session_key(own)),
                tool_use,
                cwd: record.cwd.get().map(str::to_owned),
                version: record.version.get().map(str::to_owned),
                git_branch: record.git_branch.get().map(str::to_owned),
                line,
            }));
        }
        session
    }

    fn begin_own(&self) -> Begin {
        let identity = &self.identity;
        let agent = identity.agent.as_ref();
        Begin {
            session: SessionRef(0),
            key: identity.key(),
            session_id: identity.session_id.clone(),
            agent: agent.map(|agent| agent.id.clone()),
            parent: agent.map(|_| session_key(&identity.session_id)),
            tool_use: agent.and_then(|agent| agent.tool_use.clone()),
            cwd: identity.cwd.clone(),
            version: identity.version.clone(),
            git_branch: identity.git_branch.clone(),
            line: 1,
        }
    }

    /// The lines that a title is for.
    fn title(&mut self, record: &Record<'_>, line: u64) -> Option<LineRange> {
        let leaf = record.leaf.get()?;
        let node = self.index.find(leaf).map(|(_, node)| *node);
        if node.is_none() {
            self.find(line, FindingKind::LeafElsewhere { leaf: shown(leaf) });
        }
        node.map(|node| LineRange { first: node.window.unwrap_or(node.line), last: node.line })
    }

    #[expect(clippy::too_many_arguments, reason = "they are the fields of one node, gathered in one place")]
    fn note(
        &mut self,
        known: &Known,
        meaning: &Meaning,
        parent: Option<NodeId>,
        session: usize,
        branch: usize,
        content: Key,
        line: u64,
    ) {
        let Known::New(id) = *known else { return };
        let above = parent.and_then(|id| self.index.node(id)).filter(|node| node.session == session);
        let anchor = match meaning.shape {
            Shape::Side => above.map_or(id, |node| node.anchor),
            Shape::Turn(_) | Shape::Reply | Shape::Compaction => id,
        };
        let message = match meaning.shape {
            Shape::Turn(message) => message,
            Shape::Reply | Shape::Compaction | Shape::Side => None,
        };
        let window = self.trees.get(session).and_then(|tree| tree.window(branch));
        self.index.set(id, Node { line, session, branch, content, anchor, message, turn: None, window });
    }

    fn dedupe(&mut self, record: &Record<'_>, known: &Known, content: &Key) -> (DedupeId, DedupeId) {
        match (known, record.uuid.get()) {
            (Known::New(_), Some(uuid)) => (DedupeId::of_uuid(uuid), DedupeId::of_other(uuid, content)),
            (Known::Other(_), Some(uuid)) => {
                let id = DedupeId::of_other(uuid, content);
                (id.clone(), id)
            }
            _ => {
                let id = DedupeId::of_line(content, self.index.count_equal(*content));
                (id.clone(), id)
            }
        }
    }

    /// The steps that the record starts and ends, and the sub-agents that it names.
    fn steps<'a>(
        &mut self,
        record: &Record<'_>,
        reading: &Reading<'_>,
        session: SessionRef,
        branch: BranchRef,
        line: u64,
    ) -> Vec<Item<'a>> {
        let mut items = Vec::new();
        if record.kind.is("assistant") {
            self.calls_of(record, reading, session, branch, line, &mut items);
        } else if record.kind.is("user") {
            self.results_of(record, session, branch, line, &mut items);
        }
        let by_progress = record.data.0.as_ref().and_then(|data| data.id.get()).zip(record.parent_tool_use.get());
        let result = record.blocks().iter().filter_map(|block| block.0.as_ref()).find_map(|block| block.tool_use.get());
        let by_result = record.tool_use_result.0.as_ref().and_then(|answer| answer.id.get()).zip(result);
        if let Some((agent, tool_use)) = by_progress.or(by_result) {
            let tool_use = printable(tool_use, 256);
            if self.sidechains.link(agent, &tool_use) {
                items.push(Item::AgentLinked { session, line, agent: agent.to_owned(), tool_use });
            }
        }
        items
    }

    fn calls_of(
        &mut self,
        record: &Record<'_>,
        reading: &Reading<'_>,
        session: SessionRef,
        branch: BranchRef,
        line: u64,
        items: &mut Vec<Item<'_>>,
    ) {
        let is_call = |block: &super::record::Block<'_>| block.kind.is("tool_use");
        if !record.blocks().iter().filter_map(|block| block.0.as_ref()).any(is_call) {
            return;
        }
        let inputs = tool_inputs(reading.text);
        if inputs.is_none() {
            self.find(line, FindingKind::InputUnreadable);
        }
        let mut inputs = inputs.unwrap_or_default().into_iter();
        for block in record.blocks() {
            let input: Option<Value> = inputs.next().flatten();
            let Some(block) = block.0.as_ref().filter(|block| is_call(block)) else { continue };
            let Some(id) = block.id.get().filter(|id| !id.is_empty()) else {
                self.find(line, FindingKind::CallWithoutId);
                continue;
            };
            let tool_use = printable(id, 256);
            let tool = tool_name(block.name.get().unwrap_or_default());
            let open = OpenCall { session, branch, line, tool_use: tool_use.clone(), tool: tool.clone() };
            if let Err(first) = self.calls.start(open) {
                self.find(line, FindingKind::CallRepeated { tool_use: shown(id), first });
                continue;
            }
            let starts_agent = AGENT_TOOLS.contains(&tool.as_str());
            let prompt = input.as_ref().and_then(|input| input.get("prompt")).and_then(Value::as_str);
            if let Some(prompt) = prompt.filter(|_| starts_agent) {
                self.sidechains.note_prompt(prompt, &tool_use);
            }
            items.push(Item::CallStarted(CallStarted { session, branch, line, tool_use, tool, input }));
        }
    }

    fn results_of(
        &mut self,
        record: &Record<'_>,
        session: SessionRef,
        branch: BranchRef,
        line: u64,
        items: &mut Vec<Item<'_>>,
    ) {
        let blocks = record.blocks().iter().filter_map(|block| block.0.as_ref());
        for block in blocks.filter(|block| block.kind.is("tool_result")) {
            let id = block.tool_use.get().unwrap_or_default();
            let tool_use = printable(id, 256);
            match self.calls.end(&tool_use, line) {
                ResultIs::First => {
                    items.push(Item::CallEnded { session, branch, line, tool_use, failed: block.is_error.0 });
                }
                ResultIs::Repeated(first) => {
                    self.find(line, FindingKind::ResultRepeated { tool_use: shown(id), first });
                }
                ResultIs::WithoutCall => self.find(line, FindingKind::ResultWithoutCall { tool_use: shown(id) }),
            }
        }
    }
}

fn is_boundary(record: &Record<'_>) -> bool {
    record.kind.is("system") && record.subtype.is("compact_boundary")
}

fn tool_name(name: &str) -> String {
    let name: String = name.chars().filter(|character| !character.is_control()).take(120).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}
