//! A process that dies by SIGKILL at each named point of a snapshot, a restore and a collection: what was committed is
//! there, what was not is litter, and the next attempt ends what was begun.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::noise;
use futures_lite::future::block_on;
use samite_blocks::{FilePackStore, PackStore as _};
use samite_host::{Clock, SystemClock, SystemRandomness, TestClock};
use samite_keys::{FileMaster, Keyring, KeyringOptions};
use samite_ledger::{BlockIndex as _, Commit, Ledger as _, OpenOptions, SqliteLedger};
use samite_model::tree::EntryType;
use samite_model::{BlockId, Owner, Pseudonym, Tenant};
use samite_workspace::{
    CollectOptions, RestoreOptions, Root, ScanOptions, SnapshotOptions, Store, Tree, begin_collection, collect,
    restore, snapshot,
};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const CHILD: &str = "SAMITE_TEST_CHILD";

struct Place {
    top: PathBuf,
    cache: PathBuf,
    ledger: SqliteLedger,
    packs: Arc<FilePackStore>,
    store: Store,
    owner: Pseudonym,
}

fn open(scratch: &Path, clock: Arc<dyn Clock>) -> Place {
    let random = Arc::new(SystemRandomness::new());
    let keyring = Keyring::open(KeyringOptions {
        directory: scratch.join("keys"),
        tenant: Tenant::new("t1").unwrap(),
        master: Arc::new(FileMaster::new(scratch.join("master"), random.clone())),
        random: random.clone(),
        create: true,
    })
    .unwrap();
    let owner = keyring.subject(&Owner::new("user:ada").unwrap()).unwrap().pseudonym;
    let ledger = SqliteLedger::open(OpenOptions::new(scratch.join("ledger.db")).create()).unwrap();
    let packs = Arc::new(FilePackStore::open(&scratch.join("packs")).unwrap());
    let store = Store {
        index: Arc::new(ledger.clone()),
        packs: packs.clone(),
        tenant: keyring.tenant_pseudonym(),
        screening: samite_workspace::Screening::default(),
        sealing: Arc::new(keyring),
        clock,
        random,
    };
    Place { top: scratch.join("w"), cache: scratch.join("cache/stat"), ledger, packs, store, owner }
}

impl Place {
    fn scan(&self) -> ScanOptions {
        ScanOptions { cache: Some(self.cache.clone()), ..ScanOptions::default() }
    }

    fn snapshot(&self, base: Option<BlockId>) -> BlockId {
        let options = SnapshotOptions { owner: self.owner, base, scan: self.scan() };
        let made = snapshot(&self.store, &self.top, &options).unwrap();
        let mut commit = Commit::default();
        made.parts.add_to(&mut commit);
        block_on(self.ledger.commit(commit)).unwrap();
        made.root
    }

    fn restore(&self, base: BlockId, target: BlockId) -> bool {
        let options =
            RestoreOptions { scan: self.scan(), ..RestoreOptions::new([9; 16], self.owner, Some(base), target) };
        restore(&self.store, &self.top, &options).unwrap().is_complete()
    }

    fn collect(&self, roots: &[BlockId]) {
        let beginning = begin_collection(&self.store).unwrap();
        let root = |block: &BlockId| Root { label: String::new(), owner: self.owner, block: *block, tree: true };
        let roots: Vec<Root> = roots.iter().map(root).collect();
        let options = CollectOptions { rewrite_percent: 10, ..CollectOptions::default() };
        collect(&self.store, &beginning, &roots, Vec::new(), &options).unwrap();
    }

    fn reads_whole(&self, root: BlockId) {
        let tree = Tree::new(&self.store, self.owner, root);
        for (path, entry) in &tree.listing().unwrap() {
            if entry.content.entry_type() == EntryType::File {
                tree.cat(path, &mut std::io::sink()).unwrap();
            }
        }
    }

    /// The files of packs are those that the index knows, and no others.
    fn no_litter(&self) {
        let files: Vec<_> = block_on(self.packs.list()).unwrap().into_iter().map(|pack| (pack.id, pack.size)).collect();
        let known: Vec<_> =
            block_on(self.ledger.packs()).unwrap().into_iter().map(|pack| (pack.id, pack.size)).collect();
        assert_eq!(files, known);
    }
}

fn write(top: &Path, round: u64) {
    for n in 0..6_u64 {
        let directory = top.join(format!("d{n}"));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("large"), noise(100 << 10, round * 10 + n)).unwrap();
        std::fs::write(directory.join("same"), noise(30 << 10, n)).unwrap();
    }
    std::fs::write(top.join(format!("only-{round}")), "x").unwrap();
}

/// What the process that dies does: `WHAT SCRATCH BASE TARGET`.
#[test]
fn child() {
    let Ok(arguments) = std::env::var(CHILD) else { return };
    let arguments: Vec<&str> = arguments.split('\n').collect();
    let place = open(Path::new(arguments[1]), Arc::new(SystemClock));
    let (base, target): (BlockId, BlockId) = (arguments[2].parse().unwrap(), arguments[3].parse().unwrap());
    match arguments[0] {
        "snapshot" => {
            place.snapshot(Some(base));
        }
        "restore" => assert!(place.restore(base, target)),
        _ => {
            // Later, so that nobody's pins live.
            let later =
                open(Path::new(arguments[1]), Arc::new(TestClock::new(SystemClock.now() + (2 * 3600) * 1_000_000_000)));
            later.collect(&[target]);
        }
    }
}

/// Runs the child with a kill point; says whether it died there.
fn dies(what: &str, point: &str, scratch: &Path, base: BlockId, target: BlockId) -> bool {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killing::child", "--test-threads=1"])
        .env(CHILD, format!("{what}\n{}\n{base}\n{target}", scratch.display()))
        .env("SAMITE_KILL_POINT", point)
        .output()
        .unwrap()
        .status;
    assert!(status.success() || status.signal() == Some(9), "{what} {point}: {status}");
    status.signal() == Some(9)
}

fn each(what: &str, points: &[&str], after: impl Fn(&Place, BlockId, BlockId)) {
    for point in points {
        let scratch = tempfile::tempdir().unwrap();
        let scratch = scratch.path();
        let place = open(scratch, Arc::new(SystemClock));
        write(&place.top, 1);
        let first = place.snapshot(None);
        std::fs::remove_file(place.top.join("only-1")).unwrap();
        std::fs::remove_dir_all(place.top.join("d5")).unwrap();
        write(&place.top, 2);
        std::fs::remove_dir_all(place.top.join("d4")).unwrap();
        let second = if what == "snapshot" { first } else { place.snapshot(Some(first)) };
        let target = if what == "collect" { second } else { first };
        assert!(dies(what, point, scratch, second, target), "{what} never came to {point}");
        let later = TestClock::new(SystemClock.now() + 2 * 3600 * 1_000_000_000);
        after(&place, first, second);
        // Once the dead one's pins have lapsed, nothing of it is left.
        let later = open(scratch, Arc::new(later));
        let last = later.snapshot(None);
        let later = open(scratch, Arc::new(TestClock::new(SystemClock.now() + 5 * 3600 * 1_000_000_000)));
        later.collect(&[last]);
        later.reads_whole(last);
        later.no_litter();
    }
}

#[test]
fn a_snapshot_that_died_left_nothing_behind() {
    let points = [
        "snapshot.pinned",
        "snapshot.scanned",
        "snapshot.pack_begun",
        "snapshot.assembled",
        "snapshot.nodes_added",
        "snapshot.pack_full",
        "pack.synced",
        "pack.finished",
        "snapshot.ready",
    ];
    each("snapshot", &points, |place, first, _| {
        place.reads_whole(first);
        let again = place.snapshot(Some(first));
        place.reads_whole(again);
        assert_ne!(again, first);
    });
}

#[test]
fn a_restore_that_died_is_ended_by_the_next_attempt() {
    let points = [
        "restore.planned",
        "restore.built",
        "restore.moved_away",
        "restore.exchanged",
        "restore.installing",
        "restore.installing:4",
        "restore.installing:9",
        "restore.installed",
        "restore.cleaned",
        "restore.done",
    ];
    each("restore", &points, |place, first, second| {
        assert!(place.restore(second, first));
        assert_eq!(place.snapshot(None), first);
    });
}

#[test]
fn a_collection_that_died_took_nothing_that_is_reached() {
    let points = [
        "gc.marked",
        "gc.rewritten",
        "pack.synced",
        "pack.finished",
        "gc.dying",
        "gc.forgotten",
        "gc.unlinked",
        "gc.done",
    ];
    each("collect", &points, |place, _, second| place.reads_whole(second));
}
