//! The importers of one conversation a source against made sources, made damage, and real ones.

mod codex;
mod gemini_cli;
mod openhands;
mod responses;
mod swe_agent;

use super::carry_out::Planner as _;
use super::frame::context::{ContextRole, context};
use super::frame::elements::Elements;
use super::frame::flat::{Flat, Format};
use super::frame::lines::{Lines, Records};
use super::frame::plan::{Append, Attachment, Item};
use super::frame::report::Report;
use samite_host::files;
use std::path::{Path, PathBuf};

/// An entry of a plan.
#[derive(Clone, Debug)]
struct Entry {
    line: u64,
    branch: usize,
    code: u16,
    context: ContextRole,
    id: String,
    attributes: String,
    is_record: bool,
}

/// A whole plan.
struct Plan {
    key: String,
    entries: Vec<Entry>,
    /// From, branch, at line, line.
    forks: Vec<(usize, usize, u64, u64)>,
    started: Vec<(u64, String, String)>,
    ended: Vec<(u64, String, bool)>,
    /// Each attachment with its line.
    attached: Vec<(u64, Attachment)>,
    report: Report,
    current: usize,
    /// One word an item, for comparing the starts of plans.
    items: Vec<String>,
}

fn plan(format: impl Format, records: &mut impl Records) -> Plan {
    let mut planner = Flat::new(format);
    let (mut key, mut entries, mut forks, mut started, mut ended, mut items) =
        (String::new(), vec![], vec![], vec![], vec![], vec![]);
    let mut attached = Vec::new();
    let mut seen = 0;
    while let Some(record) = records.next_record().unwrap() {
        let mut once = 0;
        for item in planner.accept(&record) {
            items.push(format!("{item:?}"));
            match item {
                Item::Begin(begin) => key = begin.key,
                Item::Fork(fork) => forks.push((fork.from.0, fork.branch.0, fork.at_line, fork.line)),
                Item::CallStarted(call) => started.push((call.line, call.tool_use, call.tool)),
                Item::CallEnded { line, tool_use, failed, .. } => ended.push((line, tool_use, failed)),
                Item::Append(append) => {
                    once += u64::from(append.class.is_some());
                    if append.class.is_some() {
                        assert_eq!(&append.payload[..], record.bytes);
                    }
                    let line = append.line;
                    attached.extend(append.attachments.iter().map(|one| (line, one.clone())));
                    entries.push(entry(&append));
                }
                Item::Duplicate { .. } | Item::Blank { .. } => once += 1,
                Item::AgentLinked { .. } => {}
            }
        }
        assert_eq!(once, 1, "record {} is in one class", record.number);
        seen += 1;
    }
    let super::carry_out::Plan { report, current } = planner.finish();
    assert_eq!(report.accounting.lines(), seen, "{report:?}");
    assert_eq!(report.reported_lines().len() as u64, report.accounting.reported, "{report:?}");
    let mut ids: Vec<_> = entries.iter().map(|entry: &Entry| &entry.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), entries.len(), "two entries share an id");
    Plan {
        key,
        entries,
        forks,
        started,
        ended,
        attached,
        report,
        current: current.first().map_or(0, |branch| branch.0),
        items,
    }
}

fn entry(append: &Append<'_>) -> Entry {
    Entry {
        line: append.line,
        branch: append.branch.0,
        code: append.kind.code(),
        context: append.context,
        id: append.dedupe.as_str().to_owned(),
        attributes: append.attributes().map(|value| value.to_string()).unwrap_or_default(),
        is_record: append.class.is_some(),
    }
}

impl Plan {
    fn codes(&self) -> Vec<(u64, &'static str)> {
        self.report.findings.iter().map(|finding| (finding.line, finding.kind.code())).collect()
    }

    fn counts(&self) -> (u64, u64, u64) {
        let accounting = self.report.accounting;
        (accounting.imported, accounting.duplicates, accounting.reported)
    }

    fn count(&self, kind: samite_model::EntryKind) -> usize {
        self.entries.iter().filter(|entry| entry.code == kind.code()).count()
    }

    fn doubts(&self) -> usize {
        self.report.findings.iter().filter(|finding| finding.kind.code() == "in_doubt").count()
    }

    /// The lines in context at the end of a branch.
    fn context(&self, branch: usize) -> Vec<u64> {
        let mut ancestry: Vec<(u64, ContextRole)> = Vec::new();
        let (mut branch, mut until) = (branch, u64::MAX);
        loop {
            let own = self.entries.iter().filter(|one| one.is_record && one.branch == branch && one.line <= until);
            let mut own: Vec<_> = own.map(|one| (one.line, one.context)).collect();
            own.append(&mut ancestry);
            ancestry = own;
            let Some((from, _, at, _)) = self.forks.iter().copied().find(|fork| fork.1 == branch) else { break };
            (branch, until) = (from, until.min(at));
        }
        context(ancestry.iter().map(|(_, role)| *role)).into_iter().map(|at| ancestry[at].0).collect()
    }
}

/// Cuts a source at every byte of its tail: what is whole before the cut is planned as it is in the whole, and at most
/// the last record is reported.
fn assert_cuts<F: Format>(text: &[u8], tail: usize, make: impl Fn(&[u8]) -> Plan) {
    let whole = make(text);
    for cut in text.len().saturating_sub(tail)..text.len() {
        let cut_plan = make(&text[..cut]);
        let torn = cut_plan.report.findings.iter().any(|finding| finding.kind.code() == "unfinished");
        let kept = cut_plan.items.len() - usize::from(torn);
        assert!(cut_plan.items[..kept] == whole.items[..kept], "cut at {cut}");
        assert!(cut_plan.report.accounting.reported <= whole.report.accounting.reported + 1, "cut at {cut}");
    }
}

fn lines_of<F: Format>(format: F, text: &[u8]) -> Plan {
    plan(format, &mut Lines::new(text))
}

fn elements_of<F: Format>(format: F, text: &[u8]) -> Plan {
    plan(format, &mut Elements::new(text))
}

/// Real data beside the repository, or nothing, which is said.
fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SAMITE_SHARED").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let path = root.join("data").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: there is no {}", path.display());
    None
}

fn bytes(path: &Path) -> Vec<u8> {
    files::read(path).unwrap()
}
