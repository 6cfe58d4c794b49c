//! What other systems lost, as tests: forks, rewinds and workspaces. Each number stands for one way in which people's work
//! was lost; the tests that hold samite to the right value are, where they are not here:
//!
//! | case | what went wrong elsewhere | tests |
//! | --- | --- | --- |
//! | 25 | files changed by shell commands do not come back | `restoring::files_changed_by_shell_commands_come_back`, `undoing::a_rewind_takes_back_what_a_contained_step_changed_although_no_checkpoint_followed`, `hooks::going_back_takes_back_what_shells_changed_and_keeps_what_the_person_did` |
//! | 26 | files go back and the conversation does not | the matrix' rewinds, `workspaces::what_was_there_before_a_rewind_can_be_gone_back_to_and_stays` |
//! | 27 | the old line cannot be reached | `forks::a_rewind_makes_the_fork_current_and_keeps_the_tail`, `histories` (branches made current), `hooks::a_log_shows_turns_and_positions_to_go_back_to_without_naming_a_session` |
//! | 28 | each fork copies its parent | [`a_hundred_forks_store_no_file_again`], `sqlite_maintain::a_fork_costs_one_row` |
//! | 29 | a restore deletes what was ignored or untracked | `restoring::what_the_user_never_gave_to_samite_stays`, `restoring::excluded_paths_are_never_deleted_even_when_the_rules_change`, `histories` (rules), `hooks::going_back_takes_back_what_shells_changed_and_keeps_what_the_person_did`, `hooks::a_call_that_was_never_made_leaves_a_persons_files_theirs` |
//! | 30 | a file first touched after the snapshot | `workspaces::a_rewind_puts_files_back_and_keeps_what_a_person_changed`, `histories` |
//! | 31 | nested repositories left broken | `workspaces::a_git_repository_goes_back_whole_or_stays_whole`, `workspaces::a_commit_in_a_half_restored_repository_keeps_it_as_it_then_is` |
//! | 32 | many files, or a huge one, stall each turn and swell snapshots | [`many_ignored_files_and_huge_ones_cost_a_turn_nothing`], `cache::an_unchanged_directory_is_not_read_again`; the bench measures it |
//! | 33 | secrets in ignored files are stored | `fidelity::rules_exclude_and_gitignore_does_not`: excluded by `.samiteignore`, else listed |
//! | 34 | half a restore is reported as done | the matrix' restores and rewinds at each point, `restoring::a_restore_that_died_is_rolled_forward`, `histories` (restores that were cut off) |
//! | 35 | odd names collapse, a fifo hangs, all is read again when a device's number changed, a stale cache is believed | [`the_nasty_tree_is_forked_and_rewound`], `fidelity::the_nasty_tree_comes_back_identical`, [`nothing_is_read_again_because_its_device_has_another_number`], `cache::an_edit_in_the_same_tick_is_seen` |
//! | 36 | the last sync never came | `closing::what_a_receipt_vouches_for_comes_back_after_the_directory_is_gone`, `closing::a_deadline_that_has_passed_says_what_is_not_saved`, and the rest of `closing` |
//! | 37 | a fork sees later edits of its base | `workspaces::a_fork_into_a_directory_is_a_second_workspace`, `restoring::a_second_workspace_does_not_see_later_edits_of_the_first`, `histories` |

use crate::mount::Mount;
use crate::place::Place;
use crate::support::{attached, noise, run, shared, take};
use samite::workspace::RestoreRequest;
use samite::{ForkOptions, WriterOptions};
use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
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

/// The Rust files below a directory.
fn sources(directory: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn each_case_names_tests_and_each_of_them_is_there() {
    let rows = include_str!("cases.rs").lines().filter_map(|line| line.strip_prefix("//! | "));
    let rows: Vec<(&str, &str)> = rows.filter_map(|row| row.split_once(" | ")).collect();
    let numbers: Vec<u32> = rows.iter().filter_map(|(number, _)| number.parse().ok()).collect();
    assert_eq!(numbers, (25..=37).collect::<Vec<_>>());
    let mut all = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for entry in fs::read_dir(crates).unwrap() {
        let tests = entry.unwrap().path().join("tests");
        if tests.is_dir() {
            sources(&tests, &mut all);
        }
    }
    for (number, row) in rows.iter().filter(|(number, _)| number.parse::<u32>().is_ok()) {
        let quoted = row.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains("::") || quoted.len() > 20);
        let names: Vec<&str> = quoted.map(|quoted| quoted.rsplit("::").next().unwrap()).collect();
        assert!(!names.is_empty(), "case {number} names no test");
        for name in names {
            let test = format!("#[test]\nfn {name}(");
            assert!(all.iter().any(|source| source.contains(&test)), "case {number}: there is no test {name}");
        }
    }
}

/// Many small files in some directories.
fn many(directory: &Path, count: usize) {
    for number in 0..count {
        let within = directory.join(format!("package-{}", number / 500));
        if number % 500 == 0 {
            fs::create_dir_all(&within).unwrap();
        }
        fs::write(within.join(format!("{number}.js")), format!("module {number}\n")).unwrap();
    }
}

/// A file of 4.8 GB, most of which is holes.
fn huge(path: &Path) -> fs::File {
    let file = fs::File::create(path).unwrap();
    file.set_len(4_800_000_000).unwrap();
    file.write_all_at(&noise(1, 1 << 20), 1 << 30).unwrap();
    file
}

/// So that what was written before is older than what comes next.
fn let_the_clock_tick() {
    std::thread::sleep(std::time::Duration::from_millis(15));
}

#[test]
fn many_ignored_files_and_huge_ones_cost_a_turn_nothing() {
    let place = Place::new();
    let work = place.directory("work");
    // What git alone ignores is kept: such files are stored once, and then only looked at.
    let kept: usize = if std::env::var_os("SAMITE_TEST_LARGE").is_some() { 50_000 } else { 2_000 };
    fs::write(work.join(".samiteignore"), "node_modules/\n*.iso\n").unwrap();
    fs::write(work.join(".gitignore"), "build/\n").unwrap();
    many(&work.join("node_modules"), 50_000);
    many(&work.join("build"), kept);
    huge(&work.join("disk.iso"));
    let model = huge(&work.join("model.bin"));
    let_the_clock_tick();
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let turn = async || {
            let taken = writer.end_turn(None).await.unwrap().checkpoint.unwrap();
            let_the_clock_tick();
            taken
        };
        let first = turn().await;
        let files = kept as u64 + 3;
        assert_eq!((first.report.files, first.report.read_files), (files, files));
        // Not even entered: of an excluded directory only itself is met.
        let excluded: Vec<String> = first.report.excluded.iter().map(ToString::to_string).collect();
        assert_eq!(excluded, ["disk.iso", "node_modules"]);
        assert_eq!(first.report.directories, 2 + kept as u64 / 500);
        assert!(first.new_bytes < (2 << 20) + 300 * files, "{}", first.new_bytes);
        for round in 1..=5 {
            fs::write(work.join("source.rs"), format!("round {round}")).unwrap();
            let next = turn().await;
            assert_eq!((next.report.read_files, next.report.read_bytes), (1, 7), "round {round}");
            assert!(next.new_bytes < 4_000, "round {round}: {}", next.new_bytes);
        }
        assert!(turn().await.unchanged);
        // A huge file that grows is stored by what is new in it.
        model.write_all_at(b"a few bytes", 4_800_000_000).unwrap();
        let grown = turn().await;
        assert_eq!(grown.report.read_files, 1);
        assert!(grown.new_bytes < 1 << 20, "{}", grown.new_bytes);
    });
}

#[test]
fn nothing_is_read_again_because_its_device_has_another_number() {
    let place = Place::new();
    let image = |name: &str| {
        let path = place.path(name);
        fs::File::create(&path).unwrap().set_len(8 << 20).unwrap();
        let made = Command::new("mkfs.ext4").arg("-q").arg(&path).output();
        let made = made.is_ok_and(|output| output.status.success());
        made.then_some(path)
    };
    let (Some(disk), Some(other)) = (image("disk.img"), image("other.img")) else {
        eprintln!("SKIPPED: no file system can be made here (mkfs.ext4)");
        return;
    };
    let loops = |image: &Path, at: &str| Mount::new(&["-o", "loop", image.to_str().unwrap()], &place.path(at));
    let work = place.path("work");
    let Some(mount) = loops(&disk, "work") else { return };
    fs::create_dir(work.join("src")).unwrap();
    for number in 0..200 {
        fs::write(work.join("src").join(format!("{number}.rs")), noise(number, 3_000)).unwrap();
    }
    let_the_clock_tick();
    let stat = |name: &str| fs::metadata(work.join(name)).unwrap();
    let before = stat("src/7.rs");
    run(async {
        let client = place.client().await;
        let session = attached(&client, &work).await;
        let first = take(&client, session).await;
        assert_eq!(first.report.read_files, 200);
        drop(mount);
        // Another takes the number, as after a restart.
        let Some(_first) = loops(&other, "elsewhere") else { return };
        let Some(_again) = loops(&disk, "work") else { return };
        let after = stat("src/7.rs");
        assert_eq!((after.ino(), after.ctime_nsec()), (before.ino(), before.ctime_nsec()));
        assert_ne!(after.dev(), before.dev());
        let second = take(&client, session).await;
        assert_eq!((second.report.read_files, second.unchanged, second.root), (0, true, first.root));
        // And what did change is read.
        fs::write(work.join("src/7.rs"), "changed").unwrap();
        let third = take(&client, session).await;
        assert_eq!((third.report.read_files, third.unchanged), (1, false));
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
