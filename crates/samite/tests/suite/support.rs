//! A store for tests.

use samite::embedded::{Embedded, EmbeddedOptions};
use samite::{Backends, Client, NewEvent, Store};
use samite_blocks::FilePackStore;
use samite_host::{Clock, SystemClock, SystemRandomness, SystemSleep, TestClock};
use samite_keys::{FileMaster, Keyring, KeyringOptions};
use samite_ledger::{Ledger, MemoryLedger};
use samite_model::{EntryKind, Principal, Tenant};
use std::sync::Arc;
use tempfile::TempDir;

/// A store in memory, with its keys in a temporary directory.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) client: Client,
    keys: Keyring,
    ledger: Arc<MemoryLedger>,
    _directory: TempDir,
}

/// Runs a future to its end.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    futures_lite::future::block_on(future)
}

/// A message.
pub(crate) fn event(text: &str) -> NewEvent {
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
    pub(crate) fn new() -> Self {
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
            blocks: ledger.clone(),
            packs: Arc::new(FilePackStore::open(directory.path()).unwrap()),
            keys: keys.clone(),
            directory: None,
            caches: None,
            clock: Arc::new(SystemClock),
            random,
        });
        let client = run(store.client(principal("ada"))).unwrap();
        Self { store, client, keys, ledger, _directory: directory }
    }

    /// Destroys a person's keys, as an erasure does.
    pub(crate) async fn destroy_keys_of(&self, user: &str) {
        let owner = principal(user).owner().unwrap();
        let subject = self.keys.subject(&owner).unwrap();
        let doomed: Vec<_> = self
            .keys
            .live_keys()
            .unwrap()
            .into_iter()
            .filter(|key| key.subject == subject.pseudonym)
            .map(|key| key.key)
            .collect();
        self.ledger.destroy_keys(doomed).await.unwrap();
        self.keys.destroy_subject(subject.pseudonym).unwrap();
    }

    /// The same store, seen by another person.
    pub(crate) fn client_of(&self, user: &str) -> Client {
        run(self.store.client(principal(user))).unwrap()
    }
}

/// A person of the tests' tenant.
pub(crate) fn principal(user: &str) -> Principal {
    Principal {
        tenant: Tenant::new("local").unwrap(),
        user: user.into(),
        agent: "test".into(),
        workload: "suite".into(),
        scopes: Vec::new(),
    }
}

/// Something of the data beside the repository, or nothing with a loud word.
pub(crate) fn shared(path: &str) -> Option<std::path::PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let root = std::env::var("SAMITE_SHARED").unwrap_or_else(|_| beside.to_owned());
    let found = std::path::Path::new(&root).join(path);
    if found.exists() {
        return Some(found);
    }
    eprintln!("SKIPPED: {} is not there", found.display());
    None
}

/// A place on disk with a store and room for workspaces.
pub(crate) struct Place(TempDir);

impl Place {
    /// A new one.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// A new directory in it.
    pub(crate) fn directory(&self, name: &str) -> std::path::PathBuf {
        std::fs::create_dir(self.path(name)).unwrap();
        self.path(name)
    }

    /// Its directory.
    pub(crate) fn root(&self) -> &std::path::Path {
        self.0.path()
    }

    /// Opens the store.
    pub(crate) fn open(&self) -> Embedded {
        self.open_at(&self.path("store"))
    }

    /// Opens a store that has the place's master key.
    pub(crate) fn open_at(&self, directory: &std::path::Path) -> Embedded {
        Embedded::open(options(directory, &self.path("master.key"))).unwrap()
    }

    /// A client of a store in memory that keeps its keys and packs here, and its clock.
    pub(crate) fn in_memory(&self) -> (Client, Arc<TestClock>) {
        let random = Arc::new(SystemRandomness::new());
        let keys = Keyring::open(KeyringOptions {
            directory: self.path("keys"),
            tenant: Tenant::new("local").unwrap(),
            master: Arc::new(FileMaster::new(self.path("memory.key"), random.clone())),
            random: random.clone(),
            create: true,
        })
        .unwrap();
        let ledger = Arc::new(MemoryLedger::new(Arc::new(SystemSleep)));
        let clock = Arc::new(TestClock::new(SystemClock.now()));
        let store = Store::new(Backends {
            ledger: ledger.clone(),
            blocks: ledger,
            packs: Arc::new(FilePackStore::open(&self.directory("packs")).unwrap()),
            keys,
            directory: None,
            caches: None,
            clock: clock.clone(),
            random,
        });
        (run(store.client(principal("ada"))).unwrap(), clock)
    }

    /// The store as its local principal sees it.
    pub(crate) async fn client(&self) -> Client {
        self.open().client().await.unwrap()
    }
}

/// How to open a store for everything, with the master key in this file.
pub(crate) fn options(directory: &std::path::Path, master: &std::path::Path) -> EmbeddedOptions {
    EmbeddedOptions {
        directory: directory.to_path_buf(),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(master, Arc::new(SystemRandomness::new()))),
        create: true,
        read_only: false,
        accept_behind: false,
    }
}

/// Asserts that a store verifies: no finding, and every view as its entries make it.
pub(crate) fn assert_verifies(store: &Store) {
    let verified = run(store.verify(false, None)).unwrap();
    assert!(verified.findings.is_empty(), "{:#?}", verified.findings);
    assert!(verified.stale_views.is_empty(), "{:?}", verified.stale_views);
}

/// Bytes that do not compress and differ by seed.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// The files of the packs in a tenant's folder.
pub(crate) fn packs(home: &std::path::Path) -> Vec<std::path::PathBuf> {
    let below = |path: std::path::PathBuf| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let folders = below(home.join("packs")).filter(|path| path.is_dir());
    folders.flat_map(below).collect()
}
