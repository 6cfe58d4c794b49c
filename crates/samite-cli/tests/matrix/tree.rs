//! Directories as they should be.

use crate::place::{Place, noise};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The files below a directory, by path; a directory ends in a slash.
pub(crate) fn listing(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    collect(directory, "", &mut found);
    found
}

fn collect(directory: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), found);
            found.insert(format!("{name}/"), Vec::new());
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

/// A workspace with a few files, one of them large enough for a pack.
pub(crate) fn first(place: &Place) {
    place.write("work/a.txt", b"one\n");
    place.write("work/deep/b.txt", b"stays\n");
    place.write("work/deep/gone.txt", b"goes\n");
    place.write("work/turns", b"a file that becomes a directory\n");
    place.write("work/large.bin", &noise(1, 400_000));
    place.write("work/other.bin", &noise(2, 60_000));
}

/// The same workspace after an agent was at it.
pub(crate) fn second(place: &Place) {
    place.write("work/a.txt", b"two, and longer\n");
    fs::remove_file(place.path().join("work/deep/gone.txt")).unwrap();
    fs::remove_file(place.path().join("work/turns")).unwrap();
    place.write("work/turns/inside.txt", b"new\n");
    place.write("work/new/c.txt", b"new\n");
    place.write("work/large.bin", &noise(3, 400_000));
}
