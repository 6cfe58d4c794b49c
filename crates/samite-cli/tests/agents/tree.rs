//! Directories, byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What is below a directory: of each path its mode, and its bytes, or a link's target.
pub(crate) type Tree = BTreeMap<String, (u32, Vec<u8>)>;

/// What is below a directory.
pub(crate) fn tree(directory: &Path) -> Tree {
    let mut tree = Tree::new();
    add(directory, directory, &mut tree);
    tree
}

fn add(root: &Path, directory: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let found = path.symlink_metadata().unwrap();
        let bytes = if found.is_symlink() {
            fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
        } else if found.is_dir() {
            add(root, &path, tree);
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        let name = path.strip_prefix(root).unwrap().display().to_string();
        tree.insert(name, (found.permissions().mode(), bytes));
    }
}

/// Asserts that a directory is a tree, and names what is other.
#[track_caller]
pub(crate) fn assert_is(directory: &Path, expected: &Tree) {
    let found = tree(directory);
    let names = found.keys().chain(expected.keys());
    let other: Vec<&String> = names.filter(|name| found.get(*name) != expected.get(*name)).collect();
    assert!(other.is_empty(), "{} differs in {other:?}", directory.display());
}
