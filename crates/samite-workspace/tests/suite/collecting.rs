//! Collection takes what nobody reaches, and nothing else, whoever writes meanwhile.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{Bench, noise, path};
use futures_lite::future::block_on;
use samite_blocks::PackStore as _;
use samite_host::{Clock as _, SystemClock, TestClock};
use samite_ledger::{BlockIndex as _, Commit, Ledger as _};
use samite_model::{BlockId, Observer, PackId, PinId};
use samite_workspace::{
    CollectOptions, Collected, Root, ScanOptions, SnapshotOptions, Store, Tree, begin_collection, collect, preview,
    reachable, snapshot,
};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

fn root(bench: &Bench, block: BlockId) -> Root {
    Root { label: "branch".into(), owner: bench.owner, block, tree: true }
}

fn gc(bench: &Bench, roots: &[BlockId], options: &CollectOptions) -> Collected {
    let beginning = begin_collection(&bench.store).unwrap();
    let roots: Vec<Root> = roots.iter().map(|block| root(bench, *block)).collect();
    collect(&bench.store, &beginning, &roots, Vec::new(), options).unwrap()
}

fn reads_whole(bench: &Bench, block: BlockId) {
    let tree = Tree::new(&bench.store, bench.owner, block);
    for (path, entry) in &tree.listing().unwrap() {
        if entry.content.entry_type() == samite_model::tree::EntryType::File {
            tree.cat(path, &mut std::io::sink()).unwrap();
        }
    }
}

#[test]
fn what_no_root_reaches_goes_and_the_preview_said_how_much() {
    let bench = Bench::new();
    bench.write("shared", noise(400 << 10, 1));
    bench.write("old", noise(900 << 10, 2));
    let first = bench.snapshot();
    bench.remove("old");
    bench.write("new", noise(300 << 10, 3));
    let second = bench.snapshot();
    let said = preview(&bench.store, &[root(&bench, second.root)], &[root(&bench, first.root)]).unwrap();
    assert_eq!((said.by_root.len(), said.rest), (1, 0));
    assert!(said.by_root[0] > 900 << 10 && said.by_root[0] < 920 << 10, "{said:?}");
    let nothing = gc(&bench, &[first.root, second.root], &CollectOptions::default());
    assert_eq!(nothing, Collected::default());
    let collected = gc(&bench, &[second.root], &CollectOptions::default());
    assert_eq!(collected.bytes, said.by_root[0]);
    // The pack of the first tree was mostly dead: what lives of it was copied.
    assert_eq!((collected.packs_rewritten, collected.packs_dropped), (1, 0));
    assert!(collected.disk_bytes > 850 << 10, "{}", collected.disk_bytes);
    reads_whole(&bench, second.root);
    // What nothing names at all goes as well, and is told.
    let said = preview(&bench.store, &[], &[]).unwrap();
    assert_eq!(Tree::new(&bench.store, bench.owner, first.root).root().unwrap_err().code(), "block_missing");
    let collected = gc(&bench, &[], &CollectOptions::default());
    assert_eq!((collected.packs_dropped, collected.bytes), (2, said.rest));
    assert!(block_on(bench.packs.list()).unwrap().is_empty());
    assert!(block_on(bench.ledger.blocks(None, 10)).unwrap().is_empty());
    // The directory itself was never touched, and is stored again.
    reads_whole(&bench, bench.snapshot().root);
}

#[test]
fn blocks_in_the_ledger_are_folded_into_packs() {
    let bench = Bench::new();
    let mut last = None;
    for n in 0..10 {
        bench.write(&format!("f{n}"), noise(20 << 10, n));
        last = Some(bench.snapshot_of(&bench.top(), &bench.options(last)).root);
    }
    assert_eq!(bench.pack_count(), 0);
    let options = CollectOptions { fold_bytes: 100 << 10, ..CollectOptions::default() };
    let collected = gc(&bench, &[last.unwrap()], &options);
    assert!(collected.blocks > 0 && collected.blocks_folded >= 11, "{collected:?}");
    assert_eq!(bench.pack_count(), 1);
    reads_whole(&bench, last.unwrap());
    assert_eq!(gc(&bench, &[last.unwrap()], &options), Collected::default());
}

#[test]
fn a_writer_that_pinned_is_a_root_and_one_that_died_is_none() {
    let bench = Bench::new();
    bench.write("a", noise(300 << 10, 1));
    let first = bench.snapshot();
    bench.write("b", noise(300 << 10, 2));
    // Ready and not committed: its pin names the base, its pack and those it found blocks in.
    let options = SnapshotOptions { base: Some(first.root), ..bench.options(None) };
    let open = snapshot(&bench.store, &bench.top(), &options).unwrap();
    let beside = Collected { beside_writers: true, ..Collected::default() };
    assert_eq!(gc(&bench, &[], &CollectOptions::default()), beside);
    bench.commit(&open);
    reads_whole(&bench, open.root);
    // Another one dies: once its pin is gone, its pack is litter.
    bench.write("c", noise(300 << 10, 3));
    let dead = snapshot(&bench.store, &bench.top(), &bench.options(Some(open.root))).unwrap();
    block_on(bench.ledger.unpin(dead.parts.pin.as_ref().unwrap().id)).unwrap();
    let collected = gc(&bench, &[open.root], &CollectOptions::default());
    assert_eq!(collected.litter, 1);
    reads_whole(&bench, open.root);
    let mut commit = Commit::default();
    dead.parts.clone().add_to(&mut commit);
    assert_eq!(block_on(bench.ledger.commit(commit)).unwrap_err().code(), "pin_lapsed");
}

/// The clock, so much later.
fn later(bench: &Bench, seconds: i64) -> Store {
    let clock = TestClock::new(SystemClock.now() + seconds * 1_000_000_000);
    Store { clock: Arc::new(clock), ..bench.store.clone() }
}

#[test]
fn a_writer_whose_pin_lapsed_before_its_commit_is_refused_where_its_packs_are_gone() {
    let bench = Bench::new();
    bench.write("a", noise(300 << 10, 1));
    let first = bench.snapshot();
    bench.write("b", noise(300 << 10, 2));
    // Ready and stopped for longer than its pin lasts, while there is nothing at all to sweep.
    let open = snapshot(&bench.store, &bench.top(), &bench.options(Some(first.root))).unwrap();
    let store = later(&bench, 4000);
    let roots = [root(&bench, first.root)];
    let beginning = begin_collection(&store).unwrap();
    let collected = collect(&store, &beginning, &roots, Vec::new(), &CollectOptions::default()).unwrap();
    assert_eq!((collected.litter, collected.blocks), (1, 0));
    let mut commit = Commit::default();
    open.parts.clone().add_to(&mut commit);
    assert_eq!(block_on(bench.ledger.commit(commit)).unwrap_err().code(), "pin_lapsed");
    let again = snapshot(&bench.store, &bench.top(), &bench.options(Some(first.root))).unwrap();
    bench.commit(&again);
    reads_whole(&bench, again.root);
}

#[test]
fn the_pin_of_a_snapshot_that_reads_for_long_does_not_lapse() {
    let bench = Bench::new();
    for number in 1..20 {
        bench.write(&format!("{number:02}"), noise(1100 << 10, number));
    }
    let first = bench.snapshot();
    bench.write("00", "new");
    // The new file comes first, and then there is nothing new to store for longer than a pin lasts.
    let clock = Arc::new(TestClock::new(SystemClock.now()));
    let store = Store { clock: clock.clone(), ..bench.store.clone() };
    let observer = Observer::new(move |progress| {
        if progress.what == "reading files" {
            clock.advance(30_000_000_000);
        }
    });
    let scan = ScanOptions { observer, ..ScanOptions::default() };
    let options = SnapshotOptions { owner: bench.owner, base: Some(first.root), scan };
    let second = snapshot(&store, &bench.top(), &options).unwrap();
    bench.commit(&second);
    reads_whole(&bench, second.root);
}

#[test]
fn a_pin_that_is_recorded_anew_keeps_its_packs_from_being_litter() {
    let bench = Bench::new();
    bench.write("a", noise(300 << 10, 1));
    let open = snapshot(&bench.store, &bench.top(), &bench.options(None)).unwrap();
    let store = later(&bench, 4000);
    let beginning = begin_collection(&store).unwrap();
    // By a clock that goes after the collector's, it never lapsed.
    let mut pin = open.parts.pin.clone().unwrap();
    pin.expires = store.clock.now() + 1_000_000_000;
    block_on(bench.ledger.pin(pin)).unwrap();
    let error = collect(&store, &beginning, &[], Vec::new(), &CollectOptions::default()).unwrap_err();
    assert_eq!(error.code(), "pin_live");
    bench.commit(&open);
    reads_whole(&bench, open.root);
}

#[test]
fn a_snapshot_that_finds_the_tree_it_started_from_pins_nothing() {
    let bench = Bench::new();
    bench.write("a", noise(300 << 10, 1));
    let first = bench.snapshot();
    let pins = || block_on(bench.ledger.pins(SystemClock.now())).unwrap().len();
    // The mark of the first one.
    assert_eq!(pins(), 1);
    // Whether it has to read the file again or not.
    for scan in [bench.scan_options(), ScanOptions::default()] {
        let options = SnapshotOptions { owner: bench.owner, base: Some(first.root), scan };
        let same = snapshot(&bench.store, &bench.top(), &options).unwrap();
        assert_eq!((same.root, same.new_blocks, pins()), (first.root, 0, 1));
        bench.commit(&same);
    }
    // A collection in between takes the tree, and so refuses the commit; then it is stored anew.
    let same = snapshot(&bench.store, &bench.top(), &bench.options(Some(first.root))).unwrap();
    gc(&bench, &[], &CollectOptions::default());
    let mut commit = Commit::default();
    same.parts.add_to(&mut commit);
    assert_eq!(block_on(bench.ledger.commit(commit)).unwrap_err().code(), "blocks_dying");
    let again = bench.snapshot_of(&bench.top(), &bench.options(Some(first.root)));
    assert_eq!((again.root, again.new_blocks), (first.root, first.new_blocks));
    reads_whole(&bench, again.root);
    // One that finds another tree is pinned, and leaves a mark.
    bench.write("b", "new");
    let before = pins();
    let other = snapshot(&bench.store, &bench.top(), &bench.options(Some(first.root))).unwrap();
    assert_eq!(pins(), before + 2);
    bench.commit(&other);
    reads_whole(&bench, other.root);
}

#[test]
fn a_commit_between_the_roots_and_the_collection_stops_it() {
    let bench = Bench::new();
    bench.write("a", noise(300 << 10, 1));
    let first = bench.snapshot();
    let beginning = begin_collection(&bench.store).unwrap();
    // Begun, found the first tree's blocks, committed, and gone before the collection acts.
    let second = bench.snapshot();
    assert_eq!((second.root, second.new_blocks), (first.root, 0));
    let error = collect(&bench.store, &beginning, &[], Vec::new(), &CollectOptions::default()).unwrap_err();
    assert_eq!(error.code(), "pin_live");
    reads_whole(&bench, second.root);
}

#[test]
fn a_node_that_cannot_be_opened_stops_a_collection() {
    let bench = Bench::new();
    bench.write("a", noise(300 << 10, 1));
    let first = bench.snapshot();
    let pack = bench.packs.path(first.parts.packs[0].id);
    let mut bytes = std::fs::read(&pack).unwrap();
    let middle = 32 + (300 << 10) + 150;
    bytes[middle] ^= 1;
    std::fs::write(&pack, &bytes).unwrap();
    let beginning = begin_collection(&bench.store).unwrap();
    let roots = [root(&bench, first.root)];
    let error = collect(&bench.store, &beginning, &roots, Vec::new(), &CollectOptions::default()).unwrap_err();
    assert_eq!(error.kind(), samite_model::ErrorKind::Corrupt);
    assert_eq!(bench.pack_count(), 1);
}

#[test]
fn what_is_reachable_is_listed_once() {
    let bench = Bench::new();
    bench.write("a/x", "same");
    bench.write("b/x", "same");
    let first = bench.snapshot();
    let mut found = Vec::new();
    reachable(&bench.store, bench.owner, first.root, &mut |block, chunk| {
        found.push((block, chunk));
        Ok(())
    })
    .unwrap();
    found.sort();
    let count = found.len();
    found.dedup();
    // The root, the top, two directories that differ in their times (or not), and one chunk.
    assert_eq!(found.len(), count);
    assert_eq!(found.iter().filter(|(_, chunk)| *chunk).count(), 1);
    assert_eq!(found.len() as u64, first.new_blocks);
}

#[test]
fn files_of_dead_writers_are_removed_and_those_of_live_ones_are_not() {
    let bench = Bench::new();
    let (dead, live) = (PackId([1; 16]), PackId([2; 16]));
    for pack in [dead, live] {
        let mut upload = block_on(bench.packs.put(pack)).unwrap();
        block_on(upload.write(b"half")).unwrap();
        std::mem::forget(upload);
    }
    let pin =
        samite_ledger::Pin { id: PinId([3; 16]), owner: bench.owner, base: None, expires: i64::MAX, packs: vec![live] };
    block_on(bench.ledger.pin(pin)).unwrap();
    assert_eq!(gc(&bench, &[], &CollectOptions::default()).litter, 1);
    let left: Vec<PackId> = block_on(bench.packs.list()).unwrap().into_iter().map(|pack| pack.id).collect();
    assert_eq!(left, [live]);
}

/// Writers that keep going back to content that just died, and a collector that never rests.
#[test]
fn collecting_never_races_writing() {
    let bench = Bench::new();
    // A commit and the list of roots change together, as an entry and its journal do.
    let roots: Mutex<Vec<Option<BlockId>>> = Mutex::new(vec![None; 2]);
    let done = AtomicBool::new(false);
    let collections = AtomicU32::new(0);
    let eager = CollectOptions { rewrite_percent: 20, fold_bytes: 64 << 10, ..CollectOptions::default() };
    let write = |number: usize| {
        let top = bench.scratch.path().join(format!("w{number}"));
        std::fs::create_dir(&top).unwrap();
        for round in 0..40_u64 {
            for file in 0..4_u64 {
                // Content from a small pool, so that it is found again, dead or alive.
                let seed = (round / 2 + file * 3 + number as u64) % 7;
                let length = if seed.is_multiple_of(2) { 120 << 10 } else { 3 << 10 };
                std::fs::write(top.join(format!("f{file}")), noise(length, seed)).unwrap();
            }
            loop {
                let base = roots.lock().unwrap()[number];
                let options = SnapshotOptions { owner: bench.owner, base, scan: ScanOptions::default() };
                let made = snapshot(&bench.store, &top, &options).unwrap();
                let mut commit = Commit::default();
                made.parts.clone().add_to(&mut commit);
                let mut roots = roots.lock().unwrap();
                match block_on(bench.ledger.commit(commit)) {
                    Ok(_) => {
                        roots[number] = Some(made.root);
                        break;
                    }
                    Err(error) => assert!(matches!(error.code(), "blocks_dying" | "pin_lapsed"), "{error}"),
                }
            }
            let last = roots.lock().unwrap()[number].unwrap();
            reads_whole(&bench, last);
        }
    };
    std::thread::scope(|scope| {
        let writers = [0, 1].map(|number| scope.spawn(move || write(number)));
        let collector = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let beginning = begin_collection(&bench.store).unwrap();
                let keep: Vec<Root> =
                    roots.lock().unwrap().iter().flatten().map(|block| root(&bench, *block)).collect();
                match collect(&bench.store, &beginning, &keep, Vec::new(), &eager) {
                    Ok(_) => {
                        collections.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => assert_eq!(error.code(), "pin_live", "{error}"),
                }
            }
        });
        let results = writers.map(std::thread::ScopedJoinHandle::join);
        done.store(true, Ordering::Relaxed);
        collector.join().unwrap();
        for result in results {
            result.unwrap();
        }
    });
    let last: Vec<BlockId> = roots.lock().unwrap().iter().flatten().copied().collect();
    gc(&bench, &last, &eager);
    for block in &last {
        reads_whole(&bench, *block);
    }
    assert!(collections.load(Ordering::Relaxed) > 0);
    let mut out = Vec::new();
    Tree::new(&bench.store, bench.owner, last[0]).cat(&path("f0"), &mut out).unwrap();
    assert_eq!(out, std::fs::read(bench.scratch.path().join("w0/f0")).unwrap());
}
