//! The SQLite backend keeps every rule of the contract.

use samite_ledger::testing::conformance::Backend;
use samite_ledger::{OpenOptions, SqliteLedger};
use std::sync::Arc;

samite_ledger::conformance_suite!(async || {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::open(OpenOptions::new(folder.path().join("ledger.db")).create()).unwrap();
    (Arc::new(ledger) as Arc<dyn Backend>, folder)
});
