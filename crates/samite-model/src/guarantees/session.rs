//! What holds of a session's log and steps.

use super::{Bound, Claim, Coverage, Failure, Of, Store};

const HERE: Of = Of { store: Store::Session, substrate: None };

pub(super) const CLAIMS: [Claim; 14] = [
    HERE.claim(
        Failure::HarnessCrash,
        Coverage::Covered,
        "An entry is durable when its call returns, and a step without an outcome is in doubt until that is settled.",
        "`samite recover SESSION`, then call again.",
        &[
            "samite-cli::matrix::kill_matrix",
            "samite::suite::steps::an_open_step_is_busy_for_its_own_writer_and_in_doubt_for_the_next",
            "samite::suite::scripts::a_script_that_starts_again_from_the_top_does_nothing_twice",
        ],
    ),
    HERE.claim(
        Failure::ReplicaReschedule,
        Coverage::Covered,
        "Where the new replica opens the same store it goes on from what was acknowledged, and the old one is fenced.",
        "Keep the store on a volume that follows the replica, and give both the same --writer.",
        &[
            "samite::suite::zombies::a_writer_that_is_stopped_anywhere_never_writes_into_a_later_epoch",
            "samite::suite::zombies::a_zombie_that_was_replaced_by_force_is_fenced_and_its_outcomes_are_kept",
        ],
    ),
    HERE.claim(
        Failure::SandboxLoss,
        Coverage::Covered,
        "The log is in the store, not in the sandbox.",
        "Keep the store outside of the sandbox; `samite recover SESSION` works without the workspace.",
        &["samite::suite::recovery::thirty_days_later_and_without_its_workspace_a_session_is_recovered"],
    ),
    HERE.claim(
        Failure::SameZoneRestart,
        Coverage::Covered,
        "What was acknowledged had been synced to the disk.",
        "`samite recover SESSION` after the restart.",
        &["samite-powercut::suite::store::a_store_of_two_processes_loses_nothing_acknowledged_in_a_power_cut"],
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
        "Without the store's volume there is no session to go on with; what it holds is as it was when it comes back.",
        "Take backups: one opens elsewhere with the same master key.",
        &[],
    ),
    HERE.claim(
        Failure::TeardownBeforeSync,
        Coverage::Covered,
        "Nothing that was acknowledged waits for a later sync.",
        "Nothing.",
        &[
            "samite-powercut::suite::store::a_store_whose_processes_were_killed_loses_nothing_acknowledged_in_a_power_cut",
        ],
    ),
    HERE.claim(
        Failure::Preemption,
        Coverage::Covered,
        "It is a crash at any moment, and each moment that matters was tried.",
        "`samite recover SESSION` where it goes on.",
        &[
            "samite-cli::matrix::kill_matrix",
            "samite-powercut::suite::store::a_store_whose_processes_were_killed_loses_nothing_acknowledged_in_a_power_cut",
        ],
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
        "Everything is sealed under the master key, and nothing opens it without.",
        "Keep a copy elsewhere: `samite key export FILE`.",
        &[],
    ),
    HERE.claim(
        Failure::OperatorDeletion,
        Coverage::NotCovered,
        "A deleted store is gone, and so is what a deleted branch alone had; both are shown and asked for first.",
        "Take backups; look at `samite branch delete --dry-run`.",
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
        "An effect is treated as declared: `idempotent` on something that is not happens twice.",
        "Declare less: an opaque step asks a person.",
        &[],
    ),
    HERE.claim(
        Failure::IntentOnlyLog,
        Coverage::Bounded(Bound::ListedDoubt),
        "A call without a result may have run or not, and no log of intents can tell.",
        "Settle each with `samite step resolve`; let `samite step run` record the outcome next time.",
        &["samite::import::claude_code::tests::cases::three_calls_two_results_and_a_crash_leave_one_in_doubt"],
    ),
];
