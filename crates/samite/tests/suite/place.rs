//! Where a test keeps its stores and workspaces.

use crate::support::{options, principal, run};
use samite::embedded::Embedded;
use samite::{Backends, Client, Store};
use samite_blocks::FilePackStore;
use samite_host::{SystemClock, SystemRandomness, SystemSleep, TestClock};
use samite_keys::{FileMaster, Keyring, KeyringOptions};
use samite_ledger::{BlockIndex, Ledger, MemoryLedger};
use samite_model::Tenant;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A place on disk with a store and room for workspaces.
pub(crate) struct Place(TempDir);

impl Place {
    /// A new one.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A new directory in it.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        std::fs::create_dir(self.path(name)).unwrap();
        self.path(name)
    }

    /// Its directory.
    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// Opens the store.
    pub(crate) fn open(&self) -> Embedded {
        self.open_at(&self.path("store"))
    }

    /// Opens a store that has the place's master key.
    pub(crate) fn open_at(&self, directory: &Path) -> Embedded {
        Embedded::open(options(directory, &self.path("master.key"))).unwrap()
    }

    /// The store as its local principal sees it.
    pub(crate) async fn client(&self) -> Client {
        self.open().client().await.unwrap()
    }

    /// A store on this ledger and this index of blocks that keeps its keys and packs here. One a place.
    pub(crate) fn backends(&self, ledger: Arc<dyn Ledger>, blocks: Arc<dyn BlockIndex>) -> Backends {
        let random = Arc::new(SystemRandomness::new());
        let keys = Keyring::open(KeyringOptions {
            directory: self.path("keys"),
            tenant: Tenant::new("local").unwrap(),
            master: Arc::new(FileMaster::new(self.path("backends.key"), random.clone())),
            random: random.clone(),
            create: true,
        })
        .unwrap();
        Backends {
            ledger,
            blocks,
            packs: Arc::new(FilePackStore::open(&self.directory("packs")).unwrap()),
            keys,
            directory: None,
            logged: false,
            tiles: None,
            caches: None,
            memory: None,
            clock: Arc::new(SystemClock),
            random,
        }
    }

    /// A store in memory that keeps its keys and packs here.
    pub(crate) fn backends_in_memory(&self) -> Backends {
        let ledger = Arc::new(MemoryLedger::new(Arc::new(SystemSleep)));
        self.backends(ledger.clone(), ledger)
    }

    /// A client of a store in memory, and its clock.
    pub(crate) fn in_memory(&self) -> (Client, Arc<TestClock>) {
        let clock = Arc::new(TestClock::new(samite_host::Clock::now(&SystemClock)));
        let store = Store::new(Backends { clock: clock.clone(), ..self.backends_in_memory() });
        (run(store.client(principal("ada"))).unwrap(), clock)
    }
}

/// The backends of an open store, to be put together otherwise.
pub(crate) fn backends_of(store: &Embedded) -> Backends {
    let ledger = Arc::new(store.ledger().clone());
    Backends {
        ledger: ledger.clone(),
        blocks: ledger,
        packs: Arc::new(FilePackStore::open(&store.home().join("packs")).unwrap()),
        keys: store.keys().clone(),
        directory: Some(store.directory().to_path_buf()),
        logged: true,
        tiles: None,
        caches: None,
        memory: None,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandomness::new()),
    }
}
