//! What holds of a workspace's files, in a plain directory.

use super::{Bound, Claim, Coverage, Failure, Of, Store, Substrate};

const HERE: Of = Of { store: Store::Workspace, substrate: Some(Substrate::Dir) };

const SINCE_LAST_TREE: Coverage = Coverage::Bounded(Bound::SinceLastTree);

/// A tree makes the directory anew when that is gone.
const MADE_ANEW: &str = "samite::suite::closing::what_a_receipt_vouches_for_comes_back_after_the_directory_is_gone";

pub(super) const CLAIMS: [Claim; 14] = [
    HERE.claim(
        Failure::HarnessCrash,
        Coverage::Covered,
        "The directory stays as it is; half of a contained step is put back, and half of a restore is finished.",
        "`samite recover SESSION`.",
        &[
            "samite-cli::matrix::kill_matrix",
            "samite-cli::suite::workspaces::a_contained_step_that_was_cut_off_is_undone_by_recover",
            "samite-workspace::suite::restoring::a_restore_that_died_is_rolled_forward",
        ],
    ),
    HERE.claim(
        Failure::ReplicaReschedule,
        SINCE_LAST_TREE,
        "A directory that does not follow the replica is made anew from the last tree.",
        "`samite fork SESSION --into DIR`, or attach a moved directory again.",
        &[
            MADE_ANEW,
            "samite::suite::workspaces::a_directory_that_was_moved_is_attached_again_and_the_store_is_no_workspace",
        ],
    ),
    HERE.claim(
        Failure::SandboxLoss,
        SINCE_LAST_TREE,
        "The last tree makes the directory anew, wherever that is wanted.",
        "`samite fork SESSION --into DIR`; before giving a sandbox up, `samite workspace close`.",
        &[MADE_ANEW],
    ),
    HERE.claim(
        Failure::SameZoneRestart,
        SINCE_LAST_TREE,
        "Trees are durable; the files that an agent wrote are as durable as the agent made them.",
        "`samite recover SESSION` lists what differs from the last tree; restore what is damaged.",
        &["samite-powercut::suite::store::a_store_of_two_processes_loses_nothing_acknowledged_in_a_power_cut"],
    ),
    HERE.claim(
        Failure::ZoneLoss,
        Coverage::NotCovered,
        "The trees are in the store, which is one directory on one machine.",
        "Take backups to another zone: `samite backup DIR`, and keep a `samite key export` there.",
        &[],
    ),
    HERE.claim(
        Failure::VolumeCannotAttach,
        SINCE_LAST_TREE,
        "Where only the directory's volume is away, the last tree makes another; the store's own volume is needed.",
        "`samite fork SESSION --into DIR`; keep the store on another volume than the workspace.",
        &[MADE_ANEW],
    ),
    HERE.claim(
        Failure::TeardownBeforeSync,
        SINCE_LAST_TREE,
        "Nothing is saved for a directory that is gone before it was looked at; a close with a deadline names the rest.",
        "`samite workspace close SESSION --deadline 20s` in the hook that runs before a teardown.",
        &[
            MADE_ANEW,
            "samite::suite::closing::a_deadline_that_has_passed_says_what_is_not_saved",
            "samite::suite::closing::a_deadline_between_two_looks_leaves_what_was_saved",
        ],
    ),
    HERE.claim(
        Failure::Preemption,
        SINCE_LAST_TREE,
        "A tree that was acknowledged is whole whenever the machine goes; one that was not is as if never begun.",
        "`samite workspace close SESSION --deadline TIME` when there is a notice; else a tighter cadence.",
        &[
            "samite-cli::matrix::kill_matrix",
            "samite-workspace::suite::killing::a_snapshot_that_died_left_nothing_behind",
        ],
    ),
    HERE.claim(
        Failure::DiskLoss,
        Coverage::NotCovered,
        "There is one copy of the trees.",
        "Take backups to another disk: `samite backup DIR`.",
        &[],
    ),
    HERE.claim(
        Failure::KeyLoss,
        Coverage::NotCovered,
        "Trees are sealed under the master key; the directory itself is not.",
        "Keep a copy elsewhere: `samite key export FILE`.",
        &[],
    ),
    HERE.claim(
        Failure::OperatorDeletion,
        SINCE_LAST_TREE,
        "A deleted directory is made anew; a deleted store or branch is gone with its trees.",
        "`samite fork SESSION --into DIR`; take backups of the store.",
        &[MADE_ANEW],
    ),
    HERE.claim(
        Failure::SameUserProcess,
        SINCE_LAST_TREE,
        "Whatever it does to the files, a tree has them as they were, and a restore keeps what it cannot tell.",
        "`samite workspace restore SESSION@SEQ`; run agents as another user than the store's.",
        &[
            "samite-workspace::suite::restoring::files_changed_by_shell_commands_come_back",
            "samite::suite::workspaces::a_rewind_puts_files_back_and_keeps_what_a_person_changed",
        ],
    ),
    HERE.claim(
        Failure::WronglyDeclaredEffect,
        Coverage::NotCovered,
        "What a step that is declared `contained` does outside of its paths is not undone.",
        "Declare it opaque, or name its paths with --within.",
        &[],
    ),
    HERE.claim(
        Failure::IntentOnlyLog,
        Coverage::NotCovered,
        "An imported log has no trees, so there is nothing to make a directory of.",
        "Attach the directory and take a checkpoint from now on.",
        &[],
    ),
];
