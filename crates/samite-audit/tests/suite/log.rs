//! A log for tests: its key, its entries, and exports of it.

use samite_audit::export::{Exported, export};
use samite_audit::leaf::{Actor, Word};
use samite_audit::merkle::leaf_hash;
use samite_audit::testing::TestSigner;
use samite_audit::{Frontier, Hash, Leaf, Note, TreeHead};
use samite_model::{Commitment, EntryId, JournalId, Link, Pseudonym, Result};
use std::path::Path;
use std::sync::{Mutex, OnceLock};

pub(crate) const ORIGIN: &str = "example.com/audit/test";
/// As many as make three levels of tiles.
pub(crate) const LARGE: u64 = 70_000;

pub(crate) fn key() -> TestSigner {
    TestSigner::new(ORIGIN, 1)
}

/// The entry at an index, as a leaf.
fn leaf(index: u64) -> Leaf {
    let id = |kind: u8| {
        let mut id = [kind; 16];
        id[..8].copy_from_slice(&index.to_be_bytes());
        id
    };
    let link = |kind: u8| {
        let mut link = [kind; 32];
        link[..8].copy_from_slice(&index.to_be_bytes());
        link
    };
    Leaf {
        act: Word::new("session_created").unwrap(),
        at: 1_700_000_000_000_000_000 + index.cast_signed(),
        journal: JournalId(id(1)),
        seq: index + 1,
        entry: EntryId(id(2)),
        link: Link(link(3)),
        commitment: Commitment(link(4)),
        actor: Actor { user: Pseudonym([5; 16]), agent: Some(Pseudonym([6; 16])), workload: Some(Pseudonym([7; 16])) },
        owner: Pseudonym([5; 16]),
        policy: [].into(),
        consent: [].into(),
        anchors: Vec::new(),
        previous: None,
        extra: Vec::new(),
    }
}

/// The entry at an index: one that is like those of a store.
pub(crate) fn entry(index: u64) -> Vec<u8> {
    // Written out, since tests make many of them without any optimisation.
    let (user, agent, workload) = ("05".repeat(16), "06".repeat(16), "07".repeat(16));
    let id = |kind: &str, bytes: usize| format!("{index:016x}{}", kind.repeat(bytes - 8));
    let actor =
        format!(r#"{{"act":"session_created","actor":{{"agent":"{agent}","user":"{user}","workload":"{workload}"}}"#);
    let time = format!(r#","at":"{}""#, 1_700_000_000_000_000_000 + index);
    let (commitment, entry) = (id("04", 32), id("02", 16));
    let (journal, link, seq) = (id("01", 16), id("03", 32), index + 1);
    let rest = format!(
        r#","commitment":"{commitment}","entry":"{entry}","journal":"{journal}","link":"{link}","owner":"{user}","seq":{seq},"v":1}}"#
    );
    (actor + &time + &rest).into_bytes()
}

#[test]
fn entries_are_leaves() {
    for index in [0, 1, 69_999] {
        assert_eq!(entry(index), leaf(index).encode().unwrap());
    }
}

pub(crate) fn entries(from: u64) -> impl Iterator<Item = Result<Vec<u8>>> {
    (from..).map(|index| Ok(entry(index)))
}

/// The hashes of the first so many entries, each of which is made once.
pub(crate) fn hashes(count: u64) -> Vec<Hash> {
    static HASHES: Mutex<Vec<Hash>> = Mutex::new(Vec::new());
    let mut hashes = HASHES.lock().unwrap();
    let there = hashes.len() as u64;
    hashes.extend((there..count).map(|index| leaf_hash(&entry(index))));
    hashes.iter().take(usize::try_from(count).unwrap()).copied().collect()
}

pub(crate) fn frontier(size: u64) -> Frontier {
    let mut frontier = Frontier::new();
    for hash in hashes(size) {
        frontier.push(hash);
    }
    frontier
}

/// The signed tree head of the first so many entries.
pub(crate) fn signed(size: u64) -> Note {
    TreeHead::of(ORIGIN, &frontier(size)).unwrap().sign(&key()).unwrap()
}

pub(crate) fn export_to(folder: &Path, size: u64) -> Result<Exported> {
    export(folder, &signed(size), &key().verifier(), entries, &mut |_| {})
}

/// A folder with the first 600 entries; whoever changes it changes it back.
pub(crate) fn small() -> &'static Path {
    static LOG: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = LOG.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        export_to(folder.path(), 600).unwrap();
        folder
    });
    folder.path()
}

/// A folder with the first [`LARGE`] entries, exported in two parts; tests that change it change it back.
pub(crate) fn large() -> &'static Path {
    static LOG: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = LOG.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        export_to(&path, 69_990).unwrap();
        std::fs::copy(path.join("checkpoint"), folder.path().join("older")).unwrap();
        export_to(&path, LARGE).unwrap();
        folder
    });
    folder.path()
}
