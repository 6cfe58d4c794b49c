//! What holds of the audit log.

use super::{Bound, Claim, Coverage, Failure, Of, Store};

const HERE: Of = Of { store: Store::Audit, substrate: None };

/// Killed at every named point, every act that is there has its leaf, and no leaf is of an act that is not.
const KILLS: &str = "samite-cli::matrix::kill_matrix";

/// The power was cut over acts and their leaves.
const POWER_CUTS: &str =
    "samite-powercut::suite::ledger::a_ledger_of_two_processes_loses_nothing_acknowledged_in_a_power_cut";

/// What is changed or cut behind the log's back is found by it.
const CHANGED: &str = "samite::suite::audit_log::a_journal_that_was_changed_or_cut_with_its_chain_made_again_is_found";

/// An older copy of the store does not contradict what was published.
const PUT_BACK: &str =
    "samite-cli::suite::audit::a_store_that_is_put_back_begins_another_log_that_names_what_was_published";

pub(super) const CLAIMS: [Claim; 14] = [
    HERE.claim(
        Failure::HarnessCrash,
        Coverage::Covered,
        "A leaf and the signed head are in the commit of their act: all or none of it.",
        "Nothing: look at `samite audit log`.",
        &[KILLS],
    ),
    HERE.claim(
        Failure::ReplicaReschedule,
        Coverage::Covered,
        "The log is in the store, which the new replica opens.",
        "Keep the store on a volume that follows the replica.",
        &[KILLS],
    ),
    HERE.claim(
        Failure::SandboxLoss,
        Coverage::Covered,
        "The log is in the store, not in the sandbox.",
        "Nothing.",
        &[KILLS],
    ),
    HERE.claim(
        Failure::SameZoneRestart,
        Coverage::Covered,
        "What was acknowledged had been synced to the disk with its leaf.",
        "Nothing.",
        &[POWER_CUTS],
    ),
    HERE.claim(
        Failure::ZoneLoss,
        Coverage::NotCovered,
        "The store is one directory on one machine.",
        "Export the log to another zone: `samite audit export DIR`; it verifies without the store.",
        &[],
    ),
    HERE.claim(
        Failure::VolumeCannotAttach,
        Coverage::NotCovered,
        "Without the store's volume nothing of the log can be read but what was exported.",
        "`samite audit export DIR` now and then, to another volume.",
        &[],
    ),
    HERE.claim(
        Failure::TeardownBeforeSync,
        Coverage::Covered,
        "There is nothing to sync later: a leaf is durable with its act.",
        "Nothing.",
        &[POWER_CUTS],
    ),
    HERE.claim(
        Failure::Preemption,
        Coverage::Covered,
        "What was acknowledged is whole whenever the machine goes.",
        "Nothing.",
        &[KILLS, POWER_CUTS],
    ),
    HERE.claim(
        Failure::DiskLoss,
        Coverage::NotCovered,
        "There is one copy, but for what was exported.",
        "Export the log to another disk: `samite audit export DIR`.",
        &[],
    ),
    HERE.claim(
        Failure::KeyLoss,
        Coverage::NotCovered,
        "The signing key is wrapped under the master key, and so are the names behind pseudonyms; exports still verify.",
        "Keep a copy elsewhere: `samite key export FILE`, and the verifier key with whoever checks: `samite audit key`.",
        &[],
    ),
    HERE.claim(
        Failure::OperatorDeletion,
        Coverage::NotCovered,
        "A deleted store is gone with its log. One that is put back from a backup begins another log, which names the last \
         published head.",
        "`samite audit export DIR` or `samite audit witness URL` now and then: what was published cannot be taken back unseen.",
        &[],
    ),
    HERE.claim(
        Failure::SameUserProcess,
        Coverage::Bounded(Bound::SinceLastPublishedHead),
        "It can read the key and sign another history, but not one that a published head is a part of.",
        "Export, or have a witness cosign, as often as that matters; run agents as another user than the store's.",
        &[CHANGED, PUT_BACK],
    ),
    HERE.claim(
        Failure::WronglyDeclaredEffect,
        Coverage::NotCovered,
        "A leaf says what was recorded, by whom and when; whether that is what happened it cannot know.",
        "Declare effects and probes: `samite step run --help`.",
        &[],
    ),
    HERE.claim(
        Failure::IntentOnlyLog,
        Coverage::NotCovered,
        "What was imported was done before: its import is in the log, and not what it tells of.",
        "Nothing.",
        &[],
    ),
];
