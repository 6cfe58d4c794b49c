//! Workspaces as answers: what differs, what a checkpoint holds, what a restore did.

use super::PositionShape;
use crate::printer::words::{bytes, count, duration};
use crate::printer::{Page, Style};
use samite::workspace::{Change, ChangeKind, Checkpoint, RecordedTree, RestoreReport, Restored};
use samite_model::tree::{Kept, KeptReason};
use serde::Serialize;
use serde_json::Value;

/// How many paths of one sort a person is shown.
pub(super) const SHOWN: usize = 50;

/// What to do about a git repository that is kept because of something in it.
pub(super) const REPOSITORIES: &str =
    "  to put a repository back as well, take a checkpoint first: what is in it then is the session's";

/// A path that differs.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeShape {
    path: String,
    change: ChangeKind,
}

impl ChangeShape {
    /// The shapes of changes.
    pub(crate) fn all(changes: &[Change]) -> Vec<Self> {
        changes.iter().map(|change| Self::new(change.path.to_string(), change.kind)).collect()
    }

    /// The shape of one change.
    pub(crate) fn new(path: String, change: ChangeKind) -> Self {
        Self { path, change }
    }

    /// The letter for how it differs.
    pub(crate) fn letter(kind: ChangeKind) -> &'static str {
        match kind {
            ChangeKind::Added => "A",
            ChangeKind::Removed => "D",
            ChangeKind::Type => "T",
            ChangeKind::Content => "M",
            ChangeKind::Metadata => "m",
            ChangeKind::Time => "t",
        }
    }

    /// Puts changes on a page, a line each.
    pub(crate) fn show_all(changes: &[Self], page: &mut Page) {
        for change in changes {
            let style = match change.change {
                ChangeKind::Added => Style::Good,
                ChangeKind::Removed => Style::Bad,
                ChangeKind::Time => Style::Dim,
                _ => Style::Plain,
            };
            page.spans(&[(style, Self::letter(change.change)), (Style::Plain, "  "), (Style::Plain, &change.path)]);
        }
    }
}

/// Names some paths under a heading.
pub(crate) fn show_paths(page: &mut Page, heading: &str, paths: &[String]) {
    if paths.is_empty() {
        return;
    }
    page.styled(Style::Care, heading);
    for path in paths.iter().take(SHOWN) {
        page.line(format!("  {path}"));
    }
    if paths.len() > SHOWN {
        page.styled(Style::Dim, format!("  … {} more (--json has all)", paths.len() - SHOWN));
    }
}

/// A checkpoint that was taken.
#[derive(Debug, Serialize)]
pub(crate) struct CheckpointShape {
    /// The tree.
    id: String,
    session: String,
    branch: String,
    seq: u64,
    unchanged: bool,
    new_bytes: u64,
    report: Value,
}

impl CheckpointShape {
    /// The shape of a checkpoint.
    pub(crate) fn new(session: String, checkpoint: &Checkpoint) -> Self {
        Self {
            id: checkpoint.root.to_string(),
            session,
            branch: checkpoint.position.journal.to_string(),
            seq: checkpoint.position.seq,
            unchanged: checkpoint.unchanged,
            new_bytes: checkpoint.new_bytes,
            report: serde_json::to_value(&checkpoint.report).unwrap_or_default(),
        }
    }
}

/// The paths under a name of a scan's report.
fn paths(report: &Value, name: &str) -> Vec<String> {
    let path = |value: &Value| match value {
        Value::String(path) => Some(path.clone()),
        special => {
            let (path, what) = (special.get("path")?.as_str()?, special.get("what")?.as_str()?);
            Some(format!("{path}: {what}"))
        }
    };
    report.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(path).collect()
}

/// Puts what a person should know of a scan on a page.
pub(crate) fn show_scan(page: &mut Page, report: &Value) {
    show_paths(
        page,
        "look as if secrets were inside (stored; .samiteignore leaves paths out):",
        &paths(report, "secrets"),
    );
    show_paths(
        page,
        "redaction found something in their new content (`samite policy redaction` decides what happens then):",
        &super::found::in_scan(report),
    );
    show_paths(page, "changed while they were read, and are stored as they came:", &paths(report, "torn"));
    show_paths(page, "are sockets, and in no tree:", &paths(report, "sockets"));
    show_paths(page, "could not be read, and are left alone by restores:", &paths(report, "unreadable"));
}

impl crate::printer::Answer for CheckpointShape {
    fn show(&self, page: &mut Page) {
        let number = |name: &str| self.report.get(name).and_then(Value::as_u64).unwrap_or_default();
        let at = self.seq.to_string();
        let what = format!(
            "  {}, {}, {} new{}",
            count(number("files"), "file"),
            bytes(number("bytes")),
            bytes(self.new_bytes),
            if self.unchanged { ", as the one before" } else { "" }
        );
        page.spans(&[(Style::Plain, "checkpoint at seq "), (Style::Strong, &at), (Style::Dim, &what)]);
        show_scan(page, &self.report);
    }
}

/// A tree as a branch recorded it.
#[derive(Debug, Serialize)]
pub(crate) struct TreeShape {
    pub(crate) id: String,
    pub(crate) branch: String,
    pub(crate) seq: u64,
    pub(crate) time: String,
    pub(crate) label: Option<String>,
    /// Where the log shows it: with a step's outcome or a turn's end, which comes right after it, if it is theirs.
    pub(crate) rewind_to: u64,
    #[serde(skip)]
    when: i64,
}

impl TreeShape {
    /// The shape of a tree.
    pub(crate) fn new(tree: &RecordedTree) -> Self {
        Self {
            id: tree.tree.root.to_string(),
            branch: tree.position.journal.to_string(),
            seq: tree.position.seq,
            time: crate::printer::words::rfc3339(tree.time),
            label: tree.tree.label.clone(),
            rewind_to: tree.place(),
            when: tree.time,
        }
    }

    /// It in a few words.
    pub(crate) fn words(&self) -> String {
        let label = self.label.as_ref().map_or_else(String::new, |label| format!(" ({label})"));
        let shown =
            if self.rewind_to == self.seq { String::new() } else { format!(" (in the log: {})", self.rewind_to) };
        format!("seq {}{shown} of {}{label}", self.seq, crate::printer::words::time(self.when))
    }

    /// When it was recorded, for a person.
    pub(crate) fn when(&self) -> String {
        crate::printer::words::time(self.when)
    }
}

/// What a restore, or a fork into a directory, did.
#[derive(Debug, Serialize)]
pub(crate) struct RestoredShape {
    pub(crate) directory: String,
    tree: String,
    from: PositionShape,
    safety: Option<PositionShape>,
    /// What a step left that was cut off, and went back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    torn: Vec<String>,
    complete: bool,
    report: Value,
    #[serde(skip)]
    kept: Vec<String>,
    #[serde(skip)]
    repositories: bool,
    #[serde(skip)]
    nanoseconds: u64,
}

impl RestoredShape {
    /// The shape of a restore.
    pub(crate) fn new(restored: &Restored) -> Self {
        let report = &restored.report;
        Self {
            directory: restored.directory.display().to_string(),
            tree: restored.target.to_string(),
            from: restored.from.into(),
            safety: restored.safety.map(PositionShape::from),
            torn: restored.torn.clone(),
            complete: report.is_complete(),
            report: report_value(report),
            kept: report.kept.iter().map(kept).collect(),
            repositories: report.kept.iter().any(|kept| kept.repository),
            nanoseconds: u64::try_from(report.nanoseconds).unwrap_or_default(),
        }
    }

    /// Puts it on a page, for somebody who asked for a position.
    pub(crate) fn show(&self, page: &mut Page, at: u64) {
        let number = |name: &str| self.report.get(name).and_then(Value::as_u64).unwrap_or_default();
        let but = match self.kept.len() as u64 {
            0 => String::new(),
            many => format!(
                ", but for {} kept as {} (below)",
                count(many, "path"),
                if many == 1 { "it is" } else { "they are" }
            ),
        };
        let tree =
            if at == self.from.seq { String::new() } else { format!(" (its checkpoint: seq {})", self.from.seq) };
        page.line(format!("{} is as at seq {at}{tree}{but}", self.directory));
        let mut did = Vec::new();
        for (name, words) in [("created", "made"), ("replaced", "replaced"), ("removed", "removed"), ("set", "set")] {
            if number(name) > 0 {
                did.push(format!("{} {words}", number(name)));
            }
        }
        for (name, words) in [("copied", "copied"), ("cloned", "cloned (sharing their bytes)")] {
            if number(&format!("{name}_files")) > 0 {
                let size = bytes(number(&format!("{name}_bytes")));
                did.push(format!("{}, {size}, {words}", count(number(&format!("{name}_files")), "file")));
            }
        }
        let did = if did.is_empty() { "nothing to do".to_owned() } else { did.join("; ") };
        page.styled(Style::Dim, format!("  {did}; took {}", duration(self.nanoseconds)));
        if let Some(safety) = &self.safety {
            page.styled(Style::Dim, format!("  what was there before is the checkpoint at seq {}", safety.seq));
        }
        show_paths(page, "put back too, although they were as a step left them that was cut off:", &self.torn);
        self.show_kept(page);
    }

    /// Puts on a page what it left as it was.
    pub(crate) fn show_kept(&self, page: &mut Page) {
        show_paths(page, "kept as they are:", &self.kept);
        if self.repositories {
            page.styled(Style::Dim, REPOSITORIES);
        }
        show_paths(page, "could not be put back, or not whole:", &paths(&self.report, "failed"));
    }
}

/// What a restore did, as JSON; durations are named as everywhere.
fn report_value(report: &RestoreReport) -> Value {
    let mut value = serde_json::to_value(report).unwrap_or_default();
    if let Some(fields) = value.as_object_mut()
        && let Some(took) = fields.remove("nanoseconds")
    {
        fields.insert("duration_ns".to_owned(), took);
    }
    value
}

/// A path that is kept, and why.
pub(crate) fn kept(kept: &Kept) -> String {
    let why = match kept.reason {
        KeptReason::Changed => "changed since",
        KeptReason::Removed => "removed since",
        KeptReason::Unknown => "not samite's",
        KeptReason::Others => "another session's",
        KeptReason::OthersAndSteps => "another session's, then a step's: kept whole",
        KeptReason::PerhapsOthers => "perhaps another session's, which was at work then too",
        KeptReason::Persons => "yours",
        KeptReason::PersonsAndSteps => "yours, then a step's: kept whole",
        KeptReason::Excluded => "excluded by rules",
        KeptReason::Unread => "could not be read",
        KeptReason::NotEmpty => "holds something that is kept",
        KeptReason::Blocked => "in the way of something that is kept",
        KeptReason::Parted => "more of it would have to go back than was named",
    };
    let what = if kept.repository { "a git repository, kept whole: " } else { "" };
    format!("{} ({what}{why})", kept.path)
}
