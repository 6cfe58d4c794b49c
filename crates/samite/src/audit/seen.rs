//! What a verification saw, and what it gathers on the way through the logs.

use samite_audit::log::Published;
use samite_audit::{Hash, Leaf, TreeHead};
use samite_model::{EntryKind, JournalId, Link};
use std::collections::{BTreeMap, HashMap};

/// Something that is not as the log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFinding {
    /// A stable code.
    pub code: &'static str,
    /// The log.
    pub log: u64,
    /// The leaf that is damaged, or that says otherwise.
    pub index: Option<u64>,
    /// The journal that is otherwise.
    pub journal: Option<JournalId>,
    /// Where in it.
    pub seq: Option<u64>,
    /// In words.
    pub message: String,
}

/// What a verification saw.
#[derive(Clone, Debug, Default)]
pub struct AuditReport {
    /// How many logs.
    pub logs: u64,
    /// How many leaves were hashed.
    pub leaves: u64,
    /// How many leaves are not in the store any more, because they were moved to an archive.
    pub archived: u64,
    /// How many of those were not read: the signed head vouches for the roots over them, and nothing was compared with them.
    pub unread: u64,
    /// How many places in journals the leaves name.
    pub places: u64,
    /// How many journals were compared with the log.
    pub journals: u64,
    /// The newest signed head.
    pub head: Option<TreeHead>,
    /// What was found.
    pub findings: Vec<AuditFinding>,
}

/// What the leaves say of a journal: at each seq, a link and the leaf that has it.
pub(super) type Places = HashMap<JournalId, BTreeMap<u64, (Link, u64, u64)>>;

/// What is gathered on the way through the logs.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) places: Places,
    /// The entries that say where a branch was cut.
    pub(super) deletions: HashMap<JournalId, Vec<u64>>,
    /// Published heads that their log does not have, and the findings that they are unless a later log names them.
    pub(super) lost: Vec<(TreeHead, AuditFinding)>,
    /// The heads that logs name that took the place of another.
    pub(super) previous: Vec<TreeHead>,
    /// The newest log, and how many leaves of it were read.
    pub(super) ended: (u64, u64),
    pub(super) report: AuditReport,
}

impl Seen {
    pub(super) fn found(&mut self, code: &'static str, log: u64, index: Option<u64>, message: String) {
        self.report.findings.push(AuditFinding { code, log, index, journal: None, seq: None, message });
    }

    pub(super) fn found_at(
        &mut self,
        code: &'static str,
        (log, index): (u64, u64),
        journal: JournalId,
        seq: u64,
        message: String,
    ) {
        let (index, journal, seq) = (Some(index), Some(journal), Some(seq));
        self.report.findings.push(AuditFinding { code, log, index, journal, seq, message });
    }

    /// Takes note of the places that a leaf names.
    pub(super) fn note(&mut self, log: u64, index: u64, bytes: &[u8]) {
        let leaf = match Leaf::parse(bytes) {
            Ok(leaf) => leaf,
            Err(error) => {
                self.found("bad_leaf", log, Some(index), format!("leaf {index} of log {log}: {}", error.message()));
                return;
            }
        };
        self.note_deletion(&leaf);
        self.previous.extend(leaf.previous.clone());
        let own = (leaf.journal, leaf.seq, leaf.link);
        let others = leaf.anchors.iter().map(|anchor| (anchor.journal, anchor.seq, anchor.link));
        for (journal, seq, link) in std::iter::once(own).chain(others) {
            let place = self.places.entry(journal).or_default().entry(seq).or_insert((link, log, index));
            if place.0 != link {
                let what = format!("the log has two links of journal {journal} at seq {seq}");
                self.found_at("two_links", (log, index), journal, seq, what);
            }
        }
    }

    pub(super) fn note_deletion(&mut self, leaf: &Leaf) {
        if leaf.act.as_str() == EntryKind::BRANCH_DELETED.name() {
            self.deletions.entry(leaf.journal).or_default().push(leaf.seq);
        }
    }

    pub(super) fn lost(&mut self, code: &'static str, published: &Published, index: Option<u64>, message: String) {
        let finding = AuditFinding { code, log: published.log, index, journal: None, seq: None, message };
        self.lost.push((published.head.clone(), finding));
    }

    /// A published head that a log does not have is what an older copy of the store lacks. Once a later log names it, that is
    /// recorded, and nothing new.
    pub(super) fn forgive(&mut self) {
        let named = std::mem::take(&mut self.previous);
        let lost = std::mem::take(&mut self.lost).into_iter();
        self.report.findings.extend(lost.filter(|(head, _)| !named.contains(head)).map(|(_, finding)| finding));
    }

    pub(super) fn compare_published(&mut self, published: &Published, root: Hash, index: u64) {
        if published.head.root != root {
            let what = format!(
                "the head of log {} that was published at {} leaves has the root {}, and the log had {root} then",
                published.log, published.head.size, published.head.root
            );
            self.lost("published_head_differs", published, Some(index), what);
        }
    }
}

pub(super) fn behind(published: &Published) -> String {
    format!(
        "a head of log {} with {} leaves was published, and the store does not have it: it is an older copy of itself",
        published.log, published.head.size
    )
}
