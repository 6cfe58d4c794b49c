//! Long-term memory: records that outlive sessions, each namespace in a journal of its own.
//!
//! Which journal that is follows from who asks and from the whole name of the namespace. There is no way to ask for all of them,
//! for somebody else's, or for one by a part of its name.

mod erased;
mod journal;
mod query;
pub(crate) mod views;
mod write;

pub(crate) use query::no_record;
pub use query::{MemoryFilter, RecordedIn};
pub use samite_memory::{Ended, Standing, Standings};
pub use samite_model::memory::*;
pub use write::{NewRecord, Written};

use crate::client::Client;

/// One namespace of one owner, as a principal sees it.
#[derive(Clone)]
pub struct Memory {
    client: Client,
    namespace: Namespace,
}

impl Client {
    /// A namespace of this principal's user. It is made by the first record that is written to it.
    pub fn memory(&self, namespace: Namespace) -> Memory {
        Memory { client: self.clone(), namespace }
    }
}

impl Memory {
    /// The name.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }
}
