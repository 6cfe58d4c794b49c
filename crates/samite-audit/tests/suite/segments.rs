//! The beginning of a log in a colder place, and the log without it.

use crate::log::{entry, export_to, key, signed};
use samite_audit::export::{Verification, archive, older_than, prune, verify, verify_part, verify_segment};
use samite_audit::merkle::{leaf_hash, prove_consistency, prove_inclusion, verify_consistency, verify_inclusion};
use samite_audit::testing::TestSigner;
use samite_audit::tile::{Edge, TileReader};
use samite_audit::{Frontier, TreeHead, export};
use std::fs;
use std::ops::Range;
use std::path::Path;

fn look(folder: &Path, entries: Range<u64>) -> (Verification, Vec<u64>) {
    let mut seen = Vec::new();
    let found = verify_segment(folder, &key().verifier(), &[], entries, &mut |index, bytes| {
        assert_eq!(bytes, entry(index));
        seen.push(index);
        Ok(())
    });
    (found.unwrap(), seen)
}

#[test]
fn a_segment_verifies_where_it_was_archived_and_the_log_without_it() {
    let scratch = tempfile::tempdir().unwrap();
    let (folder, cold) = (scratch.path().join("log"), scratch.path().join("cold"));
    export_to(&folder, 66_000).unwrap();
    let archived = archive(&folder, &cold, &key().verifier(), 0..1000).unwrap();
    // Four bundles and their tiles; one full tile of nodes; what is not full on three levels.
    assert_eq!((archived.entries, archived.files), (1000, 4 + 4 + 1 + 3));
    let (found, seen) = look(&cold, 0..1000);
    assert!(found.is_right(), "{:?}", found.findings);
    assert_eq!((seen.len(), seen.last()), (1024, Some(&1023)));
    assert!(!look(&cold, 0..1025).0.is_right(), "more is not there");
    // The same again writes nothing.
    assert_eq!(archive(&folder, &cold, &key().verifier(), 0..1000).unwrap().files, 0);

    let pruned = prune(&folder, &key().verifier(), 1000).unwrap();
    assert_eq!((pruned.minimum, pruned.files), (1000, 3 + 3), "the fourth bundle has entries from 1000 on");
    assert_eq!(prune(&folder, &key().verifier(), 1000).unwrap().files, 0);
    assert!(!verify(&folder, &key().verifier(), &[], &mut |_, _| Ok(())).unwrap().is_right());
    let (found, seen) = look(&folder, 1000..u64::MAX);
    assert!(found.is_right(), "{:?}", found.findings);
    assert_eq!((seen[0], seen.len()), (768, 66_000 - 768));
    assert!(!look(&folder, 767..u64::MAX).0.is_right());

    // The log grows, the next segment joins the first under the later tree head, and everything still verifies.
    export_to(&folder, 70_000).unwrap();
    archive(&folder, &cold, &key().verifier(), 1000..66_500).unwrap();
    let (found, seen) = look(&cold, 0..66_500);
    assert!(found.is_right() && seen.len() == 66_560, "{:?}", found.findings);
    let pruned = prune(&folder, &key().verifier(), 66_500).unwrap();
    assert!(folder.join("tile/1/000").exists() && !folder.join("tile/0/000").exists(), "nodes stay");
    assert!(pruned.files > 500, "{pruned:?}");
    let (found, seen) = look(&folder, 66_500..u64::MAX);
    assert!(found.is_right(), "{:?}", found.findings);
    assert_eq!(seen[0], 66_304);
    export_to(&folder, 70_100).unwrap();
    assert!(look(&folder, 66_500..u64::MAX).0.is_right());
}

#[test]
fn what_is_left_still_proves() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    export_to(folder, 70_000).unwrap();
    prune(folder, &key().verifier(), 66_500).unwrap();
    let mut tiles = export::FolderTiles::new(folder);
    let root = TreeHead::parse(signed(70_000).text()).unwrap().root;
    for index in [66_500, 69_999] {
        let proof = prove_inclusion(&mut TileReader::new(70_000, &mut tiles), index, 70_000).unwrap();
        verify_inclusion(leaf_hash(&entry(index)), index, 70_000, &proof, root).unwrap();
    }
    let reader = &mut TileReader::new(70_000, &mut tiles);
    // Every size from the minimum on, and before it every size of whole bundles, also below a full tile of nodes.
    for old in [256, 65_280, 65_536, 65_792, 66_500, 66_560, 69_999] {
        let proof = prove_consistency(reader, old, 70_000).unwrap();
        let mut before = Frontier::new();
        (0..old).for_each(|index| before.push(leaf_hash(&entry(index))));
        verify_consistency((old, before.root()), (70_000, root), &proof).unwrap();
    }
    assert_eq!(prove_consistency(reader, 300, 70_000).unwrap_err().code(), "no_tile");
    assert_eq!(prove_inclusion(reader, 5, 70_000).unwrap_err().code(), "no_tile");
    assert_eq!(Edge::read(&mut tiles, 70_000).unwrap().1.root(), root);
}

#[test]
fn a_segment_that_was_changed_is_found_in_the_cold() {
    let scratch = tempfile::tempdir().unwrap();
    let (folder, cold) = (scratch.path().join("log"), scratch.path().join("cold"));
    export_to(&folder, 2000).unwrap();
    archive(&folder, &cold, &key().verifier(), 256..600).unwrap();
    assert!(!cold.join("tile/entries/000").exists());
    // What is not full makes the root; without all that is below, nothing tells which of it was changed.
    for (file, named) in
        [("tile/entries/001", "tile/entries/001"), ("tile/0/002", "tile/0/002"), ("tile/1/000.p/7", "checkpoint")]
    {
        let before = fs::read(cold.join(file)).unwrap();
        let mut bytes = before.clone();
        bytes[70] ^= 1;
        fs::write(cold.join(file), bytes).unwrap();
        let found = look(&cold, 256..600).0;
        assert!(!found.is_right(), "{file}");
        assert_eq!(found.findings[0].file, named);
        fs::write(cold.join(file), before).unwrap();
    }
    // What is copied from a damaged folder is not taken for whole.
    let bundle = folder.join("tile/entries/004");
    let mut bytes = fs::read(&bundle).unwrap();
    bytes[70] ^= 1;
    fs::write(&bundle, bytes).unwrap();
    let error = archive(&folder, &cold, &key().verifier(), 1024..1100).unwrap_err();
    assert_eq!((error.kind().name(), error.code()), ("corrupt", "archive_damaged"));
}

#[test]
fn what_is_put_in_the_place_of_a_pruned_beginning_is_not_taken_for_the_logs() {
    let scratch = tempfile::tempdir().unwrap();
    let [folder, forged] = ["log", "forged"].map(|name| scratch.path().join(name));
    export_to(&folder, 70_000).unwrap();
    prune(&folder, &key().verifier(), 66_500).unwrap();
    // Entries and tiles of another log, which agree with one another: a whole beginning, with its nodes and without.
    let stranger = TestSigner::new("example.com/stranger", 5);
    let mut frontier = Frontier::new();
    (0..65_536).for_each(|index| frontier.push(leaf_hash(&entry(index + 1))));
    let head = TreeHead::of("example.com/stranger", &frontier).unwrap().sign(&stranger).unwrap();
    let entries = |from: u64| (from + 1..).map(|index| Ok(entry(index)));
    export::export(&forged, &head, &stranger.verifier(), entries, &mut |_| {}).unwrap();
    for (name, is_found) in [("tile/entries/000", false), ("tile/0/000", true), ("tile/1/000", true)] {
        fs::copy(forged.join(name), folder.join(name)).unwrap();
        let (found, seen) = look(&folder, 66_500..u64::MAX);
        assert_eq!(found.is_right(), !is_found, "{name}: {:?}", found.findings);
        assert_eq!((seen[0], seen.len() as u64), (66_304, found.entries), "{name}");
    }
}

#[test]
fn a_log_goes_from_one_archive_to_another_and_back_beyond_a_full_tile_of_nodes() {
    let scratch = tempfile::tempdir().unwrap();
    let [folder, first, second] = ["log", "first", "second"].map(|name| scratch.path().join(name));
    let verifier = key().verifier();
    // The head that the first archive gets ends within a bundle that is pruned later.
    for (size, cold, entries) in
        [(66_100, &first, 0..66_048), (67_500, &second, 66_048..67_328), (70_000, &first, 67_328..69_888)]
    {
        export_to(&folder, size).unwrap();
        let archived = archive(&folder, cold, &verifier, entries.clone()).unwrap();
        assert_eq!(archived.entries, entries.end - entries.start);
        prune(&folder, &verifier, entries.end).unwrap();
        assert!(look(&folder, entries.end..u64::MAX).0.is_right());
    }
    assert!(look(&second, 66_048..67_328).0.is_right());
    assert!(look(&first, 0..66_048).0.is_right() && look(&first, 67_328..69_888).0.is_right());
    // Another history in an archive, of the same key and size, is not gone on with.
    let other = scratch.path().join("other");
    let entries = |from: u64| (from + 1..).map(|index| Ok(entry(index)));
    let mut frontier = Frontier::new();
    (0..66_100).for_each(|index| frontier.push(leaf_hash(&entry(index + 1))));
    let head = TreeHead::of(verifier.name(), &frontier).unwrap().sign(&key()).unwrap();
    export::export(&other, &head, &verifier, entries, &mut |_| {}).unwrap();
    assert_eq!(archive(&folder, &other, &verifier, 69_888..69_900).unwrap_err().code(), "not_consistent");
}

#[test]
fn a_part_is_verified_without_reading_what_else_is_there() {
    let scratch = tempfile::tempdir().unwrap();
    let (folder, cold) = (scratch.path().join("log"), scratch.path().join("cold"));
    export_to(&folder, 67_000).unwrap();
    archive(&folder, &cold, &key().verifier(), 0..66_560).unwrap();
    let look = |entries: Range<u64>| {
        let mut seen = Vec::new();
        let found = verify_part(&cold, &key().verifier(), entries, &mut |index, bytes| {
            assert_eq!(bytes, entry(index));
            seen.push(index);
            Ok(())
        });
        (found.unwrap(), seen)
    };
    for entries in [0..256, 65_280..66_048, 66_304..66_560] {
        let (found, seen) = look(entries.clone());
        assert!(found.is_right(), "{:?}", found.findings);
        assert_eq!(seen, entries.clone().collect::<Vec<_>>());
        // The head, the nodes of the edge and those above, and two files for each bundle.
        assert!(found.files <= 6 + 2 * (entries.end - entries.start) / 256, "{entries:?}: {}", found.files);
    }
    fs::write(cold.join("tile/entries/003"), "x").unwrap();
    assert!(look(0..256).0.is_right());
    assert_eq!(look(512..1024).0.findings[0].file, "tile/entries/003");
    assert!(!look(66_304..66_816).0.is_right(), "more is not there");
}

#[test]
fn ranges_and_archives_that_do_not_fit_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let (folder, cold) = (scratch.path().join("log"), scratch.path().join("cold"));
    let code = |entries| archive(&folder, &cold, &key().verifier(), entries).unwrap_err().code();
    assert_eq!(code(0..1), "no_file");
    export_to(&folder, 300).unwrap();
    assert_eq!(code(0..301), "bad_leaf_range");
    assert_eq!(code(5..5), "bad_leaf_range");
    assert_eq!(prune(&folder, &key().verifier(), 301).unwrap_err().code(), "bad_leaf_range");
    let stranger = TestSigner::new("example.com/stranger", 5);
    assert_eq!(prune(&folder, &stranger.verifier(), 1).unwrap_err().code(), "not_signed");
    // An archive that is ahead of the log, as after a restored backup.
    export_to(&cold, 400).unwrap();
    assert_eq!(code(0..256), "not_consistent");
    fs::write(cold.join("checkpoint"), "x").unwrap();
    assert_eq!(code(0..256), "other_export");
    assert_eq!(prune(&folder, &key().verifier(), 0).unwrap().files, 0);
}

#[test]
fn the_beginning_that_is_old_enough_ends_at_the_first_entry_that_is_not() {
    let folder = tempfile::tempdir().unwrap();
    export_to(folder.path(), 600).unwrap();
    let begun = 1_700_000_000_000_000_000;
    let older = |time| older_than(folder.path(), &key().verifier(), time).unwrap();
    assert_eq!((older(begun), older(begun + 300), older(begun + 600)), (0, 300, 600));
    prune(folder.path(), &key().verifier(), 300).unwrap();
    assert_eq!((older(begun), older(begun + 500)), (256, 500));
}
