//! What other systems lost, as tests: forks, rewinds and workspaces. Each number stands for one way in which people's work
//! was lost; the tests that hold samite to the right value are, where they are not here:
//!
//! | case | what went wrong elsewhere | tests |
//! | --- | --- | --- |
//! | 25 | files changed by shell commands do not come back | `restoring::files_changed_by_shell_commands_come_back`, `undoing::a_rewind_takes_back_what_a_contained_step_changed_although_no_checkpoint_followed` |
//! | 26 | files go back and the conversation does not | the matrix' rewinds, `workspaces::what_was_there_before_a_rewind_can_be_gone_back_to_and_stays` |
//! | 27 | the old line cannot be reached | `forks::a_rewind_makes_the_fork_current_and_keeps_the_tail`, `histories` (branches made current) |
//! | 28 | each fork copies its parent | [`a_hundred_forks_store_no_file_again`], `sqlite_maintain::a_fork_costs_one_row` |
//! | 29 | a restore deletes what was ignored or untracked | `restoring::what_the_user_never_gave_to_samite_stays`, `restoring::excluded_paths_are_never_deleted_even_when_the_rules_change`, `histories` (rules) |
//! | 30 | a file first touched after the snapshot | `workspaces::a_rewind_puts_files_back_and_keeps_what_a_person_changed`, `histories` |
//! | 31 | nested repositories left broken | `workspaces::a_git_repository_goes_back_whole_or_stays_whole`, `workspaces::a_commit_in_a_half_restored_repository_keeps_it_as_it_then_is` |
//! | 32 | many files stall each turn | `cache::an_unchanged_directory_is_not_read_again`; the bench measures it |
//! | 33 | secrets in ignored files are stored | `fidelity::rules_exclude_and_gitignore_does_not`: excluded by `.samiteignore`, else listed |
//! | 34 | half a restore is reported as done | the matrix' restores and rewinds at each point, `restoring::a_restore_that_died_is_rolled_forward`, `histories` (restores that were cut off) |
//! | 35 | odd names collapse, a fifo hangs, a stale cache is believed | [`the_nasty_tree_is_forked_and_rewound`], `fidelity::the_nasty_tree_comes_back_identical`, `cache::an_edit_in_the_same_tick_is_seen` |
//! | 36 | the last sync never came | `closing` |
//! | 37 | a fork sees later edits of its base | `workspaces::a_fork_into_a_directory_is_a_second_workspace`, `restoring::a_second_workspace_does_not_see_later_edits_of_the_first`, `histories` |

use crate::place::Place;
use crate::support::{attached, noise, run, shared, take};
use samite::workspace::RestoreRequest;
use samite::{ForkOptions, WriterOptions};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn a_hundred_forks_store_no_file_again() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        fs::write(work.join("large"), noise(1, 2_000_000)).unwrap();
        take(&client, session).await;
        let before = store.status(&client).await.unwrap().pack_bytes;
        assert!(before > 2_000_000, "{before}");
        for _ in 0..100 {
            client.fork(session, ForkOptions::default()).await.unwrap();
        }
        assert_eq!(store.status(&client).await.unwrap().pack_bytes, before);
    });
}

/// What a tool that builds and compares such trees says of two of them, but for the socket, which no copy can have.
fn differences(script: &Path, one: &Path, other: &Path) -> Vec<String> {
    let output = Command::new("python3").arg(script).arg("compare").args([one, other]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.lines().filter(|line| !matches!(*line, "missing: sock" | "identical")).map(str::to_owned).collect()
}

#[test]
fn the_nasty_tree_is_forked_and_rewound() {
    let Some(script) = shared("tools/nasty_tree.py") else { return };
    let place = Place::new();
    let nasty = place.path("nasty");
    assert!(Command::new("python3").arg(&script).arg("build").arg(&nasty).status().unwrap().success());
    fs::remove_file(nasty.join("sock")).unwrap();
    run(async {
        let client = place.client().await;
        let session = attached(&client, &nasty).await;
        let first = take(&client, session).await.position;
        let fork = client.fork(session, ForkOptions::default()).await.unwrap().branch;
        let second = place.path("second");
        let made = client.materialise(session, fork, &second).await.unwrap();
        assert!(made.report.is_complete(), "{:?}", made.report);
        assert_eq!(differences(&script, &nasty, &second), Vec::<String>::new());
        let wild = "set -e; rm -rf many nested; mkdir nested; echo x > nested/g; mv plain plain2; ln -sf elsewhere sym; \
            chmod 0644 mode000; echo more >> big; rm zero; mkdir zero; rm fifo; echo y > fifo; chmod 755 setuid";
        assert!(Command::new("sh").arg("-c").arg(wild).current_dir(&nasty).status().unwrap().success());
        take(&client, session).await;
        let options = ForkOptions { seq: Some(first.seq), ..ForkOptions::default() };
        let request = RestoreRequest::default();
        let (_, restored) = client.rewind(session, options, WriterOptions::default(), &request).await.unwrap();
        let report = restored.unwrap().report;
        assert!(report.is_complete(), "{report:?}");
        // The fork has seen nothing of it, and the rewound directory is as the fork was made.
        assert_eq!(differences(&script, &nasty, &second), Vec::<String>::new());
    });
}
