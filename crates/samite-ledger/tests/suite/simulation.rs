//! Thousands of schedules of writers, crashes and faults.

use samite_ledger::testing::conformance::Backend;
use samite_ledger::testing::simulation::{Mischief, Options, Report, collection, run};
use samite_ledger::testing::{Faults, FaultyStore, Seeded, for_seeds};
use std::sync::Arc;

samite_ledger::conformance_suite!(async || {
    let store = FaultyStore::new(Seeded::new(1), Arc::new(samite_host::SystemSleep), Faults::NONE);
    (Arc::new(store.open()) as Arc<dyn Backend>, store)
});

/// A quarter of all schedules, so that every processor has some to run.
fn schedules(seeds: std::ops::Range<u64>) {
    let mut total = Report::default();
    let count = seeds.end - seeds.start;
    let mut ran = 0;
    for_seeds(seeds, |seed| {
        total.add(&run(seed, &Options::default())?);
        ran += 1;
        Ok(())
    });
    eprintln!("{ran} schedules: {total:?}");
    if ran == count {
        // A simulation in which nothing goes wrong proves nothing.
        for (what, times) in [
            ("acknowledged", total.acknowledged),
            ("found done", total.found_done),
            ("fenced", total.fenced),
            ("takeovers", total.takeovers),
            ("forks", total.forks),
            ("deletions", total.deletions),
            ("crashes", total.crashes),
            ("unavailable", total.unavailable),
            ("lost requests", total.lost_requests),
            ("lost acknowledgements", total.lost_acknowledgements),
            ("late", total.late),
            ("interrupted", total.interrupted),
        ] {
            assert!(times > count / 20, "{what} happened {times} times in {count} schedules");
        }
    }
}

#[test]
fn schedules_of_the_first_quarter() {
    schedules(0..2_000);
}

#[test]
fn schedules_of_the_second_quarter() {
    schedules(2_000..4_000);
}

#[test]
fn schedules_of_the_third_quarter() {
    schedules(4_000..6_000);
}

#[test]
fn schedules_of_the_fourth_quarter() {
    schedules(6_000..8_000);
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in 0..50 {
        assert_eq!(run(seed, &Options::default()), run(seed, &Options::default()), "seed {seed}");
    }
    assert_ne!(run(1, &Options::default()), run(2, &Options::default()));
}

#[test]
fn the_audit_sees_every_mischief() {
    for (mischief, words) in [
        (Mischief::NoEpochGuard, "in epoch"),
        (Mischief::NoDedupeGuard, "one operation was done at"),
        (Mischief::NoRegistersGuard, "counted to"),
        (Mischief::LoseEntry, "is lost"),
    ] {
        let options = Options { mischief: Some(mischief), ..Options::default() };
        let seen = (0..200).any(|seed| run(seed, &options).is_err_and(|error| error.contains(words)));
        assert!(seen, "{mischief:?} was not seen in 200 schedules");
    }
}

#[test]
fn collecting_never_races_writing() {
    let mut total = collection::Report::default();
    let mut ran = 0;
    for_seeds(0..1_000, |seed| {
        total.add(&collection::run(seed, &collection::Options::default())?);
        ran += 1;
        Ok(())
    });
    eprintln!("{ran} schedules: {total:?}");
    if ran == 1_000 {
        for (what, times) in [
            ("trees", total.trees),
            ("deduped", total.deduped),
            ("refused", total.refused),
            ("marked again", total.marked_again),
            ("forgotten", total.forgotten),
            ("moved", total.moved),
            ("unlinked", total.unlinked),
            ("deletions", total.deletions),
            ("crashes", total.crashes),
        ] {
            assert!(times > 100, "{what} happened {times} times in {ran} schedules");
        }
    }
}

#[test]
fn the_audit_of_collections_sees_every_mischief() {
    use collection::Mischief::{NoBlocksGuard, NoPinGuard, NoSeenHeads};
    for mischief in [NoBlocksGuard, NoPinGuard, NoSeenHeads] {
        let options = collection::Options { mischief: Some(mischief), ..collection::Options::default() };
        let seen = (0..1_000).any(|seed| collection::run(seed, &options).is_err());
        assert!(seen, "{mischief:?} was not seen in 1000 schedules");
    }
}
