//! That a log in a folder continues what it was before.

use crate::log::{ORIGIN, entry, export_to, key, large, signed};
use samite_audit::export::{continues, verify};
use samite_audit::merkle::leaf_hash;
use samite_audit::{Frontier, Hash, TreeHead};
use std::fs;

fn head(size: u64) -> TreeHead {
    TreeHead::parse(signed(size).text()).unwrap()
}

#[test]
fn older_tree_heads_are_found_again() {
    let large = large();
    let now = head(70_000);
    for size in [0, 1, 255, 256, 257, 65_535, 65_536, 69_990, 70_000] {
        continues(&large.join("log"), &now, &head(size)).unwrap();
    }
    let older = TreeHead::open(&fs::read(large.join("older")).unwrap(), &key().verifier(), &[]).unwrap();
    assert_eq!(older.head.size, 69_990);
    continues(&large.join("log"), &now, &older.head).unwrap();
}

#[test]
fn another_history_is_none() {
    let folder = tempfile::tempdir().unwrap();
    export_to(folder.path(), 600).unwrap();
    let code = |old: &TreeHead| continues(folder.path(), &head(600), old).unwrap_err().code();
    let mut forked = Frontier::new();
    (0..500).for_each(|index| forked.push(leaf_hash(&entry(index + u64::from(index == 250)))));
    assert_eq!(code(&TreeHead::of(ORIGIN, &forked).unwrap()), "not_consistent");
    assert_eq!(code(&head(601)), "not_consistent", "a log never shrinks");
    assert_eq!(code(&TreeHead { root: Hash([1; 32]), ..head(600) }), "not_consistent");
    assert_eq!(code(&TreeHead { origin: "example.com/other".to_owned(), ..head(500) }), "other_log");
}

#[test]
fn a_file_of_an_older_tree_head_that_was_changed_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    export_to(folder, 300).unwrap();
    export_to(folder, 310).unwrap();
    let look = || verify(folder, &key().verifier(), &[], &mut |_, _| Ok(())).unwrap();
    assert!(look().is_right());
    for name in ["tile/entries/001.p/44", "tile/0/001.p/44"] {
        let before = fs::read(folder.join(name)).unwrap();
        for change in [|bytes: &mut Vec<u8>| bytes[9] ^= 1, |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 32)] {
            let mut bytes = before.clone();
            change(&mut bytes);
            fs::write(folder.join(name), bytes).unwrap();
            let found = look();
            assert_eq!((found.wrong, found.findings[0].file.as_str()), (1, name), "{:?}", found.findings);
            assert_eq!(found.findings[0].index, Some(256));
        }
        // What is not full may go once a fuller one is there.
        fs::remove_file(folder.join(name)).unwrap();
        assert!(look().is_right());
    }
    fs::write(folder.join("tile/0/note"), b"x").unwrap();
    assert_eq!((look().is_right(), look().others), (true, 1));
}

#[test]
fn a_log_without_a_tree_head_or_in_no_folder_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let found = verify(folder.path(), &key().verifier(), &[], &mut |_, _| Ok(())).unwrap();
    assert_eq!((found.is_right(), found.findings[0].what.as_str()), (false, "is missing"));
    let found = verify(&folder.path().join("none"), &key().verifier(), &[], &mut |_, _| Ok(())).unwrap();
    assert!(!found.is_right());
}

#[test]
fn many_findings_are_counted_and_some_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    export_to(folder, 600).unwrap();
    let tile = folder.join("tile/0/000");
    let bytes: Vec<u8> = fs::read(&tile).unwrap().iter().map(|byte| byte ^ 1).collect();
    fs::write(&tile, bytes).unwrap();
    fs::remove_file(folder.join("tile/entries/001")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join("tile/entries/001")).unwrap();
    let found = verify(folder, &key().verifier(), &[], &mut |_, _| Ok(())).unwrap();
    // The first tile, in all its hashes; and the link.
    assert_eq!((found.wrong, found.findings.len(), found.entries), (257, 100, 344));
    assert_eq!(found.findings[99].file, "tile/0/000");
    let few = {
        fs::write(&tile, [0; 8191]).unwrap();
        verify(folder, &key().verifier(), &[], &mut |_, _| Ok(())).unwrap()
    };
    let said: Vec<(&str, &str)> = few.findings.iter().map(|found| (found.file.as_str(), found.what.as_str())).collect();
    assert_eq!(
        said,
        [("tile/0/000", "has 8191 bytes, which are no hashes"), ("tile/entries/001", "is no regular file")]
    );
}
