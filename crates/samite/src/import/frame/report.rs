//! What there is to say about a transcript.

use super::damage::Flaw;
use super::plan::LineClass;
use std::fmt;

/// Every line in one class: `lines() = imported + duplicates + reported` (see the module's documentation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    /// Lines without a fault that became entries.
    pub imported: u64,
    /// Lines whose entry was there before.
    pub duplicates: u64,
    /// Lines with a fault; all but the blank ones are entries too.
    pub reported: u64,
}

impl Accounting {
    /// All lines.
    pub const fn lines(&self) -> u64 {
        self.imported + self.duplicates + self.reported
    }

    /// To be called for each [`super::plan::Append`] whose id the store knew with the same bytes: a line without a fault is
    /// a duplicate, one with a fault stays reported.
    pub const fn stored_before(&mut self, class: LineClass) {
        if matches!(class, LineClass::Imported) && self.imported > 0 {
            self.imported -= 1;
            self.duplicates += 1;
        }
    }

    /// To be called for each [`super::plan::Append`] whose id the store knew with other bytes, and which was appended under
    /// its other id.
    pub const fn changed_since(&mut self, class: LineClass) {
        if matches!(class, LineClass::Imported) && self.imported > 0 {
            self.imported -= 1;
            self.reported += 1;
        }
    }

    /// Adds another transcript's lines.
    pub const fn add(&mut self, other: &Self) {
        self.imported += other.imported;
        self.duplicates += other.duplicates;
        self.reported += other.reported;
    }
}

/// Something to say about a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line.
    pub line: u64,
    /// What it is.
    pub kind: FindingKind,
}

/// What there is to say. Ids are cut to 64 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// The line's bytes are damaged.
    Damaged(Flaw),
    /// The line is blank.
    Blank,
    /// It is a link, a folder, a pipe or a device, which is not read.
    NotAFile,
    /// The line is a JSON value, but no record.
    NotARecord,
    /// A conversation's record without a message.
    NoMessage,
    /// It has the id and the bytes of an earlier line. Not a fault: it is counted as a duplicate.
    Repeated {
        /// The earlier line.
        first: u64,
    },
    /// It has the id of an earlier line, but other bytes.
    SameIdOtherBytes {
        /// The id.
        uuid: String,
        /// The earlier line.
        first: u64,
    },
    /// Its parent is in no line before it.
    ParentMissing {
        /// The parent's id.
        parent: String,
    },
    /// Its parent descends from it.
    ParentCycle {
        /// The parent's id.
        parent: String,
    },
    /// A call without an id: it cannot be a step.
    CallWithoutId,
    /// A call with the id of an earlier one.
    CallRepeated {
        /// The call's id.
        tool_use: String,
        /// The earlier line.
        first: u64,
    },
    /// A second result of a call.
    ResultRepeated {
        /// The call's id.
        tool_use: String,
        /// The line of the first result.
        first: u64,
    },
    /// A result of a call that no line before it has.
    ResultWithoutCall {
        /// The call's id.
        tool_use: String,
    },
    /// A call's input cannot be read as a value. Not a fault: its bytes are in the entry.
    InputUnreadable,
    /// A call without a result: its step is in doubt. Not a fault of the line.
    InDoubt {
        /// The call's id.
        tool_use: String,
        /// The tool.
        tool: String,
    },
    /// A title for a record that is in no line before it, as a rule in another transcript. Not a fault.
    LeafElsewhere {
        /// The record's id.
        leaf: String,
    },
    /// The store has another record under its id; both are kept.
    ChangedSince,
    /// It goes back to a record that is in no line before it.
    TargetMissing {
        /// The record's id.
        target: String,
    },
    /// Numbered records before it are missing. Not a fault of the line.
    Gap {
        /// The first number that is missing.
        from: u64,
        /// The last one.
        to: u64,
    },
    /// It has the number of a record before it.
    SameNumber {
        /// The number.
        number: u64,
    },
    /// The document ends after it without having been closed. Not a fault of the line.
    DocumentCut,
    /// Its bytes are whole, but what is in them cannot be decoded.
    Undecodable {
        /// What its writer says that they are.
        encoding: String,
    },
    /// An attachment in it cannot be decoded. Not a fault: its bytes are in the entry.
    AttachmentUnreadable,
}

impl FindingKind {
    /// Whether it puts the line into the class of reported ones.
    pub const fn is_fault(&self) -> bool {
        !matches!(
            self,
            Self::Repeated { .. }
                | Self::InputUnreadable
                | Self::InDoubt { .. }
                | Self::LeafElsewhere { .. }
                | Self::Gap { .. }
                | Self::DocumentCut
                | Self::AttachmentUnreadable
        )
    }

    /// A stable code, lower case words joined by `_`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Damaged(flaw) => flaw.name(),
            Self::Blank => "blank",
            Self::NotAFile => "not_a_file",
            Self::NotARecord => "not_a_record",
            Self::NoMessage => "no_message",
            Self::Repeated { .. } => "repeated",
            Self::SameIdOtherBytes { .. } => "same_id_other_bytes",
            Self::ParentMissing { .. } => "parent_missing",
            Self::ParentCycle { .. } => "parent_cycle",
            Self::CallWithoutId => "call_without_id",
            Self::CallRepeated { .. } => "call_repeated",
            Self::ResultRepeated { .. } => "result_repeated",
            Self::ResultWithoutCall { .. } => "result_without_call",
            Self::InputUnreadable => "input_unreadable",
            Self::InDoubt { .. } => "in_doubt",
            Self::LeafElsewhere { .. } => "leaf_elsewhere",
            Self::ChangedSince => "changed_since",
            Self::TargetMissing { .. } => "target_missing",
            Self::Gap { .. } => "gap",
            Self::SameNumber { .. } => "same_number",
            Self::DocumentCut => "document_cut",
            Self::Undecodable { .. } => "undecodable",
            Self::AttachmentUnreadable => "attachment_unreadable",
        }
    }
}

/// What a source's records are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Lines of a file.
    #[default]
    Line,
    /// Elements of a document.
    Record,
    /// Files of one event each.
    Event,
    /// Rows of a database.
    Row,
}

impl Unit {
    /// The word for one.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Record => "record",
            Self::Event => "event",
            Self::Row => "row",
        }
    }
}

impl Finding {
    /// The finding as a sentence, of a source with such records.
    pub fn told(&self, unit: Unit) -> String {
        let (number, unit) = (self.line, unit.name());
        let rest = match &self.kind {
            FindingKind::Damaged(flaw) => format!("{}; kept as it is", flaw.words()),
            FindingKind::Blank => "is blank; not kept".to_owned(),
            FindingKind::NotAFile => "is no regular file (a link, folder, pipe or device); not read".to_owned(),
            FindingKind::NotARecord => "is no record; kept as an event".to_owned(),
            FindingKind::NoMessage => "has no message; kept as an event".to_owned(),
            FindingKind::Repeated { first } => format!("repeats {unit} {first}; not added again"),
            FindingKind::SameIdOtherBytes { uuid, first } => {
                format!("has the id {uuid} of {unit} {first}, but is another record; both are kept")
            }
            FindingKind::ParentMissing { parent } => {
                format!("names the parent {parent}, which is in no {unit} before it; kept in {unit} order")
            }
            FindingKind::ParentCycle { parent } => {
                format!("names the parent {parent}, which descends from it; kept in {unit} order")
            }
            FindingKind::CallWithoutId => "calls a tool without an id; kept, but no step".to_owned(),
            FindingKind::CallRepeated { tool_use, first } => {
                format!("calls a tool with the id {tool_use} of {unit} {first}; kept, but no second step")
            }
            FindingKind::ResultRepeated { tool_use, first } => {
                format!("is a second result of {tool_use} after {unit} {first}; kept, and the first one counts")
            }
            FindingKind::ResultWithoutCall { tool_use } => {
                format!("is a result of {tool_use}, which no {unit} before it called; kept, but no step")
            }
            FindingKind::InputUnreadable => "has a tool's input that cannot be read as a value; kept".to_owned(),
            FindingKind::InDoubt { tool_use, tool } => {
                format!("calls {tool} ({tool_use}) and no {unit} has its result; the step is in doubt")
            }
            FindingKind::LeafElsewhere { leaf } => {
                format!("is a title for the record {leaf}, which is in no {unit} before it; kept")
            }
            FindingKind::ChangedSince => {
                "differs from the record imported under its id before; both are kept".to_owned()
            }
            FindingKind::TargetMissing { target } => {
                format!("goes back to {target}, which is in no {unit} before it; kept in {unit} order")
            }
            FindingKind::Gap { from, to } if from == to => format!("follows a gap: number {from} is missing"),
            FindingKind::Gap { from, to } => format!("follows a gap: the numbers {from} to {to} are missing"),
            FindingKind::SameNumber { number } => {
                format!("has the number {number} of an {unit} before it; both are kept")
            }
            FindingKind::DocumentCut => "is the last one of a document that ends before its end".to_owned(),
            FindingKind::Undecodable { encoding } => {
                format!("holds bytes ({encoding}) that cannot be decoded; kept as they are")
            }
            FindingKind::AttachmentUnreadable => {
                "has an attachment that cannot be decoded; it stays in the entry".to_owned()
            }
        };
        format!("{unit} {number} {rest}")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(Unit::Line))
    }
}

/// Cuts an id of the transcript to a length that fits into a message.
pub(in crate::import) fn shown(id: &str) -> String {
    id.chars().filter(|character| !character.is_control()).take(64).collect()
}

/// What there is to say about one transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Every line in one class.
    pub accounting: Accounting,
    /// In order of line; doubts about steps are among them.
    pub findings: Vec<Finding>,
    /// What the records are called.
    pub unit: Unit,
}

impl Report {
    /// The numbers of the lines in the class of reported ones, each once, in order.
    pub fn reported_lines(&self) -> Vec<u64> {
        let mut lines: Vec<u64> =
            self.findings.iter().filter(|finding| finding.kind.is_fault()).map(|finding| finding.line).collect();
        lines.dedup();
        lines
    }

    /// To be called as [`Accounting::changed_since`], with the line.
    pub fn changed_since(&mut self, line: u64, class: LineClass) {
        self.accounting.changed_since(class);
        let at = self.findings.partition_point(|finding| finding.line <= line);
        self.findings.insert(at, Finding { line, kind: FindingKind::ChangedSince });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_read_as_sentences() {
        let say = |kind| Finding { line: 7, kind }.to_string();
        assert_eq!(say(FindingKind::Damaged(Flaw::Torn)), "line 7 is torn: it is no whole JSON value; kept as it is");
        assert_eq!(
            say(FindingKind::InDoubt { tool_use: "toolu_1".into(), tool: "Bash".into() }),
            "line 7 calls Bash (toolu_1) and no line has its result; the step is in doubt"
        );
        assert_eq!(shown(&format!("a\n{}", "b".repeat(99))), format!("a{}", "b".repeat(63)));
    }

    #[test]
    fn classes_always_sum_to_the_lines() {
        let mut report = Report {
            accounting: Accounting { imported: 2, duplicates: 0, reported: 1 },
            findings: vec![Finding { line: 2, kind: FindingKind::Blank }],
            unit: Unit::Line,
        };
        report.accounting.stored_before(LineClass::Imported);
        report.accounting.stored_before(LineClass::Reported);
        assert_eq!(report.accounting, Accounting { imported: 1, duplicates: 1, reported: 1 });
        report.changed_since(1, LineClass::Imported);
        assert_eq!(report.accounting, Accounting { imported: 0, duplicates: 1, reported: 2 });
        assert_eq!(report.accounting.lines(), 3);
        assert_eq!(report.reported_lines(), [1, 2]);
    }
}
