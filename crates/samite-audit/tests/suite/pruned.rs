//! A log whose beginning is not in the store any more: of that only the roots over each 256 entries are left.

use crate::log::{LARGE, entry, export_to, key, signed};
use crate::others::installed;
use samite_audit::export::{export, export_after, verify_segment};
use samite_audit::merkle::{leaf_hash, prove_consistency, prove_inclusion, verify_consistency, verify_inclusion};
use samite_audit::tile::TileReader;
use samite_audit::{Frontier, Hash, TreeHead, export as exports};
use samite_model::Result;
use std::fs;
use std::path::Path;

/// The roots over each 256 entries of the first so many.
fn bundles(minimum: u64) -> Vec<Hash> {
    (0..minimum / 256)
        .map(|bundle| {
            let mut frontier = Frontier::new();
            (bundle * 256..(bundle + 1) * 256).for_each(|index| frontier.push(leaf_hash(&entry(index))));
            frontier.root()
        })
        .collect()
}

fn export_pruned(folder: &Path, minimum: u64, size: u64) -> Result<exports::Exported> {
    let entries = |from| {
        assert!(from >= minimum, "what is not there is not asked for");
        (from..size).map(|index| Ok(entry(index)))
    };
    export_after(folder, &signed(size), &key().verifier(), &bundles(minimum), entries, &mut |_| {})
}

#[test]
fn other_peoples_verifiers_verify_what_a_pruned_store_exports() {
    let folder = tempfile::tempdir().unwrap();
    // Beyond what one tile of the second level covers.
    let minimum = 66_560;
    export_pruned(folder.path(), minimum, LARGE).unwrap();
    assert!(!folder.path().join("tile/entries/x259/000").exists() && !folder.path().join("tile/entries/259").exists());
    let found = verify_segment(folder.path(), &key().verifier(), &[], minimum..u64::MAX, &mut |_, _| Ok(())).unwrap();
    assert!(found.is_right(), "{:?}", found.findings);
    for verifier in installed() {
        let name = verifier.name();
        verifier.verify_from(folder.path(), minimum, LARGE).unwrap_or_else(|said| panic!("{name}: {said}"));
        if name == "aics-tlog" {
            continue;
        }
        // One bit of an entry that is there.
        let bundle = folder.path().join("tile/entries/260");
        let whole = fs::read(&bundle).unwrap();
        let mut other = whole.clone();
        other[100] ^= 1;
        fs::write(&bundle, &other).unwrap();
        verifier.verify_from(folder.path(), minimum, LARGE).unwrap_err();
        fs::write(&bundle, &whole).unwrap();
    }
}

#[test]
fn what_a_pruned_store_exports_proves_and_grows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let exported = export_pruned(folder, 1024, 1500).unwrap();
    // One tile of nodes and one of leaves that are not full, two full bundles of leaves with their tiles less one: 1024 to 1500.
    assert_eq!((exported.before, exported.after, exported.files), (0, 1500, 2 + 2 + 1));
    let exported = export_pruned(folder, 1024, 2000).unwrap();
    assert_eq!((exported.before, exported.after), (1500, 2000));
    // It may be pruned further between two exports.
    export_pruned(folder, 1280, 2100).unwrap();
    let mut tiles = exports::FolderTiles::new(folder);
    let head = |size: u64| TreeHead::parse(signed(size).text()).unwrap().root;
    for index in [1024, 1300, 2099] {
        let proof = prove_inclusion(&mut TileReader::new(2100, &mut tiles), index, 2100).unwrap();
        verify_inclusion(leaf_hash(&entry(index)), index, 2100, &proof, head(2100)).unwrap();
    }
    for old in [256, 1024, 1100, 1500, 2000] {
        let proof = prove_consistency(&mut TileReader::new(2100, &mut tiles), old, 2100).unwrap();
        verify_consistency((old, head(old)), (2100, head(2100)), &proof).unwrap();
    }
}

#[test]
fn a_folder_that_ends_before_the_minimum_is_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    export_to(folder.path(), 300).unwrap();
    let before = fs::read(folder.path().join("checkpoint")).unwrap();
    assert_eq!(export_pruned(folder.path(), 512, 900).unwrap_err().code(), "export_behind");
    assert_eq!(fs::read(folder.path().join("checkpoint")).unwrap(), before);
    // One that has more than the minimum goes on, and keeps what it has.
    export_to(folder.path(), 600).unwrap();
    export_pruned(folder.path(), 512, 900).unwrap();
    let found = verify_segment(folder.path(), &key().verifier(), &[], 0..u64::MAX, &mut |_, _| Ok(())).unwrap();
    assert!(found.is_right(), "{:?}", found.findings);
}

#[test]
fn roots_that_are_not_the_logs_lead_to_no_head() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = bundles(512);
    other.swap(0, 1);
    let entries = |from: u64| (from..900).map(|index| Ok(entry(index)));
    let refused = export_after(folder.path(), &signed(900), &key().verifier(), &other, entries, &mut |_| {});
    assert_eq!(refused.unwrap_err().code(), "other_root");
    assert!(!folder.path().join("checkpoint").exists());
    let all = |from: u64| (from..900).map(|index| Ok(entry(index)));
    let whole = tempfile::tempdir().unwrap();
    export(whole.path(), &signed(900), &key().verifier(), all, &mut |_| {}).unwrap();
}
