//! Which entries the audit log has a leaf for. Pure.

use crate::kind::EntryKind;

/// How the audit log covers an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// It is an act with a leaf of its own, which names the entry's kind.
    Leaf,
    /// It has none: the link of a later leaf of its journal covers it, or that of the next anchor.
    Anchor,
}

/// Who wrote an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenBy {
    /// The user whose data it is, with whichever agent.
    Owner,
    /// Somebody else, to whom it was granted.
    Another,
}

/// What callers append, what steps write, and what stands beside an entry of the same act that has a leaf: as long as the owner does
/// it.
const COVERED_BY_ANCHORS: [EntryKind; 15] = [
    EntryKind::MESSAGE,
    EntryKind::MODEL_RESPONSE,
    EntryKind::EVENT,
    EntryKind::COMPACTION,
    EntryKind::STEP_STARTED,
    EntryKind::STEP_COMPLETED,
    EntryKind::STEP_FAILED,
    EntryKind::STEP_EVIDENCE,
    EntryKind::STEPS_INHERITED,
    EntryKind::STEP_SEEN,
    EntryKind::WORKSPACE_INTERVAL,
    EntryKind::MERGE_STARTED,
    EntryKind::MERGE_ABORTED,
    EntryKind::SESSION_KEYED,
    EntryKind::MEMORY_ASSERTED,
];

/// How the audit log covers entries of a kind. A kind that is not listed is an act, so that a new one is never forgotten; and
/// whatever somebody else than the owner writes is one, since the owner was not there to see it.
pub fn coverage(kind: EntryKind, by: WrittenBy) -> Coverage {
    match by {
        WrittenBy::Owner if COVERED_BY_ANCHORS.contains(&kind) => Coverage::Anchor,
        WrittenBy::Owner | WrittenBy::Another => Coverage::Leaf,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_owner_does_all_the_time_has_no_leaf() {
        let acts: Vec<String> = EntryKind::ALL
            .iter()
            .filter(|kind| coverage(**kind, WrittenBy::Owner) == Coverage::Leaf)
            .map(|kind| kind.name())
            .collect();
        for kind in ["message", "event", "step_started", "step_completed", "step_failed", "workspace_interval"] {
            assert!(!acts.iter().any(|act| act == kind), "{kind}");
        }
        for kind in
            ["tree", "session_created", "branch_forked", "branch_deleted", "artifact_published", "step_resolved"]
        {
            assert!(acts.iter().any(|act| act == kind), "{kind}");
        }
        assert_eq!(coverage(EntryKind::from_code(60_000), WrittenBy::Owner), Coverage::Leaf);
    }

    #[test]
    fn whatever_another_writes_has_a_leaf() {
        for kind in EntryKind::ALL {
            assert_eq!(coverage(*kind, WrittenBy::Another), Coverage::Leaf, "{kind}");
        }
    }
}
