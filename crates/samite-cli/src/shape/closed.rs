//! A closed workspace, or what keeps it from being closed, as an answer.

use super::{PositionShape, TreeShape, show_paths};
use crate::printer::words::{bytes, count, rfc3339, time};
use crate::printer::{Answer, Page, Style};
use samite::workspace::{Closed, Receipt};
use samite_model::closing::{Finding, What};
use serde::Serialize;

/// The code of an answer that does not say "safe to delete".
const NOT_SAFE: &str = "not_safe_to_delete";

/// What came of closing a workspace.
#[derive(Debug, Serialize)]
pub(crate) struct ClosedShape {
    session: String,
    branch: String,
    /// The workspace.
    id: String,
    directory: String,
    safe: bool,
    code: Option<&'static str>,
    receipt: Option<ReceiptShape>,
    already: bool,
    tree: Option<TreeShape>,
    new_bytes: u64,
    deadline_passed: bool,
    unsaved_paths: u64,
    unsaved_bytes: u64,
    refusals: Vec<FindingShape>,
    notes: Vec<FindingShape>,
}

/// When a workspace was closed, and where that is recorded.
#[derive(Debug, Serialize)]
pub(crate) struct ClosedAtShape {
    #[serde(flatten)]
    position: PositionShape,
    time: String,
    #[serde(skip)]
    when: i64,
}

impl ClosedAtShape {
    /// The shape of a receipt.
    pub(crate) fn new(receipt: &Receipt) -> Self {
        Self { position: receipt.position.into(), time: rfc3339(receipt.time), when: receipt.time }
    }

    /// When, for a person.
    pub(crate) fn when(&self) -> String {
        time(self.when)
    }

    /// It in words: a receipt says what was, and not what is.
    pub(crate) fn words(&self) -> String {
        format!("{}, seq {}; all in it was durable then", self.when(), self.position.seq)
    }
}

/// The entry that says that everything was durable.
#[derive(Debug, Serialize)]
struct ReceiptShape {
    seq: u64,
    time: String,
    head: u64,
    files: u64,
    bytes: u64,
    artifacts: Vec<String>,
    excluded: u64,
}

/// Something that was found.
#[derive(Debug, Serialize)]
struct FindingShape {
    code: &'static str,
    words: String,
    next: &'static str,
    path: Option<String>,
    bytes: Option<u64>,
    session: Option<String>,
    branch: Option<String>,
    step: Option<String>,
    seq: Option<u64>,
    pid: Option<u32>,
    #[serde(skip)]
    what: What,
}

impl FindingShape {
    fn new(finding: &Finding) -> Self {
        Self {
            code: finding.what.code(),
            words: finding.words.clone(),
            next: finding.what.next(),
            path: finding.path.clone(),
            bytes: finding.bytes,
            session: finding.session.map(|session| session.to_string()),
            branch: finding.branch.map(|branch| branch.to_string()),
            step: finding.step.clone(),
            seq: finding.seq,
            pid: finding.pid,
            what: finding.what,
        }
    }

    /// It in a line.
    fn line(&self) -> String {
        let size = self.bytes.filter(|size| *size > 0).map(|size| format!(" ({})", bytes(size))).unwrap_or_default();
        match (&self.path, self.what) {
            (Some(path), What::Unsaved | What::Unreadable) => format!("{path}{size}: {}", self.words),
            (Some(path), What::Changing | What::Torn | What::Socket | What::Excluded | What::Secret) => {
                format!("{path}{size}")
            }
            _ => self.words.clone(),
        }
    }
}

/// The heading of findings of one sort.
fn heading(what: What) -> &'static str {
    match what {
        What::StepOpen => "steps without an outcome:",
        What::StepInDoubt => "steps in doubt:",
        What::ProcessRunning => "processes of steps that run:",
        What::ProcessUnseen => "processes of steps that cannot be seen from here:",
        What::WriterAlive => "another writer is at work, and nothing can be saved beside it:",
        What::Changing => "changed again after they were stored:",
        What::Unsaved => "not saved:",
        What::NotLookedAt => "not looked at:",
        What::Torn => "changed while they were read, and are stored as they came:",
        What::Unreadable => "could not be read:",
        What::Socket => "are sockets, and in no tree:",
        What::Unpublished => "could not be published:",
        What::HoldsStore => "the store would go with the directory:",
        What::HoldsMaster => "the master key would go with the directory:",
        What::Excluded => "left out by rules, and lost with the directory:",
        What::Secret => "look as if secrets were inside (stored; .samiteignore leaves paths out):",
        What::OtherDirectory => "other branches have directories, which this does not close:",
        What::OtherSession => "other sessions work here too:",
        What::NotAdopted => "was not taken over into long-term memory:",
    }
}

fn show_all(page: &mut Page, findings: &[FindingShape]) {
    for what in What::ALL {
        let lines: Vec<String> =
            findings.iter().filter(|finding| finding.what == what).map(FindingShape::line).collect();
        if lines.is_empty() {
            continue;
        }
        show_paths(page, heading(what), &lines);
        if what.refuses() {
            page.styled(Style::Dim, format!("  {}", what.next()));
        }
    }
}

impl ClosedShape {
    /// The shape of what came of it.
    pub(crate) fn new(closed: &Closed) -> Self {
        let (refusals, notes): (Vec<&Finding>, Vec<&Finding>) =
            closed.findings.iter().partition(|finding| finding.what.refuses());
        let unsaved = |finding: &&&Finding| matches!(finding.what, What::Unsaved | What::Changing);
        Self {
            session: closed.session.to_string(),
            branch: closed.workspace.branch.to_string(),
            id: closed.workspace.id.to_string(),
            directory: closed.workspace.directory.display().to_string(),
            safe: closed.is_safe(),
            code: (!closed.is_safe()).then_some(NOT_SAFE),
            receipt: closed.receipt.as_ref().map(|receipt| ReceiptShape {
                seq: receipt.position.seq,
                time: rfc3339(receipt.time),
                head: receipt.closed.head,
                files: receipt.closed.files,
                bytes: receipt.closed.bytes,
                artifacts: receipt.closed.artifacts.clone(),
                excluded: receipt.closed.excluded,
            }),
            already: closed.already,
            tree: closed.tree.as_ref().map(TreeShape::new),
            new_bytes: closed.new_bytes,
            deadline_passed: closed.deadline_passed,
            unsaved_paths: refusals.iter().filter(unsaved).count() as u64,
            unsaved_bytes: refusals.iter().filter(unsaved).filter_map(|finding| finding.bytes).sum(),
            refusals: refusals.into_iter().map(FindingShape::new).collect(),
            notes: notes.into_iter().map(FindingShape::new).collect(),
        }
    }
}

impl Answer for ClosedShape {
    fn show(&self, page: &mut Page) {
        let tree = self.tree.as_ref().map_or_else(|| "none".to_owned(), TreeShape::words);
        page.facts(&[("workspace", self.directory.clone()), ("last tree", tree)]);
        if let Some(receipt) = &self.receipt {
            let since = if self.already { ", as before" } else { "" };
            page.facts(&[
                ("receipt", format!("seq {} of branch {}{since}", receipt.seq, self.branch)),
                ("holds", format!("{}, {}", count(receipt.files, "file"), bytes(receipt.bytes))),
                ("artifacts", receipt.artifacts.join(", ")),
            ]);
        }
        show_all(page, &self.notes);
        if self.safe {
            page.styled(Style::Good, format!("safe to delete: {}", self.directory));
            page.styled(Style::Care, "what is written there after this is in no tree: stop what writes there first");
            return;
        }
        page.gap();
        let late = if self.deadline_passed { " (there was no more time)" } else { "" };
        page.styled(Style::Bad, format!("not safe to delete{late}"));
        show_all(page, &self.refusals);
        if self.unsaved_paths > 0 {
            let paths = count(self.unsaved_paths, "path");
            page.styled(Style::Care, format!("{paths}, {}, would be lost as they are now", bytes(self.unsaved_bytes)));
        }
    }
}
