//! New content of files is looked at once, and what holds something may lie under its owner's keys: found, read, kept and
//! collected like all else, and gone with the keys.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{Bench, path};
use futures_lite::future::block_on;
use samite_host::SystemRandomness;
use samite_keys::{Domain, FileMaster, Keyring, KeyringOptions};
use samite_ledger::{BlockIndex as _, Commit, Ledger as _};
use samite_model::tree::{Content, Metadata, Segment};
use samite_model::{BlockId, Observer, Owner, Pseudonym, Tenant};
use samite_workspace::{
    Bundler, CollectOptions, Match, Root, ScanOptions, Screen, Screening, SnapshotOptions, Tree, begin_collection,
    check_blocks, collect, count_reachable, materialise, scan, store_tree,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const TOKEN: &[u8] = b"TOKEN-0123456789";

/// Finds one word, and counts how often it was asked.
#[derive(Default)]
struct Word(AtomicUsize);

impl Screen for Word {
    fn screen(&self, bytes: &[u8]) -> Vec<Match> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let places = bytes.windows(TOKEN.len()).enumerate().filter(|(_, window)| *window == TOKEN);
        let found = |(at, _)| Match {
            class: "secret",
            kind: "word".to_owned(),
            fingerprint: [1, 2, 3, 0xab],
            place: at..at + TOKEN.len(),
        };
        places.map(found).collect()
    }
}

fn looking(bench: &mut Bench, separates: bool) -> Arc<Word> {
    let word = Arc::new(Word::default());
    let before = bench.store.screening.separated;
    bench.store.screening = Screening { screen: Some(word.clone()), separates, separated: separates || before };
    word
}

fn with_token(before: &[u8], after: &[u8]) -> Vec<u8> {
    [before, TOKEN, after].concat()
}

fn chunks(bench: &Bench, root: BlockId, at: &str) -> Vec<BlockId> {
    let tree = Tree::new(&bench.store, bench.owner, root);
    let Content::File { body, .. } = tree.entry(&path(at)).unwrap().content else { panic!("{at} is no file") };
    let id = |segment: &Segment| match segment {
        Segment::Chunk { id, .. } => Some(*id),
        Segment::Hole { .. } => None,
    };
    tree.segments(&body).unwrap().iter().filter_map(id).collect()
}

/// How many blocks are the tenant's, and how many the owner's.
fn owned(bench: &Bench) -> (usize, usize) {
    let blocks = block_on(bench.ledger.blocks(None, 10_000)).unwrap();
    let own = blocks.iter().filter(|block| block.owner == bench.owner).count();
    (blocks.len() - own, own)
}

fn all_is_well(bench: &Bench, root: BlockId) {
    let roots = [Root { label: String::new(), owner: bench.owner, block: root, tree: true }];
    check_blocks(&bench.store, &roots, &Observer::default(), &mut |_, block, error| panic!("{block}: {error}"))
        .unwrap();
}

#[test]
fn what_is_found_is_told_once_and_stored_like_all_else() {
    let mut bench = Bench::new();
    let word = looking(&mut bench, false);
    bench.write("a", with_token(b"x ", b" y"));
    bench.write("sub/b", "nothing");
    bench.write("copy", with_token(b"x ", b" y"));
    let first = bench.snapshot();
    let found = &first.scanned.report().found;
    assert_eq!(found.len(), 1, "equal content is one block: {found:?}");
    assert!(found[0].path == path("a") || found[0].path == path("copy"), "{found:?}");
    assert!(!found[0].separate);
    let kind = &found[0].found[0];
    assert_eq!((kind.class, kind.kind.as_str(), kind.count), ("secret", "word", 1));
    assert_eq!(kind.fingerprints, ["010203ab"]);
    assert_eq!(word.0.load(Ordering::Relaxed), 2, "two contents are new");
    assert_eq!(owned(&bench).0, 2);
    // Neither what did not change nor what moved is looked at again, with and without the cache.
    std::fs::remove_dir_all(bench.scratch.path().join("cache")).unwrap();
    std::fs::rename(bench.top().join("a"), bench.top().join("moved")).unwrap();
    let second = bench.snapshot();
    assert!(second.scanned.report().found.is_empty());
    assert_eq!(word.0.load(Ordering::Relaxed), 2);
    // Who only compares does not look.
    bench.write("new", with_token(b"new ", b""));
    let seen = scan(&bench.store, &bench.top(), bench.owner, &bench.scan_options()).unwrap();
    assert!(seen.report().found.is_empty());
    assert_eq!(word.0.load(Ordering::Relaxed), 2);
    assert_eq!(bench.snapshot().scanned.report().found[0].path, path("new"));
}

#[test]
fn separate_chunks_are_found_again_read_restored_checked_and_collected() {
    let mut bench = Bench::new();
    looking(&mut bench, true);
    bench.write("a", with_token(b"x ", b" y"));
    bench.write("plain", "nothing");
    bench.write("copy", with_token(b"x ", b" y"));
    let first = bench.snapshot();
    assert_eq!(first.scanned.report().found.len(), 1);
    assert!(first.scanned.report().found[0].separate);
    assert_eq!(owned(&bench).0, 1, "only the plain file is the tenant's");
    assert_eq!(chunks(&bench, first.root, "a"), chunks(&bench, first.root, "copy"));
    assert_eq!(chunks(&bench, first.root, "a"), [first.scanned.report().found[0].block]);
    all_is_well(&bench, first.root);
    let tree = Tree::new(&bench.store, bench.owner, first.root);
    let mut bytes = Vec::new();
    tree.cat(&path("a"), &mut bytes).unwrap();
    assert_eq!(bytes, with_token(b"x ", b" y"));

    // Whatever is decided meanwhile, and without the cache, it is the same.
    let before = bench.files();
    for (looks, separates) in [(true, true), (true, false), (false, false)] {
        std::fs::remove_dir_all(bench.scratch.path().join("cache")).unwrap();
        if looks {
            looking(&mut bench, separates);
        } else {
            bench.store.screening = Screening { screen: None, separates: false, separated: true };
        }
        let again = bench.snapshot_of(&bench.top(), &bench.options(Some(first.root)));
        assert_eq!((again.root, again.new_blocks), (first.root, 0), "{looks} {separates}");
        let seen = scan(&bench.store, &bench.top(), bench.owner, &bench.scan_options()).unwrap();
        assert_eq!(seen.listing().iter().count(), 4);
    }
    looking(&mut bench, true);

    // It comes back, in place and elsewhere.
    bench.write("a", "gone");
    bench.remove("copy");
    let second = bench.snapshot_of(&bench.top(), &bench.options(Some(first.root)));
    assert!(bench.restore(second.root, first.root).is_complete());
    assert_eq!(bench.files(), before);
    let elsewhere = bench.scratch.path().join("elsewhere");
    let options = samite_workspace::RestoreOptions::new([3; 16], bench.owner, None, first.root);
    assert!(materialise(&bench.store, &elsewhere, &options).unwrap().is_complete());
    assert_eq!(std::fs::read(elsewhere.join("copy")).unwrap(), with_token(b"x ", b" y"));

    // It is kept while a tree needs it, counted apart, and goes when none does.
    let root = |block| Root { label: String::new(), owner: bench.owner, block, tree: true };
    let reach = count_reachable(&bench.store, &[root(second.root)], &[root(first.root)], bench.owner).unwrap();
    assert_eq!(reach.separate, 1);
    let take = |roots: &[Root]| {
        let beginning = begin_collection(&bench.store).unwrap();
        collect(&bench.store, &beginning, roots, Vec::new(), &CollectOptions::default()).unwrap();
    };
    take(&[root(first.root), root(second.root)]);
    all_is_well(&bench, first.root);
    let held = chunks(&bench, first.root, "a");
    take(&[root(second.root)]);
    assert_eq!(block_on(bench.ledger.find_blocks(held)).unwrap(), [None]);
    all_is_well(&bench, second.root);
}

#[test]
fn a_secret_across_a_cut_makes_both_chunks_separate_and_the_rest_stays_shared() {
    let mut bench = Bench::new();
    // In what is all the same nothing says where to cut: the chunks are as large as they may be.
    let mut bytes = vec![b'a'; 12 << 20];
    bench.write("large", &bytes);
    let plain = bench.snapshot();
    let shared = chunks(&bench, plain.root, "large");
    assert_eq!(shared, [shared[0]; 3]);
    let cut = 4 << 20;
    bytes[cut - 3..cut - 3 + TOKEN.len()].copy_from_slice(TOKEN);
    bench.write("large", &bytes);
    looking(&mut bench, true);
    let second = bench.snapshot_of(&bench.top(), &bench.options(Some(plain.root)));
    let after = chunks(&bench, second.root, "large");
    assert_eq!(after.len(), 3);
    assert_eq!(after[2], shared[0], "the rest stays shared");
    let blocks = block_on(bench.ledger.blocks(None, 10_000)).unwrap();
    for chunk in &after[..2] {
        assert_eq!(blocks.iter().find(|block| block.id == *chunk).unwrap().owner, bench.owner);
    }
    let found = &second.scanned.report().found;
    assert_eq!(found.len(), 1, "told where it begins: {found:?}");
    assert_eq!((found[0].block, found[0].found[0].count), (after[0], 1));
    let mut read = Vec::new();
    Tree::new(&bench.store, bench.owner, second.root).cat(&path("large"), &mut read).unwrap();
    assert!(read == bytes);
    all_is_well(&bench, second.root);
}

#[test]
fn what_a_merge_makes_is_looked_at_and_separated_too() {
    let mut bench = Bench::new();
    bench.write("a", "one");
    let base = bench.snapshot();
    looking(&mut bench, true);
    let listing = Tree::new(&bench.store, bench.owner, base.root).listing().unwrap();
    let contents = BTreeMap::from([(path("a"), with_token(b"merged ", b""))]);
    let stored = store_tree(&bench.store, bench.owner, base.root, &listing, &contents).unwrap();
    assert_eq!(stored.found.len(), 1);
    assert!(stored.found[0].separate);
    assert_eq!(stored.found[0].path, path("a"));
    let mut commit = Commit::default();
    stored.parts.add_to(&mut commit);
    block_on(bench.ledger.commit(commit)).unwrap();
    all_is_well(&bench, stored.root);
    let tree = Tree::new(&bench.store, bench.owner, stored.root);
    let mut bytes = Vec::new();
    tree.cat(&path("a"), &mut bytes).unwrap();
    assert_eq!(bytes, with_token(b"merged ", b""));
    // A snapshot of the same names it alike.
    bench.write("a", with_token(b"merged ", b""));
    let taken = bench.snapshot();
    assert_eq!(chunks(&bench, taken.root, "a"), chunks(&bench, stored.root, "a"));
    assert!(taken.scanned.report().found.is_empty());
}

#[test]
fn with_the_keys_of_its_owner_a_separate_chunk_is_gone_and_others_still_open() {
    let mut bench = Bench::new();
    looking(&mut bench, true);
    bench.write("a", with_token(b"x ", b" y"));
    bench.write("plain", "nothing of note");
    let taken = bench.snapshot();
    let (held, plain) = (chunks(&bench, taken.root, "a"), chunks(&bench, taken.root, "plain"));
    let sealed = block_on(bench.ledger.inline_blocks(vec![held[0], plain[0]])).unwrap();
    let [Some(held_bytes), Some(plain_bytes)] = sealed.as_slice() else { panic!("{sealed:?}") };
    let keyring = keyring(&bench);
    let open = |id: BlockId, sealed: &[u8]| {
        keyring.open_block(keyring.chunk_domain(bench.owner, sealed), id, sealed).map_err(|error| error.code())
    };
    assert_eq!(open(held[0], held_bytes).unwrap(), with_token(b"x ", b" y"));
    keyring.destroy_subject(bench.owner).unwrap();
    assert_eq!(open(held[0], held_bytes), Err("key_destroyed"));
    assert_eq!(open(plain[0], plain_bytes).unwrap(), b"nothing of note");
}

/// Whether somebody else has the same secret shows in nothing: each has a block of its own, under another name, whoever came
/// first, and what is nobody's secret is there once.
#[test]
fn separate_chunks_of_two_persons_share_nothing() {
    let mut bench = Bench::new();
    looking(&mut bench, true);
    bench.write("a", with_token(b"x ", b" y"));
    bench.write("plain", "nothing");
    let bob = keyring(&bench).subject(&Owner::new("user:bob").unwrap()).unwrap().pseudonym;
    let take = |bench: &Bench, owner| {
        let before: BTreeSet<BlockId> = blocks(bench).into_iter().map(|(id, _)| id).collect();
        let options = SnapshotOptions { owner, base: None, scan: ScanOptions::default() };
        let taken = bench.snapshot_of(&bench.top(), &options);
        let found = taken.scanned.report().found.clone();
        assert!(found.len() == 1 && found[0].separate, "told to each as new: {found:?}");
        let new: Vec<_> = blocks(bench).into_iter().filter(|(id, _)| !before.contains(id)).collect();
        (found[0].block, new)
    };
    let (hers, first) = take(&bench, bench.owner);
    let (his, second) = take(&bench, bob);
    assert_ne!(hers, his);
    // He stores what she did, but for the chunk that is the tenant's: as many blocks, all his own.
    let own = |new: &[(BlockId, Pseudonym)], owner| new.iter().filter(|(_, of)| *of == owner).count();
    assert_eq!(own(&first, bench.owner), own(&second, bob));
    assert_eq!((first.len() - own(&first, bench.owner), second.len() - own(&second, bob)), (1, 0));
    assert!(second.iter().any(|(id, owner)| *id == his && *owner == bob));
    // Neither key opens the other's.
    let store = &bench.store;
    assert_eq!(store.read_block(Domain::Owner(bob), his).unwrap(), with_token(b"x ", b" y"));
    assert!(store.read_block(Domain::Owner(bob), hers).is_err() && store.read_block(Domain::Tenant, hers).is_err());
}

/// The keys of a bench, opened once more.
fn keyring(bench: &Bench) -> Keyring {
    let random = Arc::new(SystemRandomness::new());
    let options = KeyringOptions {
        directory: bench.scratch.path().join("keys"),
        tenant: Tenant::new("t1").unwrap(),
        master: Arc::new(FileMaster::new(bench.scratch.path().join("master"), random.clone())),
        random,
        create: false,
    };
    Keyring::open(options).unwrap()
}

fn blocks(bench: &Bench) -> Vec<(BlockId, Pseudonym)> {
    block_on(bench.ledger.blocks(None, 10_000)).unwrap().into_iter().map(|block| (block.id, block.owner)).collect()
}

/// A secret across the cut of a stream is found, and both of its chunks are the owner's, as those of a file are.
#[test]
fn what_is_bundled_is_looked_at_with_what_stands_around_it() {
    const LARGEST: usize = 4 << 20;
    for separates in [false, true] {
        let mut bench = Bench::new();
        looking(&mut bench, separates);
        // Nothing tells where to cut it, so that each chunk is as large as may be.
        let mut bytes = vec![b'a'; 3 * LARGEST];
        bytes[LARGEST - 8..LARGEST - 8 + TOKEN.len()].copy_from_slice(TOKEN);
        let (segments, found) = bundled(&bench, &bytes);
        let length = |segment: &Segment| match segment {
            Segment::Chunk { length, .. } | Segment::Hole { length } => *length,
        };
        assert_eq!(segments.iter().map(length).collect::<Vec<_>>(), [LARGEST as u64; 3]);
        assert_eq!((found.len(), found[0].found[0].count, found[0].separate), (1, 1, separates));
        assert!(found[0].path.is_top());
        let tenants = if separates { 1 } else { 3 };
        assert_eq!(owned(&bench).0, tenants, "what holds none of it is the tenant's");
        // Again it is nothing new.
        assert_eq!(bundled(&bench, &bytes).1, []);
    }
}

fn bundled(bench: &Bench, mut bytes: &[u8]) -> (Vec<Segment>, Vec<samite_workspace::FoundChunk>) {
    let mut bundler = Bundler::new(&bench.store, bench.owner).unwrap();
    let stored = bundler.stream(&mut bytes, Metadata::default()).unwrap();
    let root = bundler.tree(&[(path("it"), stored.clone())]).unwrap();
    let mut commit = Commit::default();
    bundler.finish().unwrap().add_to(&mut commit);
    block_on(bench.ledger.commit(commit)).unwrap();
    let tree = Tree::new(&bench.store, bench.owner, root);
    let Content::File { body, .. } = tree.entry(&path("it")).unwrap().content else { panic!("it is no file") };
    (tree.segments(&body).unwrap(), stored.found)
}
