//! Everything awkward comes back as it was.

use crate::support::{Bench, let_the_clock_tick, noise, path, shared};
use samite_model::tree::{Content, Segment};
use samite_workspace::{RestoreOptions, Tree, materialise};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

fn python(script: &Path, arguments: &[&Path]) -> Command {
    let mut command = Command::new("python3");
    command.arg(script).arg(if arguments.len() == 1 { "build" } else { "compare" }).args(arguments);
    command
}

fn without_cache(bench: &Bench) -> samite_workspace::SnapshotOptions {
    samite_workspace::SnapshotOptions { scan: samite_workspace::ScanOptions::default(), ..bench.options(None) }
}

#[test]
fn the_nasty_tree_comes_back_identical() {
    let Some(script) = shared("tools/nasty_tree.py") else { return };
    let bench = Bench::new();
    let (nasty, copy) = (bench.scratch.path().join("nasty"), bench.scratch.path().join("copy"));
    assert!(python(&script, &[&nasty]).status().unwrap().success());
    let snapshot = bench.snapshot_of(&nasty, &bench.options(None));
    let report = snapshot.scanned.report();
    assert_eq!(report.sockets, [path("sock")]);
    assert!(report.unreadable.is_empty() || !rustix::process::geteuid().is_root(), "{report:?}");
    assert!(report.torn.is_empty());
    assert_eq!(report.secrets, [path(".env")]);
    let options = RestoreOptions::new([1; 16], bench.owner, None, snapshot.root);
    let restored = materialise(&bench.store, &copy, &options).unwrap();
    assert!(restored.is_complete(), "{restored:?}");
    let output = python(&script, &[&nasty, &copy]).output().unwrap();
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    let differences: Vec<&str> = found.lines().filter(|line| *line != "missing: sock").collect();
    assert!(differences.is_empty(), "{differences:#?}");
    // The copy is the same tree, and so is the original again, with the cache and without.
    assert_eq!(bench.snapshot_of(&copy, &without_cache(&bench)).root, snapshot.root);
    let_the_clock_tick();
    let again = bench.snapshot_of(&nasty, &bench.options(Some(snapshot.root)));
    assert_eq!((again.root, again.new_blocks), (snapshot.root, 0));
}

#[test]
fn the_nasty_tree_is_restored_over_changes() {
    let Some(script) = shared("tools/nasty_tree.py") else { return };
    let bench = Bench::new();
    let (nasty, reference) = (bench.scratch.path().join("nasty"), bench.scratch.path().join("reference"));
    assert!(python(&script, &[&nasty]).status().unwrap().success());
    std::fs::remove_file(nasty.join("sock")).unwrap();
    let first = bench.snapshot_of(&nasty, &bench.options(None));
    materialise(&bench.store, &reference, &RestoreOptions::new([1; 16], bench.owner, None, first.root)).unwrap();
    // An agent goes wild.
    let script_of_changes = "set -e; rm -rf many hl_b nested; chmod 700 rodir; rm rodir/f; mkdir nested; echo x > nested/g; \
        mv plain plain2; ln -sf elsewhere sym; chmod 0644 mode000; echo more >> big; mkdir zero2; rm zero; mkdir zero; \
        rm -rf hl_dir; echo x > hl_dir; truncate -s 5 sparse; rm fifo; echo y > fifo; touch empty/new; chmod 755 setuid";
    assert!(Command::new("sh").arg("-c").arg(script_of_changes).current_dir(&nasty).status().unwrap().success());
    let second = bench.snapshot_of(&nasty, &bench.options(Some(first.root)));
    let options = RestoreOptions { scan: bench.scan_options(), ..bench.restore_options(Some(second.root), first.root) };
    let report = samite_workspace::restore(&bench.store, &nasty, &options).unwrap();
    assert!(report.is_complete(), "{report:?}");
    let output = python(&script, &[&nasty, &reference]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "identical");
}

#[test]
fn a_sparse_file_of_two_gibibytes_takes_no_room() {
    let bench = Bench::new();
    let file = std::fs::File::create(bench.top().join("sparse")).unwrap();
    file.set_len(2 << 30).unwrap();
    file.write_at(b"x", 1 << 30).unwrap();
    drop(file);
    let snapshot = bench.snapshot();
    assert!(snapshot.new_bytes < 64 << 10, "{}", snapshot.new_bytes);
    let tree = Tree::new(&bench.store, bench.owner, snapshot.root);
    let entry = tree.entry(&path("sparse")).unwrap();
    let Content::File { size, body } = &entry.content else { panic!("{entry:?}") };
    assert_eq!(*size, 2 << 30);
    assert!(matches!(tree.segments(body).unwrap()[0], Segment::Hole { .. }));
    let copy = bench.scratch.path().join("copy");
    materialise(&bench.store, &copy, &RestoreOptions::new([1; 16], bench.owner, None, snapshot.root)).unwrap();
    let metadata = std::fs::metadata(copy.join("sparse")).unwrap();
    assert_eq!(metadata.len(), 2 << 30);
    assert!(metadata.blocks() * 512 < 1 << 20);
    let mut byte = [0];
    std::fs::File::open(copy.join("sparse")).unwrap().read_at(&mut byte, 1 << 30).unwrap();
    assert_eq!(byte, *b"x");
}

#[test]
fn large_files_share_what_they_have_in_common() {
    let bench = Bench::new();
    let bytes = noise(24 << 20, 1);
    bench.write("a", &bytes);
    let first = bench.snapshot();
    assert!(first.new_bytes > 24 << 20);
    let mut changed = bytes.clone();
    changed.splice(5_000_000..5_000_000, [1; 1_000]);
    bench.write("b", &changed);
    let second = bench.snapshot_of(&bench.top(), &bench.options(Some(first.root)));
    assert!(second.new_bytes < 9 << 20, "{}", second.new_bytes);
    let mut out = Vec::new();
    let tree = Tree::new(&bench.store, bench.owner, second.root);
    assert_eq!(tree.cat(&path("b"), &mut out).unwrap(), changed.len() as u64);
    assert_eq!(out, changed);
}

#[test]
fn small_snapshots_are_kept_in_the_ledger_and_larger_ones_in_packs() {
    let bench = Bench::new();
    bench.write("a", "small");
    let first = bench.snapshot();
    assert!(first.parts.packs.is_empty());
    assert_eq!(bench.pack_count(), 0);
    bench.write("b", noise(300 << 10, 3));
    let second = bench.snapshot_of(&bench.top(), &bench.options(Some(first.root)));
    assert_eq!(second.parts.packs.len(), 1);
    let copy = bench.scratch.path().join("copy");
    let report =
        materialise(&bench.store, &copy, &RestoreOptions::new([1; 16], bench.owner, None, second.root)).unwrap();
    assert_eq!((report.copied_files, report.copied_bytes), (2, 5 + (300 << 10)));
    assert_eq!(std::fs::read(copy.join("b")).unwrap(), noise(300 << 10, 3));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_left_alone() {
    if rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: root reads everything");
        return;
    }
    let bench = Bench::new();
    bench.write("locked", "x");
    bench.write("open", "1");
    std::fs::set_permissions(bench.top().join("locked"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let first = bench.snapshot();
    assert_eq!(first.scanned.report().unreadable[0].path, path("locked"));
    bench.write("open", "2");
    let second = bench.snapshot_of(&bench.top(), &bench.options(Some(first.root)));
    bench.restore(second.root, first.root);
    assert_eq!(std::fs::metadata(bench.top().join("locked")).unwrap().len(), 1);
}

#[test]
fn rules_exclude_and_gitignore_does_not() {
    let bench = Bench::new();
    for name in ["a.log", "keep.txt", "build/x", "d/a.log", "d/build/y", "node_modules/m/index.js", ".env"] {
        bench.write(name, name);
    }
    bench.write(".gitignore", "node_modules/\n.env\n");
    bench.write(".samiteignore", "*.log\n/build/\n");
    bench.write("d/.samiteignore", "!a.log\n");
    let snapshot = bench.snapshot();
    let listing = Tree::new(&bench.store, bench.owner, snapshot.root).listing().unwrap();
    let files: Vec<String> = listing
        .iter()
        .filter(|(_, entry)| matches!(entry.content, Content::File { .. }))
        .map(|(path, _)| path.to_string())
        .collect();
    let expected = [
        ".env",
        ".gitignore",
        ".samiteignore",
        "d/.samiteignore",
        "d/a.log",
        "d/build/y",
        "keep.txt",
        "node_modules/m/index.js",
    ];
    assert_eq!(files, expected);
    assert_eq!(snapshot.scanned.report().excluded, [path("a.log"), path("build")]);
    assert_eq!(snapshot.scanned.report().secrets, [path(".env")]);
    let root = Tree::new(&bench.store, bench.owner, snapshot.root).root().unwrap();
    assert_eq!(root.rules.len(), 2);
    assert_eq!(&*root.rules[0].text, b"*.log\n/build/\n");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_stored_and_marked() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let bench = Bench::new();
    let names = [("small", 200 << 10), ("large", 6 << 20)];
    for (name, length) in names {
        bench.write(name, noise(length, 1));
    }
    bench.write("still", "x");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (name, length) in names {
            let (path, done) = (bench.top().join(name), &done);
            scope.spawn(move || {
                let file = std::fs::File::options().write(true).open(path).unwrap();
                let mut round = 0_u64;
                while !done.load(Ordering::Relaxed) {
                    round += 1;
                    file.write_at(&round.to_le_bytes(), round % (length as u64 - 8)).unwrap();
                }
            });
        }
        // Sooner or later all attempts at both meet a write.
        let mut torn = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let snapshot = bench.snapshot();
            let tree = Tree::new(&bench.store, bench.owner, snapshot.root);
            for path in &snapshot.scanned.report().torn {
                assert!(tree.entry(path).unwrap().metadata.torn);
                let mut out = Vec::new();
                tree.cat(path, &mut out).unwrap();
                torn.insert((path.to_string(), out.len()));
            }
            assert!(!tree.entry(&path("still")).unwrap().metadata.torn);
            if torn.len() == 2 {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
        let expected = [("large".to_owned(), 6 << 20), ("small".to_owned(), 200 << 10)];
        assert_eq!(torn.into_iter().collect::<Vec<_>>(), expected);
    });
    // Quiet again, it is read again, and is whole.
    let_the_clock_tick();
    let snapshot = bench.snapshot();
    assert!(snapshot.scanned.report().torn.is_empty());
    assert!(!Tree::new(&bench.store, bench.owner, snapshot.root).entry(&path("large")).unwrap().metadata.torn);
}

#[test]
fn a_full_disk_is_said_and_leaves_the_directory_as_it_was() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root may mount a small disk");
        return;
    }
    let bench = Bench::new();
    bench.write("a", noise(3 << 20, 1));
    let snapshot = bench.snapshot();
    let disk = bench.scratch.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&disk).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: a tmpfs cannot be mounted here");
        return;
    }
    std::fs::write(disk.join("mine"), "x").unwrap();
    let options = RestoreOptions::new([1; 16], bench.owner, None, snapshot.root);
    let restored = samite_workspace::restore(&bench.store, &disk, &options);
    let left: Vec<_> = std::fs::read_dir(&disk).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    assert_eq!(restored.unwrap_err().code(), "disk_full");
    assert_eq!(left, ["mine"]);
}
