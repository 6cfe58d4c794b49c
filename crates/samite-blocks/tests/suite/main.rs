//! Packs on files: the conformance suite, and damage at every byte.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests damage files as disks do")]

mod damage;

use futures_lite::future::block_on;
use samite_blocks::{FilePackStore, PackStore as _, testing};
use samite_model::PackId;

#[test]
fn files_conform() {
    let scratch = tempfile::tempdir().unwrap();
    let store = FilePackStore::open(&scratch.path().join("packs")).unwrap();
    block_on(testing::conformance(&store)).unwrap();
}

#[test]
fn a_pack_whose_writer_died_is_listed_and_can_be_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let store = FilePackStore::open(scratch.path()).unwrap();
    let pack = PackId([7; 16]);
    let path = store.path(pack).with_extension("part");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, b"half").unwrap();
    let listed = block_on(store.list()).unwrap();
    assert_eq!(listed.iter().map(|pack| (pack.id, pack.size, pack.finished)).collect::<Vec<_>>(), [(pack, 4, false)]);
    block_on(store.delete(pack)).unwrap();
    assert!(block_on(store.list()).unwrap().is_empty());
}
