//! Reading trees: diffs, lookups, huge directories, damage.

use crate::support::{Bench, noise, path};
use samite_model::ErrorKind;
use samite_model::tree::{ChangeKind, diff};
use samite_workspace::Tree;

#[test]
fn a_diff_of_trees_reads_what_differs_and_says_all_of_it() {
    let bench = Bench::new();
    for n in 0..3_000 {
        bench.write(&format!("huge/f{n:05}"), format!("{n}"));
    }
    bench.write("same/a/b", "1");
    bench.write("moved/x", "1");
    let first = bench.snapshot();
    bench.write("huge/f01500", "changed");
    bench.write("huge/added", "1");
    bench.remove("huge/f00001");
    std::fs::rename(bench.top().join("moved"), bench.top().join("here")).unwrap();
    let second = bench.snapshot();
    assert!(second.new_blocks < 20, "{}", second.new_blocks);
    let tree = |root| Tree::new(&bench.store, bench.owner, root);
    let (before, after) = tree(first.root).differing(&tree(second.root)).unwrap();
    assert!(before.len() < 1_000, "{}", before.len());
    let found: Vec<(String, ChangeKind)> =
        diff(&before, &after).into_iter().map(|change| (change.path.to_string(), change.kind)).collect();
    let expected = [
        ("here", ChangeKind::Added),
        ("here/x", ChangeKind::Added),
        ("huge/added", ChangeKind::Added),
        ("huge/f00001", ChangeKind::Removed),
        ("huge/f01500", ChangeKind::Content),
        ("moved", ChangeKind::Removed),
        ("moved/x", ChangeKind::Removed),
    ];
    assert_eq!(found, expected.map(|(path, kind)| (path.to_owned(), kind)));
    // The short way and the long way say the same.
    let whole = diff(&tree(first.root).listing().unwrap(), &tree(second.root).listing().unwrap());
    assert_eq!(whole.len(), found.len());
    let scanned = samite_workspace::scan(&bench.store, &bench.top(), bench.owner, &bench.scan_options()).unwrap();
    assert!(diff(&scanned.listing(), &tree(second.root).listing().unwrap()).is_empty());
}

#[test]
fn paths_are_found_in_huge_directories_too() {
    let bench = Bench::new();
    for n in 0..2_000 {
        bench.write(&format!("huge/f{n:05}"), format!("{n}"));
    }
    let first = bench.snapshot();
    let tree = Tree::new(&bench.store, bench.owner, first.root);
    let mut out = Vec::new();
    for n in [0, 1, 999, 1_999] {
        out.clear();
        tree.cat(&path(&format!("huge/f{n:05}")), &mut out).unwrap();
        assert_eq!(out, n.to_string().as_bytes());
    }
    assert_eq!(tree.entry(&path("huge/nothing")).unwrap_err().code(), "no_path");
    assert_eq!(tree.entry(&path("huge/f00000/below")).unwrap_err().code(), "no_path");
    assert_eq!(tree.list(&path("huge")).unwrap().len(), 2_000);
    assert_eq!(tree.list(&path("huge/f00000")).unwrap_err().code(), "not_a_directory");
    assert_eq!(tree.cat(&path("huge"), &mut out).unwrap_err().code(), "not_a_file");
    bench.write("huge/f00000", "other");
    let second = bench.snapshot();
    let other = Tree::new(&bench.store, bench.owner, second.root);
    let same = |name: &str| tree.identity(&path(name)).unwrap() == other.identity(&path(name)).unwrap();
    assert!(same("huge/f00001"));
    assert!(!same("huge/f00000"));
    assert!(!same("huge"));
    assert_eq!(tree.identity(&path("none")).unwrap(), None);
}

#[test]
fn a_damaged_block_is_named_with_its_pack_and_the_rest_is_read() {
    let bench = Bench::new();
    for n in 0..4 {
        bench.write(&format!("f{n}"), noise(100 << 10, n));
    }
    let snapshot = bench.snapshot();
    let pack = snapshot.parts.packs[0].id;
    let file = bench.packs.path(pack);
    let whole = std::fs::read(&file).unwrap();
    let tree = Tree::new(&bench.store, bench.owner, snapshot.root);
    let read = |name: &str| tree.cat(&path(name), &mut std::io::sink());
    // A flipped bit in the first file's chunk, then a cut in the middle.
    let mut flipped = whole.clone();
    flipped[40_000] ^= 4;
    std::fs::write(&file, &flipped).unwrap();
    let damaged: Vec<usize> = (0..4).filter(|n| read(&format!("f{n}")).is_err()).collect();
    assert_eq!(damaged.len(), 1);
    let error = read(&format!("f{}", damaged[0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    std::fs::write(&file, &whole[..250 << 10]).unwrap();
    let gone: Vec<bool> = (0..4).map(|n| read(&format!("f{n}")).is_err()).collect();
    assert_eq!(gone.iter().filter(|gone| **gone).count(), 4, "the nodes are at the end of the pack");
    let error = read("f0").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.message().contains(&pack.to_string()), "{error}");
    // A restore that cannot read a block changes nothing.
    std::fs::write(&file, &flipped).unwrap();
    bench.remove("f0");
    let before = bench.files();
    let options = bench.restore_options(None, snapshot.root);
    let all = samite_workspace::restore(&bench.store, &bench.top(), &options);
    if damaged == [0] {
        assert_eq!(all.unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(bench.files(), before);
    }
}
