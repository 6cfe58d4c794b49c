//! A store on real packs and keys, with the ledger in memory, and directories to work on.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests")]

use futures_lite::future::block_on;
use samite_blocks::FilePackStore;
use samite_host::{SystemClock, SystemRandomness};
use samite_keys::{FileMaster, Keyring, KeyringOptions};
use samite_ledger::{BlockIndex as _, Commit, Ledger as _, MemoryLedger};
use samite_model::tree::TreePath;
use samite_model::{BlockId, Owner, Pseudonym, Tenant};
use samite_workspace::{
    RestoreOptions, RestoreReport, ScanOptions, Snapshot, SnapshotOptions, Store, restore, snapshot,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A store, a workspace and its cache, in a directory of their own.
pub(crate) struct Bench {
    pub scratch: TempDir,
    pub store: Store,
    pub ledger: MemoryLedger,
    pub packs: Arc<FilePackStore>,
    pub owner: Pseudonym,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let random = Arc::new(SystemRandomness::new());
        let keyring = Keyring::open(KeyringOptions {
            directory: scratch.path().join("keys"),
            tenant: Tenant::new("t1").unwrap(),
            master: Arc::new(FileMaster::new(scratch.path().join("master"), random.clone())),
            random: random.clone(),
            create: true,
        })
        .unwrap();
        let owner = keyring.subject(&Owner::new("user:ada").unwrap()).unwrap().pseudonym;
        let ledger = MemoryLedger::default();
        let packs = Arc::new(FilePackStore::open(&scratch.path().join("packs")).unwrap());
        let store = Store {
            index: Arc::new(ledger.clone()),
            packs: packs.clone(),
            tenant: keyring.tenant_pseudonym(),
            screening: samite_workspace::Screening::default(),
            sealing: Arc::new(keyring),
            clock: Arc::new(SystemClock),
            random,
        };
        std::fs::create_dir(scratch.path().join("w")).unwrap();
        Self { scratch, store, ledger, packs, owner }
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.scratch.path().join("w")
    }

    pub(crate) fn scan_options(&self) -> ScanOptions {
        ScanOptions { cache: Some(self.scratch.path().join("cache/stat")), ..ScanOptions::default() }
    }

    pub(crate) fn options(&self, base: Option<BlockId>) -> SnapshotOptions {
        SnapshotOptions { owner: self.owner, base, scan: self.scan_options() }
    }

    /// Makes a snapshot of a directory and commits it.
    pub(crate) fn snapshot_of(&self, path: &Path, options: &SnapshotOptions) -> Snapshot {
        let snapshot = snapshot(&self.store, path, options).unwrap();
        self.commit(&snapshot);
        snapshot
    }

    pub(crate) fn commit(&self, snapshot: &Snapshot) {
        let mut commit = Commit::default();
        snapshot.parts.clone().add_to(&mut commit);
        block_on(self.ledger.commit(commit)).unwrap();
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.snapshot_of(&self.top(), &self.options(None))
    }

    pub(crate) fn restore_options(&self, base: Option<BlockId>, target: BlockId) -> RestoreOptions {
        RestoreOptions { scan: self.scan_options(), ..RestoreOptions::new([7; 16], self.owner, base, target) }
    }

    pub(crate) fn restore(&self, base: BlockId, target: BlockId) -> RestoreReport {
        restore(&self.store, &self.top(), &self.restore_options(Some(base), target)).unwrap()
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.top().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.top().join(path)).unwrap();
    }

    /// Files (and their bytes) and directories of the workspace.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.top(), "", &mut found);
        found
    }

    pub(crate) fn pack_count(&self) -> usize {
        block_on(self.ledger.packs()).unwrap().len()
    }
}

fn collect(directory: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.insert(format!("{name}/"), Vec::new());
            collect(&entry.path(), &format!("{name}/"), found);
        } else if kind.is_symlink() {
            found.insert(name, std::fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes());
        } else {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
}

pub(crate) fn path(text: &str) -> TreePath {
    TreePath::new(text).unwrap()
}

/// What is shared with other projects beside the repository; says why and answers nothing when it is not there.
pub(crate) fn shared(relative: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("SAMITE_SHARED").map_or(beside, PathBuf::from);
    let path = folder.join(relative);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: there is no {}", path.display());
    None
}

/// Bytes that do not compress, made from a seed.
pub(crate) fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Waits until the clock that stamps files has moved, so that what was written before is not racy.
pub(crate) fn let_the_clock_tick() {
    std::thread::sleep(std::time::Duration::from_millis(15));
}
