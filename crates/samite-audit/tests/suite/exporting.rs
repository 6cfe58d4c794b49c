//! What an export writes, and what it refuses.

use crate::log::{ORIGIN, entries, entry, export_to, key, signed};
use samite_audit::export::{HEAD_FILE, export, read_head, verify};
use samite_audit::note::{KeyKind, Signature};
use samite_audit::testing::TestSigner;
use samite_audit::tile::{changed, files};
use samite_audit::{Note, TreeHead, VerifierKey};
use samite_model::Error;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn names(folder: &Path) -> BTreeSet<String> {
    let below = samite_host::files::files_below(folder).unwrap();
    below.files.iter().map(|path| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()).collect()
}

/// Whether the whole of it verifies.
fn is_right(folder: &Path, size: u64) -> bool {
    let mut seen = 0;
    let verified = verify(folder, &key().verifier(), &[], &mut |index, bytes| {
        assert_eq!((index, bytes), (seen, entry(index).as_slice()));
        seen += 1;
        Ok(())
    })
    .unwrap();
    verified.is_right() && seen == size && verified.entries == size && verified.others == 0
}

#[test]
fn it_writes_the_files_of_the_log_and_the_tree_head() {
    for size in [0, 1, 255, 256, 257, 600] {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("a/log");
        let exported = export_to(&folder, size).unwrap();
        let mut expected: BTreeSet<String> = files(size).map(|path| path.to_string()).collect();
        assert_eq!((exported.before, exported.after, exported.files), (0, size, expected.len() as u64));
        expected.insert(HEAD_FILE.to_owned());
        assert_eq!(names(&folder), expected, "{size}");
        assert_eq!(fs::read_to_string(folder.join("checkpoint")).unwrap(), signed(size).to_string());
        assert!(is_right(&folder, size), "{size}");
        assert_eq!(fs::metadata(folder.join("checkpoint")).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_second_export_only_adds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut before = 0;
    for size in [3, 3, 250, 256, 300, 1000, 66_000] {
        let kept = names(folder);
        let modified = |name: &String| fs::metadata(folder.join(name)).unwrap().modified().unwrap();
        let times: Vec<_> = kept.iter().map(modified).collect();
        let exported = export_to(folder, size).unwrap();
        assert_eq!((exported.before, exported.after), (before, size));
        assert_eq!(exported.files, changed(before, size).count() as u64, "{before} to {size}");
        for (name, time) in kept.iter().zip(times) {
            assert!(name == HEAD_FILE || modified(name) == time, "{name} was written again");
        }
        assert!(is_right(folder, size), "{size}");
        before = size;
    }
}

#[test]
fn entries_are_asked_for_from_where_the_folder_ends() {
    let folder = tempfile::tempdir().unwrap();
    export_to(folder.path(), 300).unwrap();
    let mut reached = 0;
    let asked = |from| {
        assert_eq!(from, 300);
        entries(from)
    };
    export(folder.path(), &signed(700), &key().verifier(), asked, &mut |done| reached = done).unwrap();
    assert_eq!(reached, 700);
}

#[test]
fn an_export_that_was_cut_off_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    export_to(folder, 300).unwrap();
    let cut = |from: u64| entries(from).take(1000).chain([Err(Error::unavailable("io_error", "the disk is gone"))]);
    let error = export(folder, &signed(5000), &key().verifier(), cut, &mut |_| {}).unwrap_err();
    assert_eq!(error.code(), "io_error");
    // The old tree head still stands, and its log verifies beside the files that came after it.
    let verified = verify(folder, &key().verifier(), &[], &mut |_, _| Ok(())).unwrap();
    assert!(verified.is_right() && verified.entries == 300 && verified.others > 0, "{verified:?}");
    // One of them is torn, as by a power cut.
    fs::write(folder.join("tile/entries/002"), b"torn").unwrap();
    let exported = export_to(folder, 5000).unwrap();
    assert_eq!(exported.before, 300);
    assert!(exported.files < changed(300, 5000).count() as u64, "what was whole is not written again");
    assert!(is_right(folder, 5000));
}

#[test]
fn a_log_that_does_not_lead_to_its_tree_head_is_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let code = |later: u64, most: usize| {
        let entries = |from| entries(from + later).take(most);
        export(folder, &signed(400), &key().verifier(), entries, &mut |_| {}).unwrap_err().code()
    };
    assert_eq!(code(0, 399), "other_root");
    assert_eq!(code(1, 400), "other_root");
    assert_eq!(read_head(folder).unwrap(), None);
    export_to(folder, 300).unwrap();
    assert_eq!(code(1, 400), "other_root");
    assert_eq!(read_head(folder).unwrap().unwrap(), signed(300).to_string().into_bytes());
    export_to(folder, 400).unwrap();
    assert!(is_right(folder, 400));
}

#[test]
fn a_folder_with_something_else_in_it_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    fs::write(folder.join("notes.txt"), b"mine").unwrap();
    assert_eq!(export_to(folder, 3).unwrap_err().code(), "not_empty");
    assert_eq!(names(folder), ["notes.txt".to_owned()].into());
    fs::remove_file(folder.join("notes.txt")).unwrap();
    fs::write(folder.join("file"), b"").unwrap();
    assert_eq!(export_to(&folder.join("file"), 3).unwrap_err().code(), "wrong_file_type");
    fs::remove_file(folder.join("file")).unwrap();
    // Another log's, and what is no tree head at all.
    let other = TestSigner::new("example.com/other", 2);
    export_to(folder, 3).unwrap();
    let theirs = TreeHead { origin: "example.com/other".to_owned(), ..TreeHead::parse(signed(3).text()).unwrap() };
    let theirs = theirs.sign(&other).unwrap();
    let refused = export(folder, &theirs, &other.verifier(), entries, &mut |_| {}).unwrap_err();
    assert_eq!((refused.kind().name(), refused.code()), ("conflict", "other_export"));
    fs::write(folder.join("checkpoint"), b"").unwrap();
    assert_eq!(export_to(folder, 4).unwrap_err().code(), "other_export");
    // A signed tree head that is not the log's never gets there.
    let unsigned = export(folder, &theirs, &key().verifier(), entries, &mut |_| {}).unwrap_err();
    assert_eq!(unsigned.code(), "not_signed");
}

#[test]
fn a_log_that_went_back_or_another_way_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    export_to(folder, 300).unwrap();
    let error = export_to(folder, 299).unwrap_err();
    assert_eq!((error.kind().name(), error.code()), ("conflict", "export_ahead"));
    assert!(error.message().contains("has 300 entries") && error.message().contains("has only 299"), "{error}");
    // Of the same size with another root, and of a larger one.
    let fork = |size: u64| {
        let mut frontier = samite_audit::Frontier::new();
        (0..size).for_each(|index| frontier.push(samite_audit::merkle::leaf_hash(&entry(index + 1))));
        TreeHead::of(ORIGIN, &frontier).unwrap().sign(&key()).unwrap()
    };
    let other = |size| export(folder, &fork(size), &key().verifier(), |from| entries(from + 1), &mut |_| {});
    assert_eq!(other(300).unwrap_err().code(), "other_export");
    assert_eq!(other(301).unwrap_err().code(), "other_root");
    assert_eq!(read_head(folder).unwrap().unwrap(), signed(300).to_string().into_bytes());
}

#[test]
fn what_was_changed_in_the_folder_is_not_built_upon() {
    for name in ["tile/entries/001.p/44", "tile/0/001.p/44", "tile/1/000.p/1"] {
        let folder = tempfile::tempdir().unwrap();
        export_to(folder.path(), 300).unwrap();
        let file = folder.path().join(name);
        let mut bytes = fs::read(&file).unwrap();
        bytes[8] ^= 1;
        fs::write(&file, bytes).unwrap();
        let error = export_to(folder.path(), 301).unwrap_err();
        assert_eq!((error.kind().name(), error.code()), ("corrupt", "export_damaged"), "{name}");
        fs::remove_file(&file).unwrap();
        assert_eq!(export_to(folder.path(), 301).unwrap_err().code(), "export_damaged", "{name}");
    }
}

#[test]
fn signatures_of_witnesses_stay_while_the_tree_head_does() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let witness = TestSigner::new("witness.example/w", 3);
    let mut cosigned = signed(5);
    cosigned.add(Signature::cosign(signed(5).text(), 7, &witness).unwrap());
    export(folder, &cosigned, &key().verifier(), entries, &mut |_| {}).unwrap();
    export_to(folder, 5).unwrap();
    let stored = Note::parse(&read_head(folder).unwrap().unwrap()).unwrap();
    assert_eq!(stored, cosigned);
    let witness_key = VerifierKey::of(&witness, KeyKind::Cosignature).unwrap();
    let verified = verify(folder, &key().verifier(), &[witness_key], &mut |_, _| Ok(())).unwrap();
    assert_eq!(verified.opened.unwrap().cosigners[0].seconds, 7);
    export_to(folder, 6).unwrap();
    assert_eq!(read_head(folder).unwrap().unwrap(), signed(6).to_string().into_bytes());
}
