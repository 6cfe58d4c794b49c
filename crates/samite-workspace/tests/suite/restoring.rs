//! A restore never loses what it did not write.

use crate::support::{Bench, path};
use samite_model::tree::{KeptReason, Other, Whose};
use samite_workspace::{RestoreOptions, apply_restore, materialise, plan_restore, remove_leftovers, restore};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

fn kept(report: &samite_workspace::RestoreReport) -> Vec<(String, KeptReason)> {
    report.kept.iter().map(|kept| (kept.path.to_string(), kept.reason)).collect()
}

#[test]
fn files_changed_by_shell_commands_come_back() {
    let bench = Bench::new();
    bench.write("src/main.rs", "fn main() {}");
    bench.write("old.txt", "old");
    let first = bench.snapshot();
    bench.write("src/main.rs", "broken");
    bench.write("new/file", "new");
    bench.remove("old.txt");
    let before = bench.files();
    let second = bench.snapshot();
    assert!(bench.restore(second.root, first.root).is_complete());
    assert_eq!(bench.snapshot().root, first.root);
    assert!(!bench.files().contains_key("new/file"));
    assert!(bench.restore(first.root, second.root).is_complete());
    assert_eq!(bench.files(), before);
}

#[test]
fn what_the_user_never_gave_to_samite_stays() {
    let bench = Bench::new();
    bench.write("a", "1");
    let first = bench.snapshot();
    bench.write("a", "2");
    bench.write("b/c", "2");
    let second = bench.snapshot();
    // First touched after the last snapshot, beside and inside of what goes away.
    bench.write("untracked", "mine");
    bench.write("b/untracked", "mine too");
    bench.write("ignored/cache", "x");
    let report = bench.restore(second.root, first.root);
    let expected = [
        ("b".to_owned(), KeptReason::NotEmpty),
        ("b/untracked".to_owned(), KeptReason::Unknown),
        ("ignored".to_owned(), KeptReason::Unknown),
        ("ignored/cache".to_owned(), KeptReason::Unknown),
        ("untracked".to_owned(), KeptReason::Unknown),
    ];
    assert_eq!(kept(&report), expected);
    let files = bench.files();
    assert_eq!(files["a"], b"1");
    assert_eq!(files["b/untracked"], b"mine too");
    assert!(!files.contains_key("b/c"));
}

#[test]
fn excluded_paths_are_never_deleted_even_when_the_rules_change() {
    let bench = Bench::new();
    bench.write(".samiteignore", "cache/\n");
    bench.write("cache/x", "excluded then");
    bench.write("a", "1");
    let first = bench.snapshot();
    bench.remove(".samiteignore");
    bench.write("a", "2");
    let second = bench.snapshot();
    // The target's rules exclude what the base has.
    let report = bench.restore(second.root, first.root);
    assert_eq!(bench.files()["cache/x"], b"excluded then");
    assert_eq!(bench.files()["a"], b"1");
    assert!(report.kept.iter().all(|kept| kept.reason == KeptReason::Excluded));
    // Newly ignored: the rules of today exclude what both trees have.
    bench.write(".samiteignore", "a\n");
    bench.restore(first.root, second.root);
    assert_eq!(bench.files()["a"], b"1");
}

#[test]
fn what_was_there_before_rules_excluded_it_comes_back_where_nothing_stands() {
    let bench = Bench::new();
    bench.write("build.log", "taken in then");
    bench.write("d/c.log", "taken in then");
    let first = bench.snapshot();
    bench.write(".samiteignore", "*.log\n");
    bench.remove("build.log");
    bench.write("d/c.log", "a person's by now");
    let second = bench.snapshot();
    let report = bench.restore(second.root, first.root);
    assert_eq!(bench.files()["build.log"], b"taken in then");
    assert_eq!(bench.files()["d/c.log"], b"a person's by now");
    assert_eq!(kept(&report), [("d/c.log".to_owned(), KeptReason::Excluded)]);
}

#[test]
fn changes_since_the_base_are_kept_unless_forced() {
    let bench = Bench::new();
    for name in ["edited", "deleted", "mode"] {
        bench.write(name, "1");
    }
    let first = bench.snapshot();
    for name in ["edited", "deleted", "mode"] {
        bench.write(name, "2");
    }
    let second = bench.snapshot();
    bench.write("edited", "by hand");
    bench.remove("deleted");
    std::fs::set_permissions(bench.top().join("mode"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let report = bench.restore(second.root, first.root);
    let expected = [
        ("deleted".to_owned(), KeptReason::Removed),
        ("edited".to_owned(), KeptReason::Changed),
        ("mode".to_owned(), KeptReason::Changed),
    ];
    assert_eq!(kept(&report), expected);
    assert_eq!(bench.files()["edited"], b"by hand");
    let options = RestoreOptions { force: true, ..bench.restore_options(Some(second.root), first.root) };
    assert!(restore(&bench.store, &bench.top(), &options).unwrap().is_complete());
    assert_eq!(bench.snapshot().root, first.root);
}

#[test]
fn a_path_of_another_and_a_path_outside_the_step_stay() {
    let bench = Bench::new();
    for name in ["mine", "theirs", "elsewhere/x"] {
        bench.write(name, "1");
    }
    let first = bench.snapshot();
    for name in ["mine", "theirs", "elsewhere/x"] {
        bench.write(name, "2");
    }
    let second = bench.snapshot();
    let options = RestoreOptions {
        others: vec![Other::new(path("theirs"), Whose::Session)],
        within: vec![path("mine"), path("theirs")],
        ..bench.restore_options(Some(second.root), first.root)
    };
    let report = restore(&bench.store, &bench.top(), &options).unwrap();
    assert_eq!(kept(&report), [("theirs".to_owned(), KeptReason::Others)]);
    let files = bench.files();
    assert_eq!((&*files["mine"], &*files["theirs"], &*files["elsewhere/x"]), (&b"1"[..], &b"2"[..], &b"2"[..]));
}

#[test]
fn what_changes_between_the_plan_and_its_turn_is_kept() {
    let bench = Bench::new();
    for name in ["replaced", "removed", "d/in"] {
        bench.write(name, "1");
    }
    let first = bench.snapshot();
    bench.write("replaced", "2");
    bench.write("extra", "2");
    bench.remove("d/in");
    std::fs::remove_dir(bench.top().join("d")).unwrap();
    let second = bench.snapshot();
    let options = bench.restore_options(Some(second.root), first.root);
    let planned = plan_restore(&bench.store, &bench.top(), &options).unwrap();
    bench.write("replaced", "at the last moment");
    bench.write("extra", "at the last moment");
    bench.write("d", "now a file");
    let report = apply_restore(&bench.store, &bench.top(), planned, &options).unwrap();
    let expected = [
        ("d".to_owned(), KeptReason::Unknown),
        ("extra".to_owned(), KeptReason::Changed),
        ("replaced".to_owned(), KeptReason::Changed),
    ];
    assert_eq!(kept(&report), expected);
    assert_eq!(bench.files()["replaced"], b"at the last moment");
    assert_eq!(bench.files()["d"], b"now a file");
}

#[test]
fn a_link_in_the_way_is_not_followed() {
    let bench = Bench::new();
    let outside = bench.scratch.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "outside").unwrap();
    bench.write("d/f", "1");
    let first = bench.snapshot();
    bench.write("d/f", "2");
    bench.write("d/g", "2");
    let second = bench.snapshot();
    let options = bench.restore_options(Some(second.root), first.root);
    let planned = plan_restore(&bench.store, &bench.top(), &options).unwrap();
    std::fs::rename(bench.top().join("d"), bench.top().join("moved")).unwrap();
    symlink(&outside, bench.top().join("d")).unwrap();
    let report = apply_restore(&bench.store, &bench.top(), planned, &options).unwrap();
    assert!(!report.is_complete());
    assert_eq!(std::fs::read(outside.join("f")).unwrap(), b"outside");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    // Planned again, the link is somebody else's change.
    let report = restore(&bench.store, &bench.top(), &options).unwrap();
    assert!(kept(&report).contains(&("d".to_owned(), KeptReason::Changed)));
    assert_eq!(std::fs::read(outside.join("f")).unwrap(), b"outside");
}

#[test]
fn types_change_places() {
    let bench = Bench::new();
    bench.write("file-dir", "file");
    bench.write("dir-file/x", "x");
    symlink("somewhere", bench.top().join("link-dir")).unwrap();
    bench.write("dir-link/deep/y", "y");
    let first = bench.snapshot();
    bench.remove("file-dir");
    bench.write("file-dir/now/inside", "z");
    std::fs::remove_dir_all(bench.top().join("dir-file")).unwrap();
    bench.write("dir-file", "now a file");
    bench.remove("link-dir");
    bench.write("link-dir/q", "q");
    std::fs::remove_dir_all(bench.top().join("dir-link")).unwrap();
    symlink("elsewhere", bench.top().join("dir-link")).unwrap();
    let second = bench.snapshot();
    assert!(bench.restore(second.root, first.root).is_complete());
    assert_eq!(bench.snapshot().root, first.root);
    assert!(bench.restore(first.root, second.root).is_complete());
    assert_eq!(bench.snapshot().root, second.root);
}

#[test]
fn hard_links_are_made_to_files_that_stand() {
    let bench = Bench::new();
    bench.write("a", "shared");
    std::fs::hard_link(bench.top().join("a"), bench.top().join("b")).unwrap();
    std::fs::hard_link(bench.top().join("a"), bench.top().join("z")).unwrap();
    bench.write("solo", "1");
    let first = bench.snapshot();
    bench.remove("z");
    bench.write("solo", "2");
    let second = bench.snapshot();
    assert!(bench.restore(second.root, first.root).is_complete());
    let inode = |name: &str| std::fs::metadata(bench.top().join(name)).unwrap().ino();
    assert_eq!((inode("a"), inode("b")), (inode("z"), inode("z")));
    assert_eq!(bench.snapshot().root, first.root);
}

#[test]
fn a_read_only_directory_is_put_back_read_only() {
    let bench = Bench::new();
    bench.write("ro/f", "1");
    let set = |mode| std::fs::set_permissions(bench.top().join("ro"), std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o555);
    let first = bench.snapshot();
    set(0o755);
    bench.write("ro/f", "2");
    set(0o555);
    let second = bench.snapshot();
    assert!(bench.restore(second.root, first.root).is_complete());
    assert_eq!(std::fs::metadata(bench.top().join("ro")).unwrap().mode() & 0o7777, 0o555);
    assert_eq!(bench.files()["ro/f"], b"1");
    assert_eq!(bench.snapshot().root, first.root);
    set(0o755);
}

#[test]
fn a_restore_that_died_is_rolled_forward() {
    let bench = Bench::new();
    for n in 0..20 {
        bench.write(&format!("d{n}/f"), format!("1 {n}"));
    }
    let first = bench.snapshot();
    for n in 0..20 {
        bench.write(&format!("d{n}/f"), format!("2 {n}"));
        bench.write(&format!("e{n}"), "new");
    }
    let second = bench.snapshot();
    // What a dead restore leaves: some paths done, some not, and its temporary directory.
    let options = bench.restore_options(Some(second.root), first.root);
    let half = RestoreOptions { within: (0..10).map(|n| path(&format!("d{n}"))).collect(), ..options.clone() };
    restore(&bench.store, &bench.top(), &half).unwrap();
    let leftover = bench.top().join(format!(".samite-restore-{}", "07".repeat(16)));
    std::fs::create_dir_all(leftover.join("0/inner")).unwrap();
    std::fs::write(leftover.join("0/inner/f"), "half").unwrap();
    assert_eq!(bench.snapshot().scanned.report().files, 20 + 20, "scans leave it out");
    assert!(restore(&bench.store, &bench.top(), &options).unwrap().is_complete());
    assert!(!leftover.exists());
    assert_eq!(bench.snapshot().root, first.root);
    assert!(restore(&bench.store, &bench.top(), &options).unwrap().is_complete());
    std::fs::create_dir(bench.top().join(".samite-restore-00")).unwrap();
    assert_eq!(remove_leftovers(&bench.top()).unwrap(), 1);
}

#[test]
fn a_second_workspace_does_not_see_later_edits_of_the_first() {
    let bench = Bench::new();
    bench.write("a", "1");
    let first = bench.snapshot();
    let fork = bench.scratch.path().join("fork");
    let options = RestoreOptions {
        clone_from: Some((bench.top(), bench.scan_options())),
        ..RestoreOptions::new([1; 16], bench.owner, None, first.root)
    };
    let report = materialise(&bench.store, &fork, &options).unwrap();
    assert_eq!(report.cloned_files + report.copied_files, 1);
    assert_eq!(report.cloned_bytes + report.copied_bytes, 1);
    bench.write("a", "2");
    assert_eq!(std::fs::read(fork.join("a")).unwrap(), b"1");
    std::fs::write(fork.join("mine"), "x").unwrap();
    assert_eq!(materialise(&bench.store, &fork, &options).unwrap_err().code(), "not_empty");
}

#[test]
fn what_was_changed_just_when_a_restore_that_died_took_its_place_is_kept() {
    let bench = Bench::new();
    bench.write("f", "1");
    let first = bench.snapshot();
    bench.write("f", "2");
    let second = bench.snapshot();
    for again in [false, true] {
        // What such an attempt leaves: what it expected, what it built, and what somebody had changed just then.
        let left = bench.top().join(format!(".samite-restore-{}", "07".repeat(16)));
        std::fs::create_dir(&left).unwrap();
        for (number, text) in [(1, "as expected"), (2, "built"), (3, "by a person")] {
            let at = left.join("file");
            std::fs::write(&at, text).unwrap();
            let found = std::fs::metadata(&at).unwrap();
            let mtime = found.mtime() * 1_000_000_000 + found.mtime_nsec();
            let name = match number {
                1 => format!("old-1,0,{},{},{mtime}", found.ino(), found.size()),
                2 => format!("old-2,{},1,2,3", found.ino()),
                _ => format!("old-3,1,{},{},{}", found.ino(), found.size(), mtime - 1),
            };
            std::fs::rename(at, left.join(name)).unwrap();
        }
        // The second time there is nothing left to do.
        let report = bench.restore(second.root, first.root);
        let place = format!("samite-kept-{}/{}", "07".repeat(16), if again { 2 } else { 1 });
        let found: Vec<String> =
            kept(&report).into_iter().map(|(path, _)| path).filter(|path| *path == place).collect();
        assert_eq!(found, std::slice::from_ref(&place));
        assert_eq!(bench.files()[&place], b"by a person");
        assert_eq!(bench.files()["f"], b"1");
        assert!(!left.exists());
        assert_eq!(bench.files().values().filter(|bytes| *bytes == b"by a person").count(), 1 + usize::from(again));
        assert!(!bench.files().values().any(|bytes| bytes == b"built" || bytes == b"as expected"));
    }
}
