//! How many power cuts are made: so many that each moment which matters is met, and that it can be told.

use crate::recording::say;
use std::path::Path;

/// A workload, and how many power cuts are made in it.
pub(crate) struct Planned {
    pub(crate) name: &'static str,
    pub(crate) cuts: usize,
}

const fn planned(name: &'static str, cuts: usize) -> Planned {
    Planned { name, cuts }
}

pub(crate) const LEDGER: Planned = planned("the ledger", 200);
pub(crate) const KEYS: Planned = planned("the keystore", 120);
pub(crate) const KEYS_KILLED: Planned = planned("the keystore with killed processes", 120);
pub(crate) const STORE: Planned = planned("the store", 150);
pub(crate) const STORE_KILLED: Planned = planned("the store with killed processes", 60);
pub(crate) const ARTIFACTS: Planned = planned("artifacts", 100);
/// Not samite, but a writer that forgets to sync: what the others would miss is seen here.
pub(crate) const CARELESS: Planned = planned("careless writers", 60);

/// Those of samite.
const SAMITE: [&Planned; 6] = [&LEDGER, &KEYS, &KEYS_KILLED, &STORE, &STORE_KILLED, &ARTIFACTS];

/// In all at least so many.
const FEWEST: usize = 300;

#[test]
fn power_cuts_are_many_enough_in_all() {
    let all: usize = SAMITE.iter().map(|planned| planned.cuts).sum();
    say(&format!("{all} power cuts in {} workloads are planned", SAMITE.len()));
    assert!(all >= FEWEST, "only {all} power cuts, and {FEWEST} are needed");
}

/// Writes down what was done to samite, where `./test` adds it up. Where that cannot be written, the test's output says it.
pub(crate) fn note(planned: &Planned, told: &str) {
    if !SAMITE.iter().any(|of| of.name == planned.name) {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/power-cuts");
    let _ = std::fs::create_dir_all(&folder);
    let _ = std::fs::write(folder.join(format!("{}.txt", planned.name.replace(' ', "-"))), format!("{told}\n"));
}
