//! The quick look: what of a directory a tree does not hold, without reading it; and scans that are asked to stop.

use crate::support::{Bench, let_the_clock_tick, noise, path};
use samite_model::Observer;
use samite_model::tree::ChangeKind;
use samite_workspace::{Look, ScanOptions, Unsaved, look, scan, snapshot};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn seen(look: &Look) -> Vec<(String, ChangeKind, u64)> {
    let one = |unsaved: &Unsaved| (unsaved.path.to_string(), unsaved.kind, unsaved.bytes);
    look.unsaved.iter().map(one).collect()
}

fn is(name: &str, kind: ChangeKind, bytes: u64) -> (String, ChangeKind, u64) {
    (name.to_owned(), kind, bytes)
}

#[test]
fn what_a_tree_does_not_hold_is_told_with_and_without_a_cache() {
    let bench = Bench::new();
    bench.write("same", "1");
    bench.write("large", noise(3_000_000, 1));
    bench.write("longer", "123");
    bench.write("mode", "1");
    bench.write("gone", "1");
    bench.write("turns", "1");
    bench.write("d/deep", "1");
    symlink("a", bench.top().join("link")).unwrap();
    let_the_clock_tick();
    let root = bench.snapshot().root;
    let options = |cached: bool| if cached { bench.scan_options() } else { ScanOptions::default() };
    for cached in [true, false] {
        let look = look(&bench.store, &bench.top(), bench.owner, Some(root), &options(cached)).unwrap();
        assert_eq!((seen(&look), look.complete), (vec![], true), "{cached}");
    }
    let_the_clock_tick();
    bench.write("longer", "1234");
    bench.write("d/new", noise(70_000, 2));
    fs::set_permissions(bench.top().join("mode"), PermissionsExt::from_mode(0o600)).unwrap();
    bench.remove("gone");
    bench.remove("turns");
    fs::create_dir(bench.top().join("turns")).unwrap();
    bench.remove("link");
    symlink("b", bench.top().join("link")).unwrap();
    let right = [
        is("d/new", ChangeKind::Added, 70_000),
        is("gone", ChangeKind::Removed, 0),
        is("link", ChangeKind::Content, 0),
        is("longer", ChangeKind::Content, 4),
        is("mode", ChangeKind::Metadata, 0),
        is("turns", ChangeKind::Type, 0),
    ];
    for cached in [true, false] {
        let look = look(&bench.store, &bench.top(), bench.owner, Some(root), &options(cached)).unwrap();
        assert_eq!(seen(&look), right, "{cached}");
        assert_eq!(look.report.read_files, 0);
    }
    let all = look(&bench.store, &bench.top(), bench.owner, None, &options(true)).unwrap();
    assert_eq!(all.unsaved.iter().map(|unsaved| unsaved.bytes).sum::<u64>(), 1 + 3_000_000 + 4 + 1 + 1 + 70_000);
}

#[test]
fn what_a_scan_cached_and_no_tree_has_is_not_saved() {
    let bench = Bench::new();
    bench.write("a", "one");
    let_the_clock_tick();
    let root = bench.snapshot().root;
    let old = fs::metadata(bench.top().join("a")).unwrap().modified().unwrap();
    bench.write("a", "two");
    fs::File::options().write(true).open(bench.top().join("a")).unwrap().set_modified(old).unwrap();
    let_the_clock_tick();
    // As `workspace status` does: the file is read and named, and nothing is stored.
    scan(&bench.store, &bench.top(), bench.owner, &bench.scan_options()).unwrap();
    let look = look(&bench.store, &bench.top(), bench.owner, Some(root), &bench.scan_options()).unwrap();
    assert_eq!(seen(&look), [is("a", ChangeKind::Content, 3)]);
}

#[test]
fn whoever_is_asked_to_stop_says_so_and_leaves_nothing_behind() {
    let bench = Bench::new();
    bench.write("a", "one");
    let root = bench.snapshot().root;
    bench.write("d/b", noise(600_000, 3));
    let scan_options = ScanOptions { observer: Observer::default().stopping_when(|| true), ..bench.scan_options() };
    let partial = look(&bench.store, &bench.top(), bench.owner, Some(root), &scan_options).unwrap();
    assert!(!partial.complete);
    // What was not seen is not said to be gone.
    assert!(partial.unsaved.iter().all(|unsaved| unsaved.kind != ChangeKind::Removed), "{:?}", partial.unsaved);
    let stopped = scan(&bench.store, &bench.top(), bench.owner, &scan_options).unwrap_err();
    assert_eq!(stopped.code(), "stopped");
    let packs = bench.pack_count();
    // Once everything was walked through, and before anything was read.
    let told = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let reading = told.clone();
    let observer = Observer::new(move |progress| {
        if progress.what == "reading files" {
            reading.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    });
    bench.write("c", noise(5_000_000, 4));
    let scan_options = ScanOptions {
        observer: observer.stopping_when(move || told.load(std::sync::atomic::Ordering::SeqCst)),
        ..bench.scan_options()
    };
    let options = samite_workspace::SnapshotOptions { scan: scan_options, ..bench.options(Some(root)) };
    assert_eq!(snapshot(&bench.store, &bench.top(), &options).unwrap_err().code(), "stopped");
    assert_eq!(bench.pack_count(), packs, "nothing is known of what was not committed");
    let whole = bench.snapshot();
    assert!(whole.scanned.listing().get(&path("d/b")).is_some());
}
