//! From lines to a plan.

mod sessions;
mod tools;

use super::context::ContextRole;
use super::damage::{Flaw, decode, glued, is_blank};
use super::identity::Identity;
use super::index::{Index, Key, KnownRecords, Node, NodeId, key};
use super::lines::Line;
use super::plan::{Append, BranchRef, DedupeId, Fork, Item, LineClass, LineRange, SessionRef};
use super::record::{Parsed, Record, parse};
use super::report::{Finding, FindingKind, Report, shown};
use super::sidechain::Sidechains;
use super::steps::{Calls, OpenCall};
use super::tree::{Place, Shape, Tree};
use samite_model::EntryKind;
use std::borrow::Cow;
use std::ops::Range;

/// Plans one transcript, line by line.
///
/// Memory: some 250 bytes a line, more for a line with a finding, and the names of calls without a result so far; no
/// payload is kept.
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
                let (text, range) = decoded.behind(line.bytes, at);
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
            payload: Cow::Borrowed(line.bytes),
            dedupe,
            dedupe_if_changed,
            known_as: None,
            kind: meaning.kind,
            context: meaning.role,
            summarises,
            flaw: reading.flaw,
            record: reading.range.clone(),
            class: Some(class),
            attachments: Vec::new(),
            more: serde_json::Map::new(),
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
}

fn is_boundary(record: &Record<'_>) -> bool {
    record.kind.is("system") && record.subtype.is("compact_boundary")
}
