//! What verification finds.

use samite_model::JournalId;
use std::fmt;

/// Damage to a range of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The journal.
    pub journal: JournalId,
    /// The first seq.
    pub first: u64,
    /// The last seq, included.
    pub last: u64,
    /// What is wrong.
    pub what: What,
    /// What is wrong, in words that name journal and seqs.
    pub message: String,
}

/// What is wrong with entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// The header is not the one that was chained.
    Changed,
    /// The stored link is not the one that the entries after it, or the head, were chained to.
    LinkChanged,
    /// Entries before and after it are there; it is not.
    Missing,
    /// Another entry of the journal is stored in its place.
    Reordered,
    /// The journal ends before its head.
    Cut,
    /// The head is not at the last entry, or its link is not that entry's.
    HeadMismatch,
    /// The stored bytes cannot be read.
    Unreadable,
    /// The header says another seq, and was chained so.
    WrongSeq,
    /// The header says another owner than the journal's.
    WrongOwner,
    /// The payload could not be opened, or is not what was committed to.
    Payload,
    /// The parent has no entry at the fork point.
    ForkPoint,
    /// Something of the workspace's tree that it names is missing or damaged.
    Tree,
}

impl What {
    /// The stable name, for JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::LinkChanged => "link_changed",
            Self::Missing => "missing",
            Self::Reordered => "reordered",
            Self::Cut => "cut",
            Self::HeadMismatch => "head_mismatch",
            Self::Unreadable => "unreadable",
            Self::WrongSeq => "wrong_seq",
            Self::WrongOwner => "wrong_owner",
            Self::Payload => "payload",
            Self::ForkPoint => "fork_point",
            Self::Tree => "tree",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Changed => "changed: the header is not the one that was chained",
            Self::LinkChanged => "has a changed link: what follows was chained to another",
            Self::Missing => "missing",
            Self::Reordered => "out of order: something else is stored in that place",
            Self::Cut => "cut off: not stored, though within the journal's head",
            Self::HeadMismatch => "not what the journal's head says",
            Self::Unreadable => "unreadable",
            Self::WrongSeq => "chained under another seq",
            Self::WrongOwner => "of another owner than the journal",
            Self::Payload => "has a payload that is not what was committed to",
            Self::ForkPoint => "not there, though the journal was forked at it",
            Self::Tree => "has a tree of which something is missing or damaged",
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Finding {
    /// A finding about one entry, with its cause.
    pub fn of_entry(journal: JournalId, seq: u64, what: What, cause: String) -> Self {
        Self { journal, first: seq, last: seq, what, message: message(journal, seq, seq, what, Some(cause)) }
    }
}

/// Findings by entry, joined to ranges at the end.
#[derive(Default)]
pub(super) struct Findings(Vec<(u64, u64, What, Option<String>)>);

impl Findings {
    pub(super) fn add(&mut self, first: u64, last: u64, what: What) {
        self.0.push((first, last, what, None));
    }

    /// With a cause of its own, which keeps it from being joined with its neighbours.
    pub(super) fn because(&mut self, seq: u64, what: What, cause: String) {
        self.0.push((seq, seq, what, Some(cause)));
    }

    pub(super) fn joined(mut self, journal: JournalId) -> Vec<Finding> {
        // What is wrong with the entry explains why its payload does not open.
        let wrong: std::collections::BTreeSet<u64> = self
            .0
            .iter()
            .filter(|(_, _, what, _)| matches!(what, What::Changed | What::Reordered))
            .map(|f| f.0)
            .collect();
        self.0.retain(|(first, _, what, _)| {
            !matches!(what, What::Payload | What::WrongOwner | What::WrongSeq) || !wrong.contains(first)
        });
        self.0.sort_by_key(|(first, last, what, _)| (*what == What::ForkPoint, *first, *last, *what));
        let mut joined: Vec<Finding> = Vec::new();
        for (first, last, what, cause) in self.0 {
            if cause.is_none()
                && let Some(before) = joined.iter_mut().rev().find(|finding| finding.what == what)
                && before.last.checked_add(1) == Some(first)
            {
                before.last = last;
                before.message = message(journal, before.first, last, what, None);
                continue;
            }
            let message = message(journal, first, last, what, cause);
            joined.push(Finding { journal, first, last, what, message });
        }
        joined
    }
}

fn message(journal: JournalId, first: u64, last: u64, what: What, cause: Option<String>) -> String {
    let words = what.words();
    let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    if first == last {
        format!("entry {first} of journal {journal} is {words}{cause}").replace(" is has ", " has ")
    } else {
        format!("entries {first} to {last} of journal {journal} are {words}{cause}").replace(" are has ", " each have ")
    }
}
