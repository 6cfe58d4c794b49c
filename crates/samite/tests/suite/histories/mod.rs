//! Random histories against a simple model of trees: edits, renames, deletes, forks, merges, rewinds, and a person's
//! edits in between, over a real store and real directories.
//!
//! After each act the directories are held against [`model`]: a restore makes what the model makes, nothing outside its
//! plan changes, and no other directory sees anything of it. In the end each checkpoint that was ever taken is there as it
//! was. A history that fails is made smaller as long as it fails, and is printed with its seed.
//!
//! `SAMITE_HISTORIES=N` runs N histories instead of 1,000; `SAMITE_HISTORY_SEED=N` begins at another seed, and
//! `SAMITE_HISTORIES=1` then runs this one alone.

mod disk;
mod generator;
mod merging;
mod model;
mod world;

use crate::place::Place;
use crate::support::run;
use generator::{History, history};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use world::World;

/// In how many tests the histories are done, so that they run side by side.
const PARTS: u64 = 10;
/// How many histories share a store.
const TOGETHER: usize = 12;
/// How many threads a test has.
const LANES: usize = 3;
/// How often a history that fails is run again to make it smaller.
const TRIES: usize = 150;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// How often what happened.
type Counts = BTreeMap<&'static str, usize>;

fn add(counts: &mut Counts, more: Counts) {
    for (what, often) in more {
        *counts.entry(what).or_default() += often;
    }
}

/// Lets histories happen one after the other in a store; says which failed and why.
fn together(histories: &[History], counts: &mut Counts) -> Result<(), (History, String)> {
    let place = Place::new();
    let store = place.open();
    for history in histories {
        let lived = catch_unwind(AssertUnwindSafe(|| {
            run(async {
                let mut world = World::new(&place, &store, format!("w{}", history.seed), history.shared).await?;
                world.live(history).await?;
                Ok(std::mem::take(&mut world.counts))
            })
        }));
        let wrong = match lived {
            Ok(Ok(happened)) => {
                add(counts, happened);
                continue;
            }
            Ok(Err(wrong)) => wrong,
            Err(panic) => {
                let words = panic.downcast_ref::<String>().cloned();
                words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned())).unwrap_or_default()
            }
        };
        return Err((history.clone(), wrong));
    }
    let verified = run(store.store().verify(false, None)).unwrap();
    if verified.findings.is_empty() && verified.stale_views.is_empty() {
        return Ok(());
    }
    if let [_, _, ..] = histories {
        // One of them alone does it, most likely.
        for history in histories {
            together(std::slice::from_ref(history), &mut Counts::new())?;
        }
    }
    let wrong = format!("the store does not verify: {:?} {:?}", verified.findings, verified.stale_views);
    Err((histories.first().unwrap().clone(), wrong))
}

/// Makes a history that fails smaller as long as it fails.
fn smallest(mut failing: History, mut wrong: String) -> (History, String) {
    let mut tries = 0;
    'smaller: loop {
        for candidate in failing.smaller() {
            tries += 1;
            if tries > TRIES {
                break 'smaller;
            }
            if let Err((smaller, why)) = together(std::slice::from_ref(&candidate), &mut Counts::new()) {
                (failing, wrong) = (smaller, why);
                continue 'smaller;
            }
        }
        break;
    }
    (failing, wrong)
}

/// Lets histories happen, some in a store; says which failed first.
fn all(seeds: &[u64]) -> Result<Counts, String> {
    let mut counts = Counts::new();
    for seeds in seeds.chunks(TOGETHER) {
        let histories: Vec<History> = seeds.iter().map(|seed| history(*seed)).collect();
        let Err((failing, wrong)) = together(&histories, &mut counts) else { continue };
        // Alone it may not fail: what came before it in the store matters then.
        let alone = together(std::slice::from_ref(&failing), &mut Counts::new());
        let (smaller, why) = match alone {
            Err((failing, wrong)) => smallest(failing, wrong),
            Ok(()) => (failing.clone(), format!("only after others in its store: {wrong}")),
        };
        return Err(format!("history {} fails: {wrong}\nmade smaller: {why}\n{:#?}", failing.seed, smaller.acts));
    }
    Ok(counts)
}

/// One part of the histories, in lanes side by side: most of the time they wait for the disk.
fn part(part: u64) {
    let (first, count) = (number("SAMITE_HISTORY_SEED", 1), number("SAMITE_HISTORIES", 1000));
    let seeds: Vec<u64> = (first..first + count).filter(|seed| seed % PARTS == part).collect();
    let lane = seeds.len().div_ceil(LANES).max(1);
    let done: Vec<Result<Counts, String>> = std::thread::scope(|scope| {
        let lanes: Vec<_> = seeds.chunks(lane).map(|seeds| scope.spawn(|| all(seeds))).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
    });
    let mut counts = Counts::new();
    for lane in done {
        match lane {
            Ok(happened) => add(&mut counts, happened),
            Err(wrong) => panic!("{wrong}"),
        }
    }
    eprintln!("{} histories: {counts:#?}", seeds.len());
    // Each of them can happen, and does.
    if seeds.len() >= 100 {
        for what in ["checkpoints", "forks", "merges", "rewinds", "steps", "restores that change something"] {
            assert!(counts.get(what).is_some_and(|often| *often > 0), "{what}: {counts:#?}");
        }
    }
}

macro_rules! parts {
    ($($name:ident $number:literal,)+) => {
        $(
            #[test]
            fn $name() {
                part($number);
            }
        )+

        #[test]
        fn the_histories_are_all_in_some_part() {
            assert_eq!(vec![$($number),+], (0..PARTS).collect::<Vec<u64>>());
        }
    };
}

parts! {
    random_histories_are_as_the_model_has_them_0 0,
    random_histories_are_as_the_model_has_them_1 1,
    random_histories_are_as_the_model_has_them_2 2,
    random_histories_are_as_the_model_has_them_3 3,
    random_histories_are_as_the_model_has_them_4 4,
    random_histories_are_as_the_model_has_them_5 5,
    random_histories_are_as_the_model_has_them_6 6,
    random_histories_are_as_the_model_has_them_7 7,
    random_histories_are_as_the_model_has_them_8 8,
    random_histories_are_as_the_model_has_them_9 9,
}
