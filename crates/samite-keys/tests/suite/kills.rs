//! SIGKILL at each point of a change of the keystore leaves the old state or the new one.

use crate::common::{Scratch, open, owner, seal};
use crate::processes::{child, parent_scratch};
use samite_host::files;
use std::os::unix::process::ExitStatusExt as _;

const POINT: &str = "SAMITE_KILL_POINT";
const POINTS: &[&str] = &[
    "files.atomic.written",
    "files.atomic.written:2",
    "files.atomic.written:3",
    "files.atomic.written:4",
    "files.atomic.renamed",
    "files.atomic.renamed:2",
    "files.atomic.renamed:3",
    "files.atomic.renamed:4",
    "keys.epoch_created",
    "keys.copied",
    "keys.written",
    "keys.master.before_destroy",
    "keys.epoch_destroyed",
];

#[test]
#[ignore = "run by the other tests, in a process of its own"]
fn child_makes_a_subject() {
    let Some(scratch) = parent_scratch() else { return };
    scratch.open().unwrap().subject(&owner("new")).unwrap();
}

#[test]
#[ignore = "run by the other tests, in a process of its own"]
fn child_destroys_a_subject() {
    let Some(scratch) = parent_scratch() else { return };
    let keyring = scratch.open().unwrap();
    let ada = keyring.subject(&owner("ada")).unwrap();
    keyring.destroy_subject(ada.pseudonym).unwrap();
}

/// How many points of the list the process died at.
fn kill_at_each(test: &str, prepare: impl Fn(&Scratch), check: impl Fn(&Scratch, &str)) -> usize {
    let mut died = 0;
    for point in POINTS {
        let scratch = Scratch::new();
        prepare(&scratch);
        let status = child(test, &scratch, &[(POINT, point)]).wait().unwrap();
        match status.signal() {
            Some(9) => died += 1,
            signal => assert_eq!((signal, status.success()), (None, true), "{point}"),
        }
        check(&scratch, point);
        assert!(files::list(&scratch.keys()).unwrap().iter().all(|name| !files::is_temporary(name)), "{point}");
    }
    died
}

#[test]
fn making_a_keystore() {
    let died = kill_at_each(
        "kills::child_makes_a_subject",
        |_| {},
        |scratch, point| {
            let keyring = scratch.open().unwrap();
            let new = keyring.subject(&owner("new")).unwrap();
            let sealed = seal(&keyring, new.pseudonym, b"words");
            assert_eq!(open(&scratch.open().unwrap(), &sealed).unwrap(), b"words", "{point}");
            assert_eq!(keyring.subjects().unwrap(), [new], "{point}");
        },
    );
    assert_eq!(died, 11);
}

#[test]
fn making_a_subject() {
    let died = kill_at_each(
        "kills::child_makes_a_subject",
        |scratch| {
            scratch.open().unwrap().subject(&owner("ada")).unwrap();
        },
        |scratch, point| {
            let keyring = scratch.open().unwrap();
            let ada = keyring.subject(&owner("ada")).unwrap();
            let before = keyring.subjects().unwrap();
            assert!(before.contains(&ada) && before.len() <= 2, "{point}");
            let new = keyring.subject(&owner("new")).unwrap();
            let mut both = vec![ada, new];
            both.sort_by_key(|subject| subject.pseudonym);
            assert_eq!(scratch.open().unwrap().subjects().unwrap(), both, "{point}");
        },
    );
    assert_eq!(died, 6);
}

#[test]
fn destroying_a_subject() {
    let died = kill_at_each(
        "kills::child_destroys_a_subject",
        |scratch| {
            let keyring = scratch.open().unwrap();
            keyring.subject(&owner("ada")).unwrap();
            let bob = keyring.subject(&owner("bob")).unwrap();
            let (header, bytes) = seal(&keyring, bob.pseudonym, b"his");
            let ada = keyring.subject(&owner("ada")).unwrap();
            let (header_ada, bytes_ada) = seal(&keyring, ada.pseudonym, b"hers");
            for (name, header, bytes) in [("bob", header, bytes), ("ada", header_ada, bytes_ada)] {
                let stored = [header.encode().as_slice(), &bytes].concat();
                files::write_atomic(&scratch.root.join(name), &stored, 0o600).unwrap();
            }
            let backup = files::read(&scratch.keystore()).unwrap();
            files::write_atomic(&scratch.root.join("backup"), &backup, 0o600).unwrap();
        },
        |scratch, point| {
            let sealed = |name: &str| {
                let stored = files::read(&scratch.root.join(name)).unwrap();
                let (header, bytes) = stored.split_at(samite_model::HEADER_SIZE);
                (samite_model::Header::decode(header).unwrap(), bytes.to_vec())
            };
            let (ada, bob) = (sealed("ada"), sealed("bob"));
            let keyring = scratch.open().unwrap();
            assert_eq!(open(&keyring, &bob).unwrap(), b"his", "{point}");
            let erased = open(&keyring, &ada).is_err();
            if !erased {
                // Old: doing it again is the way on.
                keyring.destroy_subject(ada.0.owner).unwrap();
            }
            let config = scratch.root.join("config");
            assert!(files::list(&config).unwrap().iter().all(|name| !files::is_temporary(name)), "{point}");
            // New: nothing of any age opens it any more.
            let backup = files::read(&scratch.root.join("backup")).unwrap();
            files::write_atomic(&scratch.keystore(), &backup, 0o600).unwrap();
            let restored = scratch.open().unwrap();
            assert_eq!(open(&restored, &bob).unwrap(), b"his", "{point}");
            assert_eq!(open(&restored, &ada).unwrap_err().code(), "key_destroyed", "{point}");
        },
    );
    assert_eq!(died, 13);
}
