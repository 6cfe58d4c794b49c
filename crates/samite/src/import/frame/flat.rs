//! The planner of sources whose records are one conversation: each format says what a record is, and this says what
//! becomes of it.
//!
//! Every record falls into one class of the accounting, as a line of a transcript does: *imported*, *duplicate* or
//! *reported* (torn, no record, an id that is another's, a result without a call), and all but blank ones and
//! duplicates become entries, byte for byte. A record with an id is known by it, any other by a hash of its bytes and
//! how many equal ones came before, so importing again adds nothing.
//!
//! A record that goes back starts a branch, with itself as the first entry. What a record names before it is found on
//! the current branch and what that inherits.

use super::context::ContextRole;
use super::damage::{Flaw, decode, glued, is_blank};
use super::ids::{Key, key, printable};
use super::lines::Line;
use super::plan::{
    Append, Attachment, Begin, BranchRef, CallStarted, DedupeId, Fork, Item, LineClass, LineRange, SessionRef,
};
use super::raw::Raw;
use super::report::{Finding, FindingKind, Report, Unit, shown};
use super::steps::{Calls, OpenCall, ResultIs};
use crate::import::carry_out::{Plan, Planner};
use samite_model::EntryKind;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What a format says of its records.
pub(in crate::import) trait Format {
    /// How records start; one behind the torn head of another is looked for there.
    const STARTS: &'static [&'static str];
    /// What the records are called.
    const UNIT: Unit;

    /// The session that they become.
    fn begin(&self) -> Begin;

    /// What a record is, or nothing when it is none of this format's. Records come in order, each once; those that
    /// repeat an earlier one do not come again.
    fn read(&mut self, record: &Line<'_>, raw: Raw<'_>) -> Option<Meaning>;

    /// Whether an object that was found behind the torn head of a record is one itself, and not a part of it.
    fn is_record(raw: Raw<'_>) -> bool;

    /// What there is to say of a record whatever is in it, such as a gap before it. Called once for each.
    fn notice(&mut self, _record: &Line<'_>) -> Vec<FindingKind> {
        Vec::new()
    }

    /// The line at which the conversation stands, when the source says so.
    fn stands_at(&self) -> Option<u64> {
        None
    }

    /// The id of a record, when it has one that no other has.
    fn id(&self, _record: &Line<'_>, _raw: Raw<'_>) -> Option<String> {
        None
    }
}

/// What a record is.
#[derive(Debug)]
pub(in crate::import) struct Meaning {
    pub(in crate::import) kind: EntryKind,
    pub(in crate::import) role: ContextRole,
    pub(in crate::import) calls: Vec<Call>,
    pub(in crate::import) results: Vec<Outcome>,
    pub(in crate::import) back: Option<Back>,
    /// Whether it is a later version of a record before it: calls and results that were there before are no news.
    pub(in crate::import) updates: bool,
    pub(in crate::import) more: Map<String, Value>,
    pub(in crate::import) findings: Vec<FindingKind>,
    pub(in crate::import) attachments: Vec<Attachment>,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub(in crate::import) struct Call {
    pub(in crate::import) id: String,
    pub(in crate::import) tool: String,
    pub(in crate::import) input: Option<Value>,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub(in crate::import) struct Outcome {
    pub(in crate::import) id: String,
    pub(in crate::import) failed: bool,
}

/// Where the conversation went back to.
#[derive(Clone, Debug)]
pub(in crate::import) enum Back {
    /// To what was before this line.
    Before(u64),
    /// To this line; where nothing follows it on its branch, that branch goes on.
    After(u64),
    /// To something that is not there.
    Missing(String),
}

impl Meaning {
    /// A record of this kind, with its kind's role.
    pub(in crate::import) fn of(kind: EntryKind) -> Self {
        Self {
            kind,
            role: ContextRole::of_kind(kind),
            calls: Vec::new(),
            results: Vec::new(),
            back: None,
            updates: false,
            more: Map::new(),
            findings: Vec::new(),
            attachments: Vec::new(),
        }
    }

    /// A record that the model never saw.
    pub(in crate::import) fn event() -> Self {
        Self::of(EntryKind::EVENT)
    }

    pub(in crate::import) fn with_call(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    pub(in crate::import) fn with_result(mut self, id: String, failed: bool) -> Self {
        self.results.push(Outcome { id, failed });
        self
    }
}

/// One branch: its own lines, each with the first line in context there.
#[derive(Debug, Default)]
struct Branch {
    parent: Option<(usize, u64)>,
    lines: Vec<(u64, Option<u64>)>,
    window: Option<LineRange>,
}

/// Plans a source of one format.
///
/// Memory: some 80 bytes a record, and the names of calls without a result; no payload is kept.
#[derive(Debug)]
pub(in crate::import) struct Flat<F> {
    format: F,
    begun: bool,
    branches: Vec<Branch>,
    current: usize,
    calls: Calls,
    report: Report,
    known: HashMap<Key, (u64, Key)>,
    others: HashSet<Key>,
    equal: HashMap<Key, u64>,
}

/// A line's record, where it is, and what is wrong with it.
struct Reading<'r> {
    raw: Option<Raw<'r>>,
    flaw: Option<Flaw>,
    range: Range<usize>,
}

impl<F: Format> Flat<F> {
    /// A plan for a source of this format.
    pub(in crate::import) fn new(format: F) -> Self {
        Self {
            format,
            begun: false,
            branches: vec![Branch::default()],
            current: 0,
            calls: Calls::default(),
            report: Report { unit: F::UNIT, ..Report::default() },
            known: HashMap::new(),
            others: HashSet::new(),
            equal: HashMap::new(),
        }
    }

    fn find(&mut self, line: u64, kind: FindingKind) {
        self.report.findings.push(Finding { line, kind });
    }

    /// What the record is known by, and by what when it was changed since; or the line that it repeats.
    fn identity(&mut self, line: &Line<'_>, raw: Option<Raw<'_>>, updates: bool) -> Result<(DedupeId, DedupeId), u64> {
        let content = key(line.bytes);
        let Some(id) = raw.and_then(|raw| self.format.id(line, raw)) else {
            let count = self.equal.entry(content).or_insert(0);
            let id = DedupeId::of_line(&content, *count);
            *count += 1;
            return Ok((id.clone(), id));
        };
        let named = key(id.as_bytes());
        match self.known.get(&named).copied() {
            None => {
                self.known.insert(named, (line.number, content));
                Ok((DedupeId::of_uuid(&id), DedupeId::of_other(&id, &content)))
            }
            Some((first, same)) if same == content => Err(first),
            Some((first, _)) => {
                let mut both = named.to_vec();
                both.extend_from_slice(&content);
                if !self.others.insert(key(&both)) {
                    return Err(first);
                }
                if !updates {
                    self.find(line.number, FindingKind::SameIdOtherBytes { uuid: shown(&id), first });
                }
                let id = DedupeId::of_other(&id, &content);
                Ok((id.clone(), id))
            }
        }
    }

    /// The last line before one, on the current branch or what it inherits, with its branch.
    fn before(&self, line: u64) -> Option<(usize, u64)> {
        let (mut at, mut until) = (self.current, line);
        loop {
            let branch = self.branches.get(at)?;
            let own = branch.lines.partition_point(|(own, _)| *own < until);
            if let Some((own, _)) = own.checked_sub(1).and_then(|last| branch.lines.get(last)) {
                return Some((at, *own));
            }
            let (parent, fork) = branch.parent?;
            (at, until) = (parent, until.min(fork + 1));
        }
    }

    /// The branch that a line is on, and whether it is the last one there.
    fn owner(&self, line: u64) -> Option<(usize, bool)> {
        self.branches.iter().enumerate().find_map(|(at, branch)| {
            let place = branch.lines.binary_search_by_key(&line, |(own, _)| *own).ok()?;
            Some((at, place + 1 == branch.lines.len()))
        })
    }

    /// Starts a branch for a record that goes back; nothing when there is nothing to go back to.
    fn fork(&mut self, from: usize, at_line: u64) {
        let lines = self.branches.get(from).map(|branch| branch.lines.as_slice()).unwrap_or_default();
        let place = lines.partition_point(|(line, _)| *line <= at_line);
        let first = place.checked_sub(1).and_then(|last| lines.get(last)).and_then(|(_, first)| *first);
        let window = first.map(|first| LineRange { first, last: at_line });
        self.branches.push(Branch { parent: Some((from, at_line)), lines: Vec::new(), window });
        self.current = self.branches.len() - 1;
    }

    /// Adds a line to the current branch; the answer is what it summarises.
    fn place(&mut self, line: u64, role: ContextRole) -> Option<LineRange> {
        let branch = self.branches.get_mut(self.current)?;
        let own = LineRange { first: line, last: line };
        let summarises = match role {
            ContextRole::Outside => None,
            ContextRole::Inside => {
                let first = branch.window.map_or(line, |window| window.first);
                branch.window = Some(LineRange { first, last: line });
                None
            }
            ContextRole::Boundary => branch.window.take(),
            ContextRole::Summary => branch.window.replace(own),
        };
        branch.lines.push((line, branch.window.map(|window| window.first)));
        summarises
    }

    fn accept_reading<'a>(&mut self, line: &Line<'a>, reading: &Reading<'_>, items: &mut Vec<Item<'a>>) {
        let number = line.number;
        let findings = self.report.findings.partition_point(|finding| finding.line < number);
        if let Some(flaw) = reading.flaw {
            self.find(number, FindingKind::Damaged(flaw));
        }
        // A repetition must not be read: what it says was said.
        let id = reading.raw.and_then(|raw| self.format.id(line, raw));
        let repeated = id.and_then(|id| self.known.get(&key(id.as_bytes())).copied());
        let meaning = match repeated {
            Some((_, content)) if content == key(line.bytes) => None,
            _ => reading.raw.and_then(|raw| self.format.read(line, raw)),
        };
        let updates = meaning.as_ref().is_some_and(|meaning| meaning.updates);
        let (dedupe, dedupe_if_changed) = match self.identity(line, reading.raw, updates) {
            Ok(ids) => ids,
            Err(first) => {
                self.report.findings.truncate(findings);
                self.find(number, FindingKind::Repeated { first });
                self.report.accounting.duplicates += 1;
                items.push(Item::Duplicate { line: number, first });
                return;
            }
        };
        if meaning.is_none() && !matches!(reading.flaw, Some(Flaw::Torn | Flaw::Unfinished)) {
            self.find(number, FindingKind::NotARecord);
        }
        let mut meaning = meaning.unwrap_or_else(Meaning::event);
        for kind in std::mem::take(&mut meaning.findings) {
            self.find(number, kind);
        }
        let target = match meaning.back.take() {
            None => None,
            Some(Back::Before(target)) => self.before(target).or_else(|| {
                // There is nothing before it: the context starts anew.
                meaning.role = ContextRole::Boundary;
                None
            }),
            Some(Back::After(target)) => self.owner(target).and_then(|(branch, is_last)| {
                if is_last {
                    self.current = branch;
                }
                (!is_last).then_some((branch, target))
            }),
            Some(Back::Missing(target)) => {
                self.find(number, FindingKind::TargetMissing { target: shown(&target) });
                None
            }
        };
        if let Some((from, at_line)) = target {
            self.fork(from, at_line);
            let branch = BranchRef(self.current);
            let (session, from, key) = (SessionRef(0), BranchRef(from), dedupe.clone());
            items.push(Item::Fork(Fork { session, branch, from, at_line, line: number, key }));
        }
        let summarises = self.place(number, meaning.role);
        let steps = self.steps(&meaning, number);
        let added = self.report.findings.get(findings..).unwrap_or_default();
        let class = if added.iter().any(|finding| finding.kind.is_fault()) {
            self.report.accounting.reported += 1;
            LineClass::Reported
        } else {
            self.report.accounting.imported += 1;
            LineClass::Imported
        };
        items.push(Item::Append(Append {
            session: SessionRef(0),
            branch: BranchRef(self.current),
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
            attachments: meaning.attachments,
            more: meaning.more,
        }));
        items.extend(steps);
    }

    fn steps<'a>(&mut self, meaning: &Meaning, line: u64) -> Vec<Item<'a>> {
        let (session, branch) = (SessionRef(0), BranchRef(self.current));
        let mut items = Vec::new();
        for call in &meaning.calls {
            if call.id.is_empty() {
                self.find(line, FindingKind::CallWithoutId);
                continue;
            }
            let tool_use = printable(&call.id, 256);
            let tool = tool_name(&call.tool);
            let open = OpenCall { session, branch, line, tool_use: tool_use.clone(), tool: tool.clone() };
            match self.calls.start(open) {
                Ok(()) => {
                    let input = call.input.clone();
                    items.push(Item::CallStarted(CallStarted { session, branch, line, tool_use, tool, input }));
                }
                Err(_) if meaning.updates => {}
                Err(first) => self.find(line, FindingKind::CallRepeated { tool_use: shown(&call.id), first }),
            }
        }
        for result in &meaning.results {
            let tool_use = printable(&result.id, 256);
            match self.calls.end(&tool_use, line) {
                ResultIs::First => {
                    let failed = result.failed;
                    items.push(Item::CallEnded { session, branch, line, tool_use, failed });
                }
                ResultIs::Repeated(_) if meaning.updates => {}
                ResultIs::Repeated(first) => {
                    self.find(line, FindingKind::ResultRepeated { tool_use: shown(&result.id), first });
                }
                ResultIs::WithoutCall => {
                    self.find(line, FindingKind::ResultWithoutCall { tool_use: shown(&result.id) });
                }
            }
        }
        items
    }
}

impl<F: Format> Planner for Flat<F> {
    fn accept<'a>(&mut self, line: &Line<'a>) -> Vec<Item<'a>> {
        for kind in self.format.notice(line) {
            self.find(line.number, kind);
        }
        if !line.is_readable || is_blank(line.bytes) {
            self.find(line.number, if line.is_readable { FindingKind::Blank } else { FindingKind::NotAFile });
            self.report.accounting.reported += 1;
            return vec![Item::Blank { line: line.number }];
        }
        let mut items = Vec::new();
        if !self.begun {
            self.begun = true;
            items.push(Item::Begin(self.format.begin()));
        }
        let decoded = decode(line.bytes);
        // The end of a document's element tells whether it is whole, and not what it is.
        let is_cut = !line.field.is_empty() && !line.terminated;
        let whole = if is_cut { None } else { Raw::parse(&decoded.text) };
        if whole.is_some() {
            let reading = Reading { raw: whole, flaw: decoded.flaw, range: decoded.range };
            self.accept_reading(line, &reading, &mut items);
            return items;
        }
        let behind = glued(&decoded.text, F::STARTS, |rest| Raw::parse(rest).is_some_and(F::is_record));
        // At the end of what a writer was still at, what looks like a record behind another's head is a part of it.
        let is_part = |at: &usize| {
            let before = decoded.text.get(..*at).unwrap_or_default();
            !line.terminated && before.ends_with(['[', ',', ':', ' '])
        };
        if let Some(at) = behind.filter(|at| !is_cut && !is_part(at)) {
            let (text, range) = decoded.behind(line.bytes, at);
            let reading = Reading { raw: Raw::parse(text), flaw: Some(Flaw::Glued), range };
            self.accept_reading(line, &reading, &mut items);
            return items;
        }
        let flaw = Some(if line.terminated { Flaw::Torn } else { Flaw::Unfinished });
        self.accept_reading(line, &Reading { raw: None, flaw, range: 0..line.bytes.len() }, &mut items);
        items
    }

    fn finish(self) -> Plan {
        // A source that was cut off may not say yet where it stands.
        let stands = self.format.stands_at().and_then(|line| self.owner(line));
        let current = stands.filter(|(_, is_last)| *is_last).map_or(self.current, |(branch, _)| branch);
        let mut report = self.report;
        report.findings.extend(self.calls.into_open().iter().map(|call| Finding {
            line: call.line,
            kind: FindingKind::InDoubt { tool_use: shown(&call.tool_use), tool: shown(&call.tool) },
        }));
        report.findings.sort_by_key(|finding| finding.line);
        Plan { report, current: if self.begun { vec![BranchRef(current)] } else { Vec::new() } }
    }
}

/// A tool's name without controls, at most 120 characters.
pub(in crate::import) fn tool_name(name: &str) -> String {
    let name: String = name.chars().filter(|character| !character.is_control()).take(120).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}
