//! The memory backend keeps every rule of the contract.

use samite_ledger::MemoryLedger;
use samite_ledger::testing::PlainFinisher;
use samite_ledger::testing::conformance::Backend;
use std::sync::Arc;

samite_ledger::conformance_suite!(async || (
    Arc::new(MemoryLedger::default().with_finisher(Arc::new(PlainFinisher))) as Arc<dyn Backend>,
    ()
));
