//! A store for tests.

use samite::{Backends, Client, NewEvent, Store};
use samite_blocks::FilePackStore;
use samite_host::{SystemClock, SystemRandomness, SystemSleep};
use samite_keys::{FileMaster, Keyring, KeyringOptions};
use samite_ledger::MemoryLedger;
use samite_model::{EntryKind, Principal, Tenant};
use std::sync::Arc;
use tempfile::TempDir;

/// A store in memory, with its keys in a temporary directory.
pub struct World {
    pub store: Store,
    pub client: Client,
    _directory: TempDir,
}

/// Runs a future to its end.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    futures_lite::future::block_on(future)
}

/// A message.
pub fn event(text: &str) -> NewEvent {
    NewEvent {
        kind: EntryKind::MESSAGE,
        body: text.as_bytes().to_vec(),
        attributes: None,
        dedupe: None,
        expected_head: None,
    }
}

impl World {
    /// A new one, seen by `ada`.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let random = Arc::new(SystemRandomness::new());
        let master = FileMaster::new(directory.path().join("master.key"), random.clone());
        let keys = Keyring::open(KeyringOptions {
            directory: directory.path().join("keys"),
            tenant: Tenant::new("local").unwrap(),
            master: Arc::new(master),
            random: random.clone(),
            create: true,
        })
        .unwrap();
        let ledger = Arc::new(MemoryLedger::new(Arc::new(SystemSleep)));
        let store = Store::new(Backends {
            ledger: ledger.clone(),
            blocks: ledger,
            packs: Arc::new(FilePackStore::open(directory.path()).unwrap()),
            keys,
            clock: Arc::new(SystemClock),
            random,
        });
        let client = run(store.client(principal("ada"))).unwrap();
        Self { store, client, _directory: directory }
    }

    /// The same store, seen by another person.
    pub fn client_of(&self, user: &str) -> Client {
        run(self.store.client(principal(user))).unwrap()
    }
}

fn principal(user: &str) -> Principal {
    Principal {
        tenant: Tenant::new("local").unwrap(),
        user: user.into(),
        agent: "test".into(),
        workload: "suite".into(),
        scopes: Vec::new(),
    }
}

/// Something of the data beside the repository, or nothing with a loud word.
pub fn shared(path: &str) -> Option<std::path::PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let root = std::env::var("SAMITE_SHARED").unwrap_or_else(|_| beside.to_owned());
    let found = std::path::Path::new(&root).join(path);
    if found.exists() {
        return Some(found);
    }
    eprintln!("SKIPPED: {} is not there", found.display());
    None
}
