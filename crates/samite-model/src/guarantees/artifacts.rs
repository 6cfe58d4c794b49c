//! What holds of artifacts.

use super::{Bound, Claim, Coverage, Failure, Of, Store};

const HERE: Of = Of { store: Store::Artifacts, substrate: None };

const SINCE_LAST_PUBLISHED: Coverage = Coverage::Bounded(Bound::SinceLastPublished);

/// What was published is there without its branch, session and directory.
const OUTLIVES: &str = "samite::suite::artifacts::an_artifact_outlives_its_branch_its_session_and_its_workspace";

/// Deliverables are published when they changed.
const DELIVERED: &str =
    "samite::suite::artifacts::deliverables_are_published_when_they_changed_and_one_that_cannot_be_keeps_no_other";

/// The power was cut over publications.
const POWER_CUTS: &str =
    "samite-powercut::suite::artifacts::an_artifact_that_was_acknowledged_is_whole_after_a_power_cut";

pub(super) const CLAIMS: [Claim; 14] = [
    HERE.claim(
        Failure::HarnessCrash,
        Coverage::Covered,
        "Bytes, record and inputs are durable when the call returns, all or none of them.",
        "Put it again: what was published is no new version.",
        &[
            "samite-cli::matrix::kill_matrix",
            "samite::suite::artifacts::a_put_whose_acknowledgement_got_lost_is_published_once",
        ],
    ),
    HERE.claim(
        Failure::ReplicaReschedule,
        SINCE_LAST_PUBLISHED,
        "What was published is in the store, which the new replica opens.",
        "Keep the store on a volume that follows the replica.",
        &[OUTLIVES, DELIVERED],
    ),
    HERE.claim(
        Failure::SandboxLoss,
        SINCE_LAST_PUBLISHED,
        "What was published is in the store, not in the sandbox.",
        "Declare deliverables (`session set --deliver`), and close before giving a sandbox up.",
        &[OUTLIVES, DELIVERED],
    ),
    HERE.claim(
        Failure::SameZoneRestart,
        Coverage::Covered,
        "What was acknowledged had been synced to the disk: bytes and inputs before the record, and all of it or nothing.",
        "Put again what was not acknowledged: what was published is no new version.",
        &[POWER_CUTS],
    ),
    HERE.claim(
        Failure::ZoneLoss,
        Coverage::NotCovered,
        "The store is one directory on one machine.",
        "Take backups to another zone: `samite backup DIR`, and keep a `samite key export` there.",
        &[],
    ),
    HERE.claim(
        Failure::VolumeCannotAttach,
        Coverage::NotCovered,
        "Without the store's volume nothing of it can be read; what it holds is as it was when it comes back.",
        "Take backups, or `samite artifact get` what must be at hand.",
        &[],
    ),
    HERE.claim(
        Failure::TeardownBeforeSync,
        SINCE_LAST_PUBLISHED,
        "A close publishes deliverables before anything else, and names those that it could not.",
        "`samite workspace close SESSION --deadline 20s` in the hook that runs before a teardown.",
        &["samite::suite::closing::what_a_session_delivers_is_published_first_and_what_cannot_be_refuses", DELIVERED],
    ),
    HERE.claim(
        Failure::Preemption,
        SINCE_LAST_PUBLISHED,
        "What was acknowledged is whole whenever the machine goes.",
        "Publish often: `samite artifact deliver SESSION` after each turn.",
        &["samite-cli::matrix::kill_matrix", DELIVERED],
    ),
    HERE.claim(
        Failure::DiskLoss,
        Coverage::NotCovered,
        "There is one copy.",
        "Take backups to another disk: `samite backup DIR`.",
        &[],
    ),
    HERE.claim(
        Failure::KeyLoss,
        Coverage::NotCovered,
        "Artifacts are sealed under the master key.",
        "Keep a copy elsewhere: `samite key export FILE`.",
        &[],
    ),
    HERE.claim(
        Failure::OperatorDeletion,
        Coverage::NotCovered,
        "A deleted store is gone with its artifacts; a deleted branch, session or directory takes none of them.",
        "Take backups of the store.",
        &[],
    ),
    HERE.claim(
        Failure::SameUserProcess,
        Coverage::NotCovered,
        "It can read the key and write the store; `samite verify` finds what it changed unless it remade all that follows.",
        "Run agents as another user than the store's.",
        &[],
    ),
    HERE.claim(
        Failure::WronglyDeclaredEffect,
        Coverage::NotCovered,
        "Types, inputs and commands are recorded as they are named: a lineage that leaves something out is not found wrong.",
        "`samite artifact reproduce --run` shows whether the inputs suffice.",
        &[],
    ),
    HERE.claim(
        Failure::IntentOnlyLog,
        Coverage::NotCovered,
        "An imported log may tell of files, and has no bytes of them.",
        "`samite artifact put` the files that are still there.",
        &[],
    ),
];
