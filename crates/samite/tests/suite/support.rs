//! A store for tests.

use crate::place::Place;
use samite::embedded::EmbeddedOptions;
use samite::workspace::{Checkpoint, CheckpointOptions};
use samite::{Backends, Begin, Client, NewEvent, NewSession, NewStep, StepHandle, Store, Writer, WriterOptions};
use samite_host::SystemRandomness;
use samite_keys::FileMaster;
use samite_model::step::Effect;
use samite_model::{BlockId, BranchId, EntryKind, Principal, SessionId, Tenant};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// A store in memory, with its keys in a temporary directory.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) client: Client,
    backends: Backends,
    _place: Place,
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
        let place = Place::new();
        let backends = place.backends_in_memory();
        let store = Store::new(backends.clone());
        let client = run(store.client(principal("ada"))).unwrap();
        Self { store, client, backends, _place: place }
    }

    /// Destroys a person's keys, as an erasure does.
    pub(crate) async fn destroy_keys_of(&self, user: &str) {
        let owner = principal(user).owner().unwrap();
        let subject = self.backends.keys.subject(&owner).unwrap();
        let doomed: Vec<_> = self
            .backends
            .keys
            .live_keys()
            .unwrap()
            .into_iter()
            .filter(|key| key.subject == subject.pseudonym)
            .map(|key| key.key)
            .collect();
        self.backends.ledger.destroy_keys(doomed).await.unwrap();
        self.backends.keys.destroy_subject(subject.pseudonym).unwrap();
    }

    /// The same store, seen by another person.
    pub(crate) fn client_of(&self, user: &str) -> Client {
        run(self.store.client(principal(user))).unwrap()
    }
}

/// A session that works in a directory.
pub(crate) async fn attached(client: &Client, work: &Path) -> SessionId {
    let session = client.create_session(NewSession::default()).await.unwrap().id;
    client.attach(session, None, work).await.unwrap();
    session
}

/// A checkpoint of the current branch's workspace alone.
pub(crate) async fn take(client: &Client, session: SessionId) -> Checkpoint {
    take_of(client, session, None).await
}

/// The same, of a branch (none: the current one).
pub(crate) async fn take_of(client: &Client, session: SessionId, branch: Option<BranchId>) -> Checkpoint {
    client.checkpoint(session, branch, WriterOptions::default(), files_only()).await.unwrap()
}

/// Begins a restore to a tree of what held another, and does nothing of it: as if it had been cut off at once.
pub(crate) async fn begin_restore(writer: &Writer, target: BlockId, base: BlockId) -> StepHandle {
    let input = json!({
        "operation": "00112233445566778899aabbccddeeff", "target": target, "base": base,
        "within": [], "others": [], "force": false,
    });
    let effect = Effect::Contained { within: Vec::new() };
    let step = NewStep { effect, tree: Some(base), ..NewStep::new("restore 0011", "samite.restore", input) };
    match writer.begin(&step).await.unwrap() {
        Begin::Run(handle) => handle,
        other => panic!("not to run: {other:?}"),
    }
}

/// Without the environment's fingerprint.
pub(crate) fn files_only() -> CheckpointOptions {
    CheckpointOptions { no_environment: true, ..CheckpointOptions::default() }
}

/// A person of the tests' tenant.
pub(crate) fn principal(user: &str) -> Principal {
    Principal {
        tenant: Tenant::new("local").unwrap(),
        user: user.into(),
        agent: "test".into(),
        workload: "suite".into(),
        scopes: vec!["samite:all".to_owned()],
        parents: Vec::new(),
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
