//! The SQLite backend keeps every rule of the contract, on whichever threads it works.

use samite_ledger::testing::PlainFinisher;
use samite_ledger::testing::conformance::Backend;
use samite_ledger::{Finisher, OpenOptions, SqliteLedger, Threads};
use std::sync::Arc;
use tempfile::TempDir;

fn open(threads: Threads) -> (Arc<dyn Backend>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let finisher: Option<Arc<dyn Finisher>> = Some(Arc::new(PlainFinisher));
    let options = OpenOptions { threads, finisher, ..OpenOptions::new(folder.path().join("ledger.db")).create() };
    (Arc::new(SqliteLedger::open(options).unwrap()), folder)
}

samite_ledger::conformance_suite!(async || open(Threads::Caller));

mod own_threads {
    use super::*;

    samite_ledger::conformance_suite!(async || open(Threads::Own));
}
