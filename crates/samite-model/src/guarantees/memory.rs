//! What holds of long-term memory.

use super::{Claim, Coverage, Failure, Of, Store};

const HERE: Of = Of { store: Store::Memory, substrate: None };

/// A writer was killed at work.
const KILLED: &str =
    "samite::suite::memories::what_was_acknowledged_is_there_after_a_kill_and_the_same_again_is_no_second";

/// The power was cut over the ledger that holds records.
const POWER_CUTS: &str =
    "samite-powercut::suite::ledger::a_ledger_of_two_processes_loses_nothing_acknowledged_in_a_power_cut";

pub(super) const CLAIMS: [Claim; 14] = [
    HERE.claim(
        Failure::HarnessCrash,
        Coverage::Covered,
        "A record is durable when the call returns.",
        "Write it again: what says the same is no second record.",
        &[KILLED],
    ),
    HERE.claim(
        Failure::ReplicaReschedule,
        Coverage::Covered,
        "What was written is in the store, which the new replica opens.",
        "Keep the store on a volume that follows the replica.",
        &[KILLED],
    ),
    HERE.claim(
        Failure::SandboxLoss,
        Coverage::Covered,
        "Records are in the store, not in the sandbox.",
        "Nothing, as long as the store is outside of the sandbox.",
        &[KILLED],
    ),
    HERE.claim(
        Failure::SameZoneRestart,
        Coverage::Covered,
        "What was acknowledged had been synced to the disk.",
        "Write again what was not acknowledged: what says the same is no second record.",
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
        "Take backups.",
        &[],
    ),
    HERE.claim(
        Failure::TeardownBeforeSync,
        Coverage::Covered,
        "There is nothing to sync later: a record is durable with its call.",
        "Nothing.",
        &[POWER_CUTS],
    ),
    HERE.claim(
        Failure::Preemption,
        Coverage::Covered,
        "What was acknowledged is whole whenever the machine goes.",
        "Nothing.",
        &[KILLED, POWER_CUTS],
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
        "Records are sealed under the master key.",
        "Keep a copy elsewhere: `samite key export FILE`.",
        &[],
    ),
    HERE.claim(
        Failure::OperatorDeletion,
        Coverage::NotCovered,
        "A deleted store is gone with its memory; a deleted branch, session or directory takes no record.",
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
        "Where a record comes from, and who stands behind it, is what its writer said; only what is made of other records is held to them.",
        "Give agents no right to manage: then they cannot speak as the user.",
        &[],
    ),
    HERE.claim(
        Failure::IntentOnlyLog,
        Coverage::NotCovered,
        "A record says what somebody wrote down, whether or not it is so.",
        "`samite memory get` shows who wrote it, and of what.",
        &[],
    ),
];
