//! The stat cache: fast, and never wrong.

use crate::support::{Bench, let_the_clock_tick};
use samite_workspace::CacheState;
use std::fs::FileTimes;
use std::time::SystemTime;

#[test]
fn an_unchanged_directory_is_not_read_again() {
    let bench = Bench::new();
    for n in 0..50 {
        bench.write(&format!("d{}/f{n}", n % 5), format!("{n}"));
    }
    let_the_clock_tick();
    let first = bench.snapshot();
    assert_eq!((first.scanned.report().read_files, first.scanned.report().cache), (50, CacheState::Absent));
    let second = bench.snapshot();
    assert_eq!((second.scanned.report().read_files, second.scanned.report().cache), (0, CacheState::Used));
    assert_eq!((second.root, second.new_blocks), (first.root, 0));
    bench.write("d0/f0", "changed");
    let third = bench.snapshot();
    assert_eq!(third.scanned.report().read_files, 1);
    assert_ne!(third.root, first.root);
}

#[test]
fn an_edit_in_the_same_tick_is_seen() {
    let bench = Bench::new();
    for round in 0..50 {
        bench.write("f", format!("a{round:04}"));
        let first = bench.snapshot();
        // The same size, and as close in time as it gets.
        bench.write("f", format!("b{round:04}"));
        assert_ne!(bench.snapshot().root, first.root, "round {round}");
    }
}

#[test]
fn an_edit_that_puts_the_old_time_back_is_seen() {
    let bench = Bench::new();
    bench.write("f", "one");
    let_the_clock_tick();
    let first = bench.snapshot();
    let before = std::fs::metadata(bench.top().join("f")).unwrap().modified().unwrap();
    bench.write("f", "two");
    let file = std::fs::File::options().write(true).open(bench.top().join("f")).unwrap();
    file.set_times(FileTimes::new().set_modified(before)).unwrap();
    drop(file);
    let second = bench.snapshot();
    assert_ne!(second.root, first.root);
    assert_eq!(bench.files()["f"], b"two");
}

#[test]
fn a_file_from_the_future_is_read_each_time() {
    let bench = Bench::new();
    bench.write("f", "one");
    let file = std::fs::File::options().write(true).open(bench.top().join("f")).unwrap();
    file.set_times(FileTimes::new().set_modified(SystemTime::now() + std::time::Duration::from_secs(1_000))).unwrap();
    let_the_clock_tick();
    bench.snapshot();
    assert_eq!(bench.snapshot().scanned.report().read_files, 1);
}

#[test]
fn a_damaged_cache_counts_as_absent() {
    let bench = Bench::new();
    bench.write("f", "one");
    let_the_clock_tick();
    let first = bench.snapshot();
    std::fs::write(bench.scan_options().cache.unwrap(), "rubbish").unwrap();
    let second = bench.snapshot();
    assert_eq!((second.root, second.scanned.report().cache), (first.root, CacheState::Damaged));
    assert_eq!(bench.snapshot().scanned.report().cache, CacheState::Used);
}

#[test]
fn a_restore_fills_it() {
    let bench = Bench::new();
    for n in 0..20 {
        bench.write(&format!("d/f{n}"), "1");
    }
    bench.write("same", "1");
    let_the_clock_tick();
    let first = bench.snapshot();
    for n in 0..20 {
        bench.write(&format!("d/f{n}"), "2");
    }
    let second = bench.snapshot();
    bench.restore(second.root, first.root);
    let_the_clock_tick();
    let third = bench.snapshot();
    assert_eq!(third.root, first.root);
    // What was written in the tick of the restore's end is read again, as git would.
    let read = third.scanned.report().read_files;
    let_the_clock_tick();
    assert!(read <= 20, "{read}");
    assert_eq!(bench.snapshot().scanned.report().read_files, 0);
}

#[test]
fn chunks_that_the_cache_knows_and_the_store_lost_are_stored_again() {
    let bench = Bench::new();
    bench.write("f", "one");
    let_the_clock_tick();
    // Never committed: the cache knows ids that the index does not.
    let lost = samite_workspace::snapshot(&bench.store, &bench.top(), &bench.options(None)).unwrap();
    assert_eq!(lost.scanned.report().read_files, 1);
    let second = bench.snapshot();
    assert_eq!(second.root, lost.root);
    let tree = samite_workspace::Tree::new(&bench.store, bench.owner, second.root);
    let mut out = Vec::new();
    tree.cat(&crate::support::path("f"), &mut out).unwrap();
    assert_eq!(out, b"one");
}
