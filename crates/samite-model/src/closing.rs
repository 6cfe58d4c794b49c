//! Closing a workspace: what stands in the way of saying that its directory is safe to delete, and when to look again.

use serde::Serialize;

/// What was found while a workspace was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    /// A step runs that has no outcome yet.
    StepOpen,
    /// A step has no outcome and nobody who would record one.
    StepInDoubt,
    /// A process of a step runs.
    ProcessRunning,
    /// A process of a step cannot be seen from here, and may run.
    ProcessUnseen,
    /// Another writer holds the branch and lives.
    WriterAlive,
    /// A path changed again each time after it was stored.
    Changing,
    /// A path is not stored as it is now.
    Unsaved,
    /// Not all of the directory was looked at.
    NotLookedAt,
    /// A file changed while it was read, again and again.
    Torn,
    /// Something could not be read.
    Unreadable,
    /// Something that no tree holds.
    Socket,
    /// A deliverable could not be published.
    Unpublished,
    /// The store itself is in the directory.
    HoldsStore,
    /// The master key is in the directory.
    HoldsMaster,
    /// A path that the user's own rules leave out.
    Excluded,
    /// A file that looks as if a secret were inside; it is stored.
    Secret,
    /// Another branch of the session has a directory of its own.
    OtherDirectory,
    /// Another session works in the directory too.
    OtherSession,
    /// What the branch wrote to long-term memory could not be taken over.
    NotAdopted,
}

impl What {
    /// Every one.
    pub const ALL: [Self; 19] = [
        Self::StepOpen,
        Self::StepInDoubt,
        Self::ProcessRunning,
        Self::ProcessUnseen,
        Self::WriterAlive,
        Self::Changing,
        Self::Unsaved,
        Self::NotLookedAt,
        Self::Torn,
        Self::Unreadable,
        Self::Socket,
        Self::Unpublished,
        Self::HoldsStore,
        Self::HoldsMaster,
        Self::Excluded,
        Self::Secret,
        Self::OtherDirectory,
        Self::OtherSession,
        Self::NotAdopted,
    ];

    /// The stable name, for JSON.
    pub const fn code(self) -> &'static str {
        match self {
            Self::StepOpen => "step_open",
            Self::StepInDoubt => "step_in_doubt",
            Self::ProcessRunning => "process_running",
            Self::ProcessUnseen => "process_unseen",
            Self::WriterAlive => "writer_alive",
            Self::Changing => "changing",
            Self::Unsaved => "unsaved",
            Self::NotLookedAt => "not_looked_at",
            Self::Torn => "torn",
            Self::Unreadable => "unreadable",
            Self::Socket => "socket",
            Self::Unpublished => "unpublished",
            Self::HoldsStore => "holds_store",
            Self::HoldsMaster => "holds_master",
            Self::Excluded => "excluded",
            Self::Secret => "secret",
            Self::OtherDirectory => "other_directory",
            Self::OtherSession => "other_session",
            Self::NotAdopted => "not_adopted",
        }
    }

    /// Whether the directory is not safe to delete because of it. What the user's own rules leave out, what is stored all
    /// the same and what lies elsewhere is only listed.
    pub const fn refuses(self) -> bool {
        !matches!(self, Self::Excluded | Self::Secret | Self::OtherDirectory | Self::OtherSession | Self::NotAdopted)
    }

    /// What to do about it.
    pub const fn next(self) -> &'static str {
        match self {
            Self::StepOpen => "wait for it to end, or end it, then close again",
            Self::StepInDoubt => "`samite recover SESSION` settles it, then close again",
            Self::ProcessRunning => {
                "wait for it to end, or end it; `samite recover SESSION` ends what a lost step left"
            }
            Self::ProcessUnseen => "look where the step ran: it may be another container or machine",
            Self::WriterAlive => {
                "close from the harness that holds the branch (--writer), wait for it, or --take-over, which fences it"
            }
            Self::Changing | Self::Torn => "end what writes to it, then close again",
            Self::Unsaved | Self::NotLookedAt => "close again with more time, or without --deadline",
            Self::Unreadable => "make it readable, or leave it out in .samiteignore",
            Self::Socket => "end what listens on it and remove it, or leave it out in .samiteignore",
            Self::Unpublished => "publish it with `samite artifact put`, or change what the session delivers",
            Self::HoldsStore => "move the store out of the directory before that is deleted",
            Self::HoldsMaster => "move the key's file, and name it with SAMITE_MASTER_FILE",
            Self::Excluded => "copy what you need of it elsewhere: it is lost with the directory",
            Self::Secret => "it is stored; .samiteignore leaves it out",
            Self::OtherDirectory => "close that branch as well before its directory is deleted",
            Self::OtherSession => "its own last tree may be older; its files here are in this one",
            Self::NotAdopted => "the branch keeps it: `samite memory promote` takes it over",
        }
    }
}

/// Something that was found, with where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub what: What,
    /// In words.
    pub words: String,
    /// The path in the workspace, or the directory elsewhere.
    pub path: Option<String>,
    /// How many bytes it has.
    pub bytes: Option<u64>,
    /// The session, where it is about one.
    pub session: Option<crate::SessionId>,
    /// The branch.
    pub branch: Option<crate::BranchId>,
    /// The step's key.
    pub step: Option<String>,
    /// Where the step started.
    pub seq: Option<u64>,
    /// The number of the process.
    pub pid: Option<u32>,
}

impl Finding {
    /// Something found, in words.
    pub fn new(what: What, words: impl Into<String>) -> Self {
        Self {
            what,
            words: words.into(),
            path: None,
            bytes: None,
            session: None,
            branch: None,
            step: None,
            seq: None,
            pid: None,
        }
    }

    /// The same about a path.
    #[must_use]
    pub fn at(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }
}

/// Whether nothing that was found makes the directory unsafe to delete.
pub fn is_safe(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| !finding.what.refuses())
}

/// So many looks are taken at a directory that does not come to rest, where no deadline says otherwise.
pub const LOOKS: u32 = 6;

/// The first wait between two looks, in nanoseconds; each is twice the one before.
const FIRST_WAIT: u64 = 50_000_000;

/// The longest wait between two looks, in nanoseconds.
const LONGEST_WAIT: u64 = 1_600_000_000;

/// What follows from a look at the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Next {
    /// It is as in the last tree.
    Quiet,
    /// Look again after so many nanoseconds.
    Again(u64),
    /// It does not come to rest.
    Restless,
}

/// What follows from the look number `looks` (from 1), in which something had `changed` since the last tree; `left` is how
/// many nanoseconds there are until the deadline, if there is one.
pub fn after_look(looks: u32, changed: bool, left: Option<u64>) -> Next {
    if !changed {
        return Next::Quiet;
    }
    let wait = match looks {
        // What was found the first time had the whole session to change.
        0 | 1 => 0,
        _ => FIRST_WAIT.saturating_mul(1 << (looks - 2).min(16)).min(LONGEST_WAIT),
    };
    match left {
        None if looks >= LOOKS => Next::Restless,
        Some(left) if left <= wait => Next::Restless,
        _ => Next::Again(wait),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_stored_or_left_out_by_rules_is_listed_and_all_else_refuses() {
        let listed: Vec<&str> = What::ALL.iter().filter(|what| !what.refuses()).map(|what| what.code()).collect();
        assert_eq!(listed, ["excluded", "secret", "other_directory", "other_session", "not_adopted"]);
        for what in What::ALL {
            assert_eq!(is_safe(&[Finding::new(What::Secret, ""), Finding::new(what, "")]), !what.refuses());
            assert!(!what.next().is_empty());
        }
        assert!(is_safe(&[]));
    }

    #[test]
    fn codes_are_one_to_one() {
        let codes: std::collections::BTreeSet<&str> = What::ALL.iter().map(|what| what.code()).collect();
        assert_eq!(codes.len(), What::ALL.len());
    }

    #[test]
    fn a_directory_is_looked_at_until_it_rests_or_there_is_no_time_left() {
        let table = [
            (1, false, None, Next::Quiet),
            (1, true, None, Next::Again(0)),
            (2, true, None, Next::Again(50_000_000)),
            (3, true, None, Next::Again(100_000_000)),
            (5, true, None, Next::Again(400_000_000)),
            (6, true, None, Next::Restless),
            (6, false, None, Next::Quiet),
            // With a deadline only time counts.
            (1, true, Some(0), Next::Restless),
            (1, true, Some(1), Next::Again(0)),
            (3, true, Some(100_000_000), Next::Restless),
            (3, true, Some(100_000_001), Next::Again(100_000_000)),
            (40, true, Some(20_000_000_000), Next::Again(1_600_000_000)),
            (40, false, Some(0), Next::Quiet),
        ];
        for (looks, changed, left, expected) in table {
            assert_eq!(after_look(looks, changed, left), expected, "{looks} {changed} {left:?}");
        }
    }

    proptest! {
        #[test]
        fn a_restless_directory_is_given_up_within_the_deadline(deadline in 0_u64..60_000_000_000) {
            let (mut left, mut looks) = (deadline, 0);
            while let Next::Again(wait) = after_look(looks + 1, true, Some(left)) {
                prop_assert!(wait < left);
                // Each look takes a millisecond.
                left = left.saturating_sub(wait + 1_000_000);
                looks += 1;
                prop_assert!(looks < 100_000);
            }
        }
    }
}
